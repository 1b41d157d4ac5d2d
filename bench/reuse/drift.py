"""Drift: the same provenance, but another behaviour. Canaries are compared with what was measured first. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from math import comb
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from bench.arms import same_measurement
from bench.digest import digest_json
from bench.results import ReuseKey, Row, class_fields, class_of, reuse_key

DRIFT_VERSION = 1
ALPHA = Fraction(5, 100)  # of a false alarm, over all looks that are ever taken at one class
_EVEN_LOOKS = 10

Moment = Annotated[datetime, Meta(tz=True)]
Compared = tuple[Row, Row]  # the earlier row, the fresh one of its canary


class Pair(Struct, frozen=True, array_like=True):
    """A cell of the pool: what was measured of it first, what its latest canary gave, and before which look that was."""

    first: float
    latest: float
    look: int


class Pool(Struct, frozen=True, kw_only=True):
    """All canaries of one provenance class since it began, by digest of their cell's key, and the looks so far."""

    fields: dict[str, str | int | None]
    looks: int = 0
    pairs: dict[str, Pair] = {}


class Retired(Struct, frozen=True, kw_only=True):
    """A provenance class whose rows, measured up to `at`, are never reused again."""

    fields: dict[str, str | int | None]
    at: Moment
    why: str


class DriftState(Struct, frozen=True, kw_only=True):
    """What a generation knows of drift, and the next one starts from."""

    pool: Pool | None = None
    retired: tuple[Retired, ...] = ()


class DriftFile(Struct, frozen=True, kw_only=True):
    """`drift.json` of a generation: what it started from, and what it left, once its cells were measured."""

    schema_version: int
    before: DriftState
    after: DriftState | None = None
    found: str | None = None

    @property
    def state(self) -> DriftState:
        """The latest that is known."""
        return self.before if self.after is None else self.after


def key_digest(key: ReuseKey) -> str:
    """The name of a cell's key in a pool."""
    return digest_json(list(key))


def retired_classes(state: DriftState) -> dict[ReuseKey, datetime]:
    """When each class was retired last, as `Limits` wants it."""
    latest: dict[ReuseKey, datetime] = {}
    for each in state.retired:
        key = tuple(each.fields.get(name) for name in class_fields())
        latest[key] = max(each.at, latest.get(key, each.at))
    return latest


def all_retired(states: Iterable[DriftState]) -> tuple[Retired, ...]:
    """Every retirement that any generation knows of, once."""
    found = {(digest_json(each.fields), each.at): each for state in states for each in state.retired}
    return tuple(found[key] for key in sorted(found))


def latest_pool(states: Iterable[DriftState], measures: ReuseKey) -> Pool | None:
    """The evidence of a provenance class, whichever generation had it last: that with the most looks among those that
    know of every retirement of the class, for what was pooled before one is judged.
    """
    known = list(states)
    fields = dict(zip(class_fields(), measures, strict=True))
    retired = {each.at for state in known for each in state.retired if each.fields == fields}
    pools = [
        state.pool
        for state in known
        if state.pool is not None
        and state.pool.fields == fields
        and retired <= {each.at for each in state.retired if each.fields == fields}
    ]
    return max(reversed(pools), key=lambda pool: (pool.looks, len(pool.pairs)), default=None)


def judge_drift(
    before: DriftState, compared: Sequence[Compared], *, now: datetime, deterministic: bool, complete: bool
) -> DriftFile:
    """The drift file of a generation whose canaries gave `compared`. A sweep that was cut short adds its pairs to
    the pool, but takes no look at it.
    """
    if not compared:
        return DriftFile(schema_version=DRIFT_VERSION, before=before, after=before)
    pool = _taken(before.pool, compared)
    if complete:
        pool = structs.replace(pool, looks=pool.looks + 1)
    found = _contradiction(compared) if deterministic else _significant(pool) if complete else None
    after = DriftState(pool=pool, retired=before.retired)
    if found is not None:
        retired = Retired(fields=pool.fields, at=now, why=found)
        after = DriftState(pool=None, retired=(*before.retired, retired))
    return DriftFile(schema_version=DRIFT_VERSION, before=before, after=after, found=found)


def sign_test(ups: int, downs: int) -> Fraction:
    """The exact two-sided p-value of so many rises and falls, if both were as likely."""
    total = ups + downs
    tail = sum(comb(total, count) for count in range(min(ups, downs) + 1))
    return min(Fraction(1), Fraction(2 * tail, 2**total))


def alpha_of(look: int) -> Fraction:
    """What a look, counted from 1, may spend: half of ALPHA evenly over the first ten, the rest over all others."""
    if look <= _EVEN_LOOKS:
        return ALPHA / 2 / _EVEN_LOOKS
    later = look - _EVEN_LOOKS
    return ALPHA / 2 / (later * (later + 1))


def value_of(row: Row) -> float:
    """What is compared: the weighted F1 of a review that has one, else whether the cell was resolved."""
    if row.score is not None and row.score.weighted_f1 is not None:
        return row.score.weighted_f1
    return float(row.outcome.resolved)


def class_named(fields: Mapping[str, Any]) -> str:
    """A provenance class for people."""
    shown = {
        name.partition(".")[2] if name.startswith("identity") else name: value
        for name, value in fields.items()
    }
    return ", ".join(
        f"{name} {str(value)[:12] if name.startswith('provenance') else value}"
        for name, value in shown.items()
        if value is not None
    )


def _taken(pool: Pool | None, compared: Sequence[Compared]) -> Pool:
    """The pool with these pairs: one for each key, because pairs that share their first value are not independent."""
    fields = dict(zip(class_fields(), class_of(reuse_key(compared[0][1])), strict=True))
    if pool is None or pool.fields != fields:
        pool = Pool(fields=fields)
    pairs = dict(pool.pairs)
    for earlier, fresh in compared:
        key = key_digest(reuse_key(fresh))
        first = pairs[key].first if key in pairs else value_of(earlier)
        pairs[key] = Pair(first, value_of(fresh), pool.looks + 1)
    return structs.replace(pool, pairs=pairs)


def _significant(pool: Pool) -> str | None:
    """What the pooled test says; None while chance explains it."""
    ups = sum(pair.latest > pair.first for pair in pool.pairs.values())
    downs = sum(pair.latest < pair.first for pair in pool.pairs.values())
    chance = sign_test(ups, downs)
    if chance > alpha_of(pool.looks):
        return None
    return (
        f"of {len(pool.pairs)} cells that were measured again, {downs} got worse and {ups} better than at first "
        f"(exact sign test, p = {float(chance):.2g}, look {pool.looks})"
    )


def _contradiction(compared: Sequence[Compared]) -> str | None:
    """The first canary of a deterministic agent that is not what it was."""
    for earlier, fresh in compared:
        differing = same_measurement(earlier, fresh)
        if differing is not None:
            cell = "/".join(map(str, fresh.key))
            return f"the agent declares itself deterministic, but {cell} differs in {differing} from when it was measured"
    return None
