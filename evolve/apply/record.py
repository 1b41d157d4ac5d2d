"""`applied.jsonl` of a run folder: what was applied and reverted, one line each, oldest first."""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from bench.digest import canonical_json, digest_bytes
from bench.project import RunFolder
from evolve.apply.model import RECORD_VERSION, Action, AppliedFile, ApplyRecord, Change
from evolve.errors import ApplyError

_FILE = "applied.jsonl"


def read_records(run: RunFolder) -> tuple[ApplyRecord, ...]:
    """Every record of a run. ApplyError names a line that is none."""
    path = run.path / _FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ApplyError(f"cannot read {path}: {error.strerror}") from error
    return tuple(_read(path, number, line) for number, line in enumerate(lines, start=1))


def append_record(run: RunFolder, record: ApplyRecord) -> None:
    """Add one record, whole and on the disk, or raise ApplyError and leave the file as it was."""
    lines = [canonical_json(each) for each in (*read_records(run), record)]
    path = run.path / _FILE
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{_FILE}-", dir=run.path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"".join(line + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ApplyError(f"cannot write {path}: {error.strerror}") from error


def make_record(
    run: RunFolder, action: Action, overlay: str, changes: Sequence[Change], now: datetime
) -> ApplyRecord:
    """The record of a set of changes."""
    files = tuple(
        AppliedFile(path=each.path, before=digest_bytes(each.before), after=digest_bytes(each.after))
        for each in changes
    )
    return ApplyRecord(
        schema_version=RECORD_VERSION, time=now, action=action, run=run.id, overlay=overlay, files=files
    )


def _read(path: Path, number: int, line: bytes) -> ApplyRecord:
    try:
        record = msgspec.json.decode(line, type=ApplyRecord)
    except msgspec.DecodeError as error:
        raise ApplyError(f"{path}, line {number} is not a record of an apply: {error}") from error
    if record.schema_version != RECORD_VERSION:
        raise ApplyError(f"{path}, line {number}: schema_version {record.schema_version} is not supported")
    return record
