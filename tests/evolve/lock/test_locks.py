"""A lock is believed only as it was written: whole, of this version, by digests that fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sealed_project import KEY, ask, the_run

from bench.config import load_schema
from bench.digest import canonical_json
from evolve.lock import LOCK, drifts


def lock_of(root: Path, number: int = 2) -> Path:
    return the_run(root) / f"gen-{number}" / LOCK


def test_a_lock_fits_its_schema_and_holds_no_secret_but_its_name(sealed: Path) -> None:
    content = lock_of(sealed).read_bytes()
    lock = json.loads(content)
    jsonschema.validate(lock, load_schema("generation-lock"))
    assert lock["sealed"]["secrets"] == ["OUR_KEY"]
    assert KEY.encode() not in content
    assert lock["sealed"]["parent"].endswith("/gen-1")
    assert lock["observed"]["models"] == {"our-model": ["our-model"]}
    assert all(lock["sealed"]["read"][kind] for kind in lock["sealed"]["read"] if kind != "tool")


EDITS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a digest": (lambda lock: lock["sealed"]["read"]["skill"].update({"code-review": "0" * 64}), "was edited"),
    "the configuration": (lambda lock: lock["sealed"]["configuration"].update(seed=9), "was edited"),
    "what was observed": (lambda lock: lock["observed"].update(rows="0" * 64), "was edited"),
    "a newer version": (lambda lock: lock.update(schema_version=2), "a newer version of incumbent: schema_version 2"),
    "a field that is gone": (lambda lock: lock["sealed"].pop("read"), "is incomplete, or was edited"),
    "a digest that is gone": (lambda lock: lock.update(observed_digest=None), "is incomplete"),
    "a field too many": (lambda lock: lock.update(note="it is fine"), "is incomplete, or was edited"),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_a_lock_that_is_not_as_it_was_written_is_refused(
    sealed: Path, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    change, said = EDITS[what]
    path = lock_of(sealed)
    lock = json.loads(path.read_bytes())
    change(lock)
    path.write_bytes(canonical_json(lock) + b"\n")
    for command in (("lock", "verify"), ("reproduce",)):
        told = ask(capfd, sealed, *command, f"{the_run(sealed).name}/gen-2")
        assert told.code == 6
        assert said in told.err
        assert "Traceback" not in told.err


def test_half_a_lock_none_and_one_without_a_decision_cannot_be_reproduced(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, name = lock_of(sealed), f"{the_run(sealed).name}/gen-2"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    told = ask(capfd, sealed, "reproduce", name)
    assert (told.code, "is no lock" in told.err) == (6, True)
    unfinished = json.loads(content) | {"observed": None, "observed_digest": None}
    path.write_bytes(canonical_json(unfinished) + b"\n")
    told = ask(capfd, sealed, "reproduce", name)
    assert (told.code, "evolve resume" in told.err) == (6, True)
    path.unlink()
    told = ask(capfd, sealed, "reproduce", name)
    assert (told.code, "there is no" in told.err) == (6, True)


PARTS = st.dictionaries(st.sampled_from("ab"), st.dictionaries(st.text(max_size=2), st.text(max_size=2)))


@settings(max_examples=30)
@given(PARTS, PARTS)
def test_every_difference_is_a_drift_and_every_drift_a_difference(
    then: dict[str, dict[str, str]], now: dict[str, dict[str, str]]
) -> None:
    def flat(parts: dict[str, dict[str, str]]) -> set[tuple[str, str, str]]:
        return {(kind, name, value) for kind, items in parts.items() for name, value in items.items()}

    found = list(drifts(then, now))
    assert {(each.kind, each.name) for each in found} == {each[:2] for each in flat(then) ^ flat(now)}
    assert all(each.then == then.get(each.kind, {}).get(each.name) != each.now for each in found)
    assert list(drifts(then, then)) == []
