"""Every test of this folder drives the real commands; those that drive a real agent say so at the end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.e2e.commands import run, starter_root
from tests.e2e.real_agents import PROPERTY, Driven, driven_below, driven_lines


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh folder with the starter project unpacked in it; nothing has been run there."""
    assert run("evolve", "--cfg", "job", folder=tmp_path).code == 0
    assert starter_root(tmp_path).is_dir()
    return tmp_path


@pytest.fixture
def drove(request: pytest.FixtureRequest) -> Callable[[Driven], None]:
    """Say what a test did with a real agent, for the table at the end."""
    return lambda driven: request.node.user_properties.append((PROPERTY, msgspec.to_builtins(driven)))


@pytest.fixture(autouse=True)
def told(tmp_path: Path, drove: Callable[[Driven], None]) -> Iterator[None]:
    """Every run in a test's own folder is in the table."""
    yield
    for each in driven_below(tmp_path):
        drove(each)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # what is told after a test's end is in the report of its teardown
    reports = [each for kind in ("", "error") for each in terminalreporter.getreports(kind)]
    properties = [each for report in reports if report.when == "teardown" for each in report.user_properties]
    driven = [msgspec.convert(value, Driven) for name, value in properties if name == PROPERTY]
    terminalreporter.section("real agents")
    for line in driven_lines(driven):
        terminalreporter.write_line(line)
