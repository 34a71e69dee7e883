"""A filter of system calls for bubblewrap (--seccomp): a program of the kernel's own little machine (BPF)
that looks at the number of each call. Refused are calls by which a process has memory that no limit of a
process counts, and some that a program which only answers never needs and that open much of the kernel."""

import platform
import struct

# By machine: how the kernel names it (AUDIT_ARCH), and the numbers of the calls.
MACHINES = {
    "x86_64": (
        0xC000003E,
        {
            "shmget": 29,
            "semget": 64,
            "msgget": 68,
            "ptrace": 101,
            "add_key": 248,
            "keyctl": 250,
            "perf_event_open": 298,
            "memfd_create": 319,
            "bpf": 321,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "shmget": 194,
            "semget": 190,
            "msgget": 186,
            "ptrace": 117,
            "add_key": 217,
            "keyctl": 219,
            "perf_event_open": 241,
            "memfd_create": 279,
            "bpf": 280,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
}
OTHER_NUMBERS = 0x40000000  # calls of x86_64 have second numbers from here on

LOAD, RETURN = 0x20, 0x06
IF_EQUAL, IF_AT_LEAST = 0x15, 0x35
NUMBER, MACHINE = 0, 4  # where they are in what is looked at
ALLOW = 0x7FFF0000
REFUSE = 0x00050001  # the call fails with EPERM


def is_known(machine):
    return machine in MACHINES


def program(machine=None):
    """The filter, as bwrap reads it."""
    name, calls = MACHINES[machine or platform.machine()]
    tests = [(IF_AT_LEAST, OTHER_NUMBERS), *((IF_EQUAL, number) for number in sorted(calls.values()))]
    code = [(LOAD, 0, 0, MACHINE), (IF_EQUAL, 0, len(tests) + 2, name), (LOAD, 0, 0, NUMBER)]
    for at, (test, number) in enumerate(tests):
        code.append((test, len(tests) - at, 0, number))
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("<HBBI", *each) for each in code)
