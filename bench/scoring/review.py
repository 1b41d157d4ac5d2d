"""The review artifact: its bytes in, a review that keeps the contract out."""

import json
import posixpath
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from bench.errors import ReviewInvalid
from bench.scoring.model import LARGEST_REVIEW, LONGEST_NAME, LONGEST_PATH, LONGEST_TEXT, Finding, Review

_LIMITS = {
    "id": LONGEST_NAME,
    "path": LONGEST_PATH,
    "category": LONGEST_NAME,
    "scenario": LONGEST_TEXT,
    "evidence": LONGEST_TEXT,
    "recommendation": LONGEST_TEXT,
}


def read_review(content: bytes | None) -> Review:
    """The review in `content`, its paths in their shortest form; None stands for an artifact never written.

    ReviewInvalid names the rule that is broken (schemas/review.schema.json).
    """
    data = _parsed(_text(content))
    if isinstance(data, dict) and isinstance(data.get("verdict"), str):
        data["verdict"] = data["verdict"].casefold()
    try:
        review = msgspec.convert(data, Review)
    except msgspec.ValidationError as error:
        raise ReviewInvalid(f"the review breaks its schema: {error}") from error
    broken = list(_broken_rules(review))
    if broken:
        raise ReviewInvalid(f"the review breaks its contract: {'; '.join(broken[:5])}")
    return msgspec.structs.replace(review, findings=tuple(_with_short_path(each) for each in review.findings))


def short_path(path: str) -> str | None:
    """A path relative to the repository in its shortest form; None if it is absolute or leads out of it."""
    shortest = posixpath.normpath(path)
    outside = shortest in (".", "..") or shortest.startswith(("/", "../"))
    return None if outside or "\0" in path else shortest


def _text(content: bytes | None) -> str:
    if content is None:
        raise ReviewInvalid("the review was never written")
    if len(content) > LARGEST_REVIEW:
        raise ReviewInvalid(f"the review is larger than {LARGEST_REVIEW} bytes")
    if not content.strip():
        raise ReviewInvalid("the review is empty")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReviewInvalid(f"the review is not UTF-8: byte {error.start}") from error


def _parsed(text: str) -> Any:
    """The JSON value of `text`, parsed more strictly than JSON libraries do: what two readers could take for
    two different reviews is refused.
    """
    try:
        data = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise ReviewInvalid("the review is not JSON that can be read: nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ReviewInvalid("the review is not text: it holds half of a surrogate pair") from error
    except ValueError as error:
        raise ReviewInvalid(f"the review is not JSON: {error}") from error
    return data


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ReviewInvalid("the review is ambiguous: an object has the same key twice")
    return dict(pairs)


def _refuse_constant(word: str) -> NoReturn:
    raise ReviewInvalid(f"the review is not JSON: {word} is not a JSON number")


def _broken_rules(review: Review) -> Iterator[str]:
    """The rules that types alone cannot say."""
    ids = [finding.id for finding in review.findings]
    if len(set(ids)) < len(ids):
        yield "two findings have the same id"
    if review.verdict == "approve" and review.findings:
        yield f"the verdict is approve, but there are {len(ids)} findings"
    if review.verdict == "request_changes" and not any(finding.blocking for finding in review.findings):
        yield "the verdict is request_changes, but no finding is blocking"
    for position, finding in enumerate(review.findings):
        for rule in _broken_rules_of_finding(finding):
            yield f"finding {position}: {rule}"


def _broken_rules_of_finding(finding: Finding) -> Iterator[str]:
    if finding.end_line < finding.line:
        yield f"end_line {finding.end_line} is before line {finding.line}"
    if short_path(finding.path) is None:
        yield "path must lead to a file inside the repository, relative to its root"
    for name, most in _LIMITS.items():
        value: str = getattr(finding, name)
        if not value.strip():
            yield f"{name} is blank"
        if len(value.encode("utf-8")) > most:
            yield f"{name} is longer than {most} bytes"


def _with_short_path(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, path=short_path(finding.path) or finding.path)
