"""The table of real agents at the end of the log: it counts what was run, whatever test ran it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.agents.installed import read_pins

ROOT = Path(__file__).parents[2]
# a test that leaves a run with a row of codex, one of another agent, and then fails
LEAVES = """
from msgspec import json, structs
from bench.agents import Usage
from tests.bench.results.row_builders import make_row

def test_it(tmp_path):
    row = make_row("other")
    identity = structs.replace(make_row("one").identity, agent="codex", agent_version="0.0.7")
    usage = Usage(requests=5, source="gateway")
    codex = structs.replace(make_row("one"), identity=identity, usage=usage, sessions={"plan": usage, "work": usage})
    (tmp_path / "gen-1").mkdir()
    (tmp_path / "gen-1" / "results.jsonl").write_bytes(json.encode(codex) + b"\\n" + json.encode(row) + b"\\n")
    assert not END
"""


@pytest.mark.parametrize("end", [False, True])
def test_every_run_in_a_tests_folder_is_counted_also_where_the_test_fails(
    end: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("other")  # not this test's own, which would be counted
    (folder / "conftest.py").write_text("from tests.e2e.conftest import *\n")
    (folder / "test_it.py").write_text(LEAVES.replace("END", str(end)))
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)),
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == int(end), done.stdout
    counted = {words[0]: words[1:] for line in done.stdout.splitlines() if len(words := line.split()) == 4}
    assert counted["codex"] == ["0.0.7", "2", "5"]
    assert counted["claude_code"] == [f"({read_pins()['claude_code'].pinned})", "0", "0"]
