"""The built-in configuration: every option and every experiment is usable as it is."""

import pytest

from bench.config import conf_folder, config_digest, load_config, read_prompt
from bench.config.folders import purpose

# What an option leaves to its user.
TO_GIVE = {
    "agent=command": ["agent.options.program=/bin/true"],
    "arms=implementation": [
        "+skills.fix-work={root: .claude/skills, mirrors: []}",
        "+skills.fix-plan={root: .claude/skills, mirrors: []}",
    ],
    "arms=review_plugin": ["arms.plugin_review.family=family"],
    "arms=implementation_plugin": ["arms.plugin_direct.family=family"],
    "proposer=manual": ["proposer.options.overlay=overlay"],
}
OPTIONS = sorted(f"{path.parent.name}={path.stem}" for path in conf_folder().glob("*/*.yaml"))
EXPERIMENTS = sorted(path.stem for path in (conf_folder() / "experiment").glob("*.yaml"))

# Of `evolve` without overrides. It changes when a default changes, which is a decision, never an accident.
DEFAULT_DIGEST = "bac6c6eed4dc"


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_composes_and_fits_the_schemas(option: str) -> None:
    config, composed = load_config([option, *TO_GIVE.get(option, [])], root=None)
    group, _, name = option.partition("=")
    assert composed.choices[group] == name
    assert config.arms


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_bench_takes_every_experiment_and_drops_what_decides(experiment: str) -> None:
    config, _ = load_config([f"experiment={experiment}"], root=None, command="bench")
    assert (config.proposer, config.promotion) == (None, None)


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.startswith("arms=")])
def test_every_prompt_of_an_arm_exists(option: str) -> None:
    config, _ = load_config([option, *TO_GIVE.get(option, [])], root=None)
    sessions = [session for arm in config.arms.values() for session in arm.sessions.values()]
    assert all(read_prompt(session.prompt, None) for session in sessions)


def test_every_option_file_starts_by_saying_what_it_is_for() -> None:
    silent = [path for path in conf_folder().rglob("*.yaml") if len(purpose(path)) < 10]
    assert silent == []


def test_the_default_configuration_is_the_one_that_was_decided() -> None:
    config, _ = load_config([], root=None)
    assert config_digest(config)[:12] == DEFAULT_DIGEST
