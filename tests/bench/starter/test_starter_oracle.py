"""The driver of the starter's hidden tests: nothing that code under test does in its own process makes it pass."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from implementation_evidence import TOKEN
from starter_evidence import SUITE

DRIVER = SUITE / "oracles" / "check.py"
SOUND = "def double(number):\n    return 2 * number\n"
BROKEN = "def double(number):\n    return 3 * number\n"
CODE = "from pack.numbers import double\nanswer = [double(n) for n in (1, 2, 40)]\n"
ANSWER = [2, 4, 80]
POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


@dataclass(frozen=True)
class Exam:
    """A package in a working copy, and a hidden test of it."""

    workspace: Path
    oracle: Path

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def ask(self, code: str, answer: object) -> None:
        """Make the hidden test of one case; `--seal` says what stands in its place."""
        command = [sys.executable, "-I", "-S", "-B", str(self.oracle / "check.py"), "--seal"]
        done = subprocess.run(command, input=json.dumps(answer), capture_output=True, text=True, check=True)
        case = f"[[case]]\nsays = \"it doubles\"\ncode = '''\n{code}'''\n{done.stdout}"
        (self.oracle / "cases.toml").write_text(f'package = "pack"\n\n{case}', encoding="utf-8")

    def shorten(self) -> None:
        """Give a case one second instead of many."""
        driver = self.oracle / "check.py"
        text = driver.read_text(encoding="utf-8")
        assert "\nSECONDS = 30 " in text
        driver.write_text(text.replace("\nSECONDS = 30 ", "\nSECONDS = 1 "), encoding="utf-8")

    def sit(self) -> subprocess.CompletedProcess[str]:
        """Run the hidden test as the harness does: never with the powers of root."""
        return subprocess.run(
            [*POWERLESS, "/bin/sh", "-c", f'exec {sys.executable} -I -S -B "$ORACLE/check.py"'],
            cwd=self.workspace,
            env={"ORACLE": str(self.oracle), "PATH": "/usr/bin:/bin"},
            input=f"{TOKEN}\n",
            capture_output=True,
            text=True,
            check=False,
        )

    def passes(self) -> bool:
        done = self.sit()
        return done.returncode == 0 and done.stdout.split()[-1:] == [TOKEN]


@pytest.fixture
def exam(tmp_path: Path) -> Exam:
    made = Exam(tmp_path / "workspace", tmp_path / "oracle")
    made.oracle.mkdir()
    shutil.copyfile(DRIVER, made.oracle / "check.py")
    made.write("pack/__init__.py", "")
    made.write("pack/numbers.py", SOUND)
    made.ask(CODE, ANSWER)
    return made


def test_sound_code_passes_and_the_token_is_the_last_word(exam: Exam) -> None:
    done = exam.sit()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{TOKEN}\n", "")


def test_broken_code_fails_and_the_token_is_not_said(exam: Exam) -> None:
    exam.write("pack/numbers.py", BROKEN)
    done = exam.sit()
    assert (done.returncode, done.stdout, done.stderr) == (1, "wrong: it doubles\n", "")


@pytest.mark.parametrize(
    "start",
    [
        "import os\nos._exit(0)\n",
        "raise SystemExit(0)\n",
        "import sys\nsys.exit()\n",
        "import json\njson.dumps = lambda answer: 'true'\n",
        "print('OK')\nprint('6a1f0c52')\n",
        "import os\nfor number in range(3, 20):\n    try:\n        os.write(number, b'[]\\n6a1f0c52\\n')\n    except OSError:\n        pass\n",
        "import builtins\nbuiltins.exec = lambda *_: None\n",
        "import sys\nsys.stdout.write('[2, 4]')\n",
        "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\n",
        "import nowhere\n",
        "def\n",
    ],
)
def test_whatever_broken_code_does_at_its_start_it_does_not_pass(exam: Exam, start: str) -> None:
    exam.write("pack/__init__.py", start)
    exam.write("pack/numbers.py", BROKEN)
    assert not exam.passes()


def test_what_the_code_prints_does_not_disturb_its_answer(exam: Exam) -> None:
    exam.write(
        "pack/__init__.py", "import os, sys\nprint('[1]')\nos.write(1, b'{')\nsys.stdout.write('x' * 10**6)\n"
    )
    assert exam.passes()


def test_the_driver_cannot_be_looked_into_from_the_code(exam: Exam) -> None:
    """Not its memory, which knows the token, nor its environment and output, nor those of a process above it."""
    look = """
import os
def double(number):
    return 2 * number
def opened():
    parent = f"/proc/{os.getppid()}"
    seen = []
    for name in ("mem", "environ", "fd/1", "maps", "auxv"):
        try:
            with open(f"{parent}/{name}", "rb"):
                seen.append(name)
        except PermissionError:
            pass
    return [os.path.exists(parent), seen]
"""
    exam.write("pack/numbers.py", look)
    exam.ask("from pack.numbers import opened\nanswer = opened()\n", [True, []])
    assert exam.passes()


def test_cases_that_the_code_reads_tell_it_no_answer(exam: Exam) -> None:
    exam.ask("from pack.numbers import found\nanswer = found()\n", "a long answer that nobody guesses")
    text = (exam.oracle / "cases.toml").read_text(encoding="utf-8")
    exam.write(
        "pack/numbers.py", f"def found():\n    return open({str(exam.oracle / 'cases.toml')!r}).read()\n"
    )
    assert "guesses" not in text
    assert not exam.passes()


def test_nothing_else_of_the_working_copy_is_run(exam: Exam) -> None:
    """No module that shadows the standard library, no start-up file of an interpreter, no test configuration."""
    for name in ("json.py", "os.py", "sitecustomize.py", "usercustomize.py", "conftest.py", "pack.py"):
        exam.write(name, "raise SystemExit(0)\n")
    exam.write("pack.pth", "import os; os._exit(0)\n")
    exam.write("pack/json.py", "raise SystemExit(0)\n")
    assert exam.passes()


def test_a_cache_of_byte_code_is_not_run_in_place_of_the_source(exam: Exam) -> None:
    source = exam.write("pack/numbers.py", SOUND)
    cached = py_compile.compile(str(source), doraise=True)
    stamp = source.stat()
    source.write_text(BROKEN, encoding="utf-8")
    os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert Path(str(cached)).is_file()
    assert source.stat().st_size == stamp.st_size
    assert not exam.passes()


def test_an_answer_that_is_too_long_is_none(exam: Exam) -> None:
    for length, good in ((60_000, True), (70_000, False)):
        exam.ask(f"answer = 'x' * {length}\n", "x" * length)
        assert exam.passes() is good


@pytest.mark.parametrize(
    "start",
    [
        "import time\ntime.sleep(3600)\n",
        "while True:\n    pass\n",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(8)\n    os._exit(0)\n",
        "import os\nfor number in range(3, 20):\n    try:\n        while True:\n            os.write(number, b'x' * 65536)\n    except OSError:\n        pass\n",
    ],
)
def test_code_that_hangs_leaves_somebody_behind_or_says_too_much_fails_in_its_time(
    exam: Exam, start: str
) -> None:
    exam.shorten()
    exam.write("pack/__init__.py", start)
    assert exam.sit().returncode == 1
