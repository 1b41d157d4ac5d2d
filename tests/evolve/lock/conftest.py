import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sealed_project import KEY, WORDS, Provider, bwrap_in, make_project, provider

from evolve.cli import main


@pytest.fixture(scope="session")
def served() -> Iterator[Provider]:
    with provider() as server:
        yield server


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, served: Provider) -> tuple[Path, Path]:
    """A project with a run of two generations, and the folder of its bubblewrap."""
    folder = tmp_path_factory.mktemp("sealed")
    bwrap = bwrap_in(folder / "bin")
    root = make_project(folder, served.server_port)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUR_KEY", KEY)
        patch.setenv("PATH", str(bwrap), prepend=":")
        assert main([*WORDS, "--root", str(root)]) == 0
    return root, bwrap


@pytest.fixture
def sealed(recorded: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project elsewhere, for one test to change; its user has no key."""
    root, bwrap = recorded
    monkeypatch.delenv("OUR_KEY", raising=False)
    monkeypatch.setenv("PATH", str(bwrap), prepend=":")
    return Path(shutil.copytree(root, tmp_path / "project", symlinks=True))
