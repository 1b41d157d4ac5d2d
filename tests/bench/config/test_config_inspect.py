"""Answers about the configuration: which file wins, and what a key means, is, and comes from."""

from pathlib import Path

import pytest
import yaml
from config_project import NO_WAY, Project

from bench.config import conf_folder, explain, resolved_yaml, tree, which
from bench.errors import ConfigError


def refusal(project: Project, key: str) -> str:
    with pytest.raises(ConfigError) as caught:
        explain(key, project.composed())
    return str(caught.value)


def test_which_names_the_file_that_wins_and_those_it_hides(project: Project) -> None:
    project.option("model/none.yaml", "# Mine.\nname: mine\nid: null\n" + NO_WAY)
    own, built_in = project.root / "conf/model/none.yaml", conf_folder() / "model/none.yaml"
    assert which("model/none", project.root) == f"{own}  (project)\n  hides {built_in}  (built-in)"
    assert which("model/none", None) == f"{built_in}  (built-in)"


def test_which_knows_prompts_and_folders_of_the_command_line(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "given"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts/review.md").write_text("mine")
    assert which("prompts/review.md", project.root, [folder]).startswith(
        f"{folder}/prompts/review.md  (--config-dir)"
    )


def test_which_suggests_the_nearest_option(project: Project) -> None:
    with pytest.raises(ConfigError, match="no option file 'suite/startr'; did you mean 'suite/starter'"):
        which("suite/startr", project.root)


def test_the_tree_ends_with_what_is_hidden(project: Project) -> None:
    project.option("model/none.yaml", "# Mine.\nname: mine\nid: null\n" + NO_WAY)
    assert tree(project.composed()).endswith("\nconf/model/none.yaml replaces built-in model/none.yaml")


def test_a_key_is_explained_with_its_value_and_where_it_comes_from(project: Project) -> None:
    assert explain("breaker", project.composed()).splitlines() == [
        "breaker: How many cells in a row may fail to be measured before the sweep stops; 0 never stops it.",
        "  takes: a whole number, at least 0, at most 100000",
        "  value: 5  (built-in config.yaml)",
    ]


def test_a_key_that_was_changed_is_explained_with_its_default(project: Project) -> None:
    lines = explain("breaker", project.composed("breaker=2")).splitlines()
    assert lines[-2:] == ["  value: 2  (override breaker=2)", "  default: 5  (built-in config.yaml)"]


def test_an_option_of_an_extension_is_explained_from_its_own_schema(
    project: Project, extension: None
) -> None:
    project.option("promotion/coin.yaml", "# A coin.\npolicy: coin\nsplit: all\noptions: {bias: 0.5}\n")
    assert explain("promotion.options.bias", project.composed("promotion=coin")).splitlines() == [
        "promotion.options.bias: How often heads come up.",
        "  takes: a number, at least 0, at most 1",
        "  value: 0.5  (conf/promotion/coin.yaml)",
    ]


def test_a_group_is_explained_by_its_options_with_their_first_lines(project: Project) -> None:
    project.option(
        "budget/ten.yaml",
        "# Ten cells.\ndefaults:\n  - /builtin/budget@_here_: unlimited\n  - _self_\ncells: 10\n",
    )
    lines = explain("budget", project.composed("budget=ten")).splitlines()
    assert lines[0] == "budget: What the run may spend before it stops."
    assert "  * ten        Ten cells.  (conf/budget/ten.yaml)" in lines
    unlimited = (
        "    unlimited  No limit on money, cells, sessions, tokens or time.  (built-in budget/unlimited.yaml)"
    )
    assert unlimited in lines
    assert "    budget.cells: Most cells that are measured; null is no limit." in lines


def test_experiments_are_explained_like_a_group(project: Project) -> None:
    lines = explain("experiment", project.composed("experiment=quick")).splitlines()
    assert lines[0] == "experiment: A set of choices under one name."
    assert any(line.startswith("  * quick") for line in lines)


def test_every_key_of_the_configuration_is_explained(project: Project) -> None:
    composed = project.composed()
    for key in (
        "tasks",
        "skills",
        "arms.review.sessions.review.kind",
        "sandbox.limits.memory_mb",
        "suite.prepare",
    ):
        first = explain(key, composed).splitlines()[0]
        assert first.startswith(f"{key}: ")
        assert len(first) > len(key) + 10


def test_an_unknown_key_is_told_the_nearest_one(project: Project) -> None:
    assert "there is no key 'braeker'; did you mean 'breaker'?" in refusal(project, "braeker")
    assert "did you mean 'sandbox.limits.memory_mb'?" in refusal(project, "sandbox.limits.memory")


def test_the_resolved_configuration_is_yaml_that_reads_back(project: Project) -> None:
    composed = project.composed("campaign=${suite.name}")
    assert yaml.safe_load(resolved_yaml(composed)) == composed.values
    assert "campaign: starter" in resolved_yaml(composed)
