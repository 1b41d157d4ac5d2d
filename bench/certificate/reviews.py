"""Which reviews are tried on a task that is judged by labels. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs

from bench.certificate.model import Solution, Worth
from bench.digest import canonical_json
from bench.scoring import BLOCKING, MOST_FINDINGS, right_verdict
from bench.suite import Label

_FILE = "review.json"
_FAR = 1_000_000
_CHUNK = 50


class _Claim(Struct, frozen=True, kw_only=True):
    id: str
    severity: str
    path: str
    line: int
    end_line: int
    category: str
    blocking: bool
    scenario: str = "see the label"
    evidence: str = "see the label"
    recommendation: str = "see the label"


def review_solutions(labels: Sequence[Label], lengths: Mapping[str, int]) -> Iterator[Solution]:
    """The perfect review first; `lengths` are the lines of each file of the working copy."""
    claims, verdict = [_claim(number, label) for number, label in enumerate(labels)], right_verdict(labels)
    perfect = _review(verdict, claims)
    yield _written("reference", "reference", perfect)
    yield Solution(name="untouched", worth="untouched")
    yield from _wrong(labels, claims, verdict)
    flood = _review("request_changes", _everywhere(lengths))
    yield _written("reports-everything", "tampering", flood)
    yield _written("says-it-twice", "tampering", b'{"verdict":"approve",' + perfect[1:])
    edited = next(iter(sorted(lengths)), "notes.txt")
    yield structs.replace(
        _written("edits-the-change", "tampering", perfect),
        steps=({"append": edited, "text": "\n"}, {"artifact": _FILE}),
    )


def missing_places(labels: Sequence[Label], lengths: Mapping[str, int]) -> tuple[str, ...]:
    """What is wrong with the places of labels in the files as they are."""
    problems = []
    for label in labels:
        lines = lengths.get(label.path)
        if lines is None:
            problems.append(f"label {label.id} is in {label.path}, which is not there")
        elif label.line_end > lines:
            problems.append(
                f"label {label.id} ends in line {label.line_end} of {label.path}, which has {lines}"
            )
    return tuple(problems)


def _wrong(labels: Sequence[Label], claims: Sequence[_Claim], verdict: str) -> Iterator[Solution]:
    """Reviews that a careless reviewer might write."""
    if labels:
        yield _written("empty", "empty", _review("approve", ()))
        moved = [structs.replace(each, line=_FAR, end_line=_FAR) for each in claims]
        yield _written("wrong-places", "wrong", _review(verdict, moved))
    if len(labels) > 1:
        fewer = claims[:-1]
        kept = _consistent(verdict, fewer)
        yield _written("one-missing", "wrong", _review(verdict, kept))
    if len(claims) < MOST_FINDINGS:
        where = labels[0].path if labels else "README.md"
        invented = _Claim(
            id="invented",
            severity="low",
            path=where,
            line=_FAR,
            end_line=_FAR,
            category="other",
            blocking=False,
        )
        told = "comment" if verdict == "approve" else verdict
        yield _written("one-invented", "wrong", _review(told, [*claims, invented]))
    other = "comment" if verdict != "comment" else "request_changes"
    yield _written("wrong-verdict", "wrong", _review(other, _consistent(other, claims)))


def _everywhere(lengths: Mapping[str, int]) -> list[_Claim]:
    """Findings on as many lines as the contract allows."""
    places = [
        (path, start, min(start + _CHUNK - 1, lines))
        for path, lines in sorted(lengths.items())
        for start in range(1, lines + 1, _CHUNK)
    ]
    return [
        _Claim(
            id=f"f{n}",
            severity="high",
            path=path,
            line=start,
            end_line=end,
            category="correctness",
            blocking=True,
        )
        for n, (path, start, end) in enumerate(places[:MOST_FINDINGS])
    ]


def _claim(number: int, label: Label) -> _Claim:
    return _Claim(
        id=f"f{number}",
        severity=label.severity,
        path=label.path,
        line=label.line_start,
        end_line=label.line_end,
        category=label.category,
        blocking=label.severity in BLOCKING,
    )


def _consistent(verdict: str, claims: Sequence[_Claim]) -> list[_Claim]:
    """The claims as the contract wants them with a verdict: to ask for changes, one must be blocking."""
    if verdict != "request_changes" or any(each.blocking for each in claims):
        return [*claims]
    return [structs.replace(each, blocking=True) for each in claims]


def _review(verdict: str, claims: Sequence[_Claim]) -> bytes:
    return canonical_json({"schema_version": 1, "verdict": verdict, "findings": [*claims]})


def _written(name: str, worth: Worth, review: bytes) -> Solution:
    return Solution(name=name, worth=worth, steps=({"artifact": _FILE},), files={_FILE: review})
