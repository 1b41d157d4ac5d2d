"""What a measurement says, and how CPU time and memory are taken: of this process, and of those that it reaped."""

import os
import resource
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

MILLISECONDS = 1000.0


class Line(Struct, frozen=True, kw_only=True):
    """One line of the table. `value` is what the bar is about: a ratio, or an amount in `unit`. `bar` is None for
    what is only told.
    """

    what: str
    measured: str
    baseline: str = ""
    value: float | None = None
    bar: float | None = None
    unit: str = "×"
    at_least: bool = False

    @property
    def kept(self) -> bool | None:
        """Whether the bar is kept; None where there is none."""
        if self.bar is None or self.value is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar


class Cpu(Struct, frozen=True):
    """Seconds of CPU, user and system: of this process, and of its children that ended."""

    own: float
    children: float

    @property
    def total(self) -> float:
        return self.own + self.children

    def per(self, count: int) -> "Cpu":
        return Cpu(self.own / count, self.children / count)

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.own - other.own, self.children - other.children)


def cpu_now() -> Cpu:
    """What was used up to now."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cpu(own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime)


def cpu_of(action: Callable[[], object], count: int = 1) -> Cpu:
    """What an action uses, per one of the `count` equal things that it does."""
    before = cpu_now()
    action()
    return (cpu_now() - before).per(count)


def least_cpu(samples: Iterable[Cpu]) -> Cpu:
    """The least of each part: whatever else the machine does meanwhile only adds to what a program needs."""
    listed = list(samples)
    return Cpu(min(each.own for each in listed), min(each.children for each in listed))


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_resident() -> int:
    """The most bytes of this program that were in memory at once."""
    # not getrusage, which counts the memory of the process that started this one
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def milliseconds(seconds: float) -> str:
    return f"{seconds * MILLISECONDS:.2f} ms"
