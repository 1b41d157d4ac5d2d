"""A review: what the rules find in the uncommitted change, as the artifact that is scored."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from .contract import Session
from .files import write_artifact
from .repository import changed_lines, searchable
from .rules import Rule
from .search import Engine, Match, search
from .text import bounded, counted, one_line, shown

_MAX_FINDINGS = 100
_MAX_ARTIFACT_BYTES = 256 * 1024
_TEXT_LIMITS = (4096, 1024, 256)  # tried in turn: texts are cut before findings are dropped
_MAX_NAME_BYTES = 128
_MAX_PATH_BYTES = 512
_BLOCKING = ("critical", "high")


def review(session: Session, engine: Engine, rules: Sequence[Rule]) -> str:
    """Report what the rules find in the uncommitted change; says what it leaves out."""
    found = _findings(session, engine, rules)
    nameable = [match for match in found if _is_nameable(match.path)]
    content, written = _artifact(nameable[:_MAX_FINDINGS])
    dropped = len(nameable) - written
    if dropped:
        engine.transcript.message(
            f"Wrote the first {written} of {len(nameable)} findings in path order; dropped {dropped}."
        )
    if len(found) > len(nameable):
        engine.transcript.message(
            f"Dropped {counted(len(found) - len(nameable), 'finding')} in files whose names are not UTF-8 "
            f"or longer than {_MAX_PATH_BYTES} bytes."
        )
    write_artifact(session, engine.transcript, content)
    return f"Reported {counted(written, 'finding')}."


def _findings(session: Session, engine: Engine, rules: Sequence[Rule]) -> list[Match]:
    """One match for each rule and range of lines that the change touches, in order."""
    changed = changed_lines(session.workspace) if rules else {}
    first: dict[tuple[bytes, int, int, str], Match] = {}
    for match in search(engine, rules, searchable(session, changed)):
        key = (match.path, match.line, match.end_line, match.rule)
        if _touches(match, changed[match.path]):
            first[key] = min(first.get(key, match), match, key=lambda one: (one.start, one.end, one.text))
    return [first[key] for key in sorted(first)]


def _touches(match: Match, lines: list[range] | None) -> bool:
    return lines is None or any(match.line < part.stop and match.end_line >= part.start for part in lines)


def _is_nameable(path: bytes) -> bool:
    return len(path) <= _MAX_PATH_BYTES and path.decode("utf-8", "ignore").encode("utf-8") == path


def _artifact(matches: Sequence[Match]) -> tuple[bytes, int]:
    """The artifact within its size, and the number of findings in it."""
    for limit in _TEXT_LIMITS:
        content = _encoded(matches, limit)
        if len(content) <= _MAX_ARTIFACT_BYTES:
            return content, len(matches)
    return _artifact(matches[:-1])


def _encoded(matches: Sequence[Match], limit: int) -> bytes:
    findings = [_finding(match, name, limit) for match, name in zip(matches, _names(matches), strict=True)]
    blocking = any(finding["blocking"] for finding in findings)
    verdict = "request_changes" if blocking else "comment" if findings else "approve"
    document = {"schema_version": 1, "verdict": verdict, "findings": findings}
    return json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8") + b"\n"


def _names(matches: Sequence[Match]) -> Iterator[str]:
    """`rule:path:line` where that is short and unique, else cut and with a digest."""
    plain = [one_line(f"{match.rule}:{match.path.decode('utf-8')}:{match.line}") for match in matches]
    for name, match in zip(plain, matches, strict=True):
        if plain.count(name) == 1 and len(name.encode("utf-8")) <= _MAX_NAME_BYTES:
            yield name
        else:
            whole = repr((match.rule, match.path, match.line, match.end_line))
            digest = hashlib.sha256(whole.encode("utf-8")).hexdigest()[:12]
            yield f"{bounded(name, _MAX_NAME_BYTES - len(digest) - 1)}~{digest}"


def _finding(match: Match, name: str, limit: int) -> dict[str, object]:
    advice = match.note or match.message
    if match.edit is not None:
        advice += f"\nSuggested replacement: {match.edit.replacement.decode('utf-8')}"
    return {
        "id": name,
        "severity": match.severity,
        "path": match.path.decode("utf-8"),
        "line": match.line,
        "end_line": match.end_line,
        "category": bounded(match.category, _MAX_NAME_BYTES),
        "scenario": bounded(match.message, limit),
        "evidence": bounded(match.text, limit) or bounded(f"{shown(match.path)}:{match.line}", limit),
        "recommendation": bounded(advice, limit),
        "blocking": match.severity in _BLOCKING,
    }
