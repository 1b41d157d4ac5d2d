"""The pure parts: where files go, what names say, which evidence is admitted, what a diff says."""

import difflib
import signal
from datetime import datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
from apply_builders import NOW, make_project, promote
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from bench.config import SkillSpec
from bench.digest import digest_files
from bench.errors import RunError
from bench.generated_schema import schema_bytes
from bench.project import find_project
from bench.skills import Overlay
from evolve.apply import Change, Step, apply_schemas, command_line
from evolve.apply.difference import summarise, unified
from evolve.apply.evidence import admission_problems
from evolve.apply.interrupts import Interrupts
from evolve.apply.names import read_name, temporary_name
from evolve.apply.promoted import PromotedRun, read_promoted
from evolve.apply.targets import destinations, is_inside

SCHEMAS = Path(__file__).parents[3] / "schemas"

_names = st.text("abcdefgh-", min_size=1, max_size=8)
_folders = st.lists(_names, min_size=1, max_size=3).map("/".join)


@st.composite
def overlays(draw: st.DrawFn) -> tuple[Overlay, dict[str, SkillSpec]]:
    skills = draw(st.lists(_names, min_size=1, max_size=3, unique=True))
    specs = {
        name: SkillSpec(root=draw(_folders), mirrors=tuple(draw(st.lists(_folders, max_size=3))))
        for name in skills
    }
    folders = {name: f"{specs[name].root}/{name}" for name in skills}
    files = {
        f"{folders[name]}/{draw(_names)}.md": draw(st.binary(max_size=4))
        for name in skills
        for _ in range(draw(st.integers(1, 3)))
    }
    return Overlay(files, digest_files(files), tuple(sorted(skills)), folders), specs


@given(overlays())
def test_every_file_goes_to_its_own_place_and_the_same_place_in_every_mirror_and_nowhere_else(
    drawn: tuple[Overlay, dict[str, SkillSpec]],
) -> None:
    overlay, specs = drawn
    targets = destinations(overlay, specs)
    expected = {
        f"{place}/{skill}/{within}"
        for skill in overlay.touched
        for within in overlay.of(skill)
        for place in (specs[skill].root, *specs[skill].mirrors)
    }
    assert {each.path for each in targets} == expected
    assert len(targets) == len(expected)
    assert set(overlay.files) <= {each.path for each in targets if not each.mirror}
    assert all(is_inside(each.path, specs) for each in targets)


def test_a_place_that_is_mirror_and_home_at_once_counts_once_as_home() -> None:
    overlay = Overlay({"s/a/x.md": b""}, "", ("a",), {"a": "s/a"})
    (target,) = destinations(overlay, {"a": SkillSpec(root="s", mirrors=("s", "./s"))})
    assert not target.mirror


@pytest.mark.parametrize("path", ["a/x.md", "s/a", "s/ab/x.md", "evolve.toml", "s/x.md"])
def test_what_lies_beside_a_skill_is_not_inside_it(path: str) -> None:
    assert not is_inside(path, {"a": SkillSpec(root="s")})


@given(_names, st.binary(max_size=9), st.binary(max_size=9), st.sampled_from(("exchange", "backup")))
@example("x.part", b"", b"", "backup")
def test_a_temporary_name_says_what_it_is(name: str, before: bytes, after: bytes, kind: str) -> None:
    change = Change(path=f"folder/{name}.md", before=before, after=after)
    made = temporary_name(change, "exchange" if kind == "exchange" else "backup", "0123abcd")
    about = read_name(made)
    assert about is not None
    assert (about.kind, about.token, about.destination) == (kind, "0123abcd", f"{name}.md")
    half = read_name(made + ".part")
    assert half is not None
    assert (half.kind, half.destination) == ("unfinished", f"{name}.md")


@given(st.text(max_size=12))
def test_any_other_name_says_nothing(name: str) -> None:
    assert read_name(name) is None
    assert read_name(f".incumbent-{name}") is None


_lines = st.lists(st.text("ab\r\x0c\u2028", max_size=3), max_size=5)


@given(_lines, _lines, st.booleans())
def test_the_counts_of_a_diff_are_those_of_its_lines(old: list[str], new: list[str], end: bool) -> None:
    before, after = ("\n".join(lines) + ("\n" if end and lines else "") for lines in (old, new))
    change = Change(path="x.md", before=before.encode(), after=after.encode())
    (summary,) = summarise([change])
    restored = list(difflib.ndiff(before.split("\n"), after.split("\n")))
    if end and old and new:
        assert summary.insertions - summary.deletions == sum(
            {"+": 1, "-": -1}.get(line[0], 0) for line in restored
        )
    assert (unified([change]) == "") == (before == after)


@pytest.fixture
def promoted(tmp_path: Path) -> PromotedRun:
    return read_promoted(promote(make_project(tmp_path / "project")))


def problems(promoted: PromotedRun, now: datetime = NOW) -> list[str]:
    return [each.what for each in admission_problems(promoted, now)]


def test_complete_recent_confined_evidence_is_admitted(promoted: PromotedRun) -> None:
    assert problems(promoted) == []


def test_a_sweep_that_was_stopped_is_partial_evidence(promoted: PromotedRun) -> None:
    (one,) = promoted.generations
    evidence = structs.replace(one.promotion.evidence, stopped="deadline")
    stopped = structs.replace(one, promotion=structs.replace(one.promotion, evidence=evidence))
    (said,) = problems(structs.replace(promoted, generations=(stopped,)))
    assert "partial: the sweep was stopped (deadline)" in said


def test_a_run_that_ended_badly_is_partial_evidence(promoted: PromotedRun) -> None:
    (one,) = promoted.generations
    metadata = structs.replace(one.promotion.metadata, exit_code=1)
    ended = structs.replace(one, promotion=structs.replace(one.promotion, metadata=metadata))
    (said,) = problems(structs.replace(promoted, generations=(ended,)))
    assert "ended with exit code 1" in said


def test_a_verdict_that_was_dated_later_makes_no_evidence_younger(promoted: PromotedRun) -> None:
    (one,) = promoted.generations
    now = one.promotion.metadata.generated_at + timedelta(days=91)
    metadata = structs.replace(one.promotion.metadata, generated_at=now)
    later = structs.replace(one, promotion=structs.replace(one.promotion, metadata=metadata))
    (said,) = problems(structs.replace(promoted, generations=(later,)), now=now)
    assert "its evidence expired" in said


def test_a_cell_without_a_row_is_partial_evidence(promoted: PromotedRun) -> None:
    (one,) = promoted.generations
    cut = structs.replace(one, rows=one.rows[:-2])
    (said,) = problems(structs.replace(promoted, generations=(cut,)))
    assert "partial: 2 cells of its plan have no row" in said


@pytest.mark.parametrize("age", [timedelta(days=-1), timedelta(days=91)])
def test_age_is_a_problem_in_both_directions(promoted: PromotedRun, age: timedelta) -> None:
    (one,) = promoted.generations
    assert len(problems(promoted, now=one.promotion.metadata.generated_at + age)) == 1


@pytest.mark.parametrize("name", sorted(apply_schemas()))
def test_the_published_schemas_are_those_of_the_structs(name: str) -> None:
    schema = apply_schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (SCHEMAS / f"{name}.schema.json").read_bytes() == schema_bytes(schema), (
        "run: python -m evolve.schemas schemas"
    )


def interrupted(number: signal.Signals, *steps: Step) -> None:
    """An interrupt, and the steps after it."""
    with Interrupts() as observe:
        signal.raise_signal(number)
        for step in steps:
            observe(step)


def test_an_interrupt_waits_for_a_step_that_can_be_taken_back() -> None:
    with Interrupts() as observe:
        observe(Step("validated"))
    with pytest.raises(KeyboardInterrupt):
        interrupted(signal.SIGTERM, Step("exchanged", "x"))


def test_without_an_interrupt_nothing_is_raised_and_the_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as observe:
        observe(Step("exchanged", "x"))
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_during_the_last_steps_is_raised_when_the_work_is_done() -> None:
    finished: list[bool] = []

    def work() -> None:
        with Interrupts() as observe:
            signal.raise_signal(signal.SIGINT)
            for step in (Step("recorded"), Step("undo", "x"), Step("remove", "x")):
                observe(step)
            finished.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert finished


def test_the_project_of_a_run_is_found_from_wherever_its_command_line_was_made_for(tmp_path: Path) -> None:
    root, inner, outside = tmp_path / "p", tmp_path / "p" / "docs", tmp_path / "elsewhere"
    starter = tmp_path / "elsewhere" / "runs" / "starter"
    for folder in (inner, starter, root / "runs" / "20260601T1"):
        folder.mkdir(parents=True)
    (root / "evolve.toml").write_text("")
    (starter / "evolve.toml").write_text("")
    assert command_line("r1", root, root) == command_line("r1", root, inner) == "evolve apply r1"
    assert command_line("r1", starter, outside) == "evolve apply r1"
    assert command_line("r1", root, outside) == f"evolve apply r1 --root {root}"
    assert find_project("r1", None, inner) == root
    assert find_project("r1", None, outside) == starter
    assert find_project("r1", str(root), outside) == root
    assert find_project("../p/runs/20260601T1", None, outside) == root
    with pytest.raises(RunError, match="no project here"):
        find_project("r1", None, tmp_path)
