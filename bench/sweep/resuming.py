"""Whether an interrupted sweep can go on: nothing that its cells depend on may have changed meanwhile."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import structs

from bench.arms import Arm, Journal, Workbench, read_sessions
from bench.arms.provenance import provenance
from bench.digest import digest_json
from bench.errors import RunError
from bench.harness import first_difference
from bench.results import ObjectStore, Provenance, read_rows
from bench.spend import OpenPurse
from bench.sweep.foundation import TEMPLATE, differences, foundation
from bench.sweep.ground import Ground, declared, open_workbench
from bench.sweep.model import Plan

_MOST_NAMED = 10
_DIGEST_LENGTH = 64
JOURNAL = "journal.jsonl"
HARNESS = "harness"

_Work = tuple[tuple[str, str], Provenance]


def refuse_changed(ground: Ground, plan: Plan, arms: Mapping[str, Arm], folder: Path) -> None:
    """RunError naming all that changed since the plan was sealed, or since the first of its rows was measured."""
    changed = list(_of_plan(ground, plan))
    if not changed:  # else the project may no longer have the tasks and arms that were measured
        store, forgetful = ObjectStore(folder), Journal(folder / JOURNAL, plan.suite)
        bench = open_workbench(ground, plan, arms, store, forgetful, OpenPurse(ground.config.timeout))
        named = first_difference(plan.harness, ground.harness)
        changed = [*_of_work(bench, _done(folder), named)] or [*_of_foundation(bench, plan, named)]
    if not changed:
        return
    listed = "".join(f"\n  {each}" for each in changed[:_MOST_NAMED])
    more = f"\n  and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    raise RunError(
        f"{folder} cannot go on: what its cells depend on was changed since{listed}{more}\n"
        "  put it back as it was, or start a new run: rows that still hold are reused"
    )


def _of_plan(ground: Ground, plan: Plan) -> Iterator[str]:
    if plan.suite != ground.suite.digest:
        yield _said("the suite", plan.suite, ground.suite.digest)
    configuration = digest_json(ground.config)
    if plan.configuration != configuration:
        yield _said("the configuration", plan.configuration, configuration)
    now, then = structs.asdict(declared(ground)), structs.asdict(plan.declared)
    for name, value in now.items():
        if then[name] != value:
            yield _said(name, then[name], value)


def _of_foundation(bench: Workbench, plan: Plan, harness: str | None) -> Iterator[str]:
    """What cells depend on that nothing was paid for yet, or that earlier rows stand for."""
    for name in differences(plan.foundation, foundation(bench, plan)):
        yield harness if name == HARNESS and harness else f"{name} of some cells"


def _done(folder: Path) -> Iterator[_Work]:
    """The cells of which something was paid: those with a row, then those with a session."""
    path = folder / "results.jsonl"
    for row in read_rows(path)[0] if path.exists() else ():
        yield (row.identity.task, row.identity.arm), row.provenance
    for entry in read_sessions(folder / JOURNAL):
        yield (entry.task, entry.arm), entry.provenance


def _of_work(bench: Workbench, done: Iterable[_Work], harness: str | None) -> Iterator[str]:
    """What the first work on each task by each arm depended on, where it is something else now."""
    seen: set[tuple[str, str, str]] = set()
    for (task, arm), before in _first(done).items():
        if task not in bench.tasks or arm not in bench.arms:
            yield f"what was measured: task {task}, arm {arm} is not planned"
            continue
        now = structs.asdict(provenance(bench, bench.arms[arm], bench.tasks[task], None))
        for name, value in structs.asdict(before).items():
            difference = (name, str(value), str(now[name]))
            if name not in TEMPLATE and value != now[name] and difference not in seen:
                seen.add(difference)
                named = harness if name == HARNESS else None
                yield named or _said(f"{name} (seen in task {task}, arm {arm})", value, now[name])


def _first(done: Iterable[_Work]) -> Mapping[tuple[str, str], Provenance]:
    first: dict[tuple[str, str], Provenance] = {}
    for pair, depends in done:
        first.setdefault(pair, depends)
    return first


def _said(what: str, then: object, now: object) -> str:
    return f"{what}: {_short(then)} then, {_short(now)} now"


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:12]}…" if len(text) == _DIGEST_LENGTH else text
