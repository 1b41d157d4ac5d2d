"""Reads a file of hidden labels."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.config import load_schema, schema_complaints
from bench.digest import canonical_json, digest_json
from bench.suite.declared import DeclaredLabels
from bench.suite.documents import Document, read_json
from bench.suite.files import Refused, check_path, read_text, shown
from bench.suite.model import Label, LabelOracle

MOST_BYTES = 1 << 20


def read_labels(folder: Path, path: str, name: str, task: str) -> LabelOracle:
    """The hidden labels in the JSON file `path` of the suite `folder`; messages call the file `name`.

    Refused with every problem, each with its file, line and the task.
    """
    try:
        text = read_text(folder, path, MOST_BYTES)
    except Refused as refusal:
        raise Refused(f"{name}: task `{task}`: {refusal}") from refusal
    document = read_json(text, name)
    complaints = schema_complaints(load_schema("labels"), document.value)
    if complaints:
        ordered = sorted(complaints, key=lambda each: (document.line(each.path), each.line()))
        raise Refused(*(f"{document.place(each.path)}: task `{task}`: {each.line()}" for each in ordered))
    labels = msgspec.convert(document.value, DeclaredLabels).findings
    _check(document, labels, task)
    return LabelOracle(labels, labels_digest(labels))


def labels_digest(labels: Sequence[Label]) -> str:
    """Digest of labels; their order does not matter, as it does not matter to a score."""
    return digest_json([canonical_json(label).decode() for label in sorted(labels, key=canonical_json)])


def _check(document: Document, labels: Sequence[Label], task: str) -> None:
    """Refused with what the schema cannot say: ids that repeat, lines that end before they start, odd paths."""
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, label in enumerate(labels):
        place = f"{document.place(('findings', number))}: task `{task}`: label `{shown(label.id)}`"
        if label.id in seen:
            problems.append(f"{place} is there already, as findings[{seen[label.id]}]")
        seen.setdefault(label.id, number)
        if label.line_end < label.line_start:
            problems.append(f"{place} ends in line {label.line_end}, before it starts in {label.line_start}")
        try:
            check_path(label.path)
        except Refused as refusal:
            problems.append(f"{place}: its path `{shown(label.path)}` {refusal}")
    if problems:
        raise Refused(*problems)
