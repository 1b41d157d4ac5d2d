"""The documentation says what is true: links lead somewhere, commands are understood, examples work."""

import ast
import importlib
import json
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import starmap
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from msgspec import Struct, inspect

import bench
import bench.cli
import evolve.cli
from bench.agents import SessionReport, SessionRequest, SkillPlace, create_agent
from bench.agents.contract import ContractParser, session_input
from bench.cancellation import Cancellation
from bench.config import load_config
from bench.config.compose import compose
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.environments import Environments
from bench.exits import ExitCode
from bench.results import KINDS_OF_STATUS
from bench.sandbox import Layout, Limits, Writable, open_sandbox
from bench.scoring import CheckPlace, CheckResult, Review, read_review, run_oracle
from bench.suite import CommandOracle, Environment, OracleFile, packages_specification, read_yaml
from bench.watch import Event
from evolve.gate import (
    Evidence,
    PromotionMetadata,
    policy_named,
    promotion_document,
    write_promotion,
)

TOP = Path(__file__).parent.parent
STARTER = Path(bench.__file__).parent / "starter" / "project"
DOCS = sorted((TOP / "docs").glob("*.md"))
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "CHANGELOG.md", TOP / "runs" / "README.md", *DOCS]
CHECK = STARTER / "suites" / "starter" / "oracles" / "check.py"
CASES = "suites/mine/hidden/rounding.toml"
PROGRAMS = {"bench": bench.cli, "evolve": evolve.cli}


class Block(Struct, frozen=True):
    """A fenced block of a page. `file` is the path in the line before it, when that line ends in a colon."""

    language: str
    file: str | None
    text: str


class Typed(Struct, frozen=True):
    """A command of a console block, its program taken off: which parser it is for, and its words."""

    line: str
    program: str
    command: str
    words: tuple[str, ...]


def named(page: Path) -> str:
    return page.relative_to(TOP).as_posix()


each_page = pytest.mark.parametrize("page", PAGES, ids=named)


def blocks(page: Path) -> Iterator[Block]:
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        before = fence.string[: fence.start()].rstrip().rpartition("\n")[2]
        files = re.findall(r"`([\w./-]+\.(?:py|json|toml|yaml))`", before) if before.endswith(":") else []
        yield Block(fence[1], files[-1] if files else None, fence[2])


def block(page: str, file: str) -> str:
    """The text of the block that is this file."""
    return next(each.text for each in blocks(TOP / "docs" / page) if each.file == file)


def commands(page: Path) -> Iterator[Typed]:
    """The commands of this project that a page's console blocks type."""
    lines = (line for each in blocks(page) if each.language == "console" for line in each.text.splitlines())
    for line in lines:
        for part in line.removeprefix("$ ").split("&&"):
            program, *words = shlex.split(part, comments=True)
            known = PROGRAMS.get(program.removeprefix(".venv/bin/"))
            if line.startswith("$ ") and known:
                command = words.pop(0) if words and words[0] in parsers(known) else "run"
                yield Typed(part.strip(), known.__name__.partition(".")[0], command, tuple(words))


def parsers(program: ModuleType) -> dict[str, Any]:
    table: dict[str, Any] = program._COMMANDS
    return table


def overrides(typed: Typed) -> list[str]:
    """The overrides of a command, by the parser that it is for."""
    parser = parsers(PROGRAMS[typed.program])[typed.command]()
    options = parser.parse_intermixed_args(list(typed.words))
    if typed.command == "config":
        return [word for word in options.words if "=" in word]
    suite = [f"suite={options.suite}"] if typed.command == "prepare" else []
    return [*suite, *getattr(options, "overrides", [])]


def is_override(word: str) -> bool:
    return "=" in word or word.startswith("~")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(page: Path) -> set[str]:
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)}


def first_cells(page: str, heading: str) -> list[str]:
    """The first column of the table below a heading, what stands in backticks only."""
    text = (TOP / "docs" / page).read_text("utf-8")
    section = re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")][2:]
    return [word for row in rows for word in (re.findall(r"`([^`]+)`", row) or [row.strip()])]


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project made of the files that the test's page shows."""
    (tmp_path / "evolve.toml").write_text('name = "documented"\n', encoding="utf-8")
    for each in blocks(request.getfixturevalue("page")):
        if each.file is not None:
            (tmp_path / each.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / each.file).write_text(each.text, encoding="utf-8")
    return tmp_path


@each_page
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{named(page)} links to {target}, which does not exist"
        assert file.is_relative_to(TOP), f"{named(page)} links out of the repository: {target}"
        assert not anchor or anchor in headings(file), f"{named(page)} links to {target}: no such heading"


@pytest.mark.parametrize("page", DOCS, ids=named)
def test_every_page_is_in_the_index_and_short(page: Path) -> None:
    assert page.name == "index.md" or f"({page.name})" in (TOP / "docs" / "index.md").read_text("utf-8")
    assert len(page.read_text("utf-8").splitlines()) <= 150


def test_the_readme_is_short() -> None:
    assert len((TOP / "README.md").read_text("utf-8").splitlines()) < 180


@each_page
def test_no_page_has_an_open_fence_or_a_placeholder(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0
    assert "@@" not in text


@each_page
def test_every_name_that_a_python_block_imports_exists(page: Path) -> None:
    for each in (each for each in blocks(page) if each.language == "python"):
        for node in ast.walk(ast.parse(each.text)):
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PROGRAMS:
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names), (
                    f"{named(page)}: {node.module}"
                )


@each_page
def test_every_command_of_a_page_is_one_that_exists(page: Path) -> None:
    for typed in commands(page):
        words = overrides(typed)
        assert all(map(is_override, words)), f"{typed.line}: there is no such command"


@each_page
def test_every_override_of_a_page_composes(page: Path, project: Path) -> None:
    for words, program in {(tuple(overrides(each)), each.program) for each in commands(page)}:
        if words:
            composed = compose(list(words), root=project, command="bench" if program == "bench" else "evolve")
            assert composed.overrides == words, f"{program} {words}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "extending.md"], ids=named)
def test_every_option_file_of_a_page_is_valid(page: Path, project: Path) -> None:
    for each in blocks(page):
        if each.file and each.file.startswith("conf/"):
            _, group, option = Path(each.file).with_suffix("").parts
            _, composed = load_config([f"{group}={option}"], root=project)
            assert each.file in {file.label for file in composed.files}


def test_the_options_of_every_group_are_documented() -> None:
    text = (TOP / "docs" / "configuration.md").read_text("utf-8")
    for folder in (TOP / "conf").iterdir():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{folder.name}` |")), None)
        if folder.is_dir() and list(folder.glob("*.yaml")):
            assert row is not None, f"configuration.md does not list the group {folder.name}"
            assert all(f"`{option.stem}`" in row for option in folder.glob("*.yaml"))


def test_the_defaults_in_the_tables_are_those_of_the_configuration() -> None:
    config, _ = load_config([], root=STARTER)
    rows = re.findall(
        r"^\| `([\w.]+)` \| (\S+)(?: s)? \|", (TOP / "docs" / "sweeps.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 5
    for key, stated in rows:
        value: Any = config
        for part in key.split("."):
            value = getattr(value, part)
        assert stated == ("null" if value is None else f"{value:g}"), key


def test_the_table_of_outcomes_is_the_taxonomy() -> None:
    text = (TOP / "docs" / "measurement.md").read_text("utf-8")
    for status, kinds in KINDS_OF_STATUS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{status}` |"))
        assert set(re.findall(r"`([\w-]+)`", row.split("|")[3])) == set(kinds)


@pytest.mark.parametrize(
    ("page", "heading"), [("docs/measurement.md", "Exit codes"), ("README.md", "Exit codes")]
)
def test_the_exit_codes_are_those_of_the_commands(page: str, heading: str) -> None:
    codes = {int(cell) for cell in first_cells(f"../{page}", heading)}
    assert codes | {ExitCode.CHECK} == set(ExitCode)


def test_the_table_of_events_is_the_stream() -> None:
    documented = dict(_documented_events())
    for kind in get_args(Event):
        described = inspect.type_info(kind)
        assert isinstance(described, inspect.StructType)
        stated = documented.pop(str(described.tag))
        assert {field.encode_name for field in described.fields} == stated
    assert not documented


def _documented_events() -> Iterator[tuple[str, set[str]]]:
    text = (TOP / "docs" / "events.md").read_text("utf-8")
    for tag, fields in re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)[1:]:
        yield tag, set(re.findall(r"`(\w+)`", fields))


def test_the_suite_of_the_page_fits_its_schema() -> None:
    document = read_yaml(block("suites.md", "suites/mine/suite.yaml"), "suite.yaml")
    assert schema_complaints(load_schema("suite"), document.value) == []


def test_every_key_of_a_task_is_documented() -> None:
    keys = set(load_schema("suite")["$defs"]["task"]["properties"])
    assert keys <= {*first_cells("suites.md", "Suites"), "notes"}


def test_the_labels_of_the_page_are_those_of_the_starter_project() -> None:
    file = "suites/starter/labels/order-search.json"
    assert json.loads(block("suites.md", file)) == json.loads((STARTER / file).read_text("utf-8"))


@pytest.mark.parametrize("page", [TOP / "docs" / "suites.md"], ids=named)
def test_a_list_of_packages_of_ones_own_is_understood(page: Path, project: Path) -> None:
    config, _ = load_config(["suite=ours"], root=project)
    assert config.suite.prepare is not None
    assert [name for name, _ in packages_specification(config.suite.prepare).chosen] == ["bottle", "requests"]


@pytest.fixture(params=["bubblewrap", "host"])
def hidden_test(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], CheckResult]:
    """Runs the hidden test of docs/hidden-tests.md on a shop/money.py, as a cell does."""
    files = {"check.py": CHECK.read_bytes(), "cases.toml": block("hidden-tests.md", CASES).encode()}
    oracle = CommandOracle(documented_oracle()["command"], tuple(starmap(OracleFile, files.items())), "", "")
    config, _ = load_config([f"sandbox={request.param}", f"sandbox.scratch={tmp_path}"], root=STARTER)
    sandbox = open_sandbox(config.sandbox)
    environments = Environments(tmp_path, tmp_path, contained=sandbox.contains)
    opened = environments.open(Environment(python=True))

    def run(solution: str) -> CheckResult:
        layout_in(tmp_path)
        layout = sandbox.layout(tmp_path)
        package = tmp_path / "workspace" / "shop"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "money.py").write_text(solution, encoding="utf-8")
        place = CheckPlace(
            folder=tmp_path,
            layout=layout,
            copy=Writable(package.parent, layout.workspace),
            mounts=opened.mounts,
            environment=opened.variables,
            limits=Limits(),
            seconds=60,
            token="t0k3n",
        )
        with Cancellation() as cancellation:
            return run_oracle(sandbox, place, oracle, cancellation)

    return run


def documented_oracle() -> dict[str, Any]:
    """The oracle of the task in docs/suites.md; the entry in docs/hidden-tests.md must be the same."""
    task = read_yaml(block("suites.md", "suites/mine/suite.yaml"), "suite.yaml").value["tasks"][1]
    entry = next(each.text for each in blocks(TOP / "docs" / "hidden-tests.md") if each.language == "yaml")
    assert read_yaml(textwrap.dedent(entry), "entry").value.items() <= task.items()
    assert [file["target"] for file in task["oracle"]["files"]] == ["check.py", "cases.toml"]
    oracle: dict[str, Any] = task["oracle"]
    return oracle


def test_the_hidden_test_of_the_page_passes_the_solution_of_the_page(
    hidden_test: Callable[[str], CheckResult],
) -> None:
    assert hidden_test(block("hidden-tests.md", "shop/money.py")).passed


@pytest.mark.parametrize(
    "solution",
    [
        "def split(amount, parts):\n    return [amount // parts] * parts\n",
        "import os\n\nos._exit(0)\n",
        "import sys\n\nprint(sys.stdin.read())\nsys.exit(0)\n",
    ],
    ids=["wrong", "ends early", "looks for the token"],
)
def test_the_hidden_test_of_the_page_fails_what_is_no_solution(
    hidden_test: Callable[[str], CheckResult], solution: str
) -> None:
    result = hidden_test(solution)
    assert not result.passed
    assert not result.exited_zero


def test_the_seal_of_the_page_is_made_by_the_command_of_the_page() -> None:
    case = tomllib.loads(block("hidden-tests.md", CASES))["case"][0]
    command = next(each.text for each in blocks(TOP / "docs" / "hidden-tests.md") if "--seal" in each.text)
    answer = re.findall(r"echo '(.*)'", command)[0]
    check = runpy.run_path(str(CHECK))
    assert check["seal"](json.loads(answer), case["salt"]) == case["digest"]


def make_repository(folder: Path) -> None:
    """A repository with one commit and an uncommitted line that goes through a shell."""
    git = partial(subprocess.run, cwd=folder, check=True, capture_output=True)
    folder.mkdir()
    (folder / "backup.py").write_text("import subprocess\n", encoding="utf-8")
    author = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "start")):
        git(["git", *words])
    with (folder / "backup.py").open("a", encoding="utf-8") as file:
        file.write('subprocess.run(f"tar c {name}", shell=True)\n')


def layout_in(folder: Path) -> Layout:
    for name in ("home", "temporary", "output"):
        (folder / name).mkdir()
    parts = {name: str(folder / name) for name in ("workspace", "home", "temporary", "output")}
    return Layout(**parts, contained=False)


def request_for(layout: Layout, skills: tuple[SkillPlace, ...]) -> SessionRequest:
    return SessionRequest(
        name="review",
        kind="review",
        prompt="Review the change.",
        artifact=f"{layout.output}/review.json",
        skills=skills,
        effort=None,
        model=None,
        seed=0,
    )


def run_session(argv: tuple[str, ...], stdin: bytes, environment: dict[str, str]) -> SessionReport:
    path = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, input=stdin, env=path | environment, capture_output=True, check=False)
    parser = ContractParser()
    parser.feed(done.stdout)
    report = parser.close(done.returncode)
    assert report.status == "completed", f"{report.detail} {done.stderr.decode()}"
    return report


def review_with(tmp_path: Path, skills: tuple[SkillPlace, ...]) -> tuple[SessionReport, Review]:
    """What the program of docs/agents.md reports and writes, run as a process of its own."""
    program = tmp_path / "reviewer.py"
    program.write_text(block("agents.md", "reviewer.py"), encoding="utf-8")
    make_repository(tmp_path / "workspace")
    layout = layout_in(tmp_path)
    stdin = session_input(request_for(layout, skills), layout)
    report = run_session((sys.executable, "-I", "-S", str(program)), stdin, {})
    return report, read_review((tmp_path / "output" / "review.json").read_bytes())


def test_the_example_agent_reviews_what_its_skill_teaches(tmp_path: Path) -> None:
    place = SkillPlace("code-review", str(STARTER / ".claude" / "skills" / "code-review"))
    report, review = review_with(tmp_path, (place,))
    assert report.skills_used == ("code-review",)
    assert report.usage.turns == 1
    assert [(each.path, each.line) for each in review.findings] == [("backup.py", 2)]
    assert review.verdict == "request_changes"


def test_the_example_agent_approves_without_a_skill(tmp_path: Path) -> None:
    report, review = review_with(tmp_path, ())
    assert report.skills_used == ()
    assert review.verdict == "approve"


@pytest.fixture
def careful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of docs/extending.md, installed, in a project with its option files."""
    installed = tmp_path / "installed"
    for each in blocks(TOP / "docs" / "extending.md"):
        if each.file is not None:
            (installed / each.file).parent.mkdir(parents=True, exist_ok=True)
            (installed / each.file).write_text(each.text, encoding="utf-8")
    points = re.sub(r'project\.entry-points\."([^"]+)"', r"\1", block("extending.md", "pyproject.toml"))
    metadata = installed / "careful-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: careful\nVersion: 1.0\n", encoding="utf-8"
    )
    entries = points.partition("\n\n")[2].replace('"', "")
    (metadata / "entry_points.txt").write_text(entries, encoding="utf-8")
    (installed / "evolve.toml").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(installed))
    return installed


def test_the_example_extension_is_found_configured_and_works(careful: Path, tmp_path: Path) -> None:
    config, _ = load_config(["agent=silent", "promotion=all_better"], root=careful)
    agent = create_agent(config.agent, careful)
    make_repository(tmp_path / "workspace")
    layout = layout_in(tmp_path)
    started = agent.command(request_for(layout, ()), layout)
    report = run_session(started.argv, started.stdin, dict(started.environment))
    assert report.skills_used == ("code-review",)
    assert read_review((tmp_path / "output" / "review.json").read_bytes()).verdict == "approve"
    assert config.promotion is not None
    policy = policy_named(config.promotion.policy, config.promotion.options)
    assert policy.decide(no_evidence()).decision == "insufficient_evidence"
    assert "0.02" in policy.detects(3, 1)


def no_evidence() -> Evidence:
    return Evidence(schema_version=1, model="m", deterministic=True, stopped=None, split="all", pairs=())


def test_the_recheck_of_the_page_reaches_the_decision_again(tmp_path: Path) -> None:
    config, _ = load_config([], root=STARTER)
    assert config.promotion is not None
    verdict = policy_named(config.promotion.policy, config.promotion.options).decide(no_evidence())
    metadata = PromotionMetadata(
        contained=True,
        generated_at=datetime.now(UTC),
        run="r",
        generation=1,
        idea="i",
        idea_digest="d",
        suite="s",
        suite_digest="d",
        overlay="d",
        base_skills={},
        result_skills={},
        agent="a/1",
        configuration="d",
        rows="d",
        exit_code=0,
    )
    file = tmp_path / "promotion.json"
    write_promotion(file, promotion_document(no_evidence(), verdict, metadata))
    program = tmp_path / "recheck.py"
    program.write_text(block("generations.md", "recheck.py"), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, str(program), str(file)), capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{verdict.decision}\n"
