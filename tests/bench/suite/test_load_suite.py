"""Loading a suite from disk: what is taken, what is refused and in which words."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from suite_project import LABEL, Project

from bench.config import SuiteConfig
from bench.digest import digest_bytes
from bench.errors import SuiteError
from bench.suite import (
    CommandOracle,
    Label,
    LabelOracle,
    PreparedTask,
    RepositorySource,
    TreeSource,
    load_suite,
    task_digests,
)
from bench.suite.packages_write import write_suite, write_task


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def commit(folder: Path, *, message: str = "one") -> str:
    """A git repository at `folder` with all of its files committed; the commit's id."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "--allow-empty", "-m", message],
    ):
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_review_task_is_read_with_all_of_its_files(project: Project) -> None:
    suite = project.load(critical=True, expensive=True, setup="make", verify="make check", notes="for people")
    (task,) = suite.tasks
    assert (suite.name, suite.folder) == ("s", project.folder)
    assert task.prompt == "Review it.\n"
    assert task.change == b"diff --git a/a.py b/a.py\n"
    assert isinstance(task.source, TreeSource)
    assert task.source.path == project.folder / "trees" / "t"
    assert isinstance(task.oracle, LabelOracle)
    assert task.oracle.labels[0].line_end == 2
    assert (task.setup, task.verify, task.critical, task.expensive) == ("make", "make check", True, True)
    assert task.is_review


def test_a_whole_source_can_be_the_change(project: Project) -> None:
    assert project.load(change="all").tasks[0].change == "all"


def test_a_hidden_test_is_held_in_memory(project: Project) -> None:
    oracle = {"command": "python 0.py", "files": project.test_files(2)}
    suite = project.load(**{"class": "trivial", "change": None, "oracle": oracle})
    project.write("hidden/0.py", b"changed later")
    captured = suite.tasks[0].oracle
    assert isinstance(captured, CommandOracle)
    assert [(file.target, file.content) for file in captured.files] == [("0.py", b"###"), ("1.py", b"###")]
    assert captured.command_digest == digest_bytes(b"python 0.py")


def test_a_ref_is_resolved_to_its_commit(project: Project) -> None:
    library = project.root / "library"
    library.mkdir()
    first = commit(library)
    source = {"repository": "../../library", "ref": "main"}
    tasks = [{**project.task, "id": name, "source": source} for name in ("a", "b")]
    sources = [task.source for task in project.load(*tasks).tasks]
    assert sources == [RepositorySource(library, "main", first)] * 2
    assert commit(library, message="two") != first


def test_a_branch_that_moves_while_a_suite_is_loaded_is_still_one_commit(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = (f"{number:040x}" for number in range(10))
    monkeypatch.setattr("bench.suite.load.resolve_commit", lambda _repository, _ref: next(commits))
    source = {"repository": "../../library", "ref": "main"}
    tasks = [{**project.task, "id": name, "source": source} for name in ("a", "b")]
    found = {
        task.source.commit for task in project.load(*tasks).tasks if isinstance(task.source, RepositorySource)
    }
    assert found == {f"{0:040x}"}


def test_files_brought_along_may_come_from_elsewhere_and_have_digests(project: Project) -> None:
    outside = project.root / "wheels"
    outside.mkdir()
    (outside / "w.whl").write_bytes(b"wheel")
    changes = {
        "assets": [{"source": "../../wheels/w.whl", "target": "vendor/w.whl"}],
        "dependencies": [{"source": "../../wheels", "target": "/opt/wheels"}],
    }
    task = project.load(**changes).tasks[0]
    assert [asset.target for asset in (*task.assets, *task.dependencies)] == ["vendor/w.whl", "/opt/wheels"]
    before = task_digests(task)
    (outside / "w.whl").write_bytes(b"wheel!")
    after = task_digests(project.load(**changes).tasks[0])
    assert before.assets != after.assets
    assert before.dependencies != after.dependencies
    assert before.prompt == after.prompt


def test_a_missing_suite_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        SuiteError, match=r"`s` has no folder: there is no x/y/suite.yaml\n  set `suite.path`"
    ):
        load_suite(SuiteConfig(name="s", path="x/y"), tmp_path)


def test_a_suite_that_can_be_prepared_says_how(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"`wild` is not prepared.*\n  run `bench prepare wild`"):
        load_suite(SuiteConfig(name="wild", path="x", prepare={"kind": "packages"}), tmp_path)


def test_all_that_the_schema_refuses_is_said_at_once_with_file_line_and_task(project: Project) -> None:
    text = """\
schema: suite/1
name: s
tasks:
  - id: review-a
    class: reveiw-defect
    split: train
    source: {tree: trees/t, ref: main}
    promt: prompts/review.md
    critical: yes
    oracle: {}
  - class: trivial
"""
    with pytest.raises(SuiteError) as caught:
        project.load_text(text)
    lines = str(caught.value).split("\n  ")
    assert lines[0] == "suites/s/suite.yaml cannot be used: 11 problems"
    expected = [
        r"suites/s/suite.yaml:4: task `review-a`: prompt: must be given",
        r"suites/s/suite.yaml:5: task `review-a`: class: must be one of .*; did you mean 'review-defect'\?",
        r"suites/s/suite.yaml:7: task `review-a`: source: must have either `repository` and `ref`, or `tree`",
        r"suites/s/suite.yaml:8: task `review-a`: promt: there is no such key; did you mean 'prompt'\?.*",
        r"suites/s/suite.yaml:9: task `review-a`: critical: must be true or false, not 'yes'",
        r"suites/s/suite.yaml:10: task `review-a`: oracle: must have either `labels`, or `command` and `files`",
        r"suites/s/suite.yaml:11: tasks\[1\].id: must be given",
    ]
    for line, pattern in zip(lines[1:8], expected, strict=True):
        assert re.fullmatch(pattern, line), line


def test_problems_of_files_are_said_at_once_too(project: Project) -> None:
    project.labels([{**LABEL, "line_start": 5}, {**LABEL, "path": "../a.py"}])
    said = project.refused(prompt="prompts/none.md", change="changes")
    assert "suites/s/suite.yaml:10: task `review-a`: `prompts/none.md` does not exist" in said
    assert "suites/s/suite.yaml:9: task `review-a`: `changes` is not a regular file" in said
    assert (
        "suites/s/labels/a.json:4: task `review-a`: label `one` ends in line 2, before it starts in 5" in said
    )
    assert "label `one` is there already, as findings[0]" in said
    assert "label `one`: its path `../a.py` leaves its folder with `..`" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"class": "review-clean"}, "review-clean must have no labels, but has 1; use review-defect"),
        ({"class": "trivial"}, "labels judge reviews; a trivial task needs `oracle: {command, files}`"),
        ({"change": None}, "a review task needs a `change`"),
        ({"id": "x" * 129}, "id: must have at most 128 characters"),
        ({"id": "a b"}, "id: must be lower-case letters and digits"),
        ({"id": "a\n"}, "id: must be lower-case letters and digits"),
        ({"prompt": "/etc/passwd"}, "`/etc/passwd` is absolute; it must be relative"),
        ({"prompt": "../s/prompts/review.md"}, "leaves its folder with `..`"),
        ({"prompt": "prompts//review.md"}, "is not normalised; write it as `prompts/review.md`"),
        ({"oracle": {"labels": "../labels.json"}}, "`../labels.json` leaves its folder with `..`"),
        ({"oracle": {"labels": "labels/b.json"}}, "suites/s/labels/b.json: task `review-a`: does not exist"),
        ({"source": {"tree": "trees/x"}}, "the tree `trees/x` is not a folder that exists"),
        ({"source": {"repository": "trees/t", "ref": "main"}}, "is not the top folder of a git repository"),
        ({"source": {"repository": "trees/t", "ref": "-x"}}, "source.ref: must be a branch, tag or commit"),
        ({"setup": "x" * 8193}, "setup: must have at most 8192 characters"),
        ({"assets": [{"source": "none", "target": "a"}]}, "`none` does not exist"),
        ({"assets": [{"source": "trees/t", "target": "/a"}]}, "the target `/a` is absolute"),
        ({"assets": [{"source": "trees/t", "target": ".GIT/hooks"}]}, "is inside `.git`"),
        (
            {"dependencies": [{"source": "trees/t", "target": "/a/../b"}]},
            "the target `a/../b` leaves its folder",
        ),
    ],
)
def test_a_task_is_refused_in_words(project: Project, changes: dict[str, Any], said: str) -> None:
    assert said in project.refused(**changes)


def test_a_review_without_labels_must_be_a_clean_control(project: Project) -> None:
    project.labels([])
    assert "review-defect must have labels, but has none; use review-clean" in project.refused()
    assert project.load(**{"class": "review-clean"}).tasks[0].oracle.digest


def test_a_review_must_be_judged_by_labels(project: Project) -> None:
    said = project.refused(oracle={"command": "true", "files": project.test_files()})
    assert "a review-defect task is judged by labels" in said


def test_a_suite_without_tasks_is_refused(project: Project) -> None:
    with pytest.raises(SuiteError, match="tasks: must hold at least 1"):
        project.load_text("schema: suite/1\nname: s\ntasks: []\n")


def test_an_id_that_repeats_is_refused_with_both_places(project: Project) -> None:
    said = project.refused(project.task, project.task)
    assert "suites/s/suite.yaml:13: the task id `review-a` is there already, at suites/s/suite.yaml:4" in said


@pytest.mark.parametrize(
    ("path", "key"),
    [("prompts/review.md", "prompt"), ("changes/c.patch", "change"), ("labels/a.json", "oracle")],
)
def test_a_file_of_the_suite_must_not_be_a_link(project: Project, path: str, key: str) -> None:
    file = project.folder / path
    file.rename(project.folder / "real")
    file.symlink_to(project.folder / "real")
    said = project.refused()
    assert "is a symbolic link; put the file itself there" in said
    assert key in said or path in said


def test_a_linked_folder_inside_a_suite_is_not_followed(project: Project) -> None:
    (project.root / "elsewhere").mkdir()
    (project.root / "elsewhere" / "review.md").write_text("other")
    (project.folder / "linked").symlink_to(project.root / "elsewhere")
    assert "leads through a symbolic link" in project.refused(prompt="linked/review.md")


def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(project: Project) -> None:
    os.mkfifo(project.folder / "prompts" / "pipe.md")
    assert "`prompts/pipe.md` is not a regular file" in project.refused(prompt="prompts/pipe.md")


def test_an_empty_prompt_or_patch_is_refused(project: Project) -> None:
    project.write("prompts/review.md", " \n")
    project.write("changes/c.patch", "")
    said = project.refused()
    assert "`prompts/review.md` is empty: it must say what to do" in said
    assert "`changes/c.patch` is empty: it must be a git patch" in said


def test_a_prompt_must_be_text(project: Project) -> None:
    project.write("prompts/review.md", b"\xff\xfe")
    assert "`prompts/review.md` is not UTF-8 text: byte 0 cannot be read" in project.refused()


def hidden(project: Project, files: list[dict[str, str]]) -> str:
    oracle = {"command": "true", "files": files}
    return project.refused(**{"class": "trivial", "change": None, "oracle": oracle})


def test_the_files_of_a_hidden_test_are_bounded(project: Project) -> None:
    assert "oracle.files: must hold at most 8" in hidden(project, project.test_files(9))
    assert "`hidden/0.py` holds 524,289 bytes, more than the 524,288" in hidden(
        project, project.test_files(size=(512 << 10) + 1)
    )
    assert "files hold 2,500,000 bytes, more than the 2,097,152" in hidden(
        project, project.test_files(5, size=500_000)
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("../x", "leaves its folder with `..`"),
        ("/x", "is absolute"),
        ("x\\y", "holds a backslash"),
        (".git/x", "is inside `.git`"),
        ("é" * 121, "is longer than 240 bytes"),
    ],
)
def test_the_files_of_a_hidden_test_have_safe_targets(project: Project, target: str, said: str) -> None:
    (file,) = project.test_files()
    assert said in hidden(project, [{**file, "target": target}])


def test_the_files_of_a_hidden_test_are_not_put_on_top_of_each_other(project: Project) -> None:
    one, two = project.test_files(2)
    for first, second in [("a", "a/b"), ("a/b", "a"), ("a", "a")]:
        said = hidden(project, [{**one, "target": first}, {**two, "target": second}])
        assert f"the targets `{first}` and `{second}` are on top of each other" in said


@pytest.mark.parametrize(
    "changes",
    [
        {"assets": [{"source": ".", "target": "all"}]},
        {"assets": [{"source": "labels", "target": "data"}]},
        {"dependencies": [{"source": "../..", "target": "/project"}]},
        {"source": {"tree": "labels"}},
        {"source": {"tree": "."}},
        {"prompt": "labels/a.json"},
    ],
)
def test_nothing_hidden_is_ever_shown_to_an_agent(project: Project, changes: dict[str, Any]) -> None:
    assert "would show an agent the hidden `labels/a.json`" in project.refused(**changes)


def test_a_tree_around_the_suite_is_taken_without_it(project: Project) -> None:
    (project.root / "library.py").write_text("x = 1\n")
    before = project.load(source={"tree": "../.."}).tasks[0].source
    project.write("labels/unused.json", "{}")
    assert project.load(source={"tree": "../.."}).tasks[0].source == before
    (project.root / "library.py").write_text("x = 2\n")
    assert project.load(source={"tree": "../.."}).tasks[0].source != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "labels/a.json:1: is not valid JSON"),
        ('{"schema_version": 1,\n "findings": [],}', "labels/a.json:2: is not valid JSON"),
        (
            '{"schema_version": 1,\n "findings": [], "findings": []}',
            "labels/a.json:2: the key `findings` is there",
        ),
        ('{"schema_version": 1.0, "findings": []}', "schema_version: must be a whole number, not 1.0"),
        ('{"schema_version": NaN, "findings": []}', "is not valid JSON: NaN is no JSON number"),
        (
            '{"schema_version": 1, "findings": [\n{"id": "\\ud800"}]}',
            "labels/a.json:2: holds half of a surrogate",
        ),
        ('{"schema_version": 1, "findings": ' + "[" * 100_000, "labels/a.json:1: is not valid JSON"),
        ('{"schema_version": 1}', "labels/a.json:1: task `review-a`: findings: must be given"),
    ],
)
def test_a_label_file_is_read_strictly(project: Project, text: str, said: str) -> None:
    project.write("labels/a.json", text)
    assert said in project.refused()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"severity": "hihg"}, "findings[0].severity: must be one of critical, high, medium, low"),
        ({"line_start": 0}, "findings[0].line_start: must be at least 1, not 0"),
        ({"line_start": True}, "findings[0].line_start: must be a whole number, not true"),
        ({"line_end": 10**30}, "findings[0].line_end: is capped at 10000000"),
        ({"line": 3}, "findings[0].line: there is no such key"),
        ({"id": " "}, "findings[0].id: must be text that is not blank"),
        ({"path": "./a.py"}, "its path `./a.py` is not normalised; write it as `a.py`"),
    ],
)
def test_a_label_is_refused_in_words(project: Project, change: dict[str, Any], said: str) -> None:
    project.labels([{**LABEL, **change}])
    assert said in project.refused()


def test_a_suite_that_bench_prepare_wrote_can_be_loaded(tmp_path: Path) -> None:
    label = Label("a.py:1:B904", "medium", "a.py", 1, 1, "correctness")
    task = PreparedTask("review-p", "p", "1.0", "train", files=1, labels=1, digest="0")
    write_task(tmp_path / "s", "p", {"a.py": b"x = 1\n"}, [label])
    write_suite(tmp_path / "s", "wild", [task], "0")
    (loaded,) = load_suite(SuiteConfig(name="wild", path="s"), tmp_path).tasks
    assert isinstance(loaded.oracle, LabelOracle)
    assert (loaded.id, loaded.change, loaded.oracle.labels) == ("review-p", "all", (label,))


def move_and_reorder(project: Project) -> None:
    (project.folder / "prompts").rename(project.folder / "texts")
    project.task["prompt"] = "texts/review.md"
    project.task["notes"] = "written later"
    project.labels([{**LABEL, "id": "two"}, LABEL])


def test_the_suites_digest_is_over_content_not_names_or_order(project: Project) -> None:
    project.labels([LABEL, {**LABEL, "id": "two"}])
    second = {**project.task, "id": "review-b"}
    before = project.load(project.task, second).digest
    move_and_reorder(project)
    assert project.load({**second, "prompt": "texts/review.md"}, project.task).digest == before


def make_clean(project: Project) -> None:
    project.task["class"] = "review-clean"
    project.labels([])


CHANGES: dict[str, Callable[[Project], object]] = {
    "a prompt": lambda project: project.write("prompts/review.md", "Review it well.\n"),
    "a label": lambda project: project.labels([{**LABEL, "line_end": 3}]),
    "a patch": lambda project: project.write("changes/c.patch", "diff\n"),
    "a tree's file": lambda project: project.write("trees/t/a.py", "x = 2\n"),
    "a tree's mode": lambda project: (project.folder / "trees/t/a.py").chmod(0o755),
    "a split": lambda project: project.task.update(split="holdout"),
    "a class": make_clean,
    "a setup": lambda project: project.task.update(setup="make"),
    "a verify": lambda project: project.task.update(verify="make"),
    "critical": lambda project: project.task.update(critical=True),
    "the whole as the change": lambda project: project.task.update(change="all"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_suites_digest_changes_with_its_content(project: Project, change: str) -> None:
    before = project.load().digest
    CHANGES[change](project)
    assert project.load().digest != before


def test_the_digests_of_a_hidden_test_tell_its_command_from_its_files(project: Project) -> None:
    def oracle_of(command: str, content: bytes) -> CommandOracle:
        files = project.test_files()
        project.write("hidden/0.py", content)
        oracle = (
            project.load(
                **{"class": "trivial", "change": None, "oracle": {"command": command, "files": files}}
            )
            .tasks[0]
            .oracle
        )
        assert isinstance(oracle, CommandOracle)
        return oracle

    one, other_file, other_command = oracle_of("a", b"1"), oracle_of("a", b"2"), oracle_of("b", b"1")
    assert one.command_digest == other_file.command_digest != other_command.command_digest
    assert len({one.digest, other_file.digest, other_command.digest}) == 3
