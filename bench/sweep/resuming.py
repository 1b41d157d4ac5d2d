"""Whether an interrupted sweep can go on: nothing that its cells depend on may have changed meanwhile."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from bench.arms import Arm, Journal, Workbench
from bench.arms.provenance import provenance
from bench.digest import digest_json
from bench.errors import RunError
from bench.results import ObjectStore, Row, read_rows
from bench.spend import OpenPurse
from bench.sweep.ground import Ground, declared, open_workbench
from bench.sweep.model import Plan

_TEMPLATE = ("base_commit", "sanitized_commit", "template")
_MOST_NAMED = 10
_DIGEST_LENGTH = 64


def refuse_changed(ground: Ground, plan: Plan, arms: Mapping[str, Arm], folder: Path) -> None:
    """RunError naming all that changed since the plan was sealed, or since the first of its rows was measured."""
    path = folder / "results.jsonl"
    rows = read_rows(path)[0] if path.exists() else ()
    store, forgetful = ObjectStore(folder), Journal(folder / "journal.jsonl", plan.suite)
    bench = open_workbench(ground, plan, arms, store, forgetful, OpenPurse(ground.config.timeout))
    changed = [*_of_plan(ground, plan), *_of_rows(bench, rows)]
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


def _of_rows(bench: Workbench, rows: Sequence[Row]) -> Iterator[str]:
    """What the first row of each task and arm was measured with, where it is something else now."""
    seen: set[tuple[str, str, str]] = set()
    for (task, arm), row in _first(rows).items():
        now = structs.asdict(provenance(bench, bench.arms[arm], bench.tasks[task], None))
        for name, value in structs.asdict(row.provenance).items():
            if (
                name not in _TEMPLATE
                and value != now[name]
                and (name, str(value), str(now[name])) not in seen
            ):
                seen.add((name, str(value), str(now[name])))
                yield _said(f"{name} (seen in task {task}, arm {arm})", value, now[name])


def _first(rows: Sequence[Row]) -> Mapping[tuple[str, str], Row]:
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.identity.task, row.identity.arm), row)
    return first


def _said(what: str, then: object, now: object) -> str:
    return f"{what}: {_short(then)} then, {_short(now)} now"


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:12]}…" if len(text) == _DIGEST_LENGTH else text
