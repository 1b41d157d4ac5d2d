"""What `evolve diff` finds: two generations side by side, from their folders."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.config import Config, read_saved_config
from bench.project import find_project, find_run, split_generation
from evolve.errors import PromotionError
from evolve.gate import Promotion, TaskVerdict, read_promotion
from evolve.lock import LOCK, GenerationLock, drift_line, drifts, read_lock
from evolve.replay import compare
from evolve.reproduce.model import REPRODUCTION_VERSION, RunDifference, TaskEffect
from evolve.reproduce.values import value_differences


class _Side(Struct, frozen=True):
    name: str
    config: Config
    promotion: Promotion
    lock: GenerationLock | None


def read_difference(options: argparse.Namespace) -> RunDifference:
    """What two generations have otherwise."""
    first, second = (_side(options, name) for name in (options.first, options.second))
    return RunDifference(
        schema_version=REPRODUCTION_VERSION,
        first=first.name,
        second=second.name,
        configuration=value_differences(
            msgspec.to_builtins(first.config), msgspec.to_builtins(second.config)
        ),
        provenance=None
        if first.lock is None or second.lock is None
        else tuple(drifts(first.lock.sealed.read, second.lock.sealed.read)),
        verdict=compare(first.promotion, second.promotion),
        tasks=tuple(_effects(first.promotion, second.promotion)),
    )


def _side(options: argparse.Namespace, name: str) -> _Side:
    run_name, number = split_generation(name)
    run = find_run(find_project(run_name, options.root, Path.cwd()), run_name)
    paths = {int(path.parent.name[4:]): path for path in run.path.glob("gen-*/promotion.json")}
    wanted = max(paths, default=None) if number is None else number
    if wanted is None or wanted not in paths:
        there = ", ".join(f"{run.id}/gen-{each}" for each in sorted(paths)) or "none"
        raise PromotionError(f"{name} has no verdict\n  generations with one: {there}")
    lock = paths[wanted].parent / LOCK
    return _Side(
        name=f"{run.id}/gen-{wanted}",
        config=read_saved_config(run.path / "config.json"),
        promotion=read_promotion(paths[wanted]),
        lock=read_lock(lock) if lock.exists() else None,
    )


def _effects(first: Promotion, second: Promotion) -> Iterator[TaskEffect]:
    """Every task of every candidate arm, as each of them has it."""
    left, right = _tasks(first), _tasks(second)
    for arm, task in sorted({*left, *right}):
        one, other = left.get((arm, task)), right.get((arm, task))
        yield TaskEffect(
            arm=arm,
            task=task,
            first=None if one is None else (one.incumbent, one.candidate),
            second=None if other is None else (other.incumbent, other.candidate),
            effects=(None if one is None else one.effect, None if other is None else other.effect),
        )


def _tasks(promotion: Promotion) -> Mapping[tuple[str, str], TaskVerdict]:
    return {(pair.candidate_arm, task.task): task for pair in promotion.verdict.pairs for task in pair.tasks}


def difference_lines(found: RunDifference) -> Iterator[str]:
    """The same for people."""
    yield f"{found.first}  |  {found.second}"
    yield f"configuration: {len(found.configuration) or 'no'} values differ"
    for value in found.configuration:
        yield f"  {value.key}: {value.first or 'not there'}  |  {value.second or 'not there'}"
    if found.provenance is None:
        yield "provenance: unknown, one of them has no lock"
    else:
        yield f"provenance: {len(found.provenance) or 'no'} things differ"
        for drift in found.provenance:
            yield f"  {drift_line(drift).replace(' then, ', '  |  ').removesuffix(' now')}"
    yield f"verdict: {'the same evidence' if found.verdict.evidence else 'other evidence'}"
    for each in found.verdict.differences:
        if not each.what.partition(": ")[2].startswith("task "):
            yield f"  {each.what}: {each.first}  |  {each.second}"
    yield "tasks: incumbent → candidate"
    for task in found.tasks:
        first, second = _shown(task.first, task.effects[0]), _shown(task.second, task.effects[1])
        yield f"  {task.arm}: {task.task}: {first}  |  {second}"


def _shown(numbers: tuple[float | None, float | None] | None, effect: str | None) -> str:
    if numbers is None:
        return "not measured"
    before, after = ("n/a" if each is None else f"{each:.4g}" for each in numbers)
    return f"{before} → {after} ({effect})"
