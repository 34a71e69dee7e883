"""package_test.py contents|lintian CPACK BUILD SOURCE SCRATCH: the .deb is as it should be.

contents makes it in SCRATCH from the programs that BUILD has, unpacks it there and holds it against
SOURCE and what the programs say: files, modes, dates, man pages, licence, version, dependencies, the
service. lintian has Debian's checker look at it. Nothing is installed. Each kind of mistake is
planted once, too, and must be noticed. Exit status 77, "skipped", where Debian's tools are missing.
"""

import copy
import dataclasses
import email.utils
import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

SKIPPED = 77
PROGRAMS = ["forge-bench", "forge-chat", "forge-grammar", "forge-infer", "forge-kernel", "forge-model", "forge-trace"]
SERVICE = "lib/systemd/system/forge-infer.service"
CHANGELOG = "usr/share/doc/forge/changelog.gz"
COPYRIGHT = "usr/share/doc/forge/copyright"
MAINTAINER_SCRIPTS = ["DEBIAN/postinst", "DEBIAN/postrm", "DEBIAN/prerm"]
HAS_SYSTEMD = shutil.which("systemd-analyze") is not None
HEADINGS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"]


def page_name(program):
    return f"usr/share/man/man1/{program}.1.gz"


TEXTS = [SERVICE, CHANGELOG, COPYRIGHT, "etc/default/forge-infer", "DEBIAN/conffiles", "DEBIAN/control",
         "DEBIAN/md5sums", *map(page_name, PROGRAMS)]
MODES = {**{path: "644" for path in TEXTS}, **{path: "755" for path in MAINTAINER_SCRIPTS},
         **{f"usr/bin/{program}": "755" for program in PROGRAMS}}


def output_of(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True).stdout


@dataclasses.dataclass
class Member:
    """What the package says of a file or a folder."""
    is_folder: bool
    mode: str
    owner: str
    date: int


class Package:
    """The members by path, and the texts; `folder` has it unpacked."""

    def __init__(self, deb, folder):
        output_of("dpkg-deb", "--raw-extract", deb, folder)
        self.folder, self.members, self.texts = folder, {}, {}
        for option, prefix in (("--fsys-tarfile", ""), ("--ctrl-tarfile", "DEBIAN/")):
            with tarfile.open(fileobj=io.BytesIO(output_of("dpkg-deb", option, deb))) as archive:
                for info in archive:
                    self.members[prefix + info.name.removeprefix("./")] = Member(
                        info.isdir(), f"{info.mode:o}", f"{info.uid}:{info.gid}", info.mtime)
        for path in TEXTS:
            if path in self.members:
                content = (folder / path).read_bytes()
                self.texts[path] = (gzip.decompress(content) if path.endswith(".gz") else content).decode()


class Facts:
    """What the package is held against: what its programs say, and the licence of the sources."""

    def __init__(self, package, source):
        self.licence = (source / "LICENSE").read_text()
        self.helps = {program: self.help_of(package.folder / "usr/bin" / program) for program in PROGRAMS}
        version = output_of(package.folder / "usr/bin/forge-infer", "--version").decode()
        self.version = re.match(r"forge-infer (\S+) ", version)[1]

    @staticmethod
    def help_of(program):
        """{command: what its --help says}; "" is the program."""
        helps = {"": output_of(program, "--help").decode()}
        _, _, commands = helps[""].partition("\nSubcommands:\n")
        for command in re.findall(r"^  (\w+)", commands, re.M):
            helps[command] = output_of(program, command, "--help").decode()
        return helps


def faults_of_members(package):
    written = re.search(r"^ -- .*>  (.*)$", package.texts[CHANGELOG], re.M)[1]
    date = int(email.utils.parsedate_to_datetime(written).timestamp())
    files = {path for path, member in package.members.items() if not member.is_folder}
    for path in sorted(MODES.keys() ^ files):
        yield f"{path} {'is missing' if path in MODES else 'should not be there'}"
    for path, member in package.members.items():
        wanted = Member(member.is_folder, "755" if member.is_folder else MODES.get(path), "0:0", date)
        if member != wanted:
            yield f"{path}: {member}, not {wanted}"


def faults_of_page(name, page, helps):
    """What a man page does not have: headings, commands, and flags where their command is."""
    for heading in HEADINGS:
        if f"\n.SH {heading}\n" not in page:
            yield f"{name} has no {heading}"
    begin, _, rest = page.partition("\n.SH COMMANDS\n")
    parts = {}
    for part in re.split(r"^\.S[HS] ", rest, flags=re.M)[1:]:
        parts[part.partition("\n")[0]] = part
    for command, text in helps.items():
        spelled = (begin + parts.get(command, "")).replace("\\-", "-")
        heads = re.findall(r"^\.TP\n((?:(?:, )?\\fB\S+\\fR)+)", spelled, re.M)
        explained = {name for head in heads for name in re.findall(r"\\fB(\S+)\\fR", head)}
        for flags in re.findall(r"^  (-\S+|[A-Z]+(?= TEXT))", text, re.M):
            for flag in set(flags.split(",")) - explained:
                yield f"{name} lacks {flag} of '{command or 'the program'}'"


def faults_of_unit(package):
    """What systemd finds wrong, with the program and the page that were unpacked."""
    if not HAS_SYSTEMD:
        return
    path = package.folder.parent / "forge-infer.service"
    path.write_text(package.texts[SERVICE].replace("=/usr/bin/", f"={package.folder}/usr/bin/"))
    pages = "--man=yes" if shutil.which("man") else "--man=no"
    run = subprocess.run(["systemd-analyze", "verify", pages, str(path)], capture_output=True, text=True, check=False,
                         env={**os.environ, "MANPATH": f"{package.folder}/usr/share/man"})
    if run.returncode != 0 or run.stderr:
        yield f"{SERVICE}: systemd-analyze says: {run.stderr}"


def faults(package, facts):
    """What is wrong with the package, in sentences."""
    yield from faults_of_members(package)
    for program in PROGRAMS:
        name = page_name(program)
        yield from faults_of_page(name, package.texts.get(name, ""), facts.helps[program])
    yield from faults_of_unit(package)

    control = dict(re.findall(r"^([\w-]+): (.*)$", package.texts["DEBIAN/control"], re.M))
    changelog = re.match(r"forge \((.*?)\)", package.texts[CHANGELOG])[1]
    versions = [changelog, control["Version"], facts.version]
    if len(set(versions)) > 1:
        yield f"versions of changelog, package and forge-infer: {versions}"
    for library in ("libc6", "libhwy1", "libssl3"):
        if f"{library} (>= " not in control["Depends"]:
            yield f"it does not depend on {library}"
    if package.texts["DEBIAN/conffiles"] != "/etc/default/forge-infer\n":
        yield "conffiles has other files than /etc/default/forge-infer"

    stated = re.search(r"^License: Expat\n((?: .*\n)+)", package.texts[COPYRIGHT], re.M)[1].replace("\n .\n", "\n")
    if stated.split() != facts.licence[facts.licence.index("Permission"):].split():
        yield f"{COPYRIGHT} has other words than LICENSE"


# Of a text: what stands there, what is put in its place, and what must be said of that.
PLANTED_IN_TEXTS = [
    (page_name("forge-infer"), ".TP\n\\fB\\-\\-queue\\-limit", ".TP\n\\fB\\-\\-queue", "lacks --queue-limit"),
    (page_name("forge-trace"), ".SS bisect", ".SS halve", "lacks --truncated of 'bisect'"),
    (page_name("forge-model"), ".TP\n\\fBOUT", ".TP\n\\fBTO", "lacks OUT of 'quantize'"),
    (page_name("forge-chat"), ".SH EXIT STATUS", ".SH STATUS", "has no EXIT STATUS"),
    (SERVICE, "Type=notify", "Type=notfy", "Failed to parse service type"),
    (SERVICE, "/usr/bin/forge-infer", "/usr/bin/forge-server", "is not executable"),
    (CHANGELOG, "forge (", "forge (7.", "versions of changelog, package and forge-infer: ['7."),
    ("DEBIAN/control", "libssl3", "libssl4", "does not depend on libssl3"),
    ("DEBIAN/conffiles", "forge-infer", "forge", "conffiles has other files"),
    (COPYRIGHT, "free of charge", "for a fee", "has other words than LICENSE"),
]
PLANTED_IN_MEMBERS = [
    ("usr/bin/forge-chat", {"mode": "700"}),
    ("DEBIAN/prerm", {"mode": "644"}),
    ("etc/default/forge-infer", {"owner": "1000:0"}),
    (CHANGELOG, {"date": 0}),
    ("usr/share", {"mode": "775"}),
]


def planted(package):
    """Packages with one mistake each, and what must be said of it."""
    for path, right, wrong, noticed in PLANTED_IN_TEXTS:
        if path == SERVICE and not HAS_SYSTEMD:
            continue
        assert right in package.texts[path], f"{path} has no '{right}' to plant a mistake in"
        other = copy.copy(package)
        other.texts = {**package.texts, path: package.texts[path].replace(right, wrong, 1)}
        yield other, noticed
    for path, change in PLANTED_IN_MEMBERS:
        other = copy.copy(package)
        other.members = {**package.members, path: dataclasses.replace(package.members[path], **change)}
        yield other, f"{path}: "
    for path, noticed in (("usr/bin/forge-kernel", "is missing"), ("usr/bin/forge-test", "should not be there")):
        other = copy.copy(package)
        other.members = {path: Member(False, "755", "0:0", 0), **package.members}
        if path in package.members:
            del other.members[path]
        yield other, f"{path} {noticed}"


def check_contents(cpack, build, source, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    os.umask(0o077)  # which must not show
    # gzip is quicker than xz, by half a minute.
    output_of(cpack, "--config", build / "CPackConfig.cmake", "-B", scratch, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    package = Package(*scratch.glob("*.deb"), scratch / "unpacked")
    facts = Facts(package, source)
    wrong = list(faults(package, facts))
    mistakes = list(planted(package))
    for other, noticed in mistakes:
        found = list(faults(other, facts))
        if not any(noticed in fault for fault in found):
            wrong.append(f"a planted mistake goes unnoticed ({noticed}): {found}")
    print("\n".join(wrong) or f"{len(package.members)} files and folders, {len(mistakes)} planted mistakes"
          + ("" if HAS_SYSTEMD else "; without systemd-analyze the unit was not verified"))
    return 1 if wrong else 0


def lintian(deb):
    """What lintian says of the package; on its standard error it says what it thinks of root."""
    run = subprocess.run(["lintian", deb], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return run.stdout or (f"exit status {run.returncode}" if run.returncode else "")


def check_by_lintian(scratch):
    found = lintian(*scratch.glob("*.deb"))
    wrong = [found] if found else []
    # Small without its programs, and wrong without its licence.
    folder = scratch / "planted"
    shutil.copytree(scratch / "unpacked", folder, ignore=shutil.ignore_patterns("bin", "copyright"))
    output_of("dpkg-deb", "--root-owner-group", "--build", folder, folder / "forge.deb")
    found = lintian(folder / "forge.deb")
    if "no-copyright-file" not in found:
        wrong.append(f"a package without a licence goes unnoticed: {found}")
    print("\n".join(wrong) or "lintian has nothing to say; of a package without a licence it has")
    return 1 if wrong else 0


def main():
    part, cpack, *folders = sys.argv[1:]
    build, source, scratch = map(pathlib.Path, folders)
    if not (build / "CPackConfig.cmake").exists():
        print("skipped: no package can be made here; the configuration says why")
        return SKIPPED
    if part == "contents":
        return check_contents(cpack, build, source, scratch)
    if shutil.which("lintian") is None:
        print("skipped: there is no lintian here (apt-get install lintian)")
        return SKIPPED
    return check_by_lintian(scratch)


if __name__ == "__main__":
    sys.exit(main())
