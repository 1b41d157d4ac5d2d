"""A real sandbox, and each way of making working copies."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("workspace_builders")

from workspace_builders import Session, open_backend  # noqa: E402 - its asserts are to explain themselves

from bench.sandbox import Sandbox  # noqa: E402
from bench.workspace import Workspaces, choose_workspaces  # noqa: E402
from bench.workspace.choosing import can_clone  # noqa: E402


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return open_backend("bubblewrap", tmp_path)


@pytest.fixture
def session(sandbox: Sandbox) -> Session:
    return Session(sandbox)


@pytest.fixture(params=["overlay", "reflink", "copy"])
def workspaces(request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path: Path) -> Workspaces:
    if request.param == "reflink" and not can_clone(tmp_path):
        pytest.skip(f"the file system of {tmp_path} cannot share blocks between files")
    return choose_workspaces(request.param, sandbox, tmp_path)
