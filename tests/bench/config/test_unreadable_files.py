"""What is there and cannot be read is refused, never passed over: another configuration would be composed."""

import os
import time
from pathlib import Path

import pytest
from config_project import Project

from bench.config import find_root, load_config
from bench.errors import ConfigError


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def pipe(path: Path, _: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def file(path: Path, _: str) -> None:
    path.write_text("")


@pytest.mark.parametrize(
    ("make", "target", "said"),
    [
        (link, "nothing", "conf is a link that leads nowhere, not a folder"),
        (link, "conf", "conf is a link that leads nowhere, not a folder"),
        (file, "", "conf is a file, not a folder"),
        (pipe, "", "conf is a pipe, not a folder"),
    ],
)
def test_a_conf_that_is_no_folder_is_refused(tmp_path: Path, make: object, target: str, said: str) -> None:
    (tmp_path / "evolve.toml").write_text("")
    make(tmp_path / "conf", target)  # type: ignore[operator]
    with pytest.raises(ConfigError, match=said):
        load_config([], root=tmp_path)


@pytest.mark.parametrize("make", [link, pipe])
def test_an_option_file_that_is_no_file_does_not_give_way_to_the_built_in_one(
    tmp_path: Path, make: object
) -> None:
    (tmp_path / "evolve.toml").write_text("")
    make(tmp_path / "conf" / "suite" / "starter.yaml", "nothing")  # type: ignore[operator]
    with pytest.raises(ConfigError, match=r"starter\.yaml is a (link that leads nowhere|pipe), not a file"):
        load_config([], root=tmp_path)


@pytest.mark.parametrize("make", [link, pipe])
def test_a_marker_that_is_no_file_is_no_reason_for_another_project(tmp_path: Path, make: object) -> None:
    (tmp_path / "evolve.toml").write_text("")
    inner = tmp_path / "inner"
    make(inner / "evolve.toml", "nothing")  # type: ignore[operator]
    with pytest.raises(ConfigError, match=r"evolve\.toml is a (link that leads nowhere|pipe), not a file"):
        find_root(inner)


def test_a_mark_of_the_byte_order_is_taken(project: Project) -> None:
    mark = b"\xef\xbb\xbf"
    (project.root / "evolve.toml").write_bytes(mark + b'name = "marked"\n')
    (project.root / "conf" / "budget").mkdir(parents=True, exist_ok=True)
    (project.root / "conf" / "budget" / "marked.yaml").write_bytes(
        mark + b"defaults: [/builtin/budget@_here_: unlimited, _self_]\ncells: 7\n"
    )
    config, _ = load_config(["budget=marked"], root=project.root)
    assert config.budget.cells == 7


def test_aliases_that_stand_for_too_much_are_refused_at_once(project: Project) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (project.root / "conf" / "budget").mkdir(parents=True, exist_ok=True)
    (project.root / "conf" / "budget" / "bomb.yaml").write_text("\n".join(lines))
    began = time.monotonic()
    with pytest.raises(ConfigError, match=r"bomb\.yaml holds more than 100,000 parts"):
        load_config(["budget=bomb"], root=project.root)
    assert time.monotonic() - began < 5
