from pathlib import Path

import pytest

from bench.cancellation import Cancellation
from bench.config import load_config
from bench.errors import SandboxUnavailable
from bench.project import unpack_starter
from bench.sweep import open_ground


def test_a_scratch_that_every_cell_could_read_is_refused(tmp_path: Path) -> None:
    root = unpack_starter(tmp_path)
    config, _ = load_config(["sandbox.scratch=/usr/share"], root=root, command="bench")
    with (
        Cancellation() as cancellation,
        pytest.raises(SandboxUnavailable, match="every cell can read"),
        open_ground(config, root, (), cancellation),
    ):
        pass
