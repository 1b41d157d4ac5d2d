"""Composing: what beats what, how a project adds to the built-in options, and what is refused."""

import threading
from pathlib import Path

import pytest
from config_project import NO_WAY, Project

from bench.config import DerivedTool, FolderTool, ServerTool, load_config

HAIKU = """\
# A small model.
name: haiku
id: small-20251001
"""
WEEKLY = """
    # @package _global_
    # Every week.
    defaults:
      - override /model: haiku
      - _self_
    name: weekly-run
    repeats: 7
    """


def test_an_experiment_beats_config_yaml_and_the_command_line_beats_both(project: Project) -> None:
    project.option("model/haiku.yaml", HAIKU + NO_WAY).option("experiment/own.yaml", WEEKLY)
    default, chosen = project.config(), project.config("experiment=own")
    assert (default.repeats, default.model.name) == (3, "none")
    assert (chosen.name, chosen.repeats, chosen.model.name) == ("weekly-run", 7, "haiku")
    typed = project.config("experiment=own", "repeats=2", "model=none")
    assert (typed.name, typed.repeats, typed.model.name) == ("weekly-run", 2, "none")


def test_defaults_of_evolve_toml_are_beaten_by_an_experiment_and_by_the_command_line(
    project: Project,
) -> None:
    project.option("model/haiku.yaml", HAIKU + NO_WAY).option("experiment/own.yaml", WEEKLY)
    project.option("model/large.yaml", "# Large.\nname: large\nid: large-20251001\n" + NO_WAY)
    project.marker('defaults = {model = "large"}')
    assert project.config().model.name == "large"
    assert project.config("experiment=own").model.name == "haiku"
    assert project.config("model=none").model.name == "none"


def test_evolve_toml_may_choose_an_experiment_and_null_takes_it_back(project: Project) -> None:
    project.marker('defaults = {experiment = "quick"}')
    assert project.config().name == "quick"
    assert project.config("experiment=null") == project.config("~experiment")
    assert project.config("experiment=null").name == "incumbent"


def test_an_experiment_may_be_typed_with_a_plus(project: Project) -> None:
    assert project.config("+experiment=quick") == project.config("experiment=quick")


def test_a_key_is_added_with_a_plus_and_removed_with_a_tilde(project: Project) -> None:
    config = project.config("+skills.second={root: skills, mirrors: []}", "~arms.no_skill")
    assert sorted(config.skills) == ["code-review", "fix-plan", "fix-work", "second"]
    assert sorted(config.arms) == ["candidate_review", "review"]


def test_arms_of_several_options_are_merged(project: Project) -> None:
    project.option("arms/control.yaml", """
        # A control.
        control:
          role: control
          candidate_of: null
          skills: []
          family: null
          tools: {}
          sessions: {review: {kind: review, prompt: prompts/review.md, order: 1, boundary: [], skills: []}}
        """)  # fmt: skip
    config, composed = project.load("arms=[review,control]")
    assert sorted(config.arms) == ["candidate_review", "control", "no_skill", "review"]
    assert composed.sources["arms"] == "built-in arms/review.yaml + conf/arms/control.yaml"


def test_a_project_file_extends_the_built_in_file_of_its_own_name(project: Project) -> None:
    project.option("sandbox/bubblewrap.yaml", """
        # More memory.
        defaults: [{/builtin/sandbox@_here_: bubblewrap}, _self_]
        limits: {memory_mb: 9000}
        """)  # fmt: skip
    config, composed = project.load()
    assert (config.sandbox.limits.memory_mb, config.sandbox.limits.processes) == (9000, 512)
    (shadowing,) = composed.shadowed
    assert shadowing.line() == "conf/sandbox/bubblewrap.yaml extends built-in sandbox/bubblewrap.yaml"


def test_a_built_in_file_that_includes_others_can_be_extended_too(project: Project) -> None:
    project.option("arms/mine.yaml", """
        # The plugin arms with a folder.
        defaults: [{/builtin/arms@_here_: review_plugin}, _self_]
        plugin_review: {family: family}
        """)  # fmt: skip
    assert project.config("arms=mine").arms["plugin_review"].family == "family"


def test_a_project_file_that_replaces_a_built_in_one_is_announced(project: Project) -> None:
    project.option("model/none.yaml", "# Mine.\nname: mine\nid: null\n" + NO_WAY)
    config, composed = project.load()
    assert config.model.name == "mine"
    assert [each.line() for each in composed.shadowed] == [
        "conf/model/none.yaml replaces built-in model/none.yaml"
    ]
    assert composed.sources["model"] == "conf/model/none.yaml"


def test_nothing_is_announced_about_a_file_that_takes_no_part(project: Project) -> None:
    project.option("agent/command.yaml", "# Mine.\nname: command\noptions: {}\n")
    assert project.composed().shadowed == ()


def test_folders_of_the_command_line_win_the_first_of_them_over_the_rest(
    project: Project, tmp_path: Path
) -> None:
    project.option("model/none.yaml", "# Project's.\nname: project\nid: null\n" + NO_WAY)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        (folder / "model").mkdir(parents=True)
        (folder / "model" / "none.yaml").write_text(f"# Given.\nname: {folder.name}\nid: null\n" + NO_WAY)
    assert project.load(config_dirs=folders)[0].model.name == "first"
    assert project.load(config_dirs=folders[1:])[0].model.name == "second"


def test_a_folder_that_is_given_wins_even_if_it_is_the_projects_own(project: Project, tmp_path: Path) -> None:
    project.option("model/none.yaml", "# Project's.\nname: project\nid: null\n" + NO_WAY)
    (tmp_path / "given/model").mkdir(parents=True)
    (tmp_path / "given/model/none.yaml").write_text("# Given.\nname: given\nid: null\n" + NO_WAY)
    folders = [project.root / "conf", tmp_path / "given"]
    assert project.load(config_dirs=folders)[0].model.name == "project"


def test_an_option_may_lie_in_a_folder_of_its_group(project: Project) -> None:
    composed = project.option("model/vendor/small.yaml", HAIKU + NO_WAY).composed("model=vendor/small")
    assert composed.choices["model"] == "vendor/small"
    assert composed.sources["model"] == "conf/model/vendor/small.yaml"


def test_a_folder_that_does_not_exist_is_refused(project: Project, tmp_path: Path) -> None:
    assert "no-such is not a folder" in project.refusal(config_dirs=[tmp_path / "no-such"])


def test_the_tree_shows_every_file_where_it_comes_in(project: Project) -> None:
    project.option("sandbox/bubblewrap.yaml", """
        # Mine.
        defaults: [{/builtin/sandbox@_here_: bubblewrap}, _self_]
        """)  # fmt: skip
    lines = project.composed("experiment=quick").tree.splitlines()
    assert lines[0] == "config  (built-in config.yaml)"
    assert "├── suite: starter  (built-in suite/starter.yaml)" in lines
    own = lines.index("├── sandbox: bubblewrap  (conf/sandbox/bubblewrap.yaml)")
    assert lines[own + 1] == "│   ├── builtin/sandbox@sandbox: bubblewrap  (built-in sandbox/bubblewrap.yaml)"
    assert lines[-1] == "└── experiment: quick  (built-in experiment/quick.yaml)"


def test_the_project_that_is_the_source_tree_does_not_shadow_itself(tmp_path: Path) -> None:
    repository = Path(__file__).resolve().parents[3]
    (tmp_path / "conf").symlink_to(repository / "conf")
    Project(tmp_path).marker("")
    assert Project(tmp_path).composed().shadowed == ()


def test_tools_of_each_kind_are_read(project: Project) -> None:
    config = project.config(
        "+arms.no_skill.tools.rules={kind: folder, source: tools, target: /opt/tools}",
        "+arms.no_skill.tools.index={kind: derived, asset: index}",
        "+arms.no_skill.tools.search={kind: mcp, program: s.py, target: /opt/s.py, arguments: [x], python: true}",
    )
    assert config.arms["no_skill"].tools == {
        "rules": FolderTool(source="tools", target="/opt/tools"),
        "index": DerivedTool(asset="index"),
        "search": ServerTool(program="s.py", target="/opt/s.py", arguments=("x",), python=True),
    }


def test_what_must_be_given_is_named_all_at_once(project: Project) -> None:
    said = project.refusal("agent=command", "proposer=manual")
    assert "must be given: agent.options.program=…  (built-in agent/command.yaml)" in said
    assert "must be given: proposer.options.overlay=…  (built-in proposer/manual.yaml)" in said


def test_bench_neither_takes_nor_needs_what_decides(project: Project) -> None:
    project.option("experiment/own.yaml", """
        # @package _global_
        # Proposes by hand.
        defaults: [{override /proposer: manual}, _self_]
        """)  # fmt: skip
    config = project.config("experiment=own", command="bench")
    assert (config.proposer, config.promotion) == (None, None)
    for override in ("proposer=manual", "proposer.queue=x", "+promotion.options.x=1", "~promotion"):
        said = project.refusal(override, command="bench")
        assert said.startswith(f"{override}: bench takes all but proposer and promotion")


@pytest.mark.parametrize("override", ["model=a,b", "repeats=range(1,3)", "model=choice(a)", "suite=glob(*)"])
def test_a_sweep_is_refused_and_told_how_to_be_one_text(project: Project, override: str) -> None:
    said = project.refusal(override)
    key, _, value = override.partition("=")
    assert f"{override} gives several values, which is a sweep" in said
    assert "not available without -m" in said
    assert said.endswith(f"""quote it: "{key}='{value}'\"""")


@pytest.mark.parametrize("override", ["hydra.run.dir=x", "hydra/launcher=basic", "+hydra.searchpath=[x]"])
def test_the_settings_of_hydra_itself_cannot_be_changed(project: Project, override: str) -> None:
    assert "Hydra only composes here" in project.refusal(override)


FORBIDDEN = {
    "an environment variable": ("${oc.env:HOME}", "${oc.env:…} is not supported"),
    "the time": ("${now:%Y}", "${now:…} is not supported"),
    "another resolver": ("${oc.decode:x}", "${oc.decode:…} is not supported"),
    "a resolver by another name": ("${${name}:HOME}", "${_:…} is not supported"),
    "a setting of hydra": ("${hydra:job.name}", "${hydra:…} is not supported"),
    "a secret without a name": ("${secret:}", "${secret:…} takes the name of an environment variable"),
}


@pytest.mark.parametrize(("reference", "said"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_file_refers_to_nothing_outside_the_configuration(
    project: Project, reference: str, said: str
) -> None:
    project.option("model/own.yaml", f"# Mine.\nname: own\nid: {reference!r}\n")
    message = project.refusal("model=own")
    assert f"id: {said}" in message
    assert "(conf/model/own.yaml)" in message


@pytest.mark.parametrize("reference", ["${oc.env:HOME}", "${now:%Y}", "[{a: '${oc.env:HOME}'}]"])
def test_an_override_refers_to_nothing_outside_the_configuration(project: Project, reference: str) -> None:
    project.refusal(f"model.id={reference}")


def test_an_override_gives_the_same_list_each_time(project: Project) -> None:
    assert project.config("arms.no_skill.skills=sort([code-review])").arms["no_skill"].skills == (
        "code-review",
    )
    assert "cannot read the override" in project.refusal("arms.no_skill.skills=shuffle([code-review])")


def test_a_defaults_list_refers_to_no_environment_variable(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHOSEN", "a-value-to-keep-private")
    project.option("model/own.yaml", "# Mine.\ndefaults: [{/agent@_here_: '${oc.env:CHOSEN}'}, _self_]\n")
    said = project.refusal("model=own")
    assert "${oc.env:…} is not supported" in said
    assert "private" not in said


def test_configuration_names_no_code_to_call(project: Project) -> None:
    project.option("model/own.yaml", "# Mine.\nname: own\nid: {_target_: os.system}\n")
    assert "id._target_: _target_ is not supported" in project.refusal("model=own")
    assert "_target_ is not supported" in project.refusal("+agent.options._target_=os.system")
    assert "_target_ is not supported" in project.refusal("agent.options={_target_: os.system}")


def test_a_reference_to_a_key_is_resolved_and_a_broken_one_names_the_nearest(project: Project) -> None:
    assert project.config("campaign=${suite.name}").campaign == "starter"
    said = project.refusal("campaign=${suite.nam}")
    assert "campaign: ${suite.nam} refers to no key; did you mean 'suite.name'?" in said


def test_a_reference_in_a_key_with_a_dot_is_told_too(project: Project) -> None:
    assert "refers to no key" in project.refusal("campaign=${a.b}")
    said = project.option("model/own.yaml", "# Mine.\nname: own\nid: null\na.b: ${nix}\n").refusal(
        "model=own"
    )
    assert "cannot be resolved" in said


def test_text_that_only_looks_like_a_reference_is_told_where_it_belongs(project: Project) -> None:
    project.option("model/own.yaml", "# Mine.\nname: own\nid: 'use ${{ github.sha }}'\n")
    said = project.refusal("model=own")
    assert said == (
        "conf/model/own.yaml: id: holds a ${ that refers to no key; "
        "prompts and commands belong in files, which are read as they are"
    )


BROKEN_FILES = {
    "a syntax error": ("name: [", "conf/model/own.yaml, line "),
    "a key twice": ("name: a\nname: b", "conf/model/own.yaml, line 2: found duplicate key name"),
    "a list": ("- name", "conf/model/own.yaml must hold keys and values, not a list"),
    "a python object": ("name: !!python/object/apply:os.system [x]", "line 1: could not determine a constructor"),
    "a defaults mapping": ("defaults: {a: b}", "defaults: must be a list, not {'a': 'b'}"),
    "a defaults entry of two groups": ("defaults: [{a: b, c: d}]", "defaults[0]: must be a file's name"),
    "a way out of the folders": ("defaults: [../suite/starter]", "defaults[0]: must stay inside the folders"),
    "a setting of hydra": ("hydra: {run: {dir: x}}", "Hydra only composes here"),
    "a file that is not there": ("defaults: [nix]", "conf/model/own.yaml: there is no file model/nix.yaml"),
    "itself": ("defaults: [own]", "option files include each other without end"),
    "an alias of itself": ("name: &x [*x]", "alias"),
    "a broken header": ("# @package a b\nname: c", "conf/model/own.yaml cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BROKEN_FILES.values(), ids=BROKEN_FILES.keys())
def test_a_broken_file_is_named_with_what_is_wrong_in_it(project: Project, text: str, said: str) -> None:
    assert said in project.option("model/own.yaml", text).refusal("model=own")


def test_a_file_that_is_not_utf_8_is_named(project: Project) -> None:
    project.option("model/own.yaml", "")
    (project.root / "conf/model/own.yaml").write_bytes(b"name: \xff")
    assert "conf/model/own.yaml cannot be read: 'utf-8'" in project.refusal("model=own")


def test_an_experiment_without_its_header_is_refused(project: Project) -> None:
    said = project.option("experiment/own.yaml", "# Mine.\nrepeats: 4\n").refusal("experiment=own")
    assert said == "conf/experiment/own.yaml: an experiment starts with the line `# @package _global_`"


def test_a_config_yaml_without_self_is_refused(project: Project) -> None:
    said = project.option("config.yaml", "defaults: [{suite: starter}]\n").refusal()
    assert said.startswith("conf/config.yaml: the defaults list must say where")


def test_a_default_of_evolve_toml_for_a_group_that_config_yaml_has_not_is_refused(project: Project) -> None:
    project.option("config.yaml", "defaults: [{suite: starter}, _self_]\n").marker(
        'defaults = {model = "none"}'
    )
    assert project.refusal().startswith("evolve.toml: defaults.model: conf/config.yaml has no such group")


def test_composing_off_the_main_thread_is_refused() -> None:
    caught: list[BaseException] = []

    def compose() -> None:
        try:
            load_config([], root=None)
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=compose)
    thread.start()
    thread.join()
    assert "main thread" in str(caught[0])
