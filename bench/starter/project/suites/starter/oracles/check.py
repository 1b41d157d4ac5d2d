"""Judges a package by what it does. Run as `python3 -I -S -B check.py`, with cases.toml beside it, in the working copy.

The code under test only ever runs in child processes, one for each case. It cannot pass by what it does there:
the token is read before the first child starts, no child can look into this process, and a case holds no answer
but a salted digest of it. `check.py --seal`, with an answer as JSON on stdin, prints both for a new case.
"""

import ctypes
import hashlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

SECONDS = 30  # for one case; the slowest of them needs less than one
MOST_BYTES = 64 * 1024  # of an answer
NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE: not even a process of the same user can read memory or descriptors
# What a child runs. It finds the package by its place and nothing else of the working copy, from source alone (a
# cache of byte code could hold other code); what the package prints is dropped, the answer goes out where stdout was.
CHILD = """
import json, os, sys
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location

answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
package, folder, code = json.loads(sys.stdin.buffer.read())

class Source(SourceFileLoader):
    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)

class Package:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        top, *rest = fullname.split(".")
        if top != package:
            return None
        place = os.path.join(folder, *rest)
        file = f"{place}/__init__.py" if os.path.isdir(place) else f"{place}.py"
        if not os.path.isfile(file):
            return None
        inside = [place] if os.path.isdir(place) else None
        return spec_from_file_location(fullname, file, loader=Source(fullname, file), submodule_search_locations=inside)

sys.meta_path.insert(0, Package)
names = {"__name__": "case"}
exec(code, names)
answers.write(json.dumps(names["answer"]))
answers.flush()
os._exit(0)
"""
COMMAND = (sys.executable, "-I", "-S", "-B", "-c", CHILD)


def main() -> int:
    """0, with the token as the last line, if every case has the answer that it should have."""
    if sys.argv[1:] == ["--seal"]:
        salt = secrets.token_hex(16)
        print(f'salt = "{salt}"\ndigest = "{seal(json.load(sys.stdin), salt)}"')
        return 0
    token = sys.stdin.readline().strip()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(*NOT_DUMPABLE, 0, 0, 0)
    document = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))
    package = document["package"]
    for case in document["case"]:
        answer = ask(json.dumps([package, str(Path.cwd() / package), case["code"]]).encode())
        if seal(answer, case["salt"]) != case["digest"]:
            print(f"wrong: {case['says']}")
            return 1
    print(token)
    return 0


def seal(answer: object, salt: str) -> str:
    """The digest of an answer: SHA-256 over the salt and the answer as canonical JSON."""
    text = json.dumps(answer, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()


def ask(question: bytes) -> object:
    """What a child answers; None if it fails, hangs, or says too much or nothing that is JSON."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        COMMAND, stdin=pipe, stdout=pipe, stderr=null, cwd="/", env={}, start_new_session=True
    ) as child:
        try:
            said = talk(child, question)
        except OSError:
            said = b""
        os.killpg(child.pid, signal.SIGKILL)  # with all that it started and left behind
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return None


def talk(child: "subprocess.Popen[bytes]", question: bytes) -> bytes:
    """Ask and read to the end of the answer; nothing if that takes too long or is too much."""
    child.stdin.write(question)
    child.stdin.close()
    said = bytearray()
    end = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while ready.select(max(0.0, end - time.monotonic())) and len(said) <= MOST_BYTES:
            part = os.read(child.stdout.fileno(), MOST_BYTES)
            said += part
            if not part:
                return bytes(said)
    return b""


if __name__ == "__main__":
    sys.exit(main())
