"""The rows of these tests are made by the builders of tests/bench/results, the projects by those of tests/bench/cells."""

import sys
from pathlib import Path

import pytest

for folder in ("results", "cells"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
pytest.register_assert_rewrite("cell_project", "reusing")

from cell_project import CellProject  # noqa: E402 - its asserts are to explain themselves


@pytest.fixture
def project(tmp_path: Path) -> CellProject:
    return CellProject(tmp_path)
