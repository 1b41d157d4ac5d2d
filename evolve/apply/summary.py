"""What was done, as data for programs and as lines for people."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from bench.project import RunFolder
from evolve.apply.difference import summarise
from evolve.apply.model import Action, ApplySummary, Change, Outcome
from evolve.apply.place import command_line

_DONE: dict[Outcome, str] = {
    "applied": "Applied run {run}: an ordinary change of your working tree. Nothing was committed.",
    "already-applied": "Run {run} is already applied: the skill and its mirrors hold what it promoted.",
    "reverted": "Reverted run {run}: the files hold what they held before it was applied.",
    "already-reverted": "Run {run} is already reverted.",
    "dry-run": "Nothing was changed. This is what `evolve apply` would change:",
}


def summary_of(
    root: Path,
    run: RunFolder,
    action: Action,
    outcome: Outcome,
    changes: Sequence[Change],
    diff: str | None = None,
) -> ApplySummary:
    """What one command came to."""
    return ApplySummary(
        run=run.id, root=str(root), action=action, outcome=outcome, files=summarise(changes), diff=diff
    )


def summary_lines(summary: ApplySummary) -> list[str]:
    """The same for people: what was done, how much, and the next command to type."""
    width = max((len(each.path) for each in summary.files), default=0)
    return [
        _DONE[summary.outcome].format(run=summary.run),
        *(f"  {each.path:{width}}  +{each.insertions} -{each.deletions}" for each in summary.files),
        *_next_lines(summary),
    ]


def _next_lines(summary: ApplySummary) -> list[str]:
    if not summary.files:
        return []
    root, here = Path(summary.root), Path.cwd()
    again = command_line(summary.run, root, here)
    if summary.outcome == "dry-run":
        return [f"next: {again}" + (" --revert" if summary.action == "revert" else "")]
    git = "git" if here == root else f"git -C {shlex.quote(summary.root)}"
    paths = " ".join(shlex.quote(each.path) for each in summary.files)
    if summary.action == "revert":
        return [f"next: {git} status --short -- {paths}"]
    return [
        f"next: {git} diff -- {paths}",
        "      then commit it and open a pull request",
        f"undo: {again} --revert",
    ]
