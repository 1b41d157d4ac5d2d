"""The system calls that no namespace confines, refused by a filter: a small program of classic BPF."""

import errno
import struct

from msgspec import Struct

# Families that a network namespace confines. All others are refused, AF_VSOCK above all: it reaches the host of a
# virtual machine from within any namespace.
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000  # with an errno in the low half

# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16

_FOREIGN = 0x40000000  # numbers from here on belong to x86-64's second interface, x32


class _Machine(Struct, frozen=True):
    """A processor's audit number and its numbers of the system calls in question.

    Keys: the kernel's keyrings are inherited from the user's session and hold secrets. Rings: io_uring opens
    sockets past this filter.
    """

    audit: int
    socket: int
    keys: tuple[int, ...]
    rings: tuple[int, ...] = (425, 426, 427)


_MACHINES = {
    "x86_64": _Machine(audit=0xC000003E, socket=41, keys=(248, 249, 250)),
    "aarch64": _Machine(audit=0xC00000B7, socket=198, keys=(217, 218, 219)),
}


def system_call_filter(machine: str) -> bytes | None:
    """The filter for `platform.machine()`, as `bwrap --seccomp` reads it; None for a processor that it does not know."""
    known = _MACHINES.get(machine)
    if known is None:
        return None
    absent = (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)
    allowed = (_RETURN, 0, 0, _ALLOW)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, known.audit),
        absent,
        (_LOAD, 0, 0, _NUMBER),
        *_refused((_AT_LEAST, _FOREIGN), absent),
    ]
    for number in (*known.keys, *known.rings):
        program += _refused((_EQUAL, number), absent)
    program += [(_EQUAL, 1, 0, known.socket), allowed, (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        program += _refused((_EQUAL, family), allowed)
    program.append((_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _refused(
    test: tuple[int, int], answer: tuple[int, int, int, int]
) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Two instructions: give `answer` where the test (operation, operand) holds, else go on behind them."""
    operation, operand = test
    return (operation, 0, 1, operand), answer
