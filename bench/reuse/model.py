"""Where a cell's row comes from, as data."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from bench.results import ReuseKey, Row

Kind = Literal["fresh", "reused", "canary"]
Miss = Literal[
    "reuse-off",
    "no-prior",
    "no-template",
    "no-row",
    "not-measured",
    "conflicting",
    "foreign-plan",
    "differs",
    "unknown",
    "too-old",
    "from-the-future",
    "retired",
    "drift-unknown",
    "artifact-missing",
    "artifact-changed",
]

# what each reason says to people
MISSES: Mapping[Miss, str] = {
    "reuse-off": "reuse.from=none",
    "no-prior": "there is no earlier generation to reuse from",
    "no-template": "the task's starting state could not be built",
    "no-row": "the earlier generation has no row of this cell",
    "not-measured": "the earlier generation could not measure this cell",
    "conflicting": "the earlier generation has different rows of this cell",
    "foreign-plan": "the earlier row does not belong to the plan beside it",
    "differs": "something that the measurement depends on is another one",
    "unknown": "something that the measurement depends on is not known",
    "too-old": "the measurement is older than reuse.max_age_days",
    "from-the-future": "the time of the measurement lies in the future",
    "retired": "drift was found after the measurement",
    "drift-unknown": "a file that could name drift cannot be read",
    "artifact-missing": "an artifact of the earlier row is not in the store",
    "artifact-changed": "an artifact of the earlier row was changed in the store",
}


def miss_words(reason: str) -> str:
    """A reason of `Plan.misses`, such as `differs: provenance.skill`, in a reader's words."""
    miss, _, field = reason.partition(": ")
    if not field:
        return next((said for known, said in MISSES.items() if known == miss), miss)
    named = field.rpartition(".")[2].replace("_", " ")
    return f"the {named} is not known" if miss == "unknown" else f"the {named} is another one"


class Source(Struct, frozen=True, kw_only=True):
    """Where the row of one cell comes from. `row` is the digest of the earlier row: the one that stands for the
    cell, or that a canary is compared with. A fresh cell has a `reason`; where it is a `field`, both values of it.
    """

    kind: Kind
    row: str | None = None
    reason: Miss | None = None
    field: str | None = None
    before: str | int | None = None
    now: str | int | None = None
    detail: str | None = None


class Wanted(Struct, frozen=True):
    """A planned cell and what its measurement would depend on; no key where the template could not be built."""

    task: str
    arm: str
    repeat: int
    key: ReuseKey | None


class Limits(Struct, frozen=True, kw_only=True):
    """What keeps an earlier row out whatever it measured. `retired` is by provenance class: rows that were
    measured up to then are never reused again.
    """

    now: datetime
    max_age_days: float
    retired: Mapping[ReuseKey, datetime] = {}


class Selection(Struct, frozen=True):
    """The sources in the order of the cells, and the earlier rows that they name, by digest."""

    sources: tuple[Source, ...]
    rows: Mapping[str, Row]
