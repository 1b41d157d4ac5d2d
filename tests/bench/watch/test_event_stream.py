"""The stream of events for programs, and who is told what."""

import io
import json
from typing import get_args

import msgspec
import pytest

from bench.watch import (
    CellStarted,
    Event,
    JsonStream,
    Noted,
    RunFinished,
    SweepStarted,
    open_watcher,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Counted(io.BytesIO):
    """Counts how often it was flushed."""

    flushed = 0

    def flush(self) -> None:
        self.flushed += 1


def test_every_event_is_one_json_line_with_its_name() -> None:
    out = io.BytesIO()
    stream = JsonStream(out)

    stream.see(Noted(message="two\nlines \x1b[31m"))
    stream.see(RunFinished(run="r", code=3))

    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"event": "noted", "message": "two\nlines \x1b[31m"},
        {"event": "run-finished", "run": "r", "code": 3},
    ]


def test_an_event_is_there_at_once() -> None:
    out = Counted()
    stream = JsonStream(out)

    for number in range(1, 4):
        stream.see(CellStarted(cell="t/a/0"))
        assert out.flushed == number


@pytest.mark.parametrize("kind", get_args(Event))
def test_every_kind_of_event_can_be_told_apart_by_its_name(kind: type) -> None:
    names = [msgspec.structs.fields(each) and each.__struct_config__.tag for each in get_args(Event)]

    assert names.count(kind.__struct_config__.tag) == 1  # type: ignore[attr-defined]
    assert kind.__struct_config__.tag_field == "event"  # type: ignore[attr-defined]


def test_people_and_programs_are_told_the_same_run() -> None:
    out, stream = io.StringIO(), io.BytesIO()
    watcher = open_watcher(out, quiet=False, stream=stream)

    watcher.see(Noted(message="hello"))
    watcher.close()

    assert out.getvalue() == "note: hello\n"
    assert json.loads(stream.getvalue()) == {"event": "noted", "message": "hello"}


@pytest.mark.parametrize(
    ("terminal", "quiet", "table"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_only_a_terminal_that_is_not_quiet_gets_a_table(terminal: bool, quiet: bool, table: bool) -> None:
    out = Terminal() if terminal else io.StringIO()
    watcher = open_watcher(out, quiet=quiet, stream=None)

    watcher.see(SweepStarted(generation=1, cells=2, tasks=1, arms=("review", "no_skill"), plan="p"))
    watcher.close()

    assert ("running:" in out.getvalue()) is table


def test_a_watcher_that_cannot_write_any_more_stops_nobody() -> None:
    class Closed(io.BytesIO):
        def write(self, _: object) -> int:
            raise BrokenPipeError

    out = io.StringIO()
    watcher = open_watcher(out, quiet=False, stream=Closed())

    for word in ("one", "two"):
        watcher.see(Noted(message=word))

    assert out.getvalue() == "note: one\nnote: two\n"


def test_a_quiet_run_still_streams_every_event() -> None:
    out, stream = io.StringIO(), io.BytesIO()

    open_watcher(out, quiet=True, stream=stream).see(Noted(message="hello"))

    assert out.getvalue() == ""
    assert json.loads(stream.getvalue())["event"] == "noted"
