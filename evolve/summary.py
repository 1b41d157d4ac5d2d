"""How a run ends on the screen: the verdict in a sentence, the numbers it rests on, what to do next."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from evolve.gate import Decision, PairVerdict, Verdict
from evolve.generation import Generation
from evolve.history import Judgement
from evolve.loop import RunResult
from evolve.words import SENTENCES

MOST_ROWS = 40


class GenerationSummary(Struct, frozen=True, kw_only=True):
    """One generation's result, for programs."""

    generation: int
    idea: str
    overlay: str
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
    code: int


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
        code=int(result.code),
    )


def generation_lines(generation: Generation) -> list[str]:
    """One generation for people: sentence, reasons, table."""
    verdict = generation.verdict
    lines = ["", f"generation {generation.number}, idea {generation.proposal.idea!r}"]
    lines += [SENTENCES[verdict.decision]]
    lines += [f"  - {reason}" for reason in verdict.reasons]
    for pair in verdict.pairs:
        lines += ["", *_pair_table(verdict, pair)]
    return lines


def closing_lines(result: RunResult, folder: Path, root: Path) -> list[str]:
    """Where everything is, and the next command to type."""
    lines = [""]
    lines += [f"report: {generation.folder / 'report.md'}" for generation in result.generations[-1:]]
    lines += [f"rows, plan and evidence: {folder}"]
    if result.champion is not None:
        lines += [
            f"promoted overlay: {result.champion}",
            f"next: read the report, then take it over: cp -r {result.champion}/. {root}/",
        ]
    elif result.generations:
        lines += ["next: evolve (tries the next idea of the queue)"]
    return lines


def offer_lines(pending: Judgement, root: Path) -> list[str]:
    """An earlier promotion that nobody applied, offered before anything new is proposed."""
    champion = pending.folder.parent / "champion"
    return [
        f"Run {pending.run} promoted {pending.idea!r} (generation {pending.generation}) on the skills as they are now,",
        "and nobody has applied it yet. It is offered before anything new is proposed:",
        f"  read it:        {pending.folder / 'report.md'}",
        f"  the overlay:    {champion}",
        f"  take it over:   cp -r {champion}/. {root}/   (then run evolve again)",
        "  build on it:    evolve proposer.unapplied=build_on",
        "  go on without:  evolve proposer.unapplied=ignore",
    ]


def _of_generation(generation: Generation) -> GenerationSummary:
    return GenerationSummary(
        generation=generation.number,
        idea=generation.proposal.idea,
        overlay=generation.overlay.digest,
        decision=generation.verdict.decision,
        reasons=generation.verdict.reasons,
        report=str(generation.folder / "report.md"),
        promotion=str(generation.folder / "promotion.json"),
    )


def _pair_table(verdict: Verdict, pair: PairVerdict) -> list[str]:
    """The per-task table of one candidate arm, the tasks that changed first."""
    order = {"worse": 0, "unknown": 1, "better": 2, "same": 3}
    tasks = sorted(pair.tasks, key=lambda task: (order[task.effect], task.task))
    rows = [
        (
            task.task,
            task.split,
            _number(task.incumbent),
            _number(task.candidate),
            _change(task.change),
            task.effect,
        )
        for task in tasks[:MOST_ROWS]
    ]
    means = [
        (f"mean over {name}", "", _number(old), _number(new), _change(_difference(old, new)), "")
        for name, (old, new) in pair.means.items()
    ]
    heading = (verdict.metric, "split", pair.incumbent_arm, pair.candidate_arm, "change", "")
    table = aligned([heading, *rows, *means])
    if len(tasks) > MOST_ROWS:
        table.append(f"  ({len(tasks) - MOST_ROWS} more tasks in the report)")
    return table


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


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _change(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _difference(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else new - old
