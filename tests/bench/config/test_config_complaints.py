"""What is said about a configuration that is wrong: everything, each with its place and the nearest right word."""

from collections.abc import Iterator
from typing import Any

import pytest
from config_project import Project

from bench.config.validate import validate
from bench.errors import ConfigError

FOLDER = "{kind: folder, source: tools, target: /opt/tools}"

TYPOS = {
    "an unknown key": (["wokers=3"], "wokers=3: there is no such key; did you mean 'workers'?; to add a new key"),
    "an unknown key inside": (["suite.pth=x"], "suite.pth=x: there is no such key; did you mean 'suite.path'?"),
    "an unknown key among others": (["tasks={idd: x}"], "did you mean 'tasks.id'?"),
    "an added unknown key": (["+wokers=3"], "wokers: there is no such key; did you mean 'workers'?; known here: agent,"),
    "a key that is there": (["+workers=3"], "+workers=3: the key is there already; leave the + out"),
    "a key to remove": (["~arms.noskill"], "~arms.noskill: there is no such key; did you mean 'arms.no_skill'?"),
    "an unknown group": (["sutie=wild"], "sutie=wild: there is no such key; did you mean 'suite'?"),
    "an unknown option": (["suite=startr"], "suite=startr: the group suite has no option 'startr'; did you mean 'starter'?\n  options: "),
    "a number for an option": (["suite=3"], "suite=3: suite takes the name of one of its options"),
    "a way out for an option": (["suite=../suite/starter"], "suite takes the name of one of its options"),
    "a value of no kind": (["sandbox.workspace=overlai"], "sandbox.workspace: must be one of auto, overlay, reflink, copy, not 'overlai'; did you mean 'overlay'?"),
    "text for a number": (["workers=two"], "workers: must be a whole number, not 'two' (override workers=two)"),
    "a fraction": (["workers=2.0"], "workers: must be a whole number, not 2.0"),
    "a truth for a number": (["workers=true"], "workers: must be a whole number, not true"),
    "nothing for a number": (["workers=null"], "workers: must be a whole number, not null"),
    "a value for a mapping": (["tasks=3"], "tasks: must be a mapping, not 3"),
    "too many workers": (["workers=65"], "workers: is capped at 64; 65 is more (override workers=65)"),
    "too many generations": (["generations=101"], "generations: is capped at 100; 101 is more"),
    "too many repeats": (["repeats=1001"], "repeats: is capped at 1000; 1001 is more"),
    "no repeats": (["repeats=0"], "repeats: must be at least 1, not 0"),
    "no time": (["timeout=0"], "timeout: must be more than 0, not 0"),
    "endless time": (["budget.wall=inf"], "budget.wall: inf is no number that can be kept"),
    "a name with blanks": (["name='A b'"], "name: must be lower-case letters, digits, '.', '_' and '-', at most 64, not 'A b'"),
    "an empty name": (["name="], "name: must be lower-case letters"),
    "a relative scratch": (["sandbox.scratch=tmp"], "sandbox.scratch: must be an absolute path, not 'tmp'"),
    "a skill outside": (["skills.code-review.root=../x"], "skills.code-review.root: must be a relative path that stays inside the project, not '../x'"),
    "a skill's name": (["+skills.Code={root: x, mirrors: []}"], "skills.Code: the name must be a skill's name"),
    "a key that is no text": (["+agent.options={1: 2}"], "agent.options: the key 1 is not text; write it in quotes"),
    "a removed key": (["~breaker"], "breaker: must be given (override ~breaker)"),
    "a removed group": (["promotion=null"], "promotion: must be given (override ~promotion)"),
    "an unknown agent": (["agent.name=rulebok"], "agent.name: nothing is registered as 'rulebok' under incumbent.agents; did you mean 'rulebook'?"),
    "an unknown sandbox": (["sandbox.name=bubblewarp"], "sandbox.name: nothing is registered as 'bubblewarp'"),
    "an unknown policy": (["promotion.policy=threshold"], "promotion.policy: nothing is registered as 'threshold'"),
    "an agent's option": (["+agent.options.turns=3"], "agent.options.turns: there is no such key; known here: none (override +agent.options.turns=3)"),
    "a policy's option": (["promotion.options.min_runs=0"], "promotion.options.min_runs: must be at least 2, not 0"),
    "a moving model": (["model.id=claude-latest"], "model.id: 'claude-latest' may mean another model tomorrow"),
    "no model of its own": (["model.id=auto"], "model.id: 'auto' may mean another model tomorrow"),
    "a moving tag": (["model.id='vendor/large:latest'"], "may mean another model tomorrow"),
    "a candidate of nothing": (["arms.candidate_review.candidate_of=reviw"], "arms.candidate_review.candidate_of: must name an incumbent arm, not reviw; did you mean 'review'?; incumbents: review"),
    "a candidate of none": (["arms.candidate_review.candidate_of=null"], "must name an incumbent arm, not null; incumbents: review"),
    "a comparator with an incumbent": (["arms.no_skill.candidate_of=review"], "arms.no_skill.candidate_of: must be null, because the arm's role is comparator"),
    "a candidate with other skills": (["arms.candidate_review.skills=[]"], "arms.candidate_review.skills: must be the skills of the incumbent arm review: ['code-review']"),
    "an unknown skill": (["arms.no_skill.skills=[code-reviw]"], "arms.no_skill.skills[0]: there is no skill 'code-reviw' under `skills`; did you mean 'code-review'?"),
    "a session's unknown skill": (["arms.review.sessions.review.skills=[other]"], "arms.review.sessions.review.skills[0]: the arm has no skill 'other'; known: code-review"),
    "a skill twice": (["arms.no_skill.skills=[code-review,code-review]"], "arms.no_skill.skills: holds something twice"),
    "an arm without sessions": (["~arms.no_skill.sessions.review"], "arms.no_skill.sessions: must hold at least 1"),
    "a tool of no kind": (["+arms.no_skill.tools.t={kind: foldr}"], "arms.no_skill.tools.t.kind: must be one of folder, derived, mcp, not 'foldr'; did you mean 'folder'?"),
    "a tool of another kind": (["+arms.no_skill.tools.t={kind: folder, asset: x}"], "arms.no_skill.tools.t.asset: there is no such key; known here: kind, source, target"),
    "a choice with a package": (["suite@tasks=starter"], "Could not override 'suite@tasks'"),
    "no override": (["workers"], "cannot read the override 'workers'\n  an override is KEY=VALUE"),
    "an equals sign": (["name=a=b"], "cannot read the override 'name=a=b'\n  if it is meant as one text, quote it: \"name='a=b'\""),
    "other letters": (["name=café"], "quote it: \"name='café'\""),
}  # fmt: skip


@pytest.mark.parametrize(("overrides", "said"), TYPOS.values(), ids=TYPOS.keys())
def test_a_mistake_is_told_with_its_place_and_the_nearest_right_word(
    project: Project, overrides: list[str], said: str
) -> None:
    message = project.refusal(*overrides)
    assert said in message
    assert "Traceback" not in message
    assert "hydra.cc" not in message


def test_a_text_of_the_terminal_is_shown_harmless(project: Project) -> None:
    message = project.refusal("model.id=3", "name='\x1b[31mred'")
    assert "\x1b" not in message
    assert "\\x1b[31mred" in message


def test_a_line_break_at_the_end_of_a_name_is_noticed(project: Project) -> None:
    project.option("model/own.yaml", '# Mine.\nname: "own\\n"\nid: null\n')
    assert "model.name: must be lower-case letters" in project.refusal("model=own")


def test_everything_wrong_is_told_at_once_in_the_order_of_its_keys(project: Project) -> None:
    message = project.refusal(
        "workers=0", "+agent.options.x=1", "name=''", "model.id=auto", "promotion.policy=x"
    )
    lines = message.splitlines()
    assert lines[0] == "the configuration has 5 errors:"
    keys = [line.strip().partition(":")[0] for line in lines[1:]]
    assert keys == ["agent.options.x", "model.id", "name", "promotion.policy", "workers"]


def test_all_unknown_keys_are_told_at_once(project: Project) -> None:
    message = project.refusal("wokers=1", "repets=2", "workers=3")
    assert "wokers=1" in message
    assert "repets=2" in message
    assert "workers=3" not in message


def test_at_most_twenty_errors_are_shown_and_the_rest_counted(project: Project) -> None:
    message = project.refusal(*(f"+unknown{number:02}=1" for number in range(23)))
    lines = message.splitlines()
    assert lines[0] == "the configuration has 23 errors:"
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  and 3 more"


def test_an_error_names_the_file_that_it_came_from(project: Project) -> None:
    project.option("experiment/own.yaml", "# @package _global_\n# Mine.\nbudget: {cells: 0}\nrepets: 3\n")
    project.option("suite/own.yaml", "# Mine.\nname: own\npath: 3\nlearnings: null\nprepare: null\n")
    message = project.refusal("experiment=own", "suite=own", "workers=0")
    assert "budget.cells: must be at least 1, not 0 (conf/experiment/own.yaml)" in message
    assert "repets: there is no such key; did you mean 'repeats'?" in message
    assert "suite.path: must be text, not 3 (conf/suite/own.yaml)" in message
    assert "workers: must be at least 1, not 0 (override workers=0)" in message


def test_a_missing_option_is_blamed_on_who_asked_for_it(project: Project) -> None:
    project.option(
        "experiment/own.yaml", "# @package _global_\n# Mine.\ndefaults: [{override /model: nune}, _self_]\n"
    )
    assert project.refusal("experiment=own").startswith(
        "conf/experiment/own.yaml: the group model has no option 'nune'"
    )
    project.marker('defaults = {suite = "startr"}')
    assert project.refusal().startswith(
        "evolve.toml: the group suite has no option 'startr'; did you mean 'starter'?"
    )
    assert project.refusal("suite=strter").startswith("suite=strter: the group suite has no option 'strter'")


def test_options_are_checked_by_the_schema_of_whoever_registers_the_name(
    project: Project, extension: None
) -> None:
    project.option("agent/scripted.yaml", "# Scripted.\nname: scripted\noptions: {turns: 3, tone: calm}\n")
    project.option("promotion/coin.yaml", "# A coin.\npolicy: coin\nsplit: all\noptions: {bias: 0.5}\n")
    chosen = ["agent=scripted", "promotion=coin"]
    config = project.config(*chosen)
    assert config.agent.options == {"turns": 3, "tone": "calm"}
    message = project.refusal(
        *chosen, "agent.options.tone=calmer", "promotion.options.bias=2", "~agent.options.turns"
    )
    assert "agent.options.tone: must be one of calm, eager, not 'calmer'; did you mean 'calm'?" in message
    assert "agent.options.turns: must be given" in message
    assert "promotion.options.bias: is capped at 1; 2 is more (override promotion.options.bias=2)" in message


def test_evolve_does_not_go_without_a_policy(project: Project) -> None:
    project.option("experiment/own.yaml", "# @package _global_\n# Undecided.\npromotion: null\n")
    said = project.refusal("experiment=own")
    assert "promotion: must be given; only bench works without it (conf/experiment/own.yaml)" in said
    assert project.config("experiment=own", command="bench").promotion is None


def test_a_family_brings_its_own_skills(project: Project) -> None:
    config = project.config(
        "arms=review_plugin", "arms.plugin_review.family=family", "arms.plugin_review.skills=[other]"
    )
    assert config.arms["plugin_review"].skills == ("other",)


def _closed_keys(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all keys that a schema lists, as against those of maps from names."""
    free = {("skills",), ("arms",), ("agent", "options"), ("sandbox", "options"), ("suite", "prepare")}
    for key, value in values.items() if isinstance(values, dict) else ():
        here = (*path, key)
        if path not in free and path[2:] not in {("sessions",), ("tools",)}:
            yield here
        if here not in free or here in {("skills",), ("arms",)}:
            yield from _closed_keys(value, here)


def test_each_single_key_that_is_taken_away_is_missed(project: Project) -> None:
    composed = project.composed(f"+arms.no_skill.tools.t={FOLDER}")
    later = {
        ("promotion", "certified"),
        ("promotion", "options", "looks"),
    }  # configurations from before it are read as they were
    paths = [path for path in _closed_keys(composed.values) if path not in later]
    assert len(paths) > 80
    for path in paths:
        with pytest.raises(ConfigError) as caught:
            validate(_without(composed.values, path), command="evolve", origin=lambda _path: None)
        assert f"{'.'.join(path)}: must be given" in str(caught.value)


def _without(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {key: value for key, value in values.items() if key != first}
    return values | {first: _without(values[first], tuple(rest))}
