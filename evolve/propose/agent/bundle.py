"""The files that a proposing session finds as its evidence, and what is left out when they are too large. Pure."""

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs, to_builtins

from evolve.errors import ProposalError
from evolve.propose.agent.compact import compact_text, compact_transcript
from evolve.propose.evidence import Evidence, Exhibit

SMALLEST_FILE = 32 << 10
_SUFFIX = {"transcript": "jsonl", "patch": "diff", "review": "json"}


class Bounds(Struct, frozen=True, kw_only=True):
    """The most bytes of one file and of all of them."""

    file: int = 256 << 10
    bundle: int = 2 << 20


class Bundle(Struct, frozen=True, kw_only=True):
    """The files by name, what they are made of, and a line for each thing that was left out to make them fit."""

    files: dict[str, bytes]
    evidence: Evidence
    trimmed: tuple[str, ...]


def make_bundle(evidence: Evidence, bounds: Bounds) -> Bundle:
    """The evidence as files within the bounds. First files get shorter, down to 32 KiB; then earlier proposals go,
    then rows, the last one first. ProposalError if what must be there does not fit.
    """
    trimmed: list[str] = []
    for each, limit, said in _attempts(evidence, bounds.file):
        trimmed += [said] if said else []
        files = _files(each, limit)
        if sum(map(len, files.values())) <= bounds.bundle:
            return Bundle(files=files, evidence=each, trimmed=tuple(trimmed))
    raise ProposalError(
        f"the evidence does not fit into {bounds.bundle} bytes, not even without a row of a cell\n"
        "  raise proposer.options.bundle_kb, or show fewer learnings: proposer.options.learnings"
    )


def _attempts(evidence: Evidence, limit: int) -> Iterator[tuple[Evidence, int, str]]:
    """Ever smaller choices, each with a line on what it leaves out beyond the one before."""
    yield evidence, limit, ""
    while limit > SMALLEST_FILE:
        limit = max(limit // 2, SMALLEST_FILE)
        yield evidence, limit, f"no file is longer than {limit >> 10} KiB"
    if evidence.rejected:
        evidence = structs.replace(evidence, rejected=())
        yield evidence, limit, "earlier proposals are left out"
    while evidence.rows:
        lost = "/".join(map(str, evidence.rows[-1].row.key))
        evidence = structs.replace(evidence, rows=evidence.rows[:-1])
        yield evidence, limit, f"the row {lost} is left out"


def _files(evidence: Evidence, limit: int) -> dict[str, bytes]:
    files = {
        "verdicts.json": _listed([to_builtins(each) for each in evidence.verdicts], limit),
        "learnings.json": _listed([to_builtins(each) for each in evidence.learnings], limit),
    }
    for number, rejected in enumerate(evidence.rejected, 1):
        files[f"rejected-{number}.md"] = compact_text(rejected.text.encode("utf-8", "replace"), limit)
    rows = []
    for number, seen in enumerate(evidence.rows, 1):
        left = dict(_exhibits(number, seen.exhibits, limit))
        files |= left
        rows.append({**to_builtins(seen.row), "files": sorted(left)})
    return {"rows.json": _listed(rows, limit), **files}


def _exhibits(number: int, exhibits: Sequence[Exhibit], limit: int) -> Iterator[tuple[str, bytes]]:
    count: dict[str, int] = {}
    for each in exhibits:
        count[each.kind] = count.get(each.kind, 0) + 1
        shorten = compact_transcript if each.kind == "transcript" else compact_text
        content = shorten(each.content, limit)
        if content:
            yield f"row-{number}-{each.kind}-{count[each.kind]}.{_SUFFIX[each.kind]}", content


def _listed(entries: Sequence[object], limit: int) -> bytes:
    """The first entries that fit, one a line."""
    lines: list[bytes] = []
    room = limit - len(b"[\n]\n")
    for entry in entries:
        line = json.dumps(entry, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        room -= len(line) + 2
        if room < 0:
            break
        lines.append(line)
    return b"[\n" + b",\n".join(lines) + (b"\n" if lines else b"") + b"]\n"
