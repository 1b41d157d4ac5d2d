"""Where everything in a composition came from."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from bench.config.composed import Assignment, CommandName, Composed, ComposedFile, Shadowing
from bench.config.option_files import ALIAS, PRIMARY, OptionFiles
from bench.config.override import Override


class Entry(Struct, frozen=True):
    """One file of the final defaults list: its name, the package its keys go to, and the file that asked for it."""

    config: str
    package: str
    parent: str


def draft(
    files: OptionFiles,
    entries: Sequence[Entry],
    overrides: Sequence[Override],
    content: dict[str, Any],
    command: CommandName,
) -> Composed:
    """The composition before its values are resolved; `tree` is still empty."""
    composed = [_composed_file(files, entry) for entry in entries]
    chosen = _chosen(entries)
    return Composed(
        command=command,
        folders=tuple(files.folders),
        values=content,
        overrides=tuple(override.text for override in overrides),
        assignments=tuple(
            Assignment(each.path, each.label)
            for each in overrides
            if each.action == "delete" or not each.chooses(files.groups)
        ),
        choices={group: ",".join(chosen.get(group, ())) or None for group in files.groups},
        sources={PRIMARY: files.read(PRIMARY).label}
        | {
            group: " + ".join(files.read(f"{group}/{name}").label for name in names)
            for group, names in sorted(chosen.items())
        },
        files=tuple(composed),
        shadowed=tuple(_shadowed(files, entries)),
        tree="",
    )


def _chosen(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The options that config.yaml's defaults list came to, by group."""
    chosen: dict[str, list[str]] = {}
    for entry in entries:
        group, _, option = entry.config.partition("/")
        if entry.parent == PRIMARY and option:
            chosen.setdefault(group, []).append(option)
    return chosen


def _composed_file(files: OptionFiles, entry: Entry) -> ComposedFile:
    file = files.read(entry.config)
    return ComposedFile(
        config=entry.config,
        package=entry.package,
        label=file.label,
        path=str(file.folder.path / file.relative),
        digest=file.digest,
        content={key: value for key, value in file.content.items() if key != "defaults"},
    )


def _shadowed(files: OptionFiles, entries: Sequence[Entry]) -> Iterator[Shadowing]:
    taken_in = {entry.config.removeprefix(ALIAS) for entry in entries if entry.config.startswith(ALIAS)}
    for config in dict.fromkeys(entry.config for entry in entries if not entry.config.startswith(ALIAS)):
        winner, *hidden = (folder.label(f"{config}.yaml") for folder in files.holders(config))
        for each in hidden:
            yield Shadowing(config, winner, each, extended=config in taken_in)
