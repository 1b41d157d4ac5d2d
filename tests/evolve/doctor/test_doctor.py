"""The doctor says what works, what does not, and how to get it; it never shows a secret, and writes nothing."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evolve.cli
from bench.config import Config, load_config
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.exits import ExitCode
from evolve.doctor import Finding
from evolve.doctor.looking import key_findings

SECRET = "sk-ant-very-secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "evolve.toml").touch()
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str]) -> Mapping[str, Any]:
    said = json.loads(capsys.readouterr().out)
    assert not [*schema_complaints(load_schema("diagnosis"), said)]
    return {each["name"]: each for each in said["findings"]}


def test_what_the_defaults_need_works_and_nothing_is_written(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evolve.cli.main(["doctor", "--json", "--root", str(root)]) == ExitCode.VERDICT
    found = findings(capsys)
    for name in ("Python", "git", "bubblewrap", "rulebook"):
        assert (found[name]["state"], found[name]["needed"]) == ("works", True)
    assert found["working copies"]["detail"].split(":")[0] in ("overlay", "reflink", "copy")
    assert "evolve agents install claude_code" in found["claude_code"]["remedy"]
    assert os.listdir(root) == ["evolve.toml"]


def test_a_missing_agent_and_a_broken_configuration_are_what_it_says_no_to(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "evolve.toml").write_text('[defaults]\nagent = "claude_code"\nmodel = "claude_opus_5"\n')
    assert evolve.cli.main(["doctor", "--json", "--root", str(root)]) == ExitCode.CHECK
    assert findings(capsys)["claude_code"]["needed"]
    (root / "evolve.toml").write_text('[defaults]\nsuite = "nope"\n')
    assert evolve.cli.main(["doctor", "--root", str(root)]) == ExitCode.CHECK
    assert "NO  configuration  defaults" in capsys.readouterr().out


def test_keys_are_named_and_never_shown(root: Path) -> None:
    (root / "evolve.toml").write_text('[defaults]\nagent = "claude_code"\nmodel = "claude_opus_5"\n')
    config, _ = load_config([], root=root)

    def key(chosen: Config | None, environment: Mapping[str, str]) -> Finding:
        (found,) = [
            each for each in key_findings(root, chosen, environment) if each.name == "ANTHROPIC_API_KEY"
        ]
        return found

    there = key(None, {"ANTHROPIC_API_KEY": SECRET})
    assert (there.state, there.needed) == ("works", False)
    assert "claude_opus_5" in there.detail
    assert SECRET not in str(there)
    assert (key(config, {}).state, key(config, {}).needed) == ("missing", True)
