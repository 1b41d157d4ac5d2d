"""Choosing who watches: a table on a terminal, lines elsewhere, and a stream where one was asked for."""

from contextlib import suppress
from typing import BinaryIO, Self, TextIO

from bench.watch.events import Event, Watcher
from bench.watch.lines import PlainLines
from bench.watch.stream import JsonStream


class Watchers:
    """Tells several watchers. One that cannot write any more (a closed pipe, a full disk) is dropped: nobody's
    watching may stop a sweep. `missing` is why events are missing where somebody may rely on them.
    """

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = list(watchers)
        self.missing: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def see(self, event: Event) -> None:
        for watcher in tuple(self._watchers):
            try:
                watcher.see(event)
            except OSError as error:
                self._watchers.remove(watcher)
                if isinstance(watcher, JsonStream) and not isinstance(error, BrokenPipeError):
                    self.missing = error

    def close(self) -> None:
        for watcher in self._watchers:
            with suppress(OSError):
                watcher.close()


def open_watcher(out: TextIO, *, quiet: bool, stream: BinaryIO | None) -> Watchers:
    """The watcher of a command whose progress goes to `out`, and whose events to `stream`, if it is given."""
    person = _person(out, quiet=quiet)
    return Watchers(person) if stream is None else Watchers(person, JsonStream(stream))


def _person(out: TextIO, *, quiet: bool) -> Watcher:
    if quiet or not out.isatty():
        return PlainLines(out, quiet=quiet)
    from rich.console import Console  # noqa: PLC0415 - logs and pipes need no rich

    from bench.watch.table import LiveTable  # noqa: PLC0415

    return LiveTable(Console(file=out, highlight=False))
