"""Cells to run commands in, in every backend."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("sandbox_cell", "sandbox_conformance")

from sandbox_cell import Cell, sandbox  # noqa: E402 - its asserts are to explain themselves

from bench.sandbox import Sandbox  # noqa: E402

MakeCell = Callable[[Sandbox], Cell]


@pytest.fixture
def make_cell(tmp_path: Path) -> MakeCell:
    return lambda backend: Cell(backend, tmp_path / "cell")


@pytest.fixture(params=["bubblewrap", "host"])
def cell(request: pytest.FixtureRequest, make_cell: MakeCell, tmp_path: Path) -> Cell:
    return make_cell(sandbox(request.param, tmp_path))


@pytest.fixture
def contained(make_cell: MakeCell, tmp_path: Path) -> Cell:
    return make_cell(sandbox("bubblewrap", tmp_path))
