"""Writes a suite folder of packages: all of it or nothing, and recognises one that is there already."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from bench.digest import canonical_json, digest_files
from bench.errors import SuiteError
from bench.suite.copies import CERTIFICATE
from bench.suite.model import Label
from bench.suite.packages_model import PreparedTask, slug

_RECORD = "prepared.json"
_HEADER = "# Written by `bench prepare`: change the list of packages in the configuration, not this file.\n"
_PROMPT = """\
Review the uncommitted change in this repository: it brings in the source of a Python package as a whole.

Report each place where the code hides an error, depends on state that it should not share, or says in a
roundabout way what Python says directly. Give the path and the lines of each, and how to put it right.
Do not change the code.
"""


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """What a prepared folder was made from (a digest), what it holds (a digest) and its tasks."""

    inputs: str
    content: str
    tasks: tuple[PreparedTask, ...]


def write_task(folder: Path, package: str, files: Mapping[str, bytes], labels: Sequence[Label]) -> bytes:
    """Write the files and the hidden labels of one package into the suite `folder`; the label file's bytes."""
    tree = folder / "trees" / slug(package)
    for path, content in files.items():
        _write(tree / path, content)
    document = canonical_json({"schema_version": 1, "findings": list(labels)}) + b"\n"
    _write(folder / "labels" / f"{slug(package)}.json", document)
    return document


def write_suite(folder: Path, name: str, tasks: Sequence[PreparedTask], inputs: str) -> None:
    """Write `suite.yaml`, the prompt and the record of what the folder was made from."""
    suite = {"schema": "suite/1", "name": name, "tasks": [_task(task) for task in tasks]}
    text = yaml.safe_dump(suite, sort_keys=False, allow_unicode=True, width=110)
    _write(folder / "suite.yaml", (_HEADER + text).encode())
    _write(folder / "prompts" / "review.md", _PROMPT.encode())
    record = Record(inputs=inputs, content=_content(folder), tasks=tuple(tasks))
    _write(folder / _RECORD, msgspec.json.format(canonical_json(record), indent=2) + b"\n")


def read_record(folder: Path) -> Record | None:
    """The record of a prepared folder, None if there is nothing or an empty folder.

    SuiteError when there is something that `bench prepare` did not write.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        return msgspec.json.decode((folder / _RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SuiteError(
            f"{folder} is not a folder that `bench prepare` wrote, and would be replaced.\n"
            "Move it away, or give the suite another `path`."
        ) from error


def is_untouched(folder: Path, record: Record) -> bool:
    """True when the folder still holds exactly what was written into it."""
    return _content(folder) == record.content


def put_in_place(built: Path, destination: Path, aside: Path) -> None:
    """Rename `built` to `destination`; what was there goes to `aside`. All three are on one file system."""
    if destination.exists():
        destination.rename(aside)
    built.rename(destination)


def _content(folder: Path) -> str:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return digest_files(
        {name: path.read_bytes() for name, path in files.items() if name not in (_RECORD, CERTIFICATE)}
    )


def _task(task: PreparedTask) -> dict[str, Any]:
    return {
        "id": task.id,
        "class": "review-clean" if task.clean else "review-defect",
        "split": task.split,
        "source": {"tree": f"trees/{slug(task.package)}"},
        "change": "all",
        "prompt": "prompts/review.md",
        "oracle": {"labels": f"labels/{slug(task.package)}.json"},
        "notes": f"{task.package} {task.version}: {task.files} files, {task.labels} labels",
    }


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)
