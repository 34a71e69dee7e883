"""A virtual environment with clients from PyPI.

    client_venv.py VENV

Makes VENV with the packages of requirements.txt, the official OpenAI client, (once) and prints the
path of its interpreter. Exit status 77, "skipped", if the environment cannot be made, for want of a
network, say.
"""

import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import venv

REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
SKIPPED = 77


def make_venv(path, requirements=REQUIREMENTS, **options):
    """Returns the interpreter of the environment at `path`, with all `requirements`; `options` are
    those of venv.create. Several tests may ask for it at once: one makes it, the others wait."""
    python = path / "bin" / "python"
    stamp = path / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            venv.create(path, clear=True, with_pip=True, **options)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--requirement", requirements],
                check=True,
            )
            stamp.write_text(wanted)
    return python


def skip_without(requirements, error):
    print(f"skipped: no virtual environment with {requirements.name}: {error}")
    sys.exit(SKIPPED)


def enter_venv(path, requirements=REQUIREMENTS):
    """Goes on inside the environment at `path`, which is made if need be; returns when it is there."""
    path = pathlib.Path(path).resolve()
    if pathlib.Path(sys.prefix).resolve() == path:
        return
    try:
        python = make_venv(path, requirements)
    except (OSError, subprocess.CalledProcessError) as error:
        skip_without(requirements, error)
    os.execv(python, [python, *sys.argv])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(make_venv(pathlib.Path(sys.argv[1]).resolve()))
    except (OSError, subprocess.CalledProcessError) as error:
        skip_without(REQUIREMENTS, error)
