"""What a task asks for beside its working copy: a Python environment, and assets that are derived."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from suite_project import Project

from bench.suite import Derived, Environment, Suite, TaskDigests, task_digests
from bench.suite.files import Refused
from bench.suite.requirements import read_requirements

HASH = "--hash=sha256:" + "0123456789abcdef" * 4
PINNED = f"requests==2.32.3 {HASH}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def with_requirements(project: Project, content: str) -> dict[str, Any]:
    project.write("requirements.txt", content)
    return {"environment": {"python": True, "requirements": "requirements.txt"}}


def digests(suite: Suite) -> TaskDigests:
    return task_digests(suite.tasks[0])


def asset(**changes: str) -> dict[str, str]:
    return {"name": "index", "command": "ls > /output/list", "target": "/opt/index", **changes}


def test_a_task_has_no_environment_and_no_assets_unless_it_says_so(project: Project) -> None:
    (task,) = project.load().tasks
    assert (task.environment, task.derived) == (Environment(), ())


def test_a_python_may_be_asked_for_without_packages(project: Project) -> None:
    (task,) = project.load(environment={"python": True, "requirements": None}).tasks
    assert task.environment == Environment(python=True)


@pytest.mark.parametrize(
    "content",
    [
        PINNED,
        f"# by hand\n\n{PINNED}",
        f"requests==2.32.3 \\\n    {HASH} \\\n    {HASH}\n    # via nothing\n",
        f"Foo_bar[one,two] == 1.0.post1+x ; python_version < '3.12' {HASH}",
        f"requests==2.32.3 {HASH}  # why",
    ],
)
def test_pinned_requirements_are_held_byte_for_byte(project: Project, content: str) -> None:
    (task,) = project.load(**with_requirements(project, content)).tasks
    project.write("requirements.txt", "changed later")
    assert task.environment == Environment(python=True, requirements=content.encode())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("requests", "`requests` has no hash; write NAME==VERSION --hash=sha256:…"),
        ("requests==2.32.3", "`requests==2.32.3` has no hash"),
        (f"requests>=2 {HASH}", "`requests>=2` is not pinned to one version"),
        (f"requests==2.* {HASH}", "is not pinned to one version"),
        (f"requests==2,==2 {HASH}", "is not pinned to one version"),
        ("requests==2 --hash=md5:00", "is not pinned to one version by == and SHA-256 hashes"),
        (f"requests @ https://example.org/x.whl {HASH}", "`requests` is not pinned"),
        ("./wheels/x.whl", "`./wheels/x.whl` has no hash"),
        ("-r other.txt", "`-r` is an option of pip"),
        ("--index-url https://example.org", "`--index-url` is an option of pip"),
        (f"requests==2 ; x --index-url https://example.org {HASH}", "is not pinned"),
        (f"requests==${{VERSION}} {HASH}", "is not pinned"),
    ],
)
def test_a_line_that_pins_nothing_is_refused_with_its_place(project: Project, line: str, said: str) -> None:
    message = project.refused(**with_requirements(project, f"{PINNED}\n{line}\n"))
    assert "suites/s/requirements.txt:3: task `review-a`: " in message
    assert said in message


def test_every_line_that_pins_nothing_is_said_at_once(project: Project) -> None:
    message = project.refused(**with_requirements(project, f"a\n{PINNED}b\n"))
    assert "requirements.txt:1: " in message
    assert "requirements.txt:3: " in message


@given(
    name=st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True),
    option=st.sampled_from(["-i x", "-e .", "--pre"]),
)
def test_no_option_of_pip_hides_in_a_line_that_is_taken(
    tmp_path_factory: pytest.TempPathFactory, name: str, option: str
) -> None:
    folder = tmp_path_factory.mktemp("requirements")
    for line in (
        f"{name}==1 {option} {HASH}",
        f"{name}==1 {HASH} {option}",
        f"{name}==1 ; a {option} {HASH}",
    ):
        (folder / "r.txt").write_text(line)
        with pytest.raises(Refused):
            read_requirements(folder, "r.txt", "r.txt", "t")


@pytest.mark.parametrize(
    ("content", "said"),
    [("# nothing\n", "names no package"), (b"\xff", "is not UTF-8 text"), ("\\", "names no package")],
)
def test_a_file_without_requirements_is_refused(project: Project, content: str | bytes, said: str) -> None:
    project.write("requirements.txt", content)
    message = project.refused(environment={"python": True, "requirements": "requirements.txt"})
    assert "suites/s/requirements.txt" in message
    assert said in message


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"requirements": "requirements.txt"},
            "environment: `requirements` are installed for a Python: add `python: true`",
        ),
        ({"python": True, "requirements": "../r.txt"}, "`../r.txt` leaves its folder"),
        ({"python": True, "requirements": "none.txt"}, "suites/s/none.txt: task `review-a`: does not exist"),
        ({"python": "3.12"}, "environment.python: must be true or false"),
        ({"pyhton": True}, "environment.pyhton: there is no such key; did you mean 'python'?"),
    ],
)
def test_an_environment_is_refused_in_words(project: Project, environment: dict[str, Any], said: str) -> None:
    project.write("requirements.txt", PINNED)
    assert said.removeprefix("environment: ") in project.refused(environment=environment)


def test_derived_assets_are_taken_in_their_order(project: Project) -> None:
    other = asset(name="tags", target="/srv/tags")
    (task,) = project.load(derived=[asset(), other]).tasks
    assert task.derived == (
        Derived("index", "ls > /output/list", "/opt/index"),
        Derived("tags", "ls > /output/list", "/srv/tags"),
    )


@pytest.mark.parametrize(
    ("derived", "said"),
    [
        ([asset(), asset(target="/opt/other")], "the name `index` is there twice"),
        ([asset(), asset(name="b")], "the targets `opt/index` and `opt/index` are on top of each other"),
        ([asset(), asset(name="b", target="/opt/index/b")], "are on top of each other"),
        ([asset(name="In dex")], "derived[0].name: must be lower-case letters and digits"),
        ([asset(command=" ")], "derived[0].command: must be text that is not blank"),
        ([asset(target="index")], "the target `index` is relative; it must be a place in the sandbox"),
        ([asset(target="/opt/../etc")], "leaves its folder with `..`"),
        ([asset(target="/opt//x")], "is not normalised"),
        ([{"name": "index", "command": "true"}], "derived[0].target: must be given"),
    ],
)
def test_a_derived_asset_is_refused_in_words(
    project: Project, derived: list[Mapping[str, str]], said: str
) -> None:
    assert said in project.refused(derived=derived)


@pytest.mark.parametrize(
    "target",
    ["/", "/opt", "/usr/share/index", "/etc", "/workspace/index", "/output", "/oracle", "/oracle-1/x",
     "/home/agent/x", "/tmp/x", "/proc/x", "/plan/x", "/opt/venv", "/opt/python/lib", "/opt/agent"],
)  # fmt: skip
def test_a_derived_asset_cannot_cover_the_system_or_the_harness(project: Project, target: str) -> None:
    assert f"the target `{target}` is taken" in project.refused(derived=[asset(target=target)])


@pytest.mark.parametrize("key", ["name", "command", "target"])
def test_provenance_changes_with_a_derived_asset(project: Project, key: str) -> None:
    before = digests(project.load(derived=[asset()]))
    after = digests(project.load(derived=[asset(**{key: "/srv/x" if key == "target" else "x"})]))
    assert before.dependencies != after.dependencies


def test_provenance_changes_with_the_environment(project: Project) -> None:
    suites = [
        project.load(),
        project.load(environment={"python": True}),
        project.load(**with_requirements(project, PINNED)),
        project.load(**with_requirements(project, f"{PINNED}# another\n")),
        project.load(derived=[asset()]),
    ]
    assert len({digests(suite).dependencies for suite in suites}) == len(suites)
    assert len({suite.digest for suite in suites}) == len(suites)
    assert len({digests(suite).assets for suite in suites}) == 1
