"""What shuts a program in: the command line of bubblewrap (bwrap), and whether that holds here.

Inside there are /usr and what the caller shows, and no other file: nothing of the repository, the class or
the home of who grades. There is no network, no other process and no environment. Nothing can be written,
but for a file system in memory at /box, where the caller asks for one.

    processor   RLIMIT_CPU, of each process. The clock is watched by who starts the command: when bwrap is
                killed, all that is inside goes with it.
    processes   RLIMIT_NPROC, counted in a user namespace of its own (Linux 5.14 and later; before, all
                processes of the user count, and the limit is too low to begin). The kernel does not hold
                root to it, so root becomes nobody first.
    memory      RLIMIT_AS, of each process, so together as much as that times the number of processes.
                What no process would be counted for cannot be had (syscalls.py).
    disk        none is there. /box has a size; what is printed ends at RLIMIT_FSIZE.

What does not hold: all processes together may have more memory than one of them; /usr, the clock and the
kind of machine can be looked at; and a hole in the kernel is a hole here.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

import syscalls

TOOLS = {"bwrap": "bubblewrap", "prlimit": "util-linux", "setpriv": "util-linux"}  # and their packages
NOBODY = 65534
BOX = "/box"
MIB = 1 << 20


class NotIsolated(Exception):
    """Why nothing can be graded here."""


@dataclass(frozen=True)
class Limits:
    seconds: int  # of the processor
    memory: int  # bytes of a process
    processes: int
    printed: int  # bytes of a file
    files: int = 64
    box: int = 0  # bytes of /box; 0: there is none


COMPILING = Limits(seconds=100, memory=2048 * MIB, processes=8, printed=192 * MIB, box=256 * MIB)
RUNNING = Limits(seconds=100, memory=1024 * MIB, processes=4, printed=MIB)


class Cell:
    """Makes command lines. `folder` is scratch space of who grades, of which only what is shown is seen
    inside."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        self.filter = self.folder / "filter"
        self.filter.write_bytes(syscalls.program())

    def command(self, words, shown, limits, within="/", variables=None):
        """`words` shut in. `shown` says what stands where: a path inside, and one of ours."""
        bwrap = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        bwrap += ["--new-session", "--clearenv", "--cap-drop", "ALL", "--seccomp", "3", *of_the_system()]
        for place, path in shown.items():
            bwrap += ["--ro-bind", str(path), place]
        if limits.box:
            bwrap += ["--size", str(limits.box), "--tmpfs", BOX]
        for name, value in (variables or {}).items():
            bwrap += ["--setenv", name, value]
        bwrap += ["--chdir", str(within), "--remount-ro", "/", "--", *limited(limits), *map(str, words)]
        return ["/bin/sh", "-c", 'exec 3<"$0" && exec "$@"', str(self.filter), *as_nobody(), *bwrap]


def of_the_system():
    """/usr, with the names by which programs know its parts, and a place to write what nobody reads."""
    options = ["--ro-bind", "/usr", "/usr", "--dev-bind", "/dev/null", "/dev/null"]
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for place in map(pathlib.Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")):
        if place.is_symlink():
            options += ["--symlink", os.readlink(place), str(place)]
        elif place.exists():
            options += ["--ro-bind", str(place), str(place)]
    return options


def as_nobody():
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--"]


def limited(limits):
    of_all = {
        "cpu": limits.seconds,
        "as": limits.memory,
        "nproc": limits.processes,
        "fsize": limits.printed,
        "nofile": limits.files,
        "core": 0,
    }
    return ["/usr/bin/prlimit", *(f"--{name}={value}:{value}" for name, value in of_all.items()), "--"]


# Ends with 0 if it is shut in. $1 is a file that must not be there.
PROBE = """
if test -e "$1"; then echo 'files that are not shown can be seen'; exit 1; fi
if (: > /file) 2> /dev/null; then echo 'files can be written'; exit 1; fi
if (for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done) 2> /dev/null; then
  echo 'processes are not limited'
  exit 1
fi
"""


def why_not(secrets=()):
    """Why programs cannot be shut in here; nothing if they can. `secrets` are paths that must stay so."""
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            return f"there is no {tool} (apt-get install {package})"
    if not syscalls.is_known(platform.machine()):
        return f"the system calls of {platform.machine()} are not known (syscalls.py)"
    for path in secrets:
        if pathlib.Path("/usr") in pathlib.Path(path).resolve().parents:
            return f"{path} lies in /usr, which is shown to every program"
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder) / "secret"
        secret.touch()
        try:
            probe = Cell(folder).command(["/bin/sh", "-c", PROBE, "sh", secret], {}, RUNNING)
            result = subprocess.run(
                probe, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if result.returncode == 0:
        return ""
    said = (result.stdout + result.stderr).strip().split("\n")[-1]
    return said or f"a program that is shut in ended with status {result.returncode}"
