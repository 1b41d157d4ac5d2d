"""A fresh small project per test."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("cell_project")

from cell_project import CellProject  # noqa: E402 - its asserts are to explain themselves


@pytest.fixture
def project(tmp_path: Path) -> CellProject:
    return CellProject(tmp_path)
