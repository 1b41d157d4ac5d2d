"""A verdict's table on the screen reads well for both kinds of policy."""

from typing import Any

from evolve.gate import PairVerdict, TaskVerdict, Verdict
from evolve.summary import pair_table


def row(name: str, incumbent: float | None, candidate: float | None, **changes: Any) -> TaskVerdict:
    fields = {
        "task": name, "task_class": "fix", "split": "train", "incumbent": incumbent, "candidate": candidate,
        "change": None, "effect": "same", "reasons": (),
    }  # fmt: skip
    return TaskVerdict(**(fields | changes))


def table(*tasks: TaskVerdict, means: Any, median_change: float | None = None, **changes: Any) -> list[str]:
    pair = PairVerdict(
        incumbent_arm="direct", candidate_arm="candidate_direct", decision="promote", reasons=(), tasks=tasks,
        means=means, median_change=median_change,
    )  # fmt: skip
    verdict = Verdict(decision="promote", reasons=(), policy="p", parameters={}, pairs=(pair,), **changes)
    return pair_table(verdict, pair)


def test_a_ranking_by_cost_shows_percent_resolved_cells_and_what_is_not_counted() -> None:
    lines = table(
        row("equal", 3.0, 3.0, change=0.0, incumbent_resolved=(3, 3), candidate_resolved=(3, 3)),
        row("gone", 3.0, None, effect="unknown", incumbent_resolved=(3, 3)),
        row("hard", 9.0, 12.5, change=38.9, incumbent_resolved=(0, 3), candidate_resolved=(0, 3), ungated="neither arm resolves it"),
        row("vain", 2.0, 5.0, change=150.0, effect="worse", incumbent_resolved=(0, 3), candidate_resolved=(0, 3), ungated="neither arm resolves it"),
        row("solved", 10.0, 8.0, change=-20.0, effect="better", incumbent_resolved=(1, 3), candidate_resolved=(3, 3)),
        means={"all": (6.25, 7.5), "holdout": (0.0, 7.5)}, median_change=-10.0, metric="turns", change_as="percent",
    )  # fmt: skip
    assert lines == [
        "  turns              split  direct  candidate_direct    change   resolved",
        "  vain               train     2.0               5.0  +150.0 %  0/3 → 0/3  worse",
        "  gone               train     3.0               n/a            3/3 → n/a  unknown",
        "  solved             train    10.0               8.0   -20.0 %  1/3 → 3/3  better",
        "  equal              train     3.0               3.0    +0.0 %  3/3 → 3/3  same",
        "  hard               train     9.0              12.5   +38.9 %  0/3 → 0/3  not counted: neither arm resolves it",
        "  mean over all                6.2               7.5   +20.0 %",
        "  mean over holdout            0.0               7.5",
        "  median change                                        -10.0 %",
    ]


def test_a_ranking_by_score_shows_differences_and_no_column_that_it_does_not_judge() -> None:
    lines = table(
        row("better", 0.5, 0.75, change=0.25, effect="better"), row("clean", None, None),
        means={"all": (0.5, 0.75)}, metric="weighted_f1",
    )  # fmt: skip
    assert lines == [
        "  weighted_f1    split  direct  candidate_direct  change",
        "  better         train   0.500             0.750  +0.250  better",
        "  clean          train     n/a               n/a          same",
        "  mean over all          0.500             0.750  +0.250",
    ]


def test_dollars_keep_their_digits() -> None:
    lines = table(row("a", 0.0123, 0.0111, change=-9.8), means={}, metric="cost_usd", change_as="percent")
    assert lines[1].split() == ["a", "train", "0.0123", "0.0111", "-9.8", "%", "same"]
