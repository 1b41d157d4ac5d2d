"""The journal says the same after a crash, and refuses what it cannot be."""

from pathlib import Path

import pytest
from spend_builders import amounts, session

from bench.errors import RunError
from bench.spend import JOURNAL, NOTHING, Journal, Opened, Reserved, Settled, read_journal, read_ledger

FIRST = Reserved(id=1, session=session(), amounts=amounts(10, 5))


def written(folder: Path, *, durable: bool = True) -> Path:
    journal = Journal(folder / JOURNAL, "digest", durable=durable)
    journal.append(FIRST)
    return journal.path


@pytest.mark.parametrize("durable", [True, False])
def test_what_was_written_is_read_back(durable: bool, tmp_path: Path) -> None:
    path = written(tmp_path, durable=durable)
    assert read_journal(path) == (Opened(schema_version=1, prices="digest"), FIRST)


def test_no_file_is_an_empty_journal(tmp_path: Path) -> None:
    assert read_journal(tmp_path / JOURNAL) == ()


def test_a_reservation_that_a_crash_left_open_counts_at_its_ceiling(tmp_path: Path) -> None:
    ledger = read_ledger(written(tmp_path))
    assert (ledger.settled.picodollars, ledger.settled.tokens, ledger.settled.sessions) == (10, 5, 0)
    assert ledger.reserved == NOTHING


@pytest.mark.parametrize("torn", [b"{", b'{"entry":"settled","id":1', b'{"entry":"reserved"}'])
def test_a_torn_line_is_none_and_is_cut_before_the_journal_goes_on(torn: bytes, tmp_path: Path) -> None:
    path = written(tmp_path)
    with path.open("ab") as file:
        file.write(torn)
    assert read_ledger(path).settled.picodollars == 10
    again = Journal(path, "digest", durable=True)
    again.append(Settled(id=1, amounts=amounts(4), seconds=1.0, basis="agent"))
    assert read_ledger(path).settled.picodollars == 4
    assert len(read_journal(path)) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense\n", "line 3 is no entry of a spend journal"),
        (b'{"entry":"settled","id":7,"amounts":{},"seconds":1,"basis":"agent"}\n', "contradicts itself: 7"),
        (b'{"entry":"opened","schema_version":2,"prices":""}\n', "version 2 is not supported, only 1"),
    ],
)
def test_a_damaged_journal_is_refused_by_name(line: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    with path.open("ab") as file:
        file.write(line)
    with pytest.raises(RunError, match=message) as caught:
        read_ledger(path)
    assert str(path) in str(caught.value)


def test_a_journal_without_its_first_line_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    with pytest.raises(RunError, match="line 1 does not say which version"):
        read_ledger(path)
