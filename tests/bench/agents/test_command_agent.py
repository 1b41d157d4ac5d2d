"""The agents `command` and `rulebook`: how they are made from options, and what they start."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.agents import COMMAND, RULEBOOK, SessionRequest, create_agent
from bench.config import AgentConfig
from bench.errors import AgentError, ExtensionError
from bench.sandbox import Layout, ReadOnly

REQUEST = SessionRequest(
    name="review",
    kind="review",
    prompt="Review.",
    artifact="/output/review.json",
    skills=(),
    effort=None,
    model=None,
    seed=0,
)
INSIDE = Layout("/workspace", "/home/agent", "/tmp", "/output")
HOST = Layout("/cell/workspace", "/cell/home", "/cell/tmp", "/cell/output", contained=False)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An agent that answers with what it was told."""
    path = tmp_path / "agent.py"
    path.write_text(
        "import json, sys\n"
        "told = json.load(sys.stdin)\n"
        'print(json.dumps({"type": "message", "text": told["prompt"], "arguments": sys.argv[1:]}))\n'
        'print(json.dumps({"type": "result", "status": "completed"}))\n'
    )
    return path


def config(program: Path, **options: Any) -> AgentConfig:
    return AgentConfig(name="command", options={"program": str(program), **options})


def test_a_contained_session_sees_the_program_under_its_place_inside(program: Path) -> None:
    command = create_agent(config(program, arguments=["--fast"]), Path("/")).command(REQUEST, INSIDE)

    assert command.argv == ("/opt/agent/agent.py", "--fast")
    assert ReadOnly(program, "/opt/agent/agent.py") in command.mounts
    assert json.loads(command.stdin)["prompt"] == "Review."
    assert command.environment == {}


def test_without_containment_the_program_is_started_where_it_lies(program: Path) -> None:
    assert create_agent(config(program), Path("/")).command(REQUEST, HOST).argv == (str(program),)


def test_a_python_program_gets_this_interpreter_isolated_and_without_packages(program: Path) -> None:
    command = create_agent(config(program, python=True, arguments=["x"]), Path("/")).command(REQUEST, HOST)

    assert Path(command.argv[0]).resolve() == Path(sys.executable).resolve()
    assert command.argv[1:] == ("-I", "-S", str(program), "x")


def test_what_it_starts_follows_the_contract_and_its_own_parser_reads_it(program: Path) -> None:
    agent = create_agent(config(program, python=True, arguments=["x", "y z"]), Path("/"))
    command = agent.command(REQUEST, HOST)
    done = subprocess.run(command.argv, input=command.stdin, capture_output=True, env={}, check=True)

    parser = agent.parser(REQUEST)
    parser.feed(done.stdout)

    assert parser.close(done.returncode).status == "completed"
    assert json.loads(done.stdout.splitlines()[0])["arguments"] == ["x", "y z"]


def test_mounts_of_the_user_are_read_only_and_at_the_targets_that_the_user_chose(
    program: Path, tmp_path: Path
) -> None:
    (tmp_path / "library").mkdir()
    mounts = {"library": {"source": str(tmp_path / "library"), "target": "/opt/library"}}

    command = create_agent(config(program, mounts=mounts), Path("/")).command(REQUEST, INSIDE)

    assert ReadOnly(tmp_path / "library", "/opt/library") in command.mounts


def test_what_the_user_declares_is_what_the_harness_believes(program: Path) -> None:
    agent = create_agent(
        config(program, version="3", deterministic=True, calls_model=True, skill_root=".agent/skills"),
        Path("/"),
    )

    assert (agent.name, agent.version) == ("command", "3")
    assert (agent.deterministic, agent.calls_model, agent.skill_root) == (True, True, ".agent/skills")


def test_nothing_is_believed_that_was_not_declared(program: Path) -> None:
    agent = create_agent(config(program), Path("/"))

    assert (agent.deterministic, agent.calls_model) == (False, False)


def test_another_program_or_another_option_is_another_agent(program: Path) -> None:
    first = create_agent(config(program), Path("/")).digest
    other = create_agent(config(program, arguments=["--fast"]), Path("/")).digest
    program.write_text(program.read_text() + "\n")

    assert len({first, other, create_agent(config(program), Path("/")).digest}) == 3


def test_a_program_that_does_not_exist_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="no-agent, which does not exist"):
        create_agent(config(tmp_path / "no-agent"), Path("/"))


def test_a_mount_that_does_not_exist_is_refused_before_anything_runs(program: Path, tmp_path: Path) -> None:
    mounts = {"library": {"source": str(tmp_path / "nowhere"), "target": "/opt/library"}}

    with pytest.raises(AgentError, match="nowhere, which does not exist"):
        create_agent(config(program, mounts=mounts), Path("/"))


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="must be a file"):
        create_agent(config(tmp_path), Path("/"))


def test_an_agent_that_nobody_registered_is_refused() -> None:
    with pytest.raises(ExtensionError, match=r"'rulebok'.*did you mean 'rulebook'"):
        create_agent(AgentConfig(name="rulebok"), Path("/"))


def test_the_schema_of_the_options_knows_every_option_and_no_other() -> None:
    from bench.agents.command import _Options

    assert set(COMMAND.options_schema["properties"]) == set(_Options.__struct_fields__)
    assert COMMAND.options_schema["additionalProperties"] is False


def test_the_built_in_agent_is_deterministic_and_calls_no_model() -> None:
    agent = RULEBOOK.create(AgentConfig(name="rulebook"), Path("/"))

    assert (agent.deterministic, agent.calls_model) == (True, False)


@pytest.mark.parametrize("layout", [INSIDE, HOST])
def test_the_built_in_agent_brings_everything_that_it_starts(layout: Layout) -> None:
    command = RULEBOOK.create(AgentConfig(name="rulebook"), Path("/")).command(REQUEST, layout)

    shown = {mount.target for mount in command.mounts if isinstance(mount, ReadOnly)}
    for argument in (each for each in command.argv if each.startswith("/")):
        assert argument in shown if layout.contained else Path(argument).exists()


def test_the_built_in_agent_is_the_same_agent_each_time_it_is_made() -> None:
    digests = {RULEBOOK.create(AgentConfig(name="rulebook"), Path("/")).digest for _ in range(2)}

    assert len(digests) == 1


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("/proc", "the host's processes and devices"),
        ("/proc/self", "the host's processes and devices"),
        ("/", "the host's processes and devices"),
        (".", "the whole project"),
        ("..", "the whole project"),
        ("runs/old", "the project's `runs`"),
        (".git", "the project's `.git`"),
        ("suites", "a suite, with its labels"),
        ("suites/mine/labels", "a suite, with its labels"),
        ("link", "a suite, with its labels"),
    ],
)
def test_a_mount_that_shows_what_no_cell_may_see_is_refused(tmp_path: Path, source: str, shown: str) -> None:
    for folder in ("runs/old", ".git", "suites/mine/labels", "data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "suites" / "mine" / "suite.yaml").touch()
    (tmp_path / "link").symlink_to("suites/mine")
    (tmp_path / "agent.py").touch()

    def options(source: str) -> AgentConfig:
        mounts = {"it": {"source": source, "target": "/opt/it"}}
        return AgentConfig(name="command", options={"program": "agent.py", "mounts": mounts})

    assert COMMAND.create(options("data"), tmp_path).name == "command"
    with pytest.raises(AgentError, match=f"mounts.it would show every cell {shown}: "):
        COMMAND.create(options(source), tmp_path)


@pytest.mark.parametrize("place", ["../../etc", "/etc", "a/../../b", "", ".git/skills", "a//b"])
def test_a_place_of_skills_outside_the_working_copy_is_refused_early(tmp_path: Path, place: str) -> None:
    (tmp_path / "agent.py").touch()
    with pytest.raises(AgentError, match=r"agent\.options\.skill_root"):
        COMMAND.create(
            AgentConfig(name="command", options={"program": "agent.py", "skill_root": place}), tmp_path
        )
