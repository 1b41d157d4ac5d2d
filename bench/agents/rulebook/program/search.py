"""Runs ast-grep and reads its matches."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .contract import SessionProblem, Transcript
from .rules import Rule
from .text import cause_of, native

_SEVERITIES = ("critical", "high", "medium", "low")
_SEVERITY_OF_LEVEL = {"error": "high", "warning": "medium", "info": "low", "hint": "low"}
_MAX_RULES_BYTES = 120_000  # Linux allows 128 KiB for one argument
_MAX_ARGUMENT_BYTES = 256 * 1024
_MAX_OUTPUT_BYTES = 256 * 1024 * 1024
_MAX_COMPLAINT_BYTES = 64 * 1024


class _AstGrepFailure(Exception):  # noqa: N818 - it never leaves this module
    """ast-grep ended with a failure; the text is the cause that it gave."""


@dataclass(frozen=True)
class Engine:
    """How ast-grep is run: `scratch` is a private folder that is removed afterwards."""

    ast_grep: str
    workspace: Path
    scratch: Path
    transcript: Transcript


@dataclass(frozen=True)
class Edit:
    """Replaces the bytes [start, end) of a file."""

    start: int
    end: int
    replacement: bytes


@dataclass(frozen=True)
class Match:
    """A match: lines count from 1 and include the last; [start, end) are its bytes in the file."""

    path: bytes
    line: int
    end_line: int
    rule: str
    start: int
    end: int
    text: str
    message: str
    note: str
    severity: str
    category: str
    edit: Edit | None


def search(engine: Engine, rules: Sequence[Rule], files: Sequence[bytes]) -> Iterator[Match]:
    """All matches of the rules, in no particular order; malformed rules are refused even where no file is given.

    ast-grep itself passes over files that are not UTF-8 or very large (3 MB).
    """
    if not rules:
        return
    text = "\n---\n".join(rule.text for rule in rules)
    if len(text.encode("utf-8")) > _MAX_RULES_BYTES:
        raise SessionProblem(f"The rules have more than {_MAX_RULES_BYTES} bytes together; shorten them.")
    targets = dict(_target(engine, number, path) for number, path in enumerate(files))
    try:
        for batch in _batches(targets):
            for line in _run(engine, text, batch):
                yield _match(line, targets)
    except _AstGrepFailure as failure:
        raise SessionProblem(_blame(engine, rules, str(failure))) from failure


def _target(engine: Engine, number: int, path: bytes) -> tuple[str, bytes]:
    """The name under which ast-grep is given a file. It cannot take one that is not UTF-8, so it gets a copy."""
    try:
        return path.decode("utf-8"), path
    except UnicodeDecodeError:
        suffix = native(path).suffix
        copy = engine.scratch / f"{number}{suffix if suffix.isascii() else ''}"
        shutil.copyfile(engine.workspace / native(path), copy)
        return str(copy), path


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    """The names in groups that fit on a command line; one group at least."""
    batch: list[str] = []
    size = 0
    for name in names:
        needed = len(name.encode("utf-8")) + 16  # its end and its pointer
        if batch and size + needed > _MAX_ARGUMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += needed
    yield batch


def _run(engine: Engine, rules: str, names: Sequence[str]) -> Iterator[bytes]:
    """The lines that one run of ast-grep prints, one for each match."""
    engine.transcript.step()
    with tempfile.TemporaryFile() as complaint:
        with _start(engine, _command(engine, rules, names), complaint) as process:
            yield from _lines(process)
        if process.returncode not in (0, 1):  # 1: a rule of the level `error` has matched
            complaint.seek(0)
            cause = cause_of(complaint.read(_MAX_COMPLAINT_BYTES))
            raise _AstGrepFailure(cause or f"exit code {process.returncode}")


def _start(engine: Engine, command: Sequence[bytes], complaint: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(engine.scratch)}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command, cwd=engine.workspace, env=environment, stdin=null, stdout=pipe, stderr=complaint
        )
    except OSError as error:
        raise SessionProblem(
            f"ast-grep cannot be started: {error}. Is the path that this agent was given right?"
        ) from error


def _command(engine: Engine, rules: str, names: Sequence[str]) -> list[bytes]:
    # A configuration of our own, as the workspace's could be broken or bend the rules. `files:` of a rule stays
    # relative to the workspace, because inline rules take it from the current folder.
    config = engine.scratch / "sgconfig.yml"
    config.write_text("ruleDirs: []\n", encoding="ascii")
    command = [
        engine.ast_grep,
        "scan",
        "--config",
        str(config),
        "--json=stream",
        "--include-metadata",
        "--inline-rules",
    ]
    return [
        *map(os.fsencode, command),
        *(word.encode("utf-8") for word in (rules, "--", *(names or [os.devnull]))),
    ]


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What a process prints. Too much is an error, as which part would be left depends on ast-grep's threads."""
    size = 0
    for line in process.stdout or ():
        size += len(line)
        if size > _MAX_OUTPUT_BYTES:
            process.kill()
            raise SessionProblem(
                f"ast-grep printed more than {_MAX_OUTPUT_BYTES} bytes of matches; narrow the rules."
            )
        yield line


def _blame(engine: Engine, rules: Sequence[Rule], cause: str) -> str:
    """Which rule it is that ast-grep refuses, found by trying one after the other on no file."""
    for rule in rules:
        try:
            list(_run(engine, rule.text, ()))
        except _AstGrepFailure as failure:
            name = f"the rule {rule.identifier!r}" if rule.identifier else "a rule whose id cannot be read"
            return f"{rule.source}: ast-grep refuses {name}: {failure}"
    return f"ast-grep failed, though it accepts every rule by itself: {cause}"


def _match(line: bytes, targets: dict[str, bytes]) -> Match:
    try:
        found = json.loads(line.decode("utf-8", "replace"))
        return _parse_match(found, targets[found["file"]])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SessionProblem(
            f"The output of ast-grep is not understood ({type(error).__name__}: {error})."
        ) from error


def _parse_match(found: dict[str, Any], path: bytes) -> Match:
    """A match from its JSON object. A severity in the metadata that is none of ours leaves ast-grep's level."""
    first, last, offsets = found["range"]["start"], found["range"]["end"], found["range"]["byteOffset"]
    ends_before_line = last["column"] == 0 and last["line"] > first["line"]
    metadata = found.get("metadata") or {}
    severity, category = metadata.get("severity"), metadata.get("category")
    return Match(
        path=path,
        line=first["line"] + 1,
        end_line=last["line"] + (0 if ends_before_line else 1),
        rule=found["ruleId"],
        start=offsets["start"],
        end=offsets["end"],
        text=found["text"],
        message=(found["message"] or "").strip() or f"Matches the rule {found['ruleId']}.",
        note=(found["note"] or "").strip(),
        severity=severity if severity in _SEVERITIES else _SEVERITY_OF_LEVEL[found["severity"]],
        category=category.strip() if isinstance(category, str) and category.strip() else "correctness",
        edit=_edit(found),
    )


def _edit(found: dict[str, Any]) -> Edit | None:
    if "replacement" not in found:
        return None
    offsets = found["replacementOffsets"]
    return Edit(offsets["start"], offsets["end"], found["replacement"].encode("utf-8", "replace"))
