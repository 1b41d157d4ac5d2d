"""Refusals: everything that is wrong at one stage, each with what to do about it."""

from collections.abc import Iterable

from msgspec import Struct

from evolve.errors import ApplyError


class Problem(Struct, frozen=True):
    """One reason to refuse, and what to do about it."""

    what: str
    remedy: str


def refuse(heading: str, problems: Iterable[Problem]) -> None:
    """Raise the refusal, if there is a problem."""
    found = tuple(problems)
    if found:
        raise refusal(heading, found)


def refusal(heading: str, problems: Iterable[Problem]) -> ApplyError:
    """The error that lists the distinct problems."""
    return ApplyError("\n".join([heading, *map(_listed, dict.fromkeys(problems))]))


def _listed(problem: Problem) -> str:
    what = problem.what.replace("\n", "\n    ")
    remedy = problem.remedy.replace("\n", "\n      ")
    return f"  - {what}\n      {remedy}"
