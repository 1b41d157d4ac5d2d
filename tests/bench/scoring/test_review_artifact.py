import json
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from review_builders import artifact, findings, review, written

from bench.errors import ReviewInvalid
from bench.scoring import LARGEST_REVIEW, Finding, read_review, review_schema

FITS = jsonschema.Draft202012Validator(review_schema())


def changed_finding(**changes: Any) -> bytes:
    data = artifact()
    data["findings"][0] |= changes
    return written(data)


def without(key: str) -> bytes:
    data = artifact()
    del data["findings"][0][key]
    return written(data)


BROKEN = {
    "never written": (None, "never written"),
    "empty": (b"", "is empty"),
    "blank": (b" \n\t", "is empty"),
    "too large": (b" " * (LARGEST_REVIEW + 1), "larger than 262144 bytes"),
    "not UTF-8": (b'{"schema_version": "\xff"}', "not UTF-8: byte 20"),
    "not JSON": (b"I found nothing.", "is not JSON"),
    "cut off": (written(artifact())[:-1], "is not JSON"),
    "nested too deeply": (b"[" * 50_000, "nested too deeply"),
    "a digit too many": (b'{"schema_version": ' + b"1" * 10_000 + b"}", "is not JSON"),
    "NaN": (b'{"schema_version": NaN}', "NaN is not a JSON number"),
    "same key twice": (b'{"verdict": "approve", "verdict": "comment"}', "the same key twice"),
    "half a surrogate": (changed_finding(scenario="\ud800"), "half of a surrogate pair"),
    "no object": (b"[]", "Expected `object`"),
    "version": (written(artifact(schema_version=2)), "schema_version"),
    "verdict": (written(artifact(verdict="maybe")), "verdict"),
    "extra key": (written(artifact(notes="x")), "unknown field `notes`"),
    "extra key of a finding": (changed_finding(line_start=1), "unknown field `line_start`"),
    "severity": (changed_finding(severity="blocker"), "severity"),
    "line 0": (changed_finding(line=0), "findings[0].line"),
    "line as text": (changed_finding(line="10"), "Expected `int`, got `str`"),
    "line as boolean": (changed_finding(line=True), "Expected `int`, got `bool`"),
    "blocking as number": (changed_finding(blocking=1), "Expected `bool`"),
    "end before line": (changed_finding(line=10, end_line=9), "end_line 9 is before line 10"),
    "absolute path": (changed_finding(path="/etc/passwd"), "inside the repository"),
    "escaping path": (changed_finding(path="src/../../x.py"), "inside the repository"),
    "path of nothing": (changed_finding(path="src/.."), "inside the repository"),
    "blank text": (changed_finding(evidence="  "), "evidence"),
    "blank id": (changed_finding(id=" "), "id is blank"),
    "text of too many bytes": (changed_finding(scenario="ä" * 2049), "scenario is longer than 4096 bytes"),
    "path of too many bytes": (changed_finding(path="ä" * 257), "path is longer than 512 bytes"),
    "same id twice": (written(artifact(findings=artifact()["findings"] * 2)), "the same id"),
    "101 findings": (written(artifact(findings=artifact()["findings"] * 101)), "length <= 100"),
    "approve with findings": (written(artifact(verdict="approve")), "approve, but there are 1 findings"),
    "request without a blocker": (changed_finding(blocking=False), "no finding is blocking"),
    "request without findings": (written(artifact(findings=[])), "no finding is blocking"),
} | {f"no {key}": (without(key), f"required field `{key}`") for key in artifact()["findings"][0]}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_each_broken_rule_has_a_message_of_its_own(content: bytes | None, message: str) -> None:
    with pytest.raises(ReviewInvalid) as error:
        read_review(content)
    assert message in str(error.value)


def test_a_valid_review_is_read_with_its_path_in_shortest_form() -> None:
    assert read_review(changed_finding(path="./src//cart.py")).findings[0].path == "src/cart.py"


def test_the_verdict_may_be_written_in_any_case() -> None:
    assert read_review(written(artifact(verdict="Request_Changes"))).verdict == "request_changes"


def test_a_review_of_the_largest_size_is_read() -> None:
    content = written(artifact())
    assert read_review(content + b" " * (LARGEST_REVIEW - len(content))).verdict == "request_changes"


def test_an_artifact_in_the_words_of_the_labels_is_refused() -> None:
    data = artifact()
    one = data["findings"][0]
    one["line_start"], one["line_end"] = one.pop("line"), one.pop("end_line")
    with pytest.raises(ReviewInvalid):
        read_review(written(data))


@given(findings())
def test_whatever_review_is_read_back_is_equal_and_fits_the_published_schema(found: list[Finding]) -> None:
    written_review = msgspec.json.encode(review(*found))
    assert read_review(written_review) == review(*found)
    FITS.validate(json.loads(written_review))


@pytest.mark.parametrize(
    "name", ["approve with findings", "request without a blocker", "blank text", "extra key"]
)
def test_the_published_schema_refuses_what_the_reader_refuses(name: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        FITS.validate(json.loads(BROKEN[name][0]))
