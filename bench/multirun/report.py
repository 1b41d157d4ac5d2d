"""`report.md` of a multirun, and the same tables on the screen. Pure; every value is neutral to Markdown."""

import re
from collections.abc import Iterator, Sequence

from bench.exits import ExitCode
from bench.multirun.front import Dot, Span
from bench.multirun.picture import name_of
from bench.multirun.result import SweepPoint
from bench.text import printable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
MOST_POINTS = 200

Table = Sequence[tuple[str, ...]]


def dot_table(dots: Sequence[Dot]) -> Table:
    """Quality and cost of each (agent, model, effort) and role, those on a front marked."""
    rows = [
        (
            name_of(dot),
            dot.role,
            str(dot.tasks),
            str(dot.cells),
            _span(dot.quality, 3),
            _span(dot.cost, 4),
            "front" if dot.front else "",
        )
        for dot in dots
    ]
    return [("model, effort", "role", "tasks", "cells", "quality", "$ a cell", ""), *rows]


def point_table(points: Sequence[SweepPoint]) -> Table:
    """What became of each point."""
    rows = [
        (str(each.number), each.label, _outcome(each), str(each.paid), str(each.reused), each.run or "")
        for each in points[:MOST_POINTS]
    ]
    return [("point", "sets", "outcome", "measured", "reused", "run"), *rows]


def report_lines(
    title: str, points: Sequence[SweepPoint], dots: Sequence[Dot], picture: str
) -> Iterator[str]:
    """The report without what is decided."""
    yield f"# {_plain(title)}"
    yield ""
    yield f"![quality against cost]({picture})"
    yield ""
    yield from _markdown(dot_table(dots))
    yield ""
    yield "Quality is the mean score of a task (weighted F1 of a review with a defect, else resolved or not), with 95 % intervals when tasks are resampled."
    yield "What several points share is counted once. On the *front* is what no other one of its role beats in quality and cost."
    yield ""
    yield "## Points"
    yield ""
    yield from _markdown(point_table(points))
    if len(points) > MOST_POINTS:
        yield f"\n{len(points) - MOST_POINTS} more are in sweep.json."
    for each in points:
        if each.error:
            yield f"\nPoint {each.number}: {_plain(' '.join(each.error.split()))}"


def aligned(table: Table) -> list[str]:
    """A table for the screen."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _outcome(point: SweepPoint) -> str:
    if point.same_as is not None:
        return f"the same as {point.same_as}"
    if point.code is None:
        return "not over"
    if point.code != ExitCode.VERDICT:
        return {ExitCode.BUDGET: "stopped by the budget", ExitCode.INTERRUPTED: "interrupted"}.get(
            ExitCode(point.code), "failed"
        )
    return point.decision or "measured"


def _span(span: Span | None, digits: int) -> str:
    if span is None:
        return "unknown"
    return f"{span.value:.{digits}f} ({span.low:.{digits}f} to {span.high:.{digits}f})"


def _markdown(table: Table) -> Iterator[str]:
    yield "| " + " | ".join(_plain(cell) for cell in table[0]) + " |"
    yield "|" + "---|" * len(table[0])
    for row in table[1:]:
        yield "| " + " | ".join(_plain(cell) for cell in row) + " |"


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", printable(text))
