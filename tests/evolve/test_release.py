"""Release tests: the command that asks for one, and what is refused before anything is paid."""

import pytest

from bench.config import load_config
from bench.errors import ConfigError
from evolve.gate import load_policy
from evolve.release import refuse_unmeasurable, release_command

CHAMPION = "proposer=manual proposer.options.overlay=runs/r/champion"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], f"evolve experiment=release {CHAMPION}"),
        (
            [
                "--root",
                "/my project",
                "suite=wild",
                "generations=4",
                "reuse.canaries=0.2",
                "tasks.split=train",
            ],
            f"evolve --root '/my project' suite=wild experiment=release {CHAMPION}",
        ),
        (
            ["promotion=anytime", "promotion.options.endpoint=resolved", "promotion.options.tier=search"],
            f"evolve promotion=anytime promotion.options.endpoint=resolved experiment=release {CHAMPION}",
        ),
        (
            ["proposer.unapplied=build_on", "proposer=manual", "proposer.options.overlay=x", "campaign=c"],
            f"evolve experiment=release {CHAMPION}",
        ),
    ],
)
def test_a_champion_is_tested_with_what_it_was_found_with_but_for_the_search(
    words: list[str], command: str
) -> None:
    assert release_command(words, "exact", "r") == command


def test_a_search_with_an_experiment_of_its_own_is_released_under_the_same_conditions() -> None:
    words = release_command(["experiment=weekly", "repeats=7"], "exact", "r").split()[1:]

    config, _ = load_config(words, root=None)

    assert (config.name, config.repeats) == ("weekly", 7)
    assert (config.tasks.split, config.reuse.source, config.campaign) == ("holdout", "none", "main")
    assert config.promotion is not None
    assert (config.promotion.split, config.promotion.options["tier"]) == ("holdout", "release")


@pytest.mark.parametrize("policy", ["exact", "anytime"])
def test_a_policy_that_tests_may_be_released_by_the_experiment_that_comes_with_it(policy: str) -> None:
    config, _ = load_config([f"promotion={policy}", "experiment=release"], root=None)

    assert config.promotion is not None
    assert config.promotion.policy == policy
    assert (config.promotion.split, config.promotion.options["tier"]) == ("holdout", "release")


def test_a_number_of_reviews_is_not_compared_where_nothing_is_reviewed() -> None:
    config, _ = load_config(
        ["experiment=implementation", "promotion=exact", "~promotion.options.metric"], root=None
    )
    assert config.promotion is not None
    with pytest.raises(ConfigError, match=r"no candidate arm reviews\n.*promotion.options.endpoint=resolved"):
        refuse_unmeasurable(config, load_policy(config.promotion))
