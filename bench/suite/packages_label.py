"""Labels files with ruff, pinned and without any settings but ours, and chooses the files of a task."""

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.errors import SuiteError
from bench.suite.model import Label, Severity
from bench.suite.packages_model import LabelTool

# The newest syntax, so that no file is unreadable only because it is modern.
_TARGET = "py314"
_CATEGORY = "correctness"


class _Place(Struct, frozen=True, order=True):
    row: int
    column: int


class Remark(Struct, frozen=True):
    """One thing that ruff says about a file, as its JSON output has it."""

    code: str | None
    filename: str
    location: _Place
    end_location: _Place

    @property
    def last_row(self) -> int:
        """The last line that holds something of it: an end at a line's start belongs to the line before."""
        ends_before = self.end_location.column == 1 and self.end_location.row > self.location.row
        return self.end_location.row - 1 if ends_before else self.end_location.row


def find_ruff(tool: LabelTool, folder: Path) -> Path:
    """The pinned ruff in `folder`; SuiteError with the command that installs it when it is not there."""
    ruff = folder / "ruff"
    advice = f"Install it with: {sys.executable} -m pip install 'ruff=={tool.version}'"
    if not ruff.is_file():
        raise SuiteError(f"ruff {tool.version}, which labels this suite, is not in {folder}.\n{advice}")
    found = _run([str(ruff), "--version"], folder).stdout.decode().split()[-1:]
    if found != [tool.version]:
        shown = "".join(found) or "an unknown version"
        raise SuiteError(f"this suite is labelled by ruff {tool.version}, but {ruff} is {shown}.\n{advice}")
    return ruff


def remarks_on(
    ruff: Path, tool: LabelTool, tree: Path, paths: Sequence[str]
) -> dict[str, tuple[Remark, ...]]:
    """What ruff says about each of the files `paths` below `tree`; a file that it cannot read is left out.

    Suppression comments are not honoured: a label is what the tool says, not what the author allowed.
    """
    readable = [path for path in paths if _is_utf8((tree / path).read_bytes())]
    if not readable:
        return {}
    command = [str(ruff), "check", "--isolated", "--no-cache", "--no-fix", "--exit-zero", "--ignore-noqa"]
    command += ["--target-version", _TARGET, "--select", ",".join(tool.selected), "--output-format", "json"]
    done = _run([*command, "--", *readable], tree)
    if done.returncode != 0:
        raise SuiteError(f"ruff could not label the files:\n{done.stderr.decode(errors='replace').strip()}")
    return _by_file(msgspec.json.decode(done.stdout, type=list[Remark]), tree.resolve(), readable)


def take_files(counts: Mapping[str, int], wanted: int) -> tuple[str, ...]:
    """The files of a task, from each readable file's number of labels: in sorted order until they hold `wanted`.

    A file that would bring the task above five quarters of `wanted` is passed over.
    """
    ceiling = wanted * 5 // 4
    taken: list[str] = []
    held = 0
    for path in sorted(counts):
        if held >= wanted:
            break
        if held + counts[path] <= ceiling:
            taken.append(path)
            held += counts[path]
    return tuple(taken)


def as_labels(remarks: Iterable[tuple[str, Remark]], severity: Severity) -> tuple[Label, ...]:
    """The remarks on a task's files, each with its path, as hidden labels. An id names the rule and counts on."""
    ordered = sorted(remarks, key=lambda each: (each[0], each[1].location, each[1].code or ""))
    return tuple(
        Label(
            id=f"{remark.code}-{number:03}",
            severity=severity,
            path=path,
            line_start=remark.location.row,
            line_end=remark.last_row,
            category=_CATEGORY,
        )
        for number, (path, remark) in enumerate(ordered, start=1)
    )


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    # ruff reads RUFF_* variables: with none at all, the labels depend on the files and the pin alone.
    return subprocess.run(
        command, cwd=folder, env={}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _by_file(remarks: Iterable[Remark], tree: Path, paths: Sequence[str]) -> dict[str, tuple[Remark, ...]]:
    found: dict[str, list[Remark]] = {path: [] for path in paths}
    for remark in remarks:
        found[Path(remark.filename).relative_to(tree).as_posix()].append(remark)
    return {path: tuple(of_file) for path, of_file in found.items() if not any(map(_is_unreadable, of_file))}


def _is_unreadable(remark: Remark) -> bool:
    return remark.code is None or remark.code == "invalid-syntax"


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
