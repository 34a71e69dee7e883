#!/usr/bin/env python3
"""What ptxas makes of the kernels' PTX for an architecture, read from the machine code.

    check_sass.py --ptx FILE --arch sm_90 --ptxas PROGRAM --counts FILE --pages README

Fails unless every kernel has the steps of tensor cores and the loads of matrices that its PTX has,
not one more or less, unless ptxas unrolls a loop of it, and as many as --counts says; asynchronous
copies where the PTX has some; as many registers as the table of README says; and local memory only
where it says so.

The opcode is the low 12 bits of an instruction of 16 bytes, by what nvdisasm shows.
"""
import argparse
import collections
import re
import struct
import subprocess
import sys
import tempfile

OPCODES = {0x23C: "HMMA", 0x237: "IMMA", 0x83B: "LDSM", 0xFAE: "LDGSTS", 0x983: "LDL", 0x387: "STL"}
WORDS = {
    "HMMA": re.compile(r"mma\.sync\S*\.f32\.(bf16|f16)"),
    "IMMA": re.compile(r"mma\.sync\S*\.s8"),
    "LDSM": re.compile(r"\bldmatrix\."),
    "LDGSTS": re.compile(r"\bcp\.async\.c[ag]\."),
}
# Bytes that a thread may store to local memory, by README.
SPILLS = {"project": 68, "project_heads": 68, "project_experts": 68, "attend_prompt": 68,
          "attend_latent": 68, "attend_latent_spans": 184, "attend_wide": 124,
          "project_experts_wide": 24, "project_codes_wide": 112, "project_experts_codes_wide": 112}

# Of which ptxas unrolls a loop, so that the code has more than the PTX.
UNROLLED = {"attend_spans", "attend_latent_spans"}


def kernel_of(symbol):
    """_ZN5forge7kernels4cuda8rms_normENS_... -> rms_norm"""
    size, rest = re.match(r"_ZN5forge7kernels4cuda(\d+)(\w+)", symbol).groups()
    return rest[: int(size)]


def counts_of_ptx(path):
    counts = collections.defaultdict(collections.Counter)
    kernel = None
    for line in open(path):
        entry = re.search(r"\.entry (_ZN5forge7kernels4cuda\w+)\(", line)
        if entry:
            kernel = kernel_of(entry[1])
            counts[kernel] = collections.Counter()
        for name, word in WORDS.items():
            if kernel and word.search(line):
                counts[kernel][name] += 1
    return counts


def sections(elf):
    """name -> contents, of a 64-bit ELF file"""
    at = struct.unpack_from("<Q", elf, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        begin = strings + name
        yield elf[begin : elf.index(b"\0", begin)].decode(), elf[offset : offset + length]


def counts_of_code(elf):
    counts = {}
    for name, code in sections(elf):
        if not name.startswith(".text._ZN5forge7kernels4cuda"):
            continue
        count = collections.Counter()
        for (word,) in struct.iter_unpack("<Q8x", code):
            if word & 0xFFF in OPCODES:
                count[OPCODES[word & 0xFFF]] += 1
        counts[kernel_of(name[len(".text.") :])] = count
    return counts


def resources_of(log):
    """kernel -> (registers, bytes of spill stores), by ptxas -v"""
    resources = {}
    kernel, spills = None, 0
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '(_ZN5forge7kernels4cuda\w+)'", line):
            kernel = kernel_of(found[1])
        elif found := re.search(r"(\d+) bytes spill stores", line):
            spills = int(found[1])
        elif kernel and (found := re.search(r"Used (\d+) registers", line)):
            resources[kernel] = (int(found[1]), spills)
    return resources


def registers_of_pages(path):
    """The column sm_90 of the table of kernels."""
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|[^|]*\| \d+ \| (\d+) \|", open(path).read(), re.M)
    return {kernel: int(registers) for kernel, registers in rows}


def faults(arguments):
    ptx = counts_of_ptx(arguments.ptx)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        made = subprocess.run(
            [arguments.ptxas, "-v", "-O3", f"-arch={arguments.arch}", arguments.ptx, "-o", cubin.name],
            capture_output=True, text=True)
        if made.returncode != 0:
            yield made.stderr
            return
        code = counts_of_code(cubin.read())
    resources = resources_of(made.stderr + made.stdout)
    pages = registers_of_pages(arguments.pages)
    if not ptx or ptx.keys() != code.keys() or ptx.keys() != pages.keys():
        yield f"kernels differ: {len(ptx)} in PTX, {len(code)} in code, {len(pages)} in the table"
        return
    for kernel, count in sorted(ptx.items()):
        for word in ("HMMA", "IMMA", "LDSM"):
            is_more = kernel in UNROLLED and code[kernel][word] > count[word]
            if code[kernel][word] != count[word] and not is_more:
                yield f"{kernel}: {code[kernel][word]} {word}, {count[word]} in its PTX"
        if (code[kernel]["LDGSTS"] > 0) != (count["LDGSTS"] > 0):
            yield f"{kernel}: {code[kernel]['LDGSTS']} LDGSTS, {count['LDGSTS']} in its PTX"
        registers, spills = resources[kernel]
        if registers != pages[kernel]:
            yield f"{kernel}: {registers} registers, {pages[kernel]} in the table"
        if spills > SPILLS.get(kernel, 0):
            yield f"{kernel}: spills {spills} bytes, at most {SPILLS.get(kernel, 0)} are known"
        if kernel not in SPILLS and code[kernel]["LDL"] + code[kernel]["STL"] > 0:
            yield f"{kernel}: uses local memory"
    for line in open(arguments.counts):
        if not re.match("[a-z]", line):
            continue
        kernel, *numbers = line.split()[:4]
        expected = dict(zip(("HMMA", "IMMA", "LDSM"), map(int, numbers)))
        found = {word: code[kernel][word] for word in expected}
        if found != expected:
            yield f"{kernel}: {found}, expected {expected}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("ptx", "arch", "ptxas", "counts", "pages"):
        parser.add_argument(f"--{name}", required=True)
    found = list(faults(parser.parse_args()))
    for fault in found:
        print(fault)
    sys.exit(1 if found else 0)


main()
