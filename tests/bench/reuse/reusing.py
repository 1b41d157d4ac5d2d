"""`bench`, run again and again in one small project."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.project import list_runs


class Reusing:
    """Runs `bench` again and again in one project, without canaries."""

    def __init__(self, project: CellProject, capsys: pytest.CaptureFixture[str]) -> None:
        self.project, self._capsys = project, capsys
        self.said = ""

    def run(self, *more: str, code: int = 0) -> Any:
        """The result of a run as data, or None for a refusal."""
        flags = [word for word in more if word.startswith("--")]
        overrides = self.project.overrides("reuse.canaries=0", *(word for word in more if word not in flags))
        ended = main([*overrides, *flags, "--root", str(self.project.root), "--json"])
        shown = self._capsys.readouterr()
        self.said = shown.err
        assert ended == code, shown.err
        return json.loads(shown.out) if code == 0 else None

    def refused(self, name: str) -> str:
        """What is said of a run that cannot be reused by its name."""
        self.run(f"reuse.from={name}", code=2)
        assert "Traceback" not in self.said
        return self.said

    @property
    def folder(self) -> Path:
        """The folder of the newest run."""
        return list_runs(self.project.root)[-1].path

    @property
    def sources(self) -> Sequence[dict[str, Any]]:
        """The sources of the newest run's cells."""
        found: Sequence[dict[str, Any]] = json.loads((self.folder / "plan.json").read_bytes())["sources"]
        return found

    @property
    def reasons(self) -> Sequence[str | None]:
        """Why each cell of the newest run was measured; None where an earlier row stands for it."""
        return [source["reason"] for source in self.sources]


def measured_once(project: CellProject, capsys: pytest.CaptureFixture[str]) -> Reusing:
    """The project with two tasks and two arms, one of them with a skill and a tool, measured once."""
    project.tree({"a.txt": "a\n", "b/c.txt": "c\n"})
    for name in ("one", "two"):
        project.task(name, "test -e new", verify="true", setup="true")
    project.skill("helper", "Help.")
    project.write("tools/notes/note.txt", "a note\n")
    project.arm("first")
    project.arm(
        "second",
        {"work": {"kind": "work", "skills": ["helper"]}},
        skills=["helper"],
        tools={"notes": {"kind": "folder", "source": "tools/notes", "target": "/opt/notes"}},
    )
    project.agent("open('new', 'w').write('x')")
    reusing = Reusing(project, capsys)
    reusing.run()
    return reusing
