"""Prompt files are found like option files and read as they are."""

from pathlib import Path

import pytest
from config_project import Project

from bench.config import conf_folder, read_prompt
from bench.errors import ConfigError


def test_a_projects_prompt_wins_over_the_built_in_one_and_is_never_composed(project: Project) -> None:
    raw = "Use ${{ github.sha }} and ${oc.env:HOME}.\r\n  Ünchanged.\n"
    path = project.root / "conf/prompts/review.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw.encode())
    assert read_prompt("prompts/review.md", project.root) == raw
    assert read_prompt("prompts/review.md", None) == (conf_folder() / "prompts/review.md").read_text()


def test_a_folder_of_the_command_line_wins_over_the_project(project: Project, tmp_path: Path) -> None:
    project.option("p.md", "project")
    (tmp_path / "given").mkdir()
    (tmp_path / "given/p.md").write_text("given")
    assert read_prompt("p.md", project.root, [tmp_path / "given"]) == "given"


def test_a_missing_prompt_is_told_with_all_places_looked_in(project: Project) -> None:
    (project.root / "conf").mkdir()
    with pytest.raises(ConfigError) as caught:
        read_prompt("prompts/nix.md", project.root)
    assert str(caught.value).splitlines() == [
        "there is no prompt 'prompts/nix.md'",
        "  looked for:",
        f"    {project.root}/conf/prompts/nix.md",
        f"    {conf_folder()}/prompts/nix.md",
    ]


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.md", "prompts/../../secret.md"])
def test_a_prompt_outside_the_folders_is_refused(project: Project, name: str) -> None:
    (project.root / "secret.md").write_text("secret")
    with pytest.raises(ConfigError, match="must be a path inside"):
        read_prompt(name, project.root)


def test_a_prompt_that_is_not_utf_8_is_named(project: Project) -> None:
    project.option("p.md", "")
    (project.root / "conf/p.md").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"the prompt conf/p\.md cannot be read"):
        read_prompt("p.md", project.root)
