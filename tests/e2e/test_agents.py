"""`evolve agents` as a stranger types it, with the real registries."""

import os
import subprocess
from pathlib import Path

import pytest

from bench.agents.installed import read_pins
from tests.e2e.commands import SCRIPTS, run
from tests.e2e.real_agents import AGENTS, real_agent


def listed(root: Path) -> dict[str, dict[str, object]]:
    done = run("evolve", "agents", "list", "--json", "--root", str(root), folder=root)
    assert done.code == 0, done.err
    return {each["name"]: each for each in done.json["agents"]}


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "evolve.toml").touch()
    return tmp_path


def test_everything_that_the_tests_drive_is_installed_as_pinned() -> None:
    there = listed(AGENTS)
    for name, pin in read_pins().items():
        assert there[name]["installed"], there[name]["reason"]
        assert (there[name]["version"], there[name]["digest"]) == (pin.pinned, real_agent(name).digest)


def test_an_agent_is_installed_into_the_project_and_starts_offline_afterwards(empty: Path) -> None:
    done = run("evolve", "agents", "install", "opencode", "--root", str(empty), folder=empty, timeout=600)
    assert done.code == 0, done.err
    assert listed(empty)["opencode"]["digest"] == real_agent("opencode").digest
    offline = {
        **os.environ,
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_cache": str(empty / "c"),
    }
    again = subprocess.run(
        [SCRIPTS / "evolve", "agents", "install", "opencode", "--root", empty],
        env=offline,
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (again.returncode, "already installed" in again.stderr) == (0, True)


def test_both_ways_to_claude_code_bring_the_same_program(empty: Path) -> None:
    words = ("agents", "install", "claude_code", "--with", "pip", "--root", str(empty))
    done = run("evolve", *words, folder=empty, timeout=600)
    assert done.code == 0, done.err
    there = listed(empty)["claude_code"]
    assert (there["way"], there["digest"]) == ("pip", real_agent("claude_code").digest)


def test_a_registry_that_is_away_is_one_clear_block_and_installs_nothing(empty: Path) -> None:
    away = {**os.environ, "npm_config_registry": "http://127.0.0.1:9", "npm_config_cache": str(empty / "c")}
    done = subprocess.run(
        [SCRIPTS / "evolve", "agents", "install", "codex", "--root", empty],
        env=away,
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the registry cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert not listed(empty)["codex"]["installed"]


def test_wrong_requests_say_what_would_be_right(empty: Path) -> None:
    def said(*words: str) -> str:
        done = run("evolve", "agents", *words, "--root", str(empty), folder=empty)
        assert done.code == 2
        return done.err

    assert "did you mean 'codex'" in said("install", "codec")
    assert "tested is 0.171.0" in said("install", "codex", "--version", "0.1.0")
    assert "no agent is named" in said("install")
    assert "takes no agent" in said("list", "codex")
