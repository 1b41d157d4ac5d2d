"""A hidden test made of a repository's own tests. Run as `python3 -I -B run_tests.py`, in the working copy.

The tests run in a child process, beside two more with a name that is drawn each time: one that must fail and one that
must pass. So a runner that was patched, a process that ended early and a forged line are no pass. What is passed on is
the number that the child was told. Code that looks through its own process can find it: see docs/new-task.md.
"""

import ctypes
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 540
NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE: no other process of this user can read its memory or descriptors
CANARY = """import unittest


class Canary(unittest.TestCase):
    def test_fails(self):
        self.assertEqual("{one}", "{other}")

    def test_passes(self):
        self.assertEqual("{one}", "{one}")


def test_fails():  # pytest runs functions in another way than methods
    assert "{one}" == "{other}"


def test_passes():
    assert "{one}" == "{one}"
"""


def main() -> int:
    """0, with the token as the last line, if every test that is expected to pass does."""
    token = sys.stdin.readline().strip()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(*NOT_DUMPABLE, 0, 0, 0)
    plan = json.loads((HERE / "plan.json").read_text(encoding="utf-8"))
    canary = f"test_{secrets.token_hex(8)}"
    found = ask(plan["runner"], put_in_place(plan["files"], canary), secrets.token_hex(16))
    passed, failed = (
        {each for each in found.get(key, ()) if canary not in each} for key in ("passed", "failed")
    )
    if sys.argv[1:] == ["--observe"]:
        print(json.dumps({"passed": sorted(passed), "failed": sorted(failed)}))
        return 0
    if not canary_sings(found, canary, plan["runner"]) or not set(plan["expected"]) <= passed - failed:
        return 1
    print(token)
    return 0


def canary_sings(found: dict[str, list[str]], canary: str, runner: str) -> bool:
    """Whether exactly those of the canary's tests passed that must, and those failed that must."""
    count = 2 if runner == "pytest" else 1
    ends = {
        key: [each.rpartition("test_")[2] for each in found.get(key, ()) if canary in each]
        for key in ("passed", "failed")
    }
    return ends == {"passed": ["passes"] * count, "failed": ["fails"] * count}


def put_in_place(files: dict[str, str], canary: str) -> list[str]:
    """Put the tests where they belong, whatever is there, and the canary beside the first; the paths of all."""
    for path, name in files.items():
        place = Path(path)
        for folder in [place, *place.parents]:
            if folder.is_symlink():
                folder.unlink()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_bytes((HERE / name).read_bytes())
    tests = [path for path in files if Path(path).name.startswith("test") or path.endswith("_test.py")]
    extra = Path(tests[0]).with_name(f"{canary}.py")
    extra.write_text(CANARY.format(one=secrets.token_hex(8), other=secrets.token_hex(8)), encoding="utf-8")
    return [*tests, str(extra)]


def ask(runner: str, paths: list[str], number: str) -> dict[str, list[str]]:
    """What the child says of the tests; nothing if it does not tell the number."""
    with tempfile.TemporaryFile() as report:
        question = json.dumps([runner, paths, number, report.fileno()]).encode()
        environment = {key: value for key, value in os.environ.items() if key != "ORACLE"}
        child = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            pass_fds=[report.fileno()],
            start_new_session=True,
        )
        try:
            child.communicate(question, timeout=SECONDS)
        except (subprocess.TimeoutExpired, OSError):
            return {}
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # with all that it started and left behind
            except ProcessLookupError:
                pass
            child.wait()
        report.seek(0)
        try:
            said = json.loads(report.read(16 << 20))
        except ValueError:
            return {}
    return said if isinstance(said, dict) and said.get("number") == number else {}


# What the child runs. The standard library comes first, then the working copy, then installed packages.
CHILD = """
import json, os, sys, unittest
runner, paths, number, report = json.loads(sys.stdin.buffer.read())
found = {"passed": [], "failed": []}
root = os.getcwd()
place = next((n for n, each in enumerate(sys.path) if "-packages" in each), len(sys.path))
sys.path[place:place] = [each for each in (os.path.join(root, "src"), root) if os.path.isdir(each)]
sys.path += sorted({os.path.join(root, os.path.dirname(path)) for path in paths})

class Result(unittest.TestResult):
    def addSuccess(self, test):
        found["passed"].append(test.id())
    def addExpectedFailure(self, test, error):
        found["passed"].append(test.id())
    def addFailure(self, test, error):
        found["failed"].append(test.id())
    def addSubTest(self, test, subtest, error):
        if error is not None:
            found["failed"].append(test.id())
    addError = addFailure
    def addUnexpectedSuccess(self, test):
        found["failed"].append(test.id())

class Plugin:
    def pytest_runtest_logreport(self, report):
        if report.failed:
            found["failed"].append(report.nodeid)
        elif report.passed and report.when == "call":
            found["passed"].append(report.nodeid)

if runner == "pytest":
    import pytest
    pytest.main(["-q", "-o", "addopts=", "-p", "no:cacheprovider", f"--rootdir={root}", *paths], plugins=[Plugin()])
else:
    names = [path.removeprefix("src/").removesuffix(".py").replace("/", ".") for path in paths]
    unittest.defaultTestLoader.loadTestsFromNames(names).run(Result())
with os.fdopen(report, "w") as file:
    json.dump({"number": number, **found}, file)
    file.flush()
os._exit(0)
"""

if __name__ == "__main__":
    sys.exit(main())
