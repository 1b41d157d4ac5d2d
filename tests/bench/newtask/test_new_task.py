"""A commit that repaired something makes a task that can be relied on; any other one is refused with the reason."""

import json
from pathlib import Path

import pytest
import yaml

import bench.cli
from bench.config import SuiteConfig
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.exits import ExitCode
from bench.newtask import Commit, refusals
from bench.suite import load_suite
from tests.bench.newtask.small_history import CODE, RIGHT, TEST, WRONG, begin, commit, git

GOOD = Commit(
    sha="a" * 40,
    parents=("b" * 40,),
    subject="Count each thing as often as it is there",
    body="One line of a list stands for several things.",
    changed=(("M", "shelf/prices.py"), ("M", "tests/test_total.py"), ("M", "CHANGELOG.md")),
    base_files=frozenset({"shelf/prices.py", "tests/test_total.py"}),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return begin(tmp_path / "shop")


def asked(root: Path, sha: str, *more: str) -> int:
    (root / "evolve.toml").touch()
    return bench.cli.main(["new-task", "--from-commit", sha, "--root", str(root), *more])


def test_a_commit_that_repairs_something_makes_a_task(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sha = commit(repository, "Count each thing as often as it is there (#7)\n\nFixes #7", RIGHT)
    assert asked(repository, sha, "--json", "--quiet") == ExitCode.VERDICT
    said = json.loads(capsys.readouterr().out)
    assert not [*schema_complaints(load_schema("task-added"), said)]
    assert said["repaired"] == ["tests.test_total.TotalTest.test_three_of_a_thing"]
    suite = load_suite(SuiteConfig(name="mine", path="suites/mine"), repository)
    (task,) = suite.tasks
    assert task.id == "count-each-thing-as-often-as-it-is-there"
    assert getattr(task.source, "commit", "") == git(repository, "rev-parse", f"{sha}^")
    assert task.verify == "python3 -B -m unittest tests.test_total"
    assert "#7" not in task.prompt
    assert task.solutions.reference is not None
    assert b"tests/" not in task.solutions.reference, "the hidden tests are no part of the solution"
    # a second one goes to the same suite, and the same one is refused with the file as it was
    before = (repository / "suites/mine/suite.yaml").read_text()
    assert asked(repository, sha) == ExitCode.REQUEST
    assert (repository / "suites/mine/suite.yaml").read_text() == before
    assert asked(repository, sha, "--id", "again") == ExitCode.VERDICT
    tasks = yaml.safe_load((repository / "suites/mine/suite.yaml").read_text())["tasks"]
    assert [each["id"] for each in tasks] == [task.id, "again"]


def test_what_only_a_run_can_tell_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    idle = commit(repository, "Tidy", {TEST: WRONG[TEST] + "\n\nX = 1\n", CODE: WRONG[CODE] + "\n"})
    assert asked(repository, idle) == ExitCode.REQUEST
    assert "its tests pass without its change, too" in capsys.readouterr().err
    commit(repository, "Break", {CODE: WRONG[CODE].replace("sum(", "max(0 * "), TEST: RIGHT[TEST]})
    repaired = commit(repository, "Repair", {**RIGHT, TEST: RIGHT[TEST] + "\n"})
    assert asked(repository, repaired) == ExitCode.REQUEST
    assert "does not pass its own tests" in capsys.readouterr().err
    assert not (repository / "suites").exists()


def test_nothing_speaks_against_a_commit_with_one_purpose_and_its_tests() -> None:
    assert refusals(GOOD, one_purpose=False) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parents": ()}, "the first commit"),
        ({"parents": ("b", "c")}, "a merge of 2 commits"),
        ({"changed": (("M", "shelf/prices.py"),)}, "changes no test"),
        ({"changed": (("D", "tests/test_total.py"), ("M", "shelf/prices.py"))}, "changes no test"),
        ({"changed": (("M", "src/a.ts"), ("M", "src/a.test.ts"))}, "another language (ts)"),
        ({"changed": (("M", "README.md"), ("M", "tests/test_total.py"))}, "nothing but tests and prose"),
        ({"subject": "Count things; greet customers"}, "names two purposes"),
        ({"subject": "Count things, also greet customers"}, "names two purposes"),
        ({"body": "- count things\n- greet customers"}, "lists 2 things"),
        (
            {"changed": (*((("M", f"a{n}.py")) for n in range(11)), ("M", "tests/test_a.py"))},
            "11 files of code",
        ),
        (
            {"changed": (*((("A", f"tests/test_{n}.py")) for n in range(7)), ("M", "a.py"))},
            "7 files of tests",
        ),
    ],
)
def test_a_commit_of_another_kind_is_refused_with_the_reason(change: dict[str, object], said: str) -> None:
    values = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | change
    (first, *_) = refusals(Commit(**values), one_purpose=False)
    assert said in first


def test_a_person_can_vouch_for_one_purpose_and_for_nothing_else() -> None:
    values = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | {"subject": "This; that"}
    assert refusals(Commit(**values), one_purpose=True) == ()
    assert refusals(Commit(**values | {"changed": ()}), one_purpose=True)
