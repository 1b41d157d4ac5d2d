"""The hidden test made of a repository's own tests passes what is right, and no runner that was tampered with."""

import json
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import bench.newtask

RUNNER = Path(bench.newtask.__file__).with_name("run_tests.py")
METHODS = "import unittest\n\nimport shop\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(shop.two(), 2)\n"
FUNCTIONS = "import shop\n\n\ndef test_two():\n    assert shop.two() == 2\n"
KINDS = {"unittest": (METHODS, "test_shop.T.test_two"), "pytest": (FUNCTIONS, "test_shop.py::test_two")}
WRONG = "def two():\n    return 3\n"
HOOK = "def pytest_pyfunc_call(pyfuncitem):\n    return True\n"
REPORTS = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)
PATCH = "import unittest\nunittest.TestCase.run = lambda self, result=None: result.startTest(self) or result.addSuccess(self)\n"
TRICKS: Mapping[str, Mapping[str, str]] = {
    "nothing": {},
    "ends": {"shop.py": WRONG + "import os\nos._exit(0)\n"},
    "prints": {"shop.py": WRONG + "print('{\"passed\": []}')\n"},
    "patches": {"shop.py": WRONG + PATCH},
    "hooks": {"conftest.py": HOOK},
    "reports": {"conftest.py": REPORTS},
    "customizes": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "writes another test": {"test_shop.py": "def test_two():\n    pass\n"},
}


def passes(folder: Path, runner: str, files: Mapping[str, str]) -> bool:
    """Whether the hidden test passes in a tree with these files."""
    oracle, tree = folder / "oracle", folder / "tree"
    oracle.mkdir()
    tree.mkdir()
    text, expected = KINDS[runner]
    plan = {"runner": runner, "files": {"test_shop.py": "0-test_shop.py"}, "expected": [expected]}
    (oracle / "plan.json").write_text(json.dumps(plan))
    (oracle / "0-test_shop.py").write_text(text)
    (oracle / "run_tests.py").write_bytes(RUNNER.read_bytes())
    for path, content in files.items():
        (tree / path).write_text(content)
    token = secrets.token_hex(16)
    command = [sys.executable, "-I", "-B", str(oracle / "run_tests.py")]
    done = subprocess.run(command, cwd=tree, input=f"{token}\n", capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.split()[-1:] == [token]


@pytest.mark.parametrize("runner", KINDS)
def test_what_is_right_passes(runner: str, tmp_path: Path) -> None:
    assert passes(tmp_path, runner, {"shop.py": "def two():\n    return 2\n"})


@pytest.mark.parametrize("runner", KINDS)
@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_passes(trick: str, runner: str, tmp_path: Path) -> None:
    assert not passes(tmp_path, runner, {"shop.py": WRONG} | TRICKS[trick])
