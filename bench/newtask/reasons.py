"""Why a commit makes no task. Pure."""

import re
from collections.abc import Iterator, Sequence

from bench.newtask.model import Commit

MOST_TESTS = 6  # an oracle holds 8 files, and two are its runner and its plan
MOST_CODE = 10
_ANOTHER = re.compile(r";|\balso\b|\s\+\s|\bas well as\b", re.IGNORECASE)
_POINT = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)


def refusals(commit: Commit, *, one_purpose: bool) -> tuple[str, ...]:
    """What can be seen of a commit without running anything; empty if nothing speaks against it."""
    if not commit.parents:
        return ("it is the first commit: there is nothing before it to start from",)
    if len(commit.parents) > 1:
        return (f"it is a merge of {len(commit.parents)} commits: take the one that did the work",)
    return (*_of_tests(commit), *_of_code(commit), *(() if one_purpose else _of_purpose(commit)))


def outcome_refusal(repaired: Sequence[str], passing: Sequence[str]) -> str | None:
    """Why the hidden tests, run with and without the commit's change, make no task; None if they do."""
    if not passing:
        return "none of its tests passes with its own change, here in the sandbox: they may need packages (--requirements)"
    if not repaired:
        return "its tests pass without its change, too: they do not show what it repaired"
    return None


def _of_tests(commit: Commit) -> Iterator[str]:
    tests = commit.tests
    python = [path for path in tests if path.endswith(".py")]
    other = sorted({path.rpartition(".")[2] for path in tests if not path.endswith(".py")})
    if not tests:
        yield "it adds or changes no test: nothing would show whether a solution is right"
    elif not python:
        yield f"its tests are written in another language ({', '.join(other)}): only Python's can be made into a hidden test"
    elif len(tests) > MOST_TESTS:
        yield f"it changes {len(tests)} files of tests, more than the {MOST_TESTS} that a hidden test can hold"


def _of_code(commit: Commit) -> Iterator[str]:
    if not commit.code:
        yield "it changes nothing but tests and prose: there is nothing to solve"
    elif len(commit.code) > MOST_CODE:
        yield f"it changes {len(commit.code)} files of code, more than {MOST_CODE}: that is hardly one thing"


def _of_purpose(commit: Commit) -> Iterator[str]:
    points = len(_POINT.findall(commit.body))
    if _ANOTHER.search(commit.subject):
        yield f"its message names two purposes ({commit.subject!r}): one task asks for one thing (--one-purpose says that it is one)"
    elif points > 1:
        yield f"its message lists {points} things: one task asks for one thing (--one-purpose says that it is one)"
