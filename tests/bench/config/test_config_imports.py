"""What importing costs, and what an installed plugin of Hydra may break; each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("hydra", "omegaconf", "antlr4", "jsonschema", "referencing", "yaml")
LOAD = """
from bench.config import load_config
from bench.errors import ConfigError
try:
    load_config([], root=None)
except ConfigError as error:
    print("refused:", error)
"""


def _output(program: str, *paths: Path) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = f"import sys, bench.config; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert _output(program).strip() == "[]"


def test_a_broken_plugin_of_hydra_is_named(tmp_path: Path) -> None:
    plugins = tmp_path / "hydra_plugins"
    plugins.mkdir()
    (plugins / "oops.py").write_text("raise ValueError('mutable default')\n")
    said = _output(LOAD, tmp_path)
    assert said.startswith(
        f"refused: an installed Hydra plugin keeps Hydra from starting: {plugins / 'oops.py'}"
    )
    assert "ValueError: mutable default" in said
