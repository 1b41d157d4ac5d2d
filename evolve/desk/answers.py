"""The answers of proposing sessions, kept in the run's folder so that none is paid twice."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.measured import SessionReport
from bench.project import RunFolder
from evolve.propose import Answer

PROPOSING = "proposing"
ANSWER = "answer.json"
ANSWER_VERSION = 1


class ShownFile(Struct, frozen=True):
    """A file of the evidence that the session was shown: its digest, and its size in bytes."""

    digest: str
    size: int


class AnswerFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`answer.json`: what a proposing session left, on which skills (`base`), by whom, and of what it was shown.

    `prompt` is the digest of all that it was told; `files` are the overlay's, by canonical path; `refused` says why there are none.
    """

    schema_version: int
    base: str
    agent: str
    model: str | None
    effort: str | None
    prompt: str
    seconds: float
    report: SessionReport
    evidence: Mapping[str, ShownFile]
    trimmed: tuple[str, ...]
    files: Mapping[str, str]
    text: str
    refused: str | None


def answer_folder(run: RunFolder, number: int) -> Path:
    """Where the proposing sessions of one generation leave what there is of them."""
    return run.path / PROPOSING / f"gen-{number}"


def was_proposing(run: RunFolder) -> bool:
    """Whether a proposing session of the run has left anything."""
    return (run.path / PROPOSING).exists()


def write_answer(folder: Path, answer: AnswerFile) -> Answer:
    """Write the answer, all of it or nothing, and wait until the disk has it."""
    write_whole(folder / ANSWER, canonical_json(answer) + b"\n")
    return _as_answer(folder, answer)


def read_answer(folder: Path, base: str) -> Answer | None:
    """The answer; None where there is none. RunError if it is damaged, or was given on other skills."""
    path = folder / ANSWER
    if not path.exists():
        return None
    try:
        answer = msgspec.json.decode(path.read_bytes(), type=AnswerFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path} cannot be read: {error}\n  restore it from a copy, or start a new run"
        ) from error
    if answer.schema_version != ANSWER_VERSION:
        raise RunError(
            f"{path}: schema_version {answer.schema_version} is not supported, only {ANSWER_VERSION}\n"
            "  go on with the version of incumbent that wrote it, or start a new run"
        )
    if answer.base != base:
        raise RunError(
            f"{path} was proposed on other skills than those that the project holds now\n"
            "  put them back, or start a new run"
        )
    return _as_answer(folder, answer)


def _as_answer(folder: Path, answer: AnswerFile) -> Answer:
    return Answer(files=answer.files, text=answer.text, refused=answer.refused, folder=str(folder))
