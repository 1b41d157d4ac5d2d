"""One ground for all cells of these tests."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from bench.workspace import choose_workspaces
from tests.tampering.tiny_project import Range, open_range


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(tmp_path_factory.mktemp("tampering")) as opened:
        yield opened


@pytest.fixture(scope="session")
def copied(cells: Range) -> Range:
    """The same ground, with working copies that are copies."""
    ground = cells.ground
    workspaces = choose_workspaces("copy", ground.sandbox, ground.scratch)
    return replace(cells, ground=replace(ground, workspaces=workspaces))
