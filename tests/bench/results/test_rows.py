import json
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_builders import make_row, score

from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import cut_torn_line
from bench.results import KINDS_OF_STATUS, Kind, Outcome, Row, RowFile, Status, read_rows

ROWS = (make_row(), make_row(repeat=1, kind=None), make_row(repeat=2, kind="session-error"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def write(path: Path, rows: Sequence[Row] = ROWS) -> Path:
    for row in rows:
        RowFile(path).append(row)
    return path


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Every file may have `size` bytes at most, as if the disk ended there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_is_appended_is_read_back_in_order(path: Path) -> None:
    assert read_rows(write(path)) == (ROWS, False)


def test_what_rows_have_in_common_is_in_memory_once(path: Path) -> None:
    first, second, third = read_rows(write(path))[0]
    assert first.provenance is second.provenance is third.provenance
    assert first.usage is second.usage
    assert first.identity.plan is second.identity.plan
    assert (first.score, first.outcome) != (third.score, third.outcome)


def test_each_row_is_one_line_and_readable_by_its_owner_only(path: Path) -> None:
    lines = write(path).read_bytes().splitlines()
    assert [json.loads(line)["identity"]["repeat"] for line in lines] == [0, 1, 2]
    assert path.stat().st_mode & 0o777 == 0o600


@settings(max_examples=50)
@given(cut=st.integers(1, 4000))
def test_a_crash_at_any_byte_loses_nothing_but_the_row_being_written(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("crash") / "results.jsonl"
    whole = write(path).read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    kept = path.read_bytes().count(b"\n")
    rows, torn = read_rows(path)
    assert rows == ROWS[:kept]
    assert torn == (cut < len(whole) and not path.read_bytes().endswith(b"\n"))
    assert (cut_torn_line(path) > 0) == torn
    write(path, ROWS[kept:])
    assert read_rows(path) == (ROWS, False)


def test_nothing_is_appended_to_a_torn_line(path: Path) -> None:
    write(path).write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match="torn line"):
        RowFile(path).append(make_row(repeat=3))


def test_a_row_that_the_disk_has_no_room_for_leaves_the_file_as_it_was(path: Path) -> None:
    before = write(path).read_bytes()
    with full_disk(len(before) + 100), pytest.raises(RunError) as error:
        RowFile(path).append(make_row(repeat=3))
    assert path.read_bytes() == before
    assert str(path) in str(error.value)
    assert "free some space" in str(error.value)
    RowFile(path).append(make_row(repeat=3))
    assert len(read_rows(path)[0]) == 4


def test_a_full_device_is_named(path: Path) -> None:
    path.symlink_to("/dev/full")
    with pytest.raises(RunError, match="No space left on device"):
        RowFile(path).append(ROWS[0])


@pytest.mark.parametrize(
    "damage", [b"{}\n", b"\n", b"null\n", b'{"schema_version":1}\n', b"\xff\n", b"[" * 9999 + b"\n"]
)
def test_a_malformed_line_is_an_error_that_names_its_number(path: Path, damage: bytes) -> None:
    lines = write(path).read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    with pytest.raises(RunError, match="line 2 is not a row"):
        read_rows(path)


def test_another_schema_version_is_refused_by_name(path: Path) -> None:
    write(path).write_bytes(path.read_bytes().replace(b'"schema_version":2', b'"schema_version":7', 1))
    with pytest.raises(RunError, match="line 1: schema_version 7 is not supported"):
        read_rows(path)


def test_unknown_fields_are_kept_out_of_sight(path: Path) -> None:
    newer = json.loads(canonical_json(ROWS[0]))
    newer["mood"] = newer["identity"]["mood"] = "fine"
    path.write_bytes(json.dumps(newer).encode() + b"\n")
    assert read_rows(path) == (ROWS[:1], False)


def test_an_identical_row_counts_once(path: Path) -> None:
    assert read_rows(write(path, (*ROWS, ROWS[1]))) == (ROWS, False)


def test_two_different_rows_of_one_attempt_are_an_error_and_no_choice(path: Path) -> None:
    write(path, (*ROWS, make_row(repeat=1, kind="oracle-failed")))
    with pytest.raises(RunError, match="lines 2 and 4 are different rows of attempt 0"):
        read_rows(path)


def test_a_failed_cell_may_have_a_further_attempt(path: Path) -> None:
    again = make_row(repeat=2, attempt=1)
    assert read_rows(write(path, (*ROWS, again))) == ((*ROWS, again), False)


def test_a_measured_cell_is_never_rolled_again(path: Path) -> None:
    write(path, (*ROWS, make_row(repeat=0, attempt=1, kind=None)))
    with pytest.raises(RunError, match=r"line 4: .* was run again after line 1 had measured it"):
        read_rows(path)


def test_the_same_cell_of_another_generation_is_another_cell(path: Path) -> None:
    assert len(read_rows(write(path, (*ROWS, make_row(generation=2, kind=None))))[0]) == 4


def test_a_missing_file_is_no_empty_run(path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        read_rows(path)


def test_a_number_that_json_cannot_write_is_never_written(path: Path) -> None:
    write(path)
    with pytest.raises(ValueError, match="nan"):
        RowFile(path).append(make_row(repeat=3, seconds=float("nan")))
    assert read_rows(path) == (ROWS, False)


@pytest.mark.parametrize(
    ("status", "kind", "resolved"),
    [
        ("measured", "session-error", False),
        ("failed", "verify-failed", False),
        ("failed", None, False),
        ("measured", "verify-failed", True),
        ("measured", None, False),
        ("stopped", "cancelled", True),
    ],
)
def test_a_combination_outside_the_taxonomy_cannot_be_made(
    status: Status, kind: Kind | None, resolved: bool
) -> None:
    with pytest.raises(ValueError, match="kind"):
        Outcome(status=status, kind=kind, resolved=resolved)


def test_every_kind_has_exactly_one_status() -> None:
    kinds = [kind for own in KINDS_OF_STATUS.values() for kind in own]
    assert len(kinds) == len(set(kinds))
    for status, own in KINDS_OF_STATUS.items():
        assert all(Outcome(status=status, kind=kind).kind == kind for kind in own)


def test_what_was_not_measured_has_no_score() -> None:
    with pytest.raises(ValueError, match="no score"):
        msgspec.structs.replace(make_row(kind="session-error"), score=score())


def test_a_time_without_an_offset_is_no_time(path: Path) -> None:
    with pytest.raises(ValueError, match="offset"):
        msgspec.structs.replace(ROWS[0], started_at=ROWS[0].started_at.replace(tzinfo=None))


def test_a_row_of_version_1_which_knew_no_reuse_is_one_that_its_run_measured(path: Path) -> None:
    old = json.loads(canonical_json(ROWS[0]))
    del old["reuse"]
    old["schema_version"] = 1
    path.write_bytes(json.dumps(old).encode() + b"\n")
    (row,), _ = read_rows(path)
    assert (row.reuse, row.measured_at, row.outcome) == (None, ROWS[0].finished_at, ROWS[0].outcome)
