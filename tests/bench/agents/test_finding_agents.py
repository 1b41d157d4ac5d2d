"""Finding the program of an agent: what is missing is said with the command that helps; versions must be tested."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bench.agents.installed import Pin, find_agent, list_agents, pin_named, read_pins
from bench.agents.installed.find import _named_program, version_said
from bench.errors import AgentError

GIT = Path("/usr/bin/git")
VERSIONS = st.tuples(*[st.integers(0, 999)] * 3)


def pin_for(*tested: str) -> Pin:
    return structs.replace(pin_named("claude_code"), tested=(tested[0], tested[-1]))


def written(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize("name", read_pins())
def test_a_missing_program_is_met_with_the_command_that_installs_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(AgentError, match=f"not installed(.|\n)*evolve agents install {name}"):
        find_agent(tmp_path, name)


def test_a_project_without_agents_lists_what_there_could_be(tmp_path: Path) -> None:
    states = list_agents(tmp_path)
    assert [state.pin.name for state in states] == ["claude_code", "codex", "opencode", "pi"]
    assert not any(state.installed for state in states)


def test_a_version_outside_of_the_tested_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"codex 0\.1\.0 is not supported: tested is"):
        find_agent(tmp_path, "codex", version="0.1.0")


@given(VERSIONS, VERSIONS, VERSIONS)
def test_a_range_holds_the_versions_between_its_ends(
    low: tuple[int, ...], version: tuple[int, ...], high: tuple[int, ...]
) -> None:
    assert pin_for(written(low), written(high)).covers(written(version)) == (low <= version <= high)


@pytest.mark.parametrize("version", ["", "latest", "1.2.x", "2.1.332-beta"])
def test_what_is_no_version_is_not_tested(version: str) -> None:
    assert not pin_for("0.0.0", "999.0.0").covers(version)


def test_a_program_of_ones_own_is_asked_for_its_version() -> None:
    version = version_said(
        subprocess.run([GIT, "--version"], capture_output=True, text=True, check=True).stdout
    )
    assert version is not None
    found = _named_program(pin_for(version), GIT)
    assert (found.version, found.way, found.path) == (version, "path", GIT.resolve())


def test_a_program_of_an_untested_version_is_refused() -> None:
    with pytest.raises(AgentError, match="which is not supported: tested is 2"):
        find_agent(Path("/"), "claude_code", program=GIT)


def test_a_script_that_only_starts_the_program_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "claude"
    script.write_text("#!/usr/bin/env node\n")
    with pytest.raises(AgentError, match="only starts the program"):
        find_agent(tmp_path, "claude_code", program=script)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=re.escape(f"not there: {tmp_path}/claude")):
        find_agent(tmp_path, "claude_code", program=tmp_path / "claude")


def test_a_program_that_says_no_version_is_refused() -> None:
    with pytest.raises(AgentError, match="does not say a version of claude_code"):
        find_agent(Path("/"), "claude_code", program=Path("/bin/false"))
