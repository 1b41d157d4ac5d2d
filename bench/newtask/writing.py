"""The files of a proposed task, and of a suite that holds it. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from bench.digest import canonical_json
from bench.newtask.model import Commit

RUNNER = "run_tests.py"
_TRAILER = re.compile(
    r"^(?:[A-Z][A-Za-z-]*-by|Change-Id|Refs?|Fixes|Closes|Resolves)\b.*$", re.MULTILINE | re.IGNORECASE
)
_NUMBER = re.compile(r"\s*\(?#\d+\)?")
_ITEM = re.compile(r"^( *)- ", re.MULTILINE)
_LONGEST_ID = 60


def task_id(commit: Commit) -> str:
    """A name for the task, from the commit's subject."""
    words = re.sub(r"[^a-z0-9]+", "-", _NUMBER.sub("", commit.subject).lower()).strip("-")
    short = words[:_LONGEST_ID].rpartition("-")[0] if len(words) > _LONGEST_ID else words
    return short or f"commit-{commit.sha[:12]}"


def prompt_text(commit: Commit) -> bytes:
    """What is asked for, in the words of the commit, without trailers and numbers of issues."""
    subject = _NUMBER.sub("", commit.subject).strip().rstrip(".")
    body = _NUMBER.sub("", _TRAILER.sub("", commit.body)).strip()
    told = f"{body}\n\n" if body else ""
    return (
        f"{subject}.\n\n{told}Change the code of this repository so that this is so. What was not asked for stays as it is, "
        "and the tests that are there keep passing.\n"
    ).encode()


def plan_file(runner: str, files: Mapping[str, str], expected: Sequence[str]) -> bytes:
    """What the hidden test's runner reads."""
    return canonical_json({"runner": runner, "files": files, "expected": sorted(expected)}) + b"\n"


def module_name(path: str) -> str:
    """The name under which unittest imports a test."""
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def verify_command(runner: str, tests: Sequence[str], *, has_src: bool) -> str:
    """The visible check: the tests as they are before the change; empty where there are none."""
    if not tests:
        return ""
    path = "PYTHONPATH=src:. " if has_src else ""
    if runner == "pytest":
        return (
            f"{path}python3 -B -m pytest -q -o addopts= -p no:cacheprovider {' '.join(map(_quoted, tests))}"
        )
    return f"{path}python3 -B -m unittest {' '.join(_quoted(module_name(test)) for test in tests)}"


def suite_files(name: str, entries: Sequence[Mapping[str, Any]], repository: str) -> Mapping[str, bytes]:
    """`suite.yaml` of a new suite with these tasks, whose sources are at `repository`."""
    head = f"schema: suite/1\nname: {name}\ntasks:\n"
    return {"suite.yaml": (head + "".join(entry_text(each, repository, "  ") for each in entries)).encode()}


def with_repository(entry: Mapping[str, Any], repository: str) -> dict[str, Any]:
    """A task's entry, its source where it is."""
    return {**entry, "source": {"repository": repository, **entry["source"]}}


def with_entry(manifest: str, entry: Mapping[str, Any], repository: str) -> str:
    """A suite file with one more task at its end, in the columns of those before it."""
    found = _ITEM.search(manifest)
    return f"{manifest.rstrip()}\n{entry_text(entry, repository, found[1] if found else '  ')}"


def entry_text(entry: Mapping[str, Any], repository: str, margin: str) -> str:
    """A task's entry as it stands in a suite file."""
    text = yaml.safe_dump(
        [with_repository(entry, repository)], sort_keys=False, allow_unicode=True, width=110
    )
    return "".join(f"{margin}{line}" for line in text.splitlines(keepends=True))


def option_file(name: str) -> bytes:
    """The option of the group `suite` that leads to the suite."""
    return (
        f"# Tasks made of commits of this repository.\nname: {name}\npath: suites/{name}\n"
        f"learnings: learnings/{name}.jsonl\nprepare: null\n"
    ).encode()


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./-]+", word) else "'" + word.replace("'", "'\\''") + "'"
