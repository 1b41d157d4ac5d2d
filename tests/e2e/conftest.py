"""Every test of this folder drives the real commands."""

from pathlib import Path

import pytest

from tests.e2e.commands import run, starter_root


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
