"""Two verdicts beside each other: what differs, and nothing else. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bench.digest import canonical_json
from evolve.gate import PairVerdict, Promotion, TaskVerdict, Verdict
from evolve.replay.model import REPLAY_VERSION, Comparison, Difference


def compare(first: Promotion, second: Promotion) -> Comparison:
    """What two stored verdicts say differently."""
    return Comparison(
        schema_version=REPLAY_VERSION,
        first=_named(first),
        second=_named(second),
        evidence=canonical_json(first.evidence) == canonical_json(second.evidence),
        differences=tuple(_differences(first.verdict, second.verdict)),
    )


def _named(promotion: Promotion) -> str:
    return f"{promotion.metadata.run}, generation {promotion.metadata.generation}"


def _differences(first: Verdict, second: Verdict) -> Iterator[Difference]:
    yield from _values("", {"decision": first.decision, "policy": first.policy, "metric": first.metric}, {
        "decision": second.decision, "policy": second.policy, "metric": second.metric,
    })  # fmt: skip
    yield from _values("parameter ", first.parameters, second.parameters)
    yield from _reasons(first, second)
    pairs = ({pair.candidate_arm: pair for pair in each.pairs} for each in (first, second))
    yield from _pairs(*pairs)


def _reasons(first: Verdict, second: Verdict) -> Iterator[Difference]:
    for text in first.reasons:
        if text not in second.reasons:
            yield Difference(what="reason", first=text, second="-")
    for text in second.reasons:
        if text not in first.reasons:
            yield Difference(what="reason", first="-", second=text)


def _pairs(first: Mapping[str, PairVerdict], second: Mapping[str, PairVerdict]) -> Iterator[Difference]:
    for arm in sorted({*first, *second}):
        before = _tasks(first.get(arm))
        now = _tasks(second.get(arm))
        yield from _values(f"{arm}: ", before, now)


def _tasks(pair: PairVerdict | None) -> dict[str, Any]:
    """A pair's numbers as flat text by name."""
    if pair is None:
        return {}
    numbers = {} if pair.statistics is msgspec.UNSET else msgspec.to_builtins(pair.statistics)
    return {f"{name}": value for name, value in numbers.items()} | {
        f"task {task.task}": _task(task) for task in pair.tasks
    }


def _task(task: TaskVerdict) -> str:
    return f"{task.incumbent} → {task.candidate} ({task.effect})"


def _values(prefix: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    for key in sorted({*first, *second}):
        before, now = first.get(key), second.get(key)
        if before != now:
            yield Difference(what=f"{prefix}{key}", first=_shown(before), second=_shown(now))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value is None else canonical_json(value).decode()
