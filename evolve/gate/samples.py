"""From evidence to paired differences: pairs share task and repeat, and an unknown one has a worst and a best."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from evolve.gate.endpoints import Endpoint
from evolve.gate.model import ArmEvidence, RowEvidence, TaskEvidence
from evolve.gate.units import rounded_ratio

Side = Literal["worst", "best"]
SIDES: tuple[Side, Side] = ("worst", "best")


class Pairing(Struct, frozen=True, kw_only=True):
    """One task and repeat of both arms; `worst` and `best` are equal where both are known. `cells` names what is
    unknown: (arm's role, repeat). `reused` if a row of it was not measured in this sweep.
    """

    repeat: int
    worst: int
    best: int
    reused: bool
    cells: tuple[str, ...]

    def at(self, side: Side) -> int:
        """The difference, an unknown one at this side."""
        return self.worst if side == "worst" else self.best


class TaskSample(Struct, frozen=True, kw_only=True):
    """The pairs of one task in the order of their repeats."""

    task: str
    critical: bool
    pairs: tuple[Pairing, ...]


def planned_repeats(tasks: Sequence[TaskEvidence], *, deterministic: bool) -> int:
    """How many repeats a task has, of which any may be missing; one where repeats say the same thing again."""
    counts = [_runs(arm) for task in tasks for arm in (task.incumbent, task.candidate)]
    return min(max(counts, default=0), 1) if deterministic else max(counts, default=0)


def sample(tasks: Iterable[TaskEvidence], endpoint: Endpoint, repeats: int) -> tuple[TaskSample, ...]:
    """Every planned pair of every task. Rows beyond the planned repeats count for nothing."""
    return tuple(
        TaskSample(
            task=task.task,
            critical=task.critical,
            pairs=tuple(_pairs(_by_repeat(task.incumbent), _by_repeat(task.candidate), endpoint, repeats)),
        )
        for task in tasks
    )


def kept(samples: Iterable[TaskSample], keep: Callable[[Pairing], bool]) -> tuple[TaskSample, ...]:
    """The same tasks with some of their pairs."""
    return tuple(
        TaskSample(
            task=each.task, critical=each.critical, pairs=tuple(pair for pair in each.pairs if keep(pair))
        )
        for each in samples
    )


def missing_cells(samples: Iterable[TaskSample]) -> tuple[str, ...]:
    """The cells of which the number is not known, as `task/candidate/repeat`."""
    return tuple(f"{each.task}/{cell}" for each in samples for pair in each.pairs for cell in pair.cells)


def reused_cells(samples: Iterable[TaskSample]) -> tuple[str, ...]:
    """The pairs of which a row was not measured in this sweep, as `task/repeat`."""
    return tuple(f"{each.task}/{pair.repeat}" for each in samples for pair in each.pairs if pair.reused)


def differences(samples: Iterable[TaskSample], side: Side) -> list[int]:
    """One difference for each pair."""
    return [pair.at(side) for each in samples for pair in each.pairs]


def task_means(samples: Iterable[TaskSample], side: Side) -> list[int]:
    """One mean difference for each task with a pair, rounded to a unit."""
    return [mean_units([pair.at(side) for pair in each.pairs]) for each in samples if each.pairs]


def mean_units(values: Sequence[int]) -> int:
    """The mean, rounded to a unit."""
    return rounded_ratio(sum(values), len(values))


def _pairs(
    before: dict[int, RowEvidence], now: dict[int, RowEvidence], endpoint: Endpoint, repeats: int
) -> Iterator[Pairing]:
    for repeat in range(repeats):
        first, second = before.get(repeat), now.get(repeat)
        values = [None if row is None else endpoint.read(row) for row in (first, second)]
        known = None if values[0] is None or values[1] is None else endpoint.difference(values[0], values[1])
        worst, best = endpoint.limits(values[0], values[1]) if known is None else (known, known)
        unknown = [
            f"{role}/{repeat}"
            for role, value in zip(("incumbent", "candidate"), values, strict=True)
            if value is None
        ]
        yield Pairing(
            repeat=repeat,
            worst=worst,
            best=best,
            reused=any(row is not None and not row.fresh for row in (first, second)),
            cells=tuple(unknown or ([] if known is not None else [f"candidate/{repeat}"])),
        )


def _by_repeat(arm: ArmEvidence | None) -> dict[int, RowEvidence]:
    return {} if arm is None else {row.repeat: row for row in arm.rows}


def _runs(arm: ArmEvidence | None) -> int:
    if arm is None:
        return 0
    return max([arm.aggregate.runs, *(row.repeat + 1 for row in arm.rows)])
