"""A cell of a finished run, ready to be measured once more."""

import difflib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from bench.arms import Arm, Cell
from bench.config import BudgetConfig, Config, read_saved_config
from bench.errors import RunError
from bench.project import RunFolder, find_run, split_generation
from bench.results import Row, read_rows
from bench.skills import Overlay, Skill, apply_overlay, read_overlay
from bench.sweep.ground import Ground, canonical_skills, make_arms
from bench.sweep.model import Plan
from bench.sweep.reading import read_plan
from bench.text import printable

_GENERATION = "gen-"
_MOST_NAMED = 10


class Measured(Struct, frozen=True, kw_only=True):
    """One finished sweep as its folder holds it. Its configuration has no budget any more."""

    run: RunFolder
    folder: Path
    config: Config
    plan: Plan


class _Judged(Struct, frozen=True):
    """What this needs of a promotion.json."""

    decision: str


def open_measured(root: Path, name: str) -> Measured:
    """The sweep that `name` says: a run, or a generation of one as RUN/gen-N. RunError says what is there instead."""
    run_name, number = split_generation(name)
    run = find_run(root, run_name)
    folder = _sweep_folder(run, None if number is None else f"{_GENERATION}{number}")
    config = read_saved_config(run.path / "config.json")
    plan, _ = read_plan(folder / "plan.json")
    unlimited = structs.replace(config, budget=BudgetConfig())
    return Measured(run=run, folder=folder, config=unlimited, plan=plan)


def find_cell(measured: Measured, name: str) -> Cell:
    """The plan's cell of this name, task/arm/repeat. RunError lists those that are near."""
    names = {cell.name: cell for cell in measured.plan.cells}
    if name in names:
        return names[name]
    near = difflib.get_close_matches(name, names, n=_MOST_NAMED, cutoff=0.5) or list(names)[:_MOST_NAMED]
    listed = "".join(f"\n  {printable(each)}" for each in near)
    raise RunError(
        f"run {measured.run.id} has no cell {printable(name)!r} (TASK/ARM/REPEAT) among its {len(names)}; near it:{listed}"
    )


def arms_again(ground: Ground, measured: Measured, arm: str) -> dict[str, Arm]:
    """The arm with the skills of then, as far as the run folder and the project hold them."""
    incumbents = _incumbents(ground, measured)
    if measured.plan.overlay is None:
        return make_arms(ground, [arm], incumbents)
    overlay = _overlay(ground, measured.folder)
    if overlay.digest != measured.plan.overlay:
        raise RunError(f"{measured.folder / 'overlay'} is not the overlay that was measured: it was changed")
    return make_arms(ground, [arm], incumbents, apply_overlay(incumbents, overlay), overlay.digest)


def differences(measured: Measured, row: Row) -> tuple[str, ...]:
    """What the new row's provenance has otherwise than the recorded one of the same cell."""
    rows = [each for each in read_rows(measured.folder / "results.jsonl")[0] if each.key == row.key]
    if not rows:
        return ()
    before, after = structs.asdict(rows[-1].provenance), structs.asdict(row.provenance)
    return tuple(name for name, value in after.items() if before[name] != value)


def _sweep_folder(run: RunFolder, generation: str | None) -> Path:
    if generation is None and (run.path / "plan.json").is_file():
        return run.path
    there = sorted(path.parent for path in run.path.glob(f"{_GENERATION}*/plan.json"))
    chosen = [folder for folder in there if generation in (None, folder.name)]
    if len(chosen) == 1:
        return chosen[0]
    listed = "".join(f"\n  {run.id}/{folder.name}" for folder in there) or " none"
    what = "has several generations" if chosen else f"has no measured {generation or 'cells'}"
    raise RunError(f"run {run.id} {what}; name one of:{listed}")


def _incumbents(ground: Ground, measured: Measured) -> Mapping[str, Skill]:
    """The project's skills, with what the run promoted before this generation."""
    skills = canonical_skills(ground.config, ground.root)
    for number in range(1, measured.plan.generation):
        folder = measured.run.path / f"{_GENERATION}{number}"
        if _was_promoted(folder / "promotion.json"):
            skills = apply_overlay(skills, _overlay(ground, folder))
    return skills


def _overlay(ground: Ground, folder: Path) -> Overlay:
    return read_overlay(folder / "overlay", ground.config.skills)


def _was_promoted(path: Path) -> bool:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Judged).decision == "promote"
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
