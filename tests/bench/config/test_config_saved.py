"""A saved configuration is read back as it was, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from config_project import Project

from bench.config import config_digest, read_saved_config, saved_config
from bench.errors import ConfigError


@pytest.fixture
def saved(project: Project) -> dict[str, Any]:
    config, composed = project.load("experiment=quick", "workers=3")
    content: dict[str, Any] = json.loads(json.dumps(saved_config(config, composed)))
    return content


def read(tmp_path: Path, content: Any) -> Any:
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_saved_config(path)


def refusal(tmp_path: Path, content: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, content)
    assert str(tmp_path / "config.json") in str(caught.value)
    return str(caught.value)


def test_it_is_read_back_as_it_was(project: Project, tmp_path: Path, saved: dict[str, Any]) -> None:
    assert read(tmp_path, saved) == project.config("experiment=quick", "workers=3")


def test_for_bench_it_is_read_back_too(project: Project, tmp_path: Path) -> None:
    config, composed = project.load(command="bench")
    assert read(tmp_path, saved_config(config, composed)) == config


def test_it_says_what_it_was_composed_from(saved: dict[str, Any]) -> None:
    assert saved["overrides"] == ["experiment=quick", "workers=3"]
    assert saved["sources"]["experiment"] == "built-in experiment/quick.yaml"


def test_the_digest_depends_on_the_values_and_not_on_how_they_were_given(project: Project) -> None:
    digests = {
        config_digest(project.config(*overrides))
        for overrides in (
            [],
            ["timeout=600"],
            ["timeout=600.0"],
            ["+experiment=quick", "name=incumbent", "tasks.split='*'"],
        )
    }
    assert len(digests) == 1
    assert config_digest(project.config("timeout=601")) not in digests


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("repeats",), 4),
        (("arms", "review", "skills"), []),
        (("agent", "options"), {"x": 1}),
        (("promotion",), None),
    ],
)
def test_an_edited_value_is_noticed(
    tmp_path: Path, saved: dict[str, Any], path: tuple[str, ...], value: Any
) -> None:
    inner = saved["config"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert "was changed after the run wrote it" in refusal(tmp_path, saved)


def test_an_edited_digest_is_noticed(tmp_path: Path, saved: dict[str, Any]) -> None:
    assert "was changed" in refusal(tmp_path, saved | {"digest": "0" * 64})


BROKEN = {
    "no JSON": ("{", "cannot be read"),
    "a list": ([], "is no saved configuration of this version: its schema is None"),
    "another version": ({"schema": "config/2"}, "its schema is 'config/2', not 'config/1'"),
    "nothing in it": ({"schema": "config/1"}, "digest: must be given"),
    "NaN": ('{"schema": "config/1", "config": {"timeout": NaN}}', "NaN is no number that JSON knows"),
}


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_saved_configuration_is_refused(tmp_path: Path, content: Any, said: str) -> None:
    assert said in refusal(tmp_path, content)


def test_values_that_fit_no_schema_are_named(tmp_path: Path, saved: dict[str, Any]) -> None:
    saved["config"]["wokers"] = 3
    assert "config.wokers: there is no such key; did you mean 'workers'?" in refusal(tmp_path, saved)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json cannot be read"):
        read_saved_config(tmp_path / "config.json")


def test_a_key_that_is_there_twice_is_refused_by_its_name(tmp_path: Path) -> None:
    assert "the key 'digest' is there twice" in refusal(
        tmp_path, '{"schema": "config/1", "digest": "a", "digest": "b", "config": {}}'
    )
