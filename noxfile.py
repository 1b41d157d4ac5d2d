"""Everything that CI runs: `nox`. One session: `nox -s lint`. A test: `nox -s tests-3.11 -- -k name`."""

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
# An interpreter that is not installed is a printed skip in the summary, here and in CI alike.
nox.options.error_on_missing_interpreters = False
# not among them: `perf`, whose ratios need a quiet machine, `campaign`, `slow`, `certify` and `chaos`, which take minutes
nox.options.sessions = ["lint", "types", "schemas", "conf", "tests", "e2e", "build"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
MAIN = "3.11"
RUFF = "ruff==0.17.6"
MYPY = "mypy==2.4.1"
SCHEMA_TESTS = [
    "tests/bench/config/test_config_schemas.py",
    "tests/bench/results/test_generated_schemas.py",
    "tests/evolve/test_published_schemas.py",
    "tests/bench/suite/test_load_schemas.py",
]
# what has to hold on every Python: composing, the pure rules, the formats
CORE_TESTS = [
    "tests/bench/agents",
    "tests/bench/arms",
    "tests/bench/config",
    "tests/bench/results",
    "tests/bench/scoring",
    "tests/bench/skills",
    "tests/bench/sweep",
    "tests/evolve/gate",
]
# the only folders with tests marked e2e: tests/build/test_sessions.py holds that
END_TO_END = ["tests/e2e", "tests/chaos"]
# the programs that the tests drive: all that can be installed
AGENTS = ["claude_code", "codex", "opencode", "pi"]
# only rises
COVERAGE_FLOOR = "93"
# at once, on two cores: half of the time a test waits for a process of its own
WORKERS = "3"
TESTING = ["pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.120"]
# the judges of our own statistics; never a dependency of the package
STATISTICS = ["numpy>=2", "scipy>=1.13", "statsmodels>=0.14.4"]


@nox.session(python=MAIN)
def lint(session: nox.Session) -> None:
    """Style, formatting and the layers between packages."""
    session.install(RUFF, "import-linter>=2.1", ".")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session(python=MAIN)
def types(session: nox.Session) -> None:
    """mypy --strict over both packages."""
    session.install(MYPY, "types-jsonschema", "types-PyYAML", ".")
    session.run("mypy")


@nox.session(python=MAIN)
def schemas(session: nox.Session) -> None:
    """Every schema is valid, and the generated ones are what the code says."""
    session.install(*TESTING, ".")
    session.run("python", "-m", "pytest", *SCHEMA_TESTS, *session.posargs)


@nox.session(python=MAIN)
def conf(session: nox.Session) -> None:
    """Every option file and every experiment composes and validates."""
    session.install(*TESTING, ".")
    session.run("python", "-m", "pytest", "tests/bench/config/test_conf_options.py", *session.posargs)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Unit and property tests: all of them with coverage on the oldest Python, the functional core on every other."""
    session.install(*TESTING, *STATISTICS, "coverage[toml]>=7.6", "pytest-cov>=6", ".[wild]")
    quick = ["-n", WORKERS, "-m", "not e2e and not slow and not network"]
    if session.python != MAIN:
        session.run("python", "-m", "pytest", *quick, *CORE_TESTS, *session.posargs)
        return
    floor = [] if session.posargs else ["--cov-fail-under", COVERAGE_FLOOR]
    session.run(
        "python",
        "-m",
        "pytest",
        *quick,
        "--cov",
        "--cov-report=term",
        *floor,
        *(session.posargs or ["tests"]),
    )


@nox.session(python=MAIN)
def e2e(session: nox.Session) -> None:
    """The real commands, from an installed wheel, in folders of their own."""
    session.install(*TESTING, ".[wild]")
    _install_agents(session)
    # pytest imports every file before it selects: only folders that need what is installed here
    session.run(
        "python", "-m", "pytest", "-n", WORKERS, "-m", "e2e and not slow", *(session.posargs or END_TO_END)
    )


@nox.session(python=MAIN)
def slow(session: nox.Session) -> None:
    """What takes longer than CI can wait for."""
    session.install(*TESTING, *STATISTICS, ".[wild]")
    _install_agents(session)
    session.run("python", "-m", "pytest", "-m", "slow", *session.posargs)


def _install_agents(session: nox.Session) -> None:
    """The programs that the tests drive; one that cannot be had fails the session."""
    # tests/e2e/real_agents.py looks for them there
    agents = Path(session.virtualenv.location) / "agents"
    agents.mkdir(exist_ok=True)
    (agents / "evolve.toml").touch()
    session.run("evolve", "agents", "install", *AGENTS, "--root", str(agents))


@nox.session(python=MAIN)
def certify(session: nox.Session) -> None:
    """The table of properties of the policies that test, with its numbers."""
    session.install(*TESTING, *STATISTICS, ".")
    session.run("python", "-m", "pytest", "-s", "tests/evolve/properties", *session.posargs)


@nox.session(python=MAIN)
def perf(session: nox.Session) -> None:
    """Ratios against baselines measured in the same run, as a table."""
    session.install(*TESTING, ".")
    _install_agents(session)
    session.run("python", "tests/perf/table.py", *session.posargs)


@nox.session(python=MAIN)
def campaign(session: nox.Session) -> None:
    """On `wild`: a search and the release test that it ends in; what ten rejected generations pay with and without reuse."""
    session.install(".[wild]")
    session.run("python", "tests/campaign/release.py")
    session.run("python", "tests/campaign/campaign.py", *session.posargs)


@nox.session(python=MAIN)
def chaos(session: nox.Session) -> None:
    """Hundreds of runs that are killed at drawn points and gone on with: minutes, and a histogram."""
    session.install(*TESTING, ".")
    session.run("python", "-m", "tests.chaos.chaos", *session.posargs)


@nox.session(python=MAIN)
def build(session: nox.Session) -> None:
    """A wheel and an sdist that hold what they should, and an install that stays small."""
    session.install("build>=1.2")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist", ".", silent=True)
    wheel = next(Path("dist").glob("*.whl"))
    fresh = str(Path(session.create_tmp()) / "fresh")
    session.run("python", "-m", "venv", "--clear", fresh)
    session.run("python", "tests/build/check_install.py", str(wheel), fresh)
