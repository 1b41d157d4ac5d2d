"""Finding a project's root, and reading its evolve.toml."""

from pathlib import Path

import pytest
from config_project import Project

from bench.config import find_root, read_marker
from bench.errors import ConfigError


def test_the_nearest_folder_with_a_marker_is_the_root(project: Project) -> None:
    inner = project.root / "a" / "b"
    inner.mkdir(parents=True)
    assert find_root(inner) == project.root
    (project.root / "a" / "evolve.toml").write_text("")
    assert find_root(inner) == project.root / "a"
    assert find_root(project.root / "a") == project.root / "a"


def test_a_folder_of_that_name_is_no_marker(project: Project) -> None:
    inner = project.root / "a"
    (inner / "evolve.toml").mkdir(parents=True)
    assert find_root(inner) == project.root


def test_without_a_marker_there_is_no_root(tmp_path: Path) -> None:
    assert find_root(tmp_path) is None


def test_a_root_that_is_given_must_hold_a_marker(project: Project, tmp_path: Path) -> None:
    assert find_root(Path("/"), project.root) == project.root
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigError, match=r"--root .*empty holds no evolve\.toml"):
        find_root(project.root, empty)


def test_a_marker_may_be_empty_and_the_name_is_then_the_folders(project: Project) -> None:
    marker = read_marker(project.root)
    assert (marker.name, marker.defaults) == (project.root.name, {})


def test_a_marker_names_the_project_and_its_defaults(project: Project) -> None:
    marker = read_marker(project.marker('name = "My project"\n[defaults]\nsuite = "mine"').root)
    assert (marker.name, marker.defaults) == ("My project", {"suite": "mine"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "evolve.toml cannot be read: Invalid value"),
        ('nmae = "x"', "nmae: there is no such key; did you mean 'name'?"),
        ('[defaults]\nsutie = "x"', "defaults.sutie: there is no such key; did you mean 'suite'?"),
        ("[defaults]\nsuite = 3", "defaults.suite: must be text, not 3"),
        (
            '[defaults]\nsuite = "../x"',
            "defaults.suite: must be the name of an option file without its suffix",
        ),
        ("[defaults]\nsuite = '${oc.env:HOME}'", "defaults.suite: must be the name of an option file"),
    ],
)
def test_a_marker_that_is_wrong_is_refused_with_what_is_wrong(project: Project, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_marker(project.marker(text).root)
    assert said in str(caught.value)
