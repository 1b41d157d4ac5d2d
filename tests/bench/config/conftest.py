"""Projects to configure, and an installed extension to configure them with."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("config_project")

from config_project import Project  # noqa: E402 - its asserts are to explain themselves


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path).marker("")


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """The distribution in extension_package, as if it were installed."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "extension_package"))
