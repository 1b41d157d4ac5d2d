"""How a run ends on the screen: the verdict in a sentence, the numbers it rests on, what to do next."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bench.exits import ExitCode
from bench.results import percent_saved
from bench.spend import OUT_OF_BUDGET
from evolve.apply import command_line
from evolve.gate import Decision, PairVerdict, TaskVerdict, Verdict, only_searches
from evolve.generation import Generation, may_be_topped_up
from evolve.history import Judgement
from evolve.loop import RunResult
from evolve.release import release_command
from evolve.words import SENTENCES, topup_advice

MOST_ROWS = 40
MOST_REASONS = 15
DIGITS = {"cost_usd": 4, "turns": 1, "seconds": 1, "output": 0}
OTHER_DIGITS = 3


class GenerationSummary(Struct, frozen=True, kw_only=True):
    """One generation's result, for programs."""

    generation: int
    idea: str
    overlay: str
    paid: int
    reused: int
    drift: str | None
    decision: Decision
    reasons: tuple[str, ...]
    report: str
    promotion: str


class RunSummary(Struct, frozen=True, kw_only=True):
    """What `evolve --json` prints (schemas/run-summary.schema.json)."""

    run: str
    folder: str
    decision: Decision | None
    generations: tuple[GenerationSummary, ...]
    champion: str | None
    offered: bool
    code: int


def summarise_offer(pending: Judgement, folder: Path) -> RunSummary:
    """An earlier promotion as data: nothing was measured now. `folder` is its run's."""
    return RunSummary(
        run=pending.run,
        folder=str(folder),
        decision="promote",
        generations=(),
        champion=str(folder / "champion") if (folder / "champion").is_dir() else None,
        offered=True,
        code=0,
    )


def summarise(run: str, folder: Path, result: RunResult) -> RunSummary:
    """The result as data; `decision` is `promote` if any generation promoted, else the last one's."""
    decisions = [generation.verdict.decision for generation in result.generations]
    decided: Decision | None = "promote" if "promote" in decisions else (decisions[-1] if decisions else None)
    return RunSummary(
        run=run,
        folder=str(folder),
        decision=decided,
        generations=tuple(_of_generation(each) for each in result.generations),
        champion=None if result.champion is None else str(result.champion),
        offered=False,
        code=int(result.code),
    )


def generation_lines(generation: Generation) -> list[str]:
    """One generation for people: sentence, reasons, table."""
    verdict = generation.verdict
    lines = ["", f"generation {generation.number}, idea {generation.proposal.idea!r}"]
    lines += [SENTENCES[verdict.decision]]
    if generation.reused:
        lines += [f"  {generation.paid} cells were measured; earlier rows stand for {generation.reused} more"]
    lines += [f"  - {reason}" for reason in verdict.reasons[:MOST_REASONS]]
    if len(verdict.reasons) > MOST_REASONS:
        lines += [f"  ({len(verdict.reasons) - MOST_REASONS} more reasons in the report)"]
    for pair in verdict.pairs:
        lines += ["", *pair_table(verdict, pair)]
    return lines


def closing_lines(result: RunResult, folder: Path, root: Path, *, contained: bool, again: str) -> list[str]:
    """The generations at a glance, where everything is, and the next command to type; `again` is this one."""
    lines = ["", *_overview(result.generations)]
    lines += [f"rows, plan and evidence: {folder}"] if result.generations else []
    if result.champion is not None and not contained:
        lines += ["measured without containment, never applied: measure again with sandbox=bubblewrap"]
    elif result.champion is not None and any(only_searches(each.verdict) for each in result.generations):
        policy = result.generations[-1].verdict.policy
        lines += [
            f"champion: {result.champion}",
            "next: read the reports, then test it for release, on the tasks that are held out (tier=search releases nothing):",
            f"  {release_command(shlex.split(again)[1:], policy, folder.name)}",
        ]
    elif result.champion is not None:
        lines += [
            f"promoted overlay: {result.champion}",
            f"next: read the reports, then take it over: {command_line(folder.name, root, Path.cwd())}",
        ]
    elif result.generations and may_be_topped_up(result.generations[-1]):
        lines += [f"next: {topup_advice(folder.name, result.generations[-1].missing)}"]
    elif result.generations and result.code is ExitCode.BUDGET:
        lines += [OUT_OF_BUDGET, f"  {again} budget.…"]
    elif result.generations and result.code is ExitCode.VERDICT:
        lines += [f"next: {again}   (tries the next idea, if there is one)"]
    elif result.generations or result.code is not ExitCode.VERDICT:
        lines += [f"next: evolve resume {folder.name}   (goes on where it stopped; nothing is paid twice)"]
    else:
        lines += ["nothing was measured: add an idea to the queue, or give one of yours: proposer=manual"]
    return lines


def offer_lines(pending: Judgement, ideas: Sequence[str], root: Path, commands: tuple[str, str]) -> list[str]:
    """An earlier promotion that nobody applied, offered before anything new is proposed; `commands` are this one, and
    the one that tests the promotion for release.
    """
    apply, (again, release) = command_line(pending.run, root, Path.cwd()), commands
    report = pending.folder(root) / "report.md"
    ways = [f"  see the diff:   {apply} --dry-run", f"  take it over:   {apply}   (then run this again)"]
    if pending.searched:
        ways = [f"  release it:     {release}   (a test on the tasks that are held out)"]
    return [
        f"Run {pending.run} promoted {', '.join(map(repr, ideas))} on the skills as they are now,",
        "and it is not applied. It is offered before anything new is proposed:",
        f"  read it:        {report}",
        *ways,
        f"  build on it:    {again} proposer.unapplied=build_on",
        f"  go on without:  {again} proposer.unapplied=ignore",
    ]


def _overview(generations: Sequence[Generation]) -> list[str]:
    """One line for each generation: what was tried, what became of it, and where that is written."""
    rows = [
        (str(each.number), each.proposal.idea, each.verdict.decision, str(each.folder / "report.md"))
        for each in generations
    ]
    return aligned([("generation", "idea", "decision", "report"), *rows]) if rows else []


def _of_generation(generation: Generation) -> GenerationSummary:
    return GenerationSummary(
        generation=generation.number,
        idea=generation.proposal.idea,
        overlay=generation.overlay.digest,
        paid=generation.paid,
        reused=generation.reused,
        drift=generation.drift,
        decision=generation.verdict.decision,
        reasons=generation.verdict.reasons,
        report=str(generation.folder / "report.md"),
        promotion=str(generation.folder / "promotion.json"),
    )


def pair_table(verdict: Verdict, pair: PairVerdict) -> list[str]:
    """The per-task table of one candidate arm, the tasks that changed first."""
    order = {"worse": 0, "unknown": 1, "better": 2, "same": 3}
    tasks = sorted(pair.tasks, key=lambda task: (order[task.effect], task.task))
    resolved = any(task.incumbent_resolved or task.candidate_resolved for task in tasks)
    heading = [verdict.metric, "split", pair.incumbent_arm, pair.candidate_arm, "change"]
    rows = [
        heading,
        *(_task_cells(verdict, task) for task in tasks[:MOST_ROWS]),
        *_total_cells(verdict, pair),
    ]
    judged = [["resolved", ""], *(_judged_cells(task) for task in tasks[:MOST_ROWS])]
    judged += [["", ""]] * (len(rows) - len(judged))
    table = aligned([row + (last if resolved else last[1:]) for row, last in zip(rows, judged, strict=True)])
    if len(tasks) > MOST_ROWS:
        table.append(f"  ({len(tasks) - MOST_ROWS} more tasks in the report)")
    return table


def _task_cells(verdict: Verdict, task: TaskVerdict) -> list[str]:
    numbers = [_number(verdict, task.incumbent), _number(verdict, task.candidate)]
    return [task.task, task.split, *numbers, _change(verdict, task.change)]


def _judged_cells(task: TaskVerdict) -> list[str]:
    """How often a task was resolved, and what the policy says of it."""
    before, now = _resolved(task.incumbent_resolved), _resolved(task.candidate_resolved)
    said = f"not counted: {task.ungated}" if task.ungated and task.effect == "same" else task.effect
    return [f"{before} → {now}", said]


def _total_cells(verdict: Verdict, pair: PairVerdict) -> list[list[str]]:
    """The means, and the median change where the policy ranks by it."""
    lines = [
        [
            f"mean over {name}",
            "",
            _number(verdict, old),
            _number(verdict, new),
            _change(verdict, _difference(verdict, old, new)),
        ]
        for name, (old, new) in pair.means.items()
    ]
    if pair.median_change is not None:
        lines.append(["median change", "", "", "", _change(verdict, pair.median_change)])
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines of columns, the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column in (0, 1, len(widths) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _number(verdict: Verdict, value: float | None) -> str:
    return "n/a" if value is None else f"{value:.{DIGITS.get(verdict.metric, OTHER_DIGITS)}f}"


def _change(verdict: Verdict, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:+.1f} %" if verdict.change_as == "percent" else f"{value:+.3f}"


def _difference(verdict: Verdict, old: float | None, new: float | None) -> float | None:
    """What changed between two means, in what the verdict counts changes."""
    if verdict.change_as == "percent":
        saved = percent_saved(old, new)
        return None if saved is None else -saved + 0.0
    return None if old is None or new is None else new - old


def _resolved(cells: tuple[int, int] | None) -> str:
    return "n/a" if cells is None else f"{cells[0]}/{cells[1]}"
