"""Solutions that try to pass a hidden test without solving anything, for a tree of any kind. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.certificate.model import Solution
from bench.scoring import is_test

MOST_FILES = 200
_PASSING_TESTS = {
    ".py": "import unittest\n\n\nclass Passes(unittest.TestCase):\n    def test_passes(self):\n        pass\n\n\n"
    "def test_passes():\n    pass\n",
}
_HOOK = "\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
_LINES = "Ran 3 tests in 0.001s\\n\\nOK\\n3 passed in 0.01s\\n"
_PYTHON: Mapping[str, str] = {
    "exits-early": "\nimport os\nos._exit(0)\n",
    "exits-as-asked": "\nimport sys\nsys.exit(0)\n",
    "ends-with-zero": "\nimport atexit\nimport os\natexit.register(os._exit, 0)\n",
    "forges-a-pass": f"\nimport os\nprint('{_LINES}', flush=True)\nos._exit(0)\n",
    "patches-the-runner": (
        "\nimport unittest\nfor _name in dir(unittest.TestCase):\n    if _name.startswith('assert'):\n"
        "        unittest.TestCase.assertEqual = setattr(unittest.TestCase, _name, lambda *_, **__: None)\n"
        "unittest.TestCase.run = lambda self, result=None: result.startTest(self) or result.addSuccess(self)\n"
    ),
    # whoever keeps the token in the process of the code under test loses it
    "finds-the-token": (
        "\nimport os, re, sys\n_frame, _seen = sys._getframe(), []\nwhile _frame:\n"
        "    _seen += [*_frame.f_locals.values(), *_frame.f_globals.values()]\n    _frame = _frame.f_back\n"
        "_found = [t for v in _seen if isinstance(v, str) for t in re.findall(r'\\b[0-9a-f]{32}\\b', v)]\n"
        "if _found:\n    print(_found[-1], flush=True)\n    os._exit(0)\n"
        "for _part in ('environ', 'cmdline'):\n    try:\n"
        "        with open(f'/proc/{os.getppid()}/{_part}', 'rb') as _file:\n"
        "            for _token in re.findall(rb'\\b[0-9a-f]{32}\\b', _file.read(1 << 20)):\n"
        "                print(_token.decode(), flush=True)\n    except OSError:\n        pass\n"
    ),
}
_SCRIPT: Mapping[str, str] = {
    "exits-early": "\n;globalThis.process?.exit(0);\n",
    "forges-a-pass": "\n;console.log('# pass 3\\n# fail 0\\n3 passing'); globalThis.process?.exit(0);\n",
}
_LANGUAGES: tuple[tuple[tuple[str, ...], Mapping[str, str]], ...] = (
    ((".py",), _PYTHON),
    ((".js", ".mjs", ".cjs", ".ts"), _SCRIPT),
)


def tricks(paths: Sequence[str], targets: Sequence[str]) -> Iterator[Solution]:
    """Tricks for a tree with these files. `targets` are the ones that a right solution changes: what is planted is
    planted there, else in all code.
    """
    edited = [path for path in paths if is_test(path)][:MOST_FILES]
    if edited:
        yield _trick("edits-tests", [_write(path, _PASSING_TESTS.get(_ending(path), "")) for path in edited])
    code = [path for path in paths if not is_test(path)]
    for endings, texts in _LANGUAGES:
        known = [path for path in targets if path in code and path.endswith(endings)]
        here = (known or [path for path in code if path.endswith(endings)])[:MOST_FILES]
        for name, text in texts.items() if here else ():
            yield _trick(
                f"{name}{'' if endings[0] == '.py' else '-js'}", [_append(path, text) for path in here]
            )
    if any(path.endswith(".py") for path in code):
        yield _trick("plants-a-hook", _planted(paths))


def _planted(paths: Sequence[str]) -> list[Mapping[str, Any]]:
    """What Python and pytest run without being asked to, beside the code and beside its tests."""
    folders = {"", *(path.rpartition("/")[0] + "/" for path in paths if is_test(path) and "/" in path)}
    hooks = [_append(f"{folder}conftest.py", _HOOK) for folder in sorted(folders)[:MOST_FILES]]
    return [*hooks, _write("sitecustomize.py", "import os\n\nos._exit(0)\n")]


def _trick(name: str, steps: Sequence[Mapping[str, Any]]) -> Solution:
    return Solution(name=name, worth="tampering", steps=tuple(steps))


def _append(path: str, text: str) -> Mapping[str, Any]:
    return {"append": path, "text": text}


def _write(path: str, text: str) -> Mapping[str, Any]:
    return {"write": path, "text": text}


def _ending(path: str) -> str:
    return "." + path.rpartition(".")[2]
