"""Makes an asset of a template with a task's command, and looks for oracle text in it."""

from pathlib import Path

from bench.errors import WorkspaceError
from bench.suite import Derived, Entry, Refused, Task, list_entries, shown
from bench.sweep.traces import find_trace
from bench.sweep.workshop import Workshop
from bench.workspace import Template, remove_tree

MOST_BYTES = 256 << 20
MOST_ENTRIES = 100_000


def derive_asset(workshop: Workshop, task: Task, template: Template, asset: Derived, folder: Path) -> Path:
    """What the asset's command writes to /output, read-only, below the new folder `folder`.

    WorkspaceError, with nothing left of it: the command failed, wrote nothing, too much or something special, or
    a file holds text of an oracle of the suite.
    """
    named = f"the asset {asset.name!r} derived for task {task.id!r}"
    output = folder / "output"
    try:
        folder.mkdir(parents=True)
        with workshop.cpu:
            _run(workshop, task, template, asset, folder)
            entries = _checked(output, named)
            _refuse_trace(find_trace(output, entries, template.tree, workshop.suite.tasks), named)
        _seal(output, entries)
    except OSError as error:
        remove_tree(folder)
        raise WorkspaceError(f"{named} cannot be made in {folder}: {error}") from error
    except BaseException:
        remove_tree(folder)
        raise
    return output


def _run(workshop: Workshop, task: Task, template: Template, asset: Derived, folder: Path) -> None:
    """Run the command on a throw-away copy of the template."""
    copy = workshop.workspaces.create(template, folder)
    try:
        seen = copy.throwaway(workshop.sandbox.layout(folder).workspace)
        result = workshop.run(task, asset.command, folder, seen, output=True)
    finally:
        copy.remove()
    if not result.succeeded:
        raise WorkspaceError(
            f"the command of the asset {asset.name!r} of task {task.id!r} failed {result.account()}"
        )


def _checked(output: Path, named: str) -> tuple[Entry, ...]:
    """Everything that the command wrote, if it is of a kind and size that can be shown to a session."""
    try:
        entries = list_entries(output, MOST_ENTRIES)
    except Refused as refusal:
        raise WorkspaceError(f"{named} is refused: {refusal}") from refusal
    if not entries:
        raise WorkspaceError(f"{named} is empty: its command wrote nothing to /output")
    special = [entry for entry in entries if entry.kind == "special"]
    if special:
        raise WorkspaceError(
            f"{named} is refused: {shown(special[0].path)} is neither a file, a folder nor a link"
        )
    size = sum(entry.size for entry in entries if entry.kind == "file")
    if size > MOST_BYTES:
        raise WorkspaceError(f"{named} holds {size:,} bytes, more than the {MOST_BYTES:,} that are allowed")
    return entries


def _refuse_trace(path: str | None, named: str) -> None:
    if path is not None:
        raise WorkspaceError(
            f"{named} is refused: its file {shown(path)} holds text of a hidden oracle of the suite that is not in "
            "the task's starting state"
        )


def _seal(output: Path, entries: tuple[Entry, ...]) -> None:
    """Take the right to write from everything."""
    for entry in entries:
        if entry.kind != "link":
            (output / entry.path).chmod(0o555 if entry.kind == "folder" or entry.executable else 0o444)
    output.chmod(0o555)
