"""Rows that do not belong together, or not to what is judged: they are evidence of nothing. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from bench.results import Row
from bench.text import printable

# What the rows of one arm on one task must have in common, or they did not measure the same thing.
MEASURED_WITH = (
    "harness", "prompt", "agent", "skill", "overlay", "plugin", "setup", "verify", "oracle", "oracle_command",
)  # fmt: skip
_NAMED = ("generation", "plan", "agent", "agent_version", "model", "effort")

Pairs = Iterable[tuple[str, str]]  # (incumbent arm, candidate arm)


class Expected(Struct, frozen=True, kw_only=True):
    """What every row of one generation must say of itself. `agent` is name/version, `cells` those of the plan;
    `roles` are by arm. Rows of candidate arms carry the `overlay`, all others none.
    """

    plan: str
    generation: int
    agent: str
    model: str | None
    effort: str | None
    seed: int
    overlay: str | None
    cells: frozenset[tuple[str, str, int]]
    roles: Mapping[str, str]


def mixture_faults(rows: Sequence[Row], pairs: Pairs) -> Iterator[str]:
    """Why these rows are no evidence together, whatever was planned."""
    for name in _NAMED:
        found = {getattr(row.identity, name) for row in rows}
        if len(found) > 1:
            yield f"rows of more than one {name.replace('_', ' ')} are no evidence together: {_listed(found)}"
    candidates = {candidate for _, candidate in pairs}
    overlays = {row.provenance.overlay for row in rows if row.identity.arm in candidates}
    if len(overlays) > 1:
        yield f"rows of candidate arms are of more than one overlay: {_listed(overlays)}"
    yield from _differing_provenance(rows)


def foreign_faults(rows: Iterable[Row], expected: Expected) -> Iterator[str]:
    """What rows say of themselves that is not what was planned, each once."""
    yield from dict.fromkeys(fault for row in rows for fault in _foreign(row, expected))


def repeated_tasks(tasks: Iterable[str]) -> Iterator[str]:
    """Tasks of which there are two sets of facts: nobody could say which one counts."""
    yield from (f"task {name} is planned twice" for name, count in Counter(tasks).items() if count > 1)


def unpaired_faults(rows: Iterable[Row], pairs: Pairs, tasks: Iterable[str]) -> Iterator[str]:
    """Tasks on which an incumbent and its candidate were not measured in the same repeats."""
    repeats: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        repeats.setdefault((row.identity.task, row.identity.arm), set()).add(row.identity.repeat)
    planned = sorted(set(tasks))
    for incumbent, candidate in sorted(set(pairs)):
        for task in planned:
            alone = repeats.get((task, incumbent), set()) ^ repeats.get((task, candidate), set())
            if alone:
                yield f"task {task}: repeats {_listed(alone)} of {incumbent} and {candidate} are not paired"


def _differing_provenance(rows: Iterable[Row]) -> Iterator[str]:
    """Arms and tasks of which not all rows were measured with the same."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.identity.arm, row.identity.task), []).append(row)
    for (arm, task), group in sorted(groups.items()):
        for name in MEASURED_WITH:
            if len({getattr(row.provenance, name) for row in group}) > 1:
                yield f"rows of arm {arm} on task {task} were measured with more than one {name}"


def _foreign(row: Row, expected: Expected) -> Iterator[str]:
    identity, role = row.identity, expected.roles.get(row.identity.arm)
    overlay = expected.overlay if role == "candidate" else None
    rules: Mapping[str, tuple[object, object]] = {
        "plan": (identity.plan, expected.plan),
        "generation": (identity.generation, expected.generation),
        "agent": (f"{identity.agent}/{identity.agent_version}", expected.agent),
        "model": (identity.model, expected.model),
        "effort": (identity.effort, expected.effort),
        "seed": (identity.seed, expected.seed),
        f"role of arm {identity.arm}": (identity.role, role),
        f"overlay of arm {identity.arm}": (row.provenance.overlay, overlay),
    }
    for name, (found, wanted) in rules.items():
        if found != wanted:
            yield f"rows of another {name}: {_said(found)}, not {_said(wanted)}"
    if row.key not in expected.cells:
        yield f"a row of a cell that was not planned: {'/'.join(map(str, row.key))}"


def _listed(values: Iterable[object]) -> str:
    return ", ".join(sorted(map(_said, values)))


def _said(value: object) -> str:
    return "none" if value is None else printable(str(value))
