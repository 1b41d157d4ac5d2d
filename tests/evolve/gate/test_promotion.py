import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from evidence_builders import any_evidence, better, clean, evidence, pair, policy, same
from hypothesis import given, settings
from hypothesis import strategies as st
from work_builders import any_jobs
from work_builders import policy as cost_policy

from bench.digest import canonical_json
from bench.errors import RunError
from bench.generated_schema import schema_bytes
from evolve.errors import PromotionError
from evolve.gate import (
    Evidence,
    Policy,
    Promotion,
    PromotionMetadata,
    TaskEvidence,
    promotion_document,
    promotion_schema,
    read_promotion,
    recompute,
    write_promotion,
)

Edit = Callable[[Any], object]

ROOT = Path(__file__).parents[3]
FITS = jsonschema.Draft202012Validator(promotion_schema())
METADATA = PromotionMetadata(
    contained=True,
    generated_at=datetime(2026, 1, 1, tzinfo=UTC),
    run="r1",
    generation=1,
    idea="an idea",
    idea_digest="f" * 64,
    suite="starter",
    suite_digest="9" * 64,
    overlay="a" * 64,
    base_skills={"code-review": "b" * 64},
    result_skills={"code-review": "8" * 64},
    agent="rulebook/1",
    configuration="c" * 64,
    rows="d" * 64,
    exit_code=0,
)


def document(*tasks: TaskEvidence, **changes: Any) -> Promotion:
    some = evidence(*(tasks or (better(), same(), clean())), **changes)
    return promotion_document(some, policy().decide(some), METADATA)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "promotion.json"


def edited(path: Path, change: Edit) -> Path:
    data = json.loads(path.read_bytes())
    change(data)
    path.write_bytes(canonical_json(data) + b"\n")
    return path


@settings(max_examples=50)
@given(
    st.one_of(
        st.tuples(any_evidence(), st.just(policy())),
        st.tuples(any_jobs(), st.sampled_from((cost_policy(), cost_policy(metric="turns")))),
    )
)
def test_any_verdict_survives_the_file_and_is_reached_again(
    tmp_path_factory: pytest.TempPathFactory, judged: tuple[Evidence, Policy]
) -> None:
    some, judge = judged
    path = tmp_path_factory.mktemp("promotion") / "promotion.json"
    promotion = promotion_document(some, judge.decide(some), METADATA)
    write_promotion(path, promotion)
    assert read_promotion(path) == promotion
    assert canonical_json(recompute(read_promotion(path))) == canonical_json(judge.decide(some))
    FITS.validate(json.loads(path.read_bytes()))


def test_the_verdict_does_not_depend_on_the_metadata(path: Path) -> None:
    later = msgspec.structs.replace(METADATA, generated_at=datetime(2027, 5, 5, tzinfo=UTC), overlay="e" * 64)
    some = evidence(better())
    first, second = (promotion_document(some, policy().decide(some), each) for each in (METADATA, later))
    assert canonical_json(first.verdict) == canonical_json(second.verdict)
    assert canonical_json(first) != canonical_json(second)


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_the_bytes_do_not_depend_on_the_hash_seed(path: Path, seed: str) -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests/evolve/gate')\n"
        "from test_promotion import document, canonical_json\n"
        "sys.stdout.buffer.write(canonical_json(document()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == canonical_json(document())


def lower_bar(data: Any) -> None:
    data["verdict"]["parameters"]["min_improvement"] = 0.001


EDITS = {
    "decision": lambda data: data.update(decision="promote"),
    "decision of the verdict": lambda data: data["verdict"].update(decision="promote"),
    "both decisions": lambda data: (
        data.update(decision="promote"),
        data["verdict"].update(decision="promote"),
    ),
    "a reason": lambda data: data["verdict"]["reasons"].append("it is fine"),
    "a reason removed": lambda data: data["verdict"].update(reasons=[]),
    "a mean": lambda data: data["verdict"]["pairs"][0]["means"].update(all=[0.5, 0.9]),
    "parameters": lower_bar,
    "evidence": lambda data: data["evidence"]["pairs"][0]["tasks"][0]["candidate"]["aggregate"].update(
        weighted_f1=0.9
    ),
    "rows": lambda data: data["evidence"]["pairs"][0]["tasks"][0]["candidate"]["rows"].pop(),
    "an impossible parameter": lambda data: data["verdict"]["parameters"].update(min_runs=0),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_an_edited_promotion_does_not_follow_from_its_evidence(path: Path, change: Edit) -> None:
    write_promotion(path, document(same(), clean()))
    assert recompute(read_promotion(path)).decision == "keep_incumbent"
    with pytest.raises(PromotionError):
        recompute(read_promotion(edited(path, change)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(schema_version=2), "schema_version 2 is not supported"),
        (lambda data: data["evidence"].update(schema_version=2), "version that is not supported"),
        (lambda data: data.update(approved_by="me"), "not a promotion: .*approved_by"),
        (lambda data: data["evidence"].update(note="x"), "not as it was written"),
        (lambda data: data["metadata"].update(generated_at="2026-01-01T00:00:00"), "not a promotion"),
        (lambda data: data.pop("verdict"), "not a promotion"),
    ],
)
def test_a_file_that_was_not_written_as_it_stands_is_refused(path: Path, change: Edit, message: str) -> None:
    write_promotion(path, document())
    with pytest.raises(PromotionError, match=message):
        read_promotion(edited(path, change))


def test_a_file_written_in_another_layout_is_refused(path: Path) -> None:
    write_promotion(path, document())
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=2))
    with pytest.raises(PromotionError, match="not as it was written"):
        read_promotion(path)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b"[" * 9999, b"null"])
def test_what_is_no_promotion_is_refused(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PromotionError):
        read_promotion(path)


def test_a_promotion_is_written_whole_or_not_at_all(path: Path) -> None:
    write_promotion(path, document())
    before = path.read_bytes()
    blocked = path.parent / "missing" / "promotion.json"
    with pytest.raises(RunError, match="cannot write"):
        write_promotion(blocked, document(same()))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_time_without_an_offset_is_no_time() -> None:
    with pytest.raises(ValueError, match="offset"):
        msgspec.structs.replace(METADATA, generated_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_several_pairs_are_recomputed_too() -> None:
    some = evidence(pairs=(pair(better(), candidate="b"), pair(same(), candidate="a")))
    promotion = promotion_document(some, policy().decide(some), METADATA)
    assert recompute(promotion).decision == promotion.decision == "keep_incumbent"


def test_the_published_schema_is_the_one_of_the_structs() -> None:
    stored = (ROOT / "schemas" / "promotion.schema.json").read_bytes()
    assert stored == schema_bytes(promotion_schema()), "run: python -m evolve.schemas schemas"


def test_the_generated_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(promotion_schema())


def test_a_key_that_is_there_twice_is_refused_by_its_name(path: Path) -> None:
    write_promotion(path, document())
    path.write_bytes(b'{"decision":"keep_incumbent",' + path.read_bytes()[1:])
    with pytest.raises(PromotionError, match="the key 'decision' is there twice"):
        read_promotion(path)
