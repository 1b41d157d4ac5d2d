"""Where an agent's own numbers are not those that the gateway measured. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from bench.measured import Usage
from bench.results.row import Row

COUNTED = ("input", "cache_read", "cache_write", "output", "reasoning", "cost_usd")
_SAME = 1e-9  # dollars; counts are whole


class Disagreement(Struct, frozen=True, kw_only=True):
    """One number of one arm: of how many sessions the agent says something else, and what both say of these together;
    `measured` is None if the gateway does not know it of one of them. Tokens, or dollars of `cost_usd`.
    """

    arm: str
    what: str
    sessions: int
    measured: float | None
    told: float


def disagreements(rows: Iterable[Row]) -> tuple[Disagreement, ...]:
    """By arm in the order of the rows, then by number in the order of COUNTED."""
    pairs: dict[str, list[tuple[Usage, Usage]]] = {}
    for row in rows:
        both = [(row.sessions.get(name), own) for name, own in row.reported.items()]
        pairs.setdefault(row.identity.arm, []).extend((one or Usage(), own) for one, own in both)
    found = (_of(arm, what, of_arm) for arm, of_arm in pairs.items() for what in COUNTED)
    return tuple(each for each in found if each is not None)


def _of(arm: str, what: str, pairs: Sequence[tuple[Usage, Usage]]) -> Disagreement | None:
    numbers = [(getattr(measured, what), getattr(own, what)) for measured, own in pairs]
    apart = [(measured, own) for measured, own in numbers if own is not None and _differ(measured, own)]
    if not apart:
        return None
    known = [measured for measured, _ in apart if measured is not None]
    return Disagreement(
        arm=arm,
        what=what,
        sessions=len(apart),
        measured=sum(known) if len(known) == len(apart) else None,
        told=sum(own for _, own in apart),
    )


def _differ(measured: float | None, own: float) -> bool:
    return measured is None or abs(measured - own) > _SAME
