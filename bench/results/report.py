"""`report.md`: one sweep for a pull request. Pure; every value is neutral to Markdown and to terminals."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from bench.results.aggregate import Aggregate, aggregate, by_cell, known_mean
from bench.results.disagreement import Disagreement, disagreements
from bench.results.health import ArmHealth
from bench.results.row import Row
from bench.results.savings import SAVED, Saving, median_saving
from bench.text import printable

_TASK_COLUMNS = (
    "task", "split", "arm", "weighted F1", "false positives", "verdicts right", "resolved", "cost", "turns", "s"
)  # fmt: skip
_BASE = "no_skill"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


class ReportVerdict(Struct, frozen=True):
    """What was decided, in one sentence, why, and what can be done about it."""

    sentence: str
    reasons: tuple[str, ...]
    advice: str | None = None


class SpendLine(Struct, frozen=True, kw_only=True):
    """What one arm's sessions used. `cost` is written out, null if none of it is known; so is `tokens`."""

    arm: str
    sessions: int
    seconds: float
    cost: str | None
    tokens: int | None
    notes: tuple[str, ...] = ()


class ReportSpend(Struct, frozen=True, kw_only=True):
    """What the run has spent so far: per arm, and notes on limits, prices and what is unknown."""

    lines: tuple[SpendLine, ...]
    notes: tuple[str, ...]


class ReportReuse(Struct, frozen=True, kw_only=True):
    """Where the rows come from: how many cells were measured, measured again as canaries, or taken from the
    generation `origin`; why the others were not; what the canaries showed.
    """

    origin: str
    fresh: int
    canaries: int
    reused: int
    misses: Mapping[str, int] = {}
    drift: str | None = None


class Report(Struct, frozen=True, kw_only=True):
    """All that a report says. `skipped` gives a reason for each task or arm that was not measured; `stopped`
    is the cause of an incomplete sweep, which left `not_begun` cells without a row, `because` of a limit that it
    reached; `spared` cells were not measured because a look had decided; `alarms` are signs of a leak between arms; `provenance` names what the
    numbers depend on.
    """

    title: str
    rows: tuple[Row, ...]
    health: tuple[ArmHealth, ...]
    provenance: Mapping[str, str]
    skipped: Mapping[str, str] = {}
    verdict: ReportVerdict | None = None
    stopped: str | None = None
    not_begun: int = 0
    spared: int = 0
    because: str | None = None
    alarms: tuple[str, ...] = ()
    spend: ReportSpend | None = None
    reuse: ReportReuse | None = None


class _Group(Struct, frozen=True):
    """One task and arm: its rows and what they add up to."""

    task: str
    arm: str
    split: str
    rows: tuple[Row, ...]
    total: Aggregate


def render_report(report: Report) -> str:
    """The report as GitHub Markdown. An unknown value is `n/a`, never 0."""
    groups = _groups(report)
    sections = (
        _head(report),
        _tasks(groups),
        _means(groups, report.health),
        _savings(groups, report.health),
        _invoked(groups, report.health),
        _health(report.health),
        _spend(report.spend),
        _disagreements(disagreements(report.rows)),
        _reuse(report.reuse),
        _pairs("Not measured", ("what", "why"), report.skipped),
        _pairs("Provenance", ("what", "value"), report.provenance),
    )
    return "\n\n".join("\n".join(section) for section in map(tuple, sections) if section) + "\n"


def code(value: object) -> str:
    """A value as inline code in a table's cell: no link, mention or line break of it takes effect. A pipe is
    shown as a broken bar, because Markdown has no way to write one after a backslash.
    """
    text = printable(str(value)).replace("\n", " ").replace("\t", " ").replace("|", "¦")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """A sentence in which no character means anything to Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(printable(text).split()))


def _groups(report: Report) -> tuple[_Group, ...]:
    """By task, then in the order of the arms."""
    cells = by_cell(report.rows)
    tasks = sorted({task for task, _ in cells})
    return tuple(
        _Group(task, each.arm, rows[0].identity.split, rows, aggregate(rows))
        for task in tasks
        for each in report.health
        if (rows := cells.get((task, each.arm))) is not None
    )


def _head(report: Report) -> Iterator[str]:
    yield f"# {prose(report.title)}"
    if report.verdict:
        yield from ("", f"**{prose(report.verdict.sentence)}**", "")
        yield from (f"* {prose(reason)}" for reason in report.verdict.reasons)
        yield from ("", prose(report.verdict.advice)) if report.verdict.advice else ()
    if report.stopped:
        yield ""
        yield f"The sweep did not complete ({code(report.stopped)}): the numbers below are partial."
    if report.not_begun:
        because = f": {prose(report.because)}" if report.because else ""
        yield ""
        yield f"{report.not_begun} cells not begun{because}. They have no row, and no number below counts them."
    if report.spared:
        yield ""
        yield f"{report.spared} cells were spared: a look inside the sweep had decided. They have no row."
    if report.alarms:
        yield ""
        yield from (f"* **Alarm.** {prose(alarm)}" for alarm in report.alarms)


def _tasks(groups: Sequence[_Group]) -> Iterator[str]:
    yield from ("## Tasks", "", "Medians over the measured cells; seconds are those of the sessions.", "")
    yield from _table(_TASK_COLUMNS, (_task_line(group) for group in groups))


def _task_line(group: _Group) -> tuple[str, ...]:
    total = group.total
    excluded = total.runs - total.measured
    return (
        code(group.task),
        code(group.split),
        code(group.arm),
        _number(total.weighted_f1, 3) if not total.clean_control else "clean",
        _number(total.false_positives, 1),
        "n/a" if total.verdicts_right is None else f"{total.verdicts_right}/{total.measured}",
        f"{total.resolved}/{total.measured}" + (f" ({excluded} excluded)" if excluded else ""),
        _dollars(total.cost_usd),
        _number(total.turns, 1),
        _number(total.seconds, 1),
    )


def _means(groups: Sequence[_Group], arms: Sequence[ArmHealth]) -> Iterator[str]:
    yield from ("## Means", "")
    yield from ("Weighted F1 over the tasks with a defect; an unknown task makes a mean unknown.", "")
    splits = sorted({group.split for group in groups})
    yield from _table(
        ("arm", *(code(split) for split in splits), "all", "resolved", "cost of a cell"),
        (_mean_line(each.arm, splits, [group for group in groups if group.arm == each.arm]) for each in arms),
    )


def _mean_line(arm: str, splits: Sequence[str], groups: Sequence[_Group]) -> tuple[str, ...]:
    by_split = [_mean_f1([group for group in groups if group.split == split]) for split in splits]
    resolved = sum(each.total.resolved for each in groups)
    measured = sum(each.total.measured for each in groups)
    return (
        code(arm),
        *by_split,
        _mean_f1(groups),
        f"{resolved}/{measured}",
        _dollars(known_mean([group.total.cost_usd for group in groups])),
    )


def _mean_f1(groups: Sequence[_Group]) -> str:
    return _number(known_mean([each.total.weighted_f1 for each in groups if not each.total.clean_control]), 3)


def _savings(groups: Sequence[_Group], arms: Sequence[ArmHealth]) -> Iterator[str]:
    """Only with an arm without a skill to save against, and tasks with a hidden command, which are work."""
    work = [group for group in groups if group.rows[0].provenance.oracle_command is not None]
    base = {group.task: group.total for group in work if group.arm == _BASE}
    if not base:
        return
    yield from (f"## Compared with {code(_BASE)}", "")
    yield (
        f"How much less than {code(_BASE)} an arm used, on tasks with a hidden test: the median over the tasks where "
        "both know the number, and how many those are. Below zero it used more. Giving up early saves, too: read a "
        "saving beside the resolve rate."
    )
    yield ""
    yield from _table(
        ("arm", "resolved", "resolve rate", "cost", "turns", "s", "output tokens"),
        (_savings_line(each.arm, [group for group in work if group.arm == each.arm], base) for each in arms),
    )


def _savings_line(arm: str, groups: Sequence[_Group], base: Mapping[str, Aggregate]) -> tuple[str, ...]:
    resolved = sum(group.total.resolved for group in groups)
    measured = sum(group.total.measured for group in groups)
    both = [(base[group.task], group.total) for group in groups if group.task in base]
    saved = ["base"] * len(SAVED) if arm == _BASE else [_saving(median_saving(both, each)) for each in SAVED]
    rate = f"{100 * resolved / measured:.1f} %" if measured else "n/a"
    return (code(arm), f"{resolved}/{measured}", rate, *saved)


def _saving(saving: Saving | None) -> str:
    return "n/a" if saving is None else f"{saving.percent + 0.0:.1f} % ({saving.tasks})"


def _invoked(groups: Sequence[_Group], arms: Sequence[ArmHealth]) -> Iterator[str]:
    """Nothing where no arm has a skill."""
    measured = [row for group in groups for row in group.rows if row.outcome.status == "measured"]
    if all(row.outcome.skill_invoked is None for row in measured):
        return
    yield from ("## Where the skill was used", "")
    yield from ("Only cells that invoked their skill. **Biased**: whether one did is itself a result.", "")
    yield from _table(
        ("arm", "cells that used it", "weighted F1", "resolved"),
        (
            _invoked_line(each.arm, [group for group in groups if group.arm == each.arm])
            for each in arms
            if any(row.identity.arm == each.arm and row.outcome.skill_invoked is not None for row in measured)
        ),
    )


def _invoked_line(arm: str, groups: Sequence[_Group]) -> tuple[str, ...]:
    using = [[row for row in group.rows if row.outcome.skill_invoked] for group in groups]
    totals = [aggregate(rows) for rows in using if rows]
    measured = sum(total.measured for total in totals)
    f1 = known_mean([total.weighted_f1 for total in totals if not total.clean_control])
    return (
        code(arm),
        f"{measured}/{sum(group.total.measured for group in groups)}",
        _number(f1, 3),
        f"{sum(total.resolved for total in totals)}/{measured}",
    )


def _health(arms: Sequence[ArmHealth]) -> Iterator[str]:
    yield from ("## Health", "", "Whether something was measured at all, over every attempt of this run.", "")
    yield from _table(
        ("arm", "role", "state", "measured", "excluded by kind"),
        (
            (
                code(each.arm),
                each.role,
                each.state,
                f"{each.measured}/{each.attempts}",
                ", ".join(f"{count} {kind}" for kind, count in each.broken.items()) or "none",
            )
            for each in arms
        ),
    )


def _spend(spend: ReportSpend | None) -> Iterator[str]:
    """Nothing where nothing was counted."""
    if spend is None or not spend.lines:
        return
    yield from ("## Spend", "", "All sessions of the run so far, of every attempt.", "")
    yield from _table(
        ("arm", "sessions", "s", "cost", "tokens", "of these"),
        (
            (
                code(line.arm),
                str(line.sessions),
                _number(line.seconds, 1),
                line.cost or "n/a",
                "n/a" if line.tokens is None else str(line.tokens),
                prose(", ".join(line.notes)) or "all counted as reported",
            )
            for line in spend.lines
        ),
    )
    yield from ("", *(f"* {prose(note)}" for note in spend.notes)) if spend.notes else ()


def _disagreements(found: Sequence[Disagreement]) -> Iterator[str]:
    """Nothing where an agent says of its sessions what the gateway measured."""
    if not found:
        return
    yield from ("## What agents say otherwise", "")
    yield (
        "Sums over the sessions of which the agent's own report is not what the gateway measured. The gateway's numbers "
        "count, here and everywhere above; a row has both."
    )
    yield ""
    yield from _table(
        ("arm", "what", "sessions", "gateway", "agent"),
        (
            (
                code(each.arm),
                code(each.what),
                str(each.sessions),
                _amount(each, each.measured),
                _amount(each, each.told),
            )
            for each in found
        ),
    )


def _amount(of: Disagreement, value: float | None) -> str:
    return _dollars(value) if of.what == "cost_usd" else _number(value, 0)


def _reuse(reuse: ReportReuse | None) -> Iterator[str]:
    """Where the rows come from, where an earlier generation was looked at."""
    if reuse is None:
        return
    yield from ("## Reuse", "")
    yield (
        f"{reuse.reused} rows are those of {code(reuse.origin)}; {reuse.canaries} more could be, but were measured "
        f"again to notice drift; {reuse.fresh} had to be measured."
    )
    if reuse.drift:
        yield from ("", f"* **Drift.** {prose(reuse.drift)}. Rows from before are not reused any more.")
    if reuse.misses:
        yield ""
        yield from _table(
            ("why no earlier row stands for a cell", "cells"),
            ((code(reason), str(count)) for reason, count in reuse.misses.items()),
        )


def _pairs(title: str, head: tuple[str, str], pairs: Mapping[str, str]) -> Iterator[str]:
    if pairs:
        yield from (f"## {title}", "")
        yield from _table(head, ((code(name), code(value)) for name, value in pairs.items()))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for line in lines:
        yield f"| {' | '.join(line)} |"


def _number(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def _dollars(value: float | None) -> str:
    return "n/a" if value is None else f"${value:.4f}"
