"""Where the sessions of a cell work: a private working copy, a home and an output folder for each session."""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.arms.workbench import Arm, Workbench
from bench.sandbox import Layout
from bench.skills import placed_files
from bench.workspace import Template, WorkingCopy

# what a session finds empty, whatever the one before it left
_OWN = ("home", "output", "temporary")


class Place(Struct, frozen=True):
    """Where a cell works: its folder on the host, how the sandbox shows it, its working copy and what that was
    made from, and the plan that an earlier session left, as a file that no later one can change.
    """

    folder: Path
    layout: Layout
    copy: WorkingCopy
    template: Template
    plan: Path | None = None

    def homes(self) -> tuple[Path, ...]:
        """The homes of all sessions that worked here."""
        names = sorted(name for name in os.listdir(self.folder) if name.startswith("home"))  # noqa: PTH208 - once a cell, and ten times as fast
        return tuple(self.folder / name for name in names)


def make_place(
    folder: Path,
    bench: Workbench,
    arm: Arm,
    template: Template,
    copies: list[WorkingCopy],
    plan: bytes | None,
) -> Place:
    """The private working copy with the arm's skills in it, empty folders, and the plan that is handed on. The
    copy is added to `copies` as soon as there is something to remove.
    """
    _make_empty(folder)
    copy = bench.workspaces.create(template, folder)
    copies.append(copy)
    copy.write(placed_files(arm.skills, bench.agent.skill_root))
    for skill in arm.skills.values():
        _stage_skill(folder / "skills" / skill.name, skill.files)
    path = None if plan is None else folder / "plan.md"
    if path is not None and plan is not None:
        path.write_bytes(plan)
    return Place(folder, bench.sandbox.layout(folder), copy, template, path)


def renew(place: Place) -> None:
    """Give the next session a home, an output and a temporary folder of its own; those of the one before are kept
    beside them, out of its reach, for whoever looks for signs of tampering.
    """
    number = next(each for each in itertools.count(1) if not (place.folder / f"home-{each}").exists())
    for name in _OWN:
        (place.folder / name).rename(place.folder / f"{name}-{number}")
    _make_empty(place.folder)


def _make_empty(folder: Path) -> None:
    for name in _OWN:
        os.makedirs(f"{folder}/{name}", mode=0o700)  # noqa: PTH103 - for every cell


def _stage_skill(folder: Path, files: Mapping[str, bytes]) -> None:
    """The skill's bytes beside the copy, to be mounted read-only over their place in it."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
