"""These tests look at the stored project of version 1, which tests/bench/archive copies."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "archive"))

from old_project import old_project  # noqa: E402


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return old_project(tmp_path / "project")
