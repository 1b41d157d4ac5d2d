"""What `evolve runs` says, for people. Pure."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC

from bench.archive import size_text
from bench.exits import ExitCode
from bench.spend import OUT_OF_BUDGET
from evolve.runs.model import GenerationState, PruneReport, RunList, RunState, SpendState
from evolve.words import topup_advice

_HEAD = ("run", "began (UTC)", "command", "suite", "agent", "state", "decisions", "folder", "artifacts")
_LONGEST = 60
_SHORT: dict[str, str] = {
    "promote": "promote",
    "keep_incumbent": "keep",
    "insufficient_evidence": "insufficient",
}


def list_lines(runs: RunList) -> list[str]:
    """A table, oldest first, then why runs are not finished."""
    if not runs.runs:
        return [f"no runs in {runs.project}"]
    table = [_HEAD, *(_row(each) for each in runs.runs)]
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEAD))]
    return [
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in table
    ] + [f"{_short(each.run)}: {each.state}: {each.why}" for each in runs.runs if each.why]


def show_lines(run: RunState) -> list[str]:
    """One run: what it is, how far each generation is, what it takes, and the next command to type."""
    lines = [
        f"run {run.run} in {run.folder}",
        f"{run.state}" + (f": {run.why}" if run.why else ""),
        f"began {_when(run)} UTC; command: {shlex.join((run.command or '?', *run.overrides))}",
        f"suite {run.suite or '?'}, agent {_agent(run)}",
    ]
    for generation in run.generations:
        lines += _generation_lines(generation)
    if run.promotion:
        lines.append(f"its promotion was {run.promotion}")
    if run.state == "running":
        lines += [f"last: {line}" for line in run.last]
    lines.append(f"on disk: {size_text(run.size)}, and {size_text(run.objects_size)} of artifacts in the store")
    if run.spend is not None:
        lines.append(_spent(run.spend, running=run.state == "running"))
    return lines + list(_next(run))


def prune_lines(report: PruneReport) -> list[str]:
    """What went, what stayed and why."""
    gone = [each for each in report.runs if each.removed]
    did = "would remove" if report.dry_run else "removed"
    lines = [f"{did} {_short(each.run)} ({size_text(each.size)})" for each in gone]
    lines += [f"kept {_short(each.run)}: {each.why}" for each in report.runs if not each.removed]
    size = size_text(sum(each.size for each in gone))
    lines.append(f"{did} {len(gone)} of {len(report.runs)} runs ({size})")
    if gone and not report.dry_run:
        lines.append("their artifacts are still in the store; next: bench store gc")
    return lines


def _row(run: RunState) -> tuple[str, ...]:
    return (
        _short(run.run),
        _when(run),
        run.command or "?",
        run.suite or "?",
        _agent(run),
        run.state,
        _decisions(run),
        size_text(run.size),
        size_text(run.objects_size),
    )


def _generation_lines(state: GenerationState) -> list[str]:
    name = f"generation {state.generation}" if state.generation else "sweep"
    idea = f", idea {state.idea!r}" if state.idea else ""
    done = sum(state.statuses.values())
    cells = "no plan yet" if state.cells is None else f"{done}/{state.cells} cells have rows, {state.left} left to measure"
    counts = ", ".join(f"{count} {status}" for status, count in state.statuses.items())
    parts = [cells, counts, f"{state.reused} reused" if state.reused else "", _cost(state)]
    lines = [f"{name}{idea}: " + "; ".join(part for part in parts if part)]
    return lines + ([f"  decision: {state.decision}"] if state.decision else [])


def _spent(spend: SpendState, *, running: bool) -> str:
    """All that was paid, also for attempts that have no row."""
    known = "unknown" if spend.spent_usd is None else f"${spend.spent_usd:.4f}"
    line = f"spent in all: {known} in {spend.sessions} sessions"
    if not spend.open:
        return line
    open_ones = f"${spend.reserved_usd:.4f} {'is reserved for' if running else 'at the most was lost with'}"
    return f"{line}; {open_ones} {spend.open} more{'' if running else ', which nobody saw the end of'}"


def _cost(state: GenerationState) -> str:
    return "" if not state.cost_usd else f"its rows cost ${state.cost_usd:.4f}"


def _next(run: RunState) -> Iterator[str]:
    if run.state == "running":
        yield f"next: evolve runs show {run.run} --follow"
    elif run.unapplied and run.state == "finished":
        yield f"next: evolve apply {run.run}"
    elif run.state == "interrupted" and (_stopped_by_budget(run) or run.beyond_budget):
        yield OUT_OF_BUDGET
        yield f"  {shlex.join((run.command or 'evolve', *run.overrides))} budget.…"
    elif run.state == "finished" and _may_be_topped_up(run):
        yield f"next: {topup_advice(run.run, run.generations[-1].left)}"
    elif run.state == "interrupted" and run.command is not None and run.generations:
        yield f"next: {run.command} resume {run.run}"


def _stopped_by_budget(run: RunState) -> bool:
    return run.holder is not None and run.holder.code == ExitCode.BUDGET


def _may_be_topped_up(run: RunState) -> bool:
    last = run.generations[-1] if run.generations else None
    return last is not None and last.decision == "insufficient_evidence" and last.left > 0


def _decisions(run: RunState) -> str:
    decided = [_SHORT[each.decision] for each in run.generations if each.decision]
    return (", ".join(decided) or "-") + (f" ({run.promotion})" if run.promotion else "")


def _agent(run: RunState) -> str:
    return f"{run.agent}/{run.model}" if run.model else run.agent or "?"


def _when(run: RunState) -> str:
    return run.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if run.started_at else "?"


def _short(name: str) -> str:
    """A name that may be anything, for a column."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
