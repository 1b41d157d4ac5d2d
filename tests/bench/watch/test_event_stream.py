"""The stream of events for programs, and who is told what."""

import io
import json
from typing import get_args

import msgspec
import pytest

from bench.watch import CellStarted, Event, JsonStream, Noted, PlainLines, RunFinished, open_watcher


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


def test_only_a_terminal_that_is_not_quiet_gets_a_table() -> None:
    def watches(out: io.StringIO, *, quiet: bool) -> str:
        return type(open_watcher(out, quiet=quiet, stream=None)).__name__

    assert watches(Terminal(), quiet=False) == "LiveTable"
    assert watches(Terminal(), quiet=True) == PlainLines.__name__
    assert watches(io.StringIO(), quiet=False) == PlainLines.__name__


def test_a_quiet_run_still_streams_every_event() -> None:
    out, stream = io.StringIO(), io.BytesIO()

    open_watcher(out, quiet=True, stream=stream).see(Noted(message="hello"))

    assert out.getvalue() == ""
    assert json.loads(stream.getvalue())["event"] == "noted"
