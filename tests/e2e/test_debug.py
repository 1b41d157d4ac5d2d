"""`bench debug`: one cell again, with a look into its sandbox, and nothing left behind."""

import json
import os
import pty
import select
import subprocess
from pathlib import Path

import pytest

from bench.results import read_rows
from tests.e2e.commands import SCRIPTS, Done, environment, run, starter_root

TASK = "review-expiry-alerts"
SKILL = ".claude/skills/code-review/SKILL.md"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the starter project in it, and the id of a run there of one generation on one task."""
    folder = tmp_path_factory.mktemp("debug")
    (folder / "scratch").mkdir()
    done = run("evolve", "--json", f"tasks.id={TASK}", f"sandbox.scratch={folder / 'scratch'}", folder=folder)
    return folder, done.json["run"]


def debug(finished: tuple[Path, str], cell: str, *more: str, generation: str = "") -> Done:
    folder, name = finished
    return run("bench", "debug", f"{name}{generation}", "--cell", cell, *more, folder=folder)


def differing(done: Done) -> str:
    """What the command says is not as it was in the run."""
    return next((line for line in done.err.splitlines() if "not as in the run" in line), "")


def everything(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


def test_a_command_runs_where_the_sessions_ran_and_sees_what_they_left(finished: tuple[Path, str]) -> None:
    done = debug(
        finished,
        f"{TASK}/review/0",
        "--command",
        "pwd; git status --short | head -1; cat /output/review.json",
    )
    assert done.code == 0, done.err
    assert done.out.startswith("/workspace\n")
    assert '"verdict"' in done.out
    assert f"\n{TASK}/review/0: measured" in done.out


def test_nothing_is_added_to_the_run_and_nothing_is_left(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    before = everything(folder)
    done = debug(
        finished, f"{TASK}/review/0", "--command", "rm -rf * .git; echo x > new; touch /output/x || true"
    )
    assert done.code == 0, done.err
    assert everything(folder) == before
    assert os.listdir(folder / "scratch") == []


@pytest.mark.parametrize("generation", ["", "/gen-1"])
def test_a_candidate_is_measured_with_its_overlay_and_the_incumbent_without(
    finished: tuple[Path, str], generation: str
) -> None:
    folder, name = finished
    overlay = starter_root(folder) / "runs" / name / "gen-1" / "overlay" / SKILL
    canonical = starter_root(folder) / SKILL
    assert overlay.read_text() != canonical.read_text()
    for arm, file in (("candidate_review", overlay), ("review", canonical)):
        done = debug(finished, f"{TASK}/{arm}/0", "--command", f"cat {SKILL}", generation=generation)
        assert done.out.startswith(file.read_text()), done.err


def test_the_row_is_that_of_the_run_but_for_its_times(finished: tuple[Path, str]) -> None:
    folder, name = finished
    done = debug(finished, f"{TASK}/candidate_review/0", "--command", "echo told; rm -rf *", "--json")
    row = json.loads(done.out)
    rows, _ = read_rows(starter_root(folder) / "runs" / name / "gen-1" / "results.jsonl")
    (recorded,) = [each for each in rows if each.identity.arm == "candidate_review"]
    assert row["outcome"]["kind"] == recorded.outcome.kind
    assert row["score"]["weighted_f1"] == (recorded.score.weighted_f1 if recorded.score else None)
    assert row["provenance"]["skill"] == recorded.provenance.skill
    assert row["provenance"]["overlay"] == recorded.provenance.overlay
    assert "told" in done.err
    assert "skill" not in differing(done)


def test_a_skill_that_was_changed_since_is_named(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    skill = starter_root(folder) / SKILL
    before = skill.read_text()
    skill.write_text(f"{before}\nMore.\n")
    try:
        done = debug(finished, f"{TASK}/review/0", "--command", "true")
    finally:
        skill.write_text(before)
    assert "skill" in differing(done)


def test_a_command_that_fails_is_told(finished: tuple[Path, str]) -> None:
    done = debug(finished, f"{TASK}/review/0", "--command", "echo out; echo err >&2; exit 3")
    assert done.code == 1
    assert done.out.startswith("out\n")
    assert "err\nthe command ended with 3\n" in done.err


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            f"{TASK}/reveiw/0",
            f"has no cell '{TASK}/reveiw/0' (TASK/ARM/REPEAT) among its 3; near it:\n  {TASK}/review/0",
        ),
        ("x", "near it:\n"),
        (f"{TASK}/review/7", f"  {TASK}/review/0"),
    ],
)
def test_an_unknown_cell_is_refused_with_the_near_ones(
    finished: tuple[Path, str], cell: str, said: str
) -> None:
    done = debug(finished, cell, "--command", "true")
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("20200101T000000Z", "there is no run '20200101T000000Z'"),
        ("RUN/gen-2", "has no measured gen-2; name one of:"),
        ("/nowhere/at/all", "there is no run '/nowhere/at/all'"),
    ],
)
def test_an_unknown_run_is_refused_with_those_that_there_are(
    finished: tuple[Path, str], name: str, said: str
) -> None:
    folder, run_id = finished
    done = run(
        "bench", "debug", name.replace("RUN", run_id), "--cell", "x", "--command", "true", folder=folder
    )
    assert done.code == 2
    assert said in done.err
    assert run_id in done.err


def test_a_run_may_be_named_by_its_folder_or_the_beginning_of_its_id(finished: tuple[Path, str]) -> None:
    folder, name = finished
    for given in (str(starter_root(folder) / "runs" / name), name[:15]):
        done = run("bench", "debug", given, "--cell", f"{TASK}/review/0", "--command", "true", folder=folder)
        assert done.code == 0, done.err


@pytest.mark.parametrize("stdin", ["</dev/null", "<&-"])
def test_without_a_terminal_a_command_must_be_given(finished: tuple[Path, str], stdin: str) -> None:
    folder, name = finished
    line = f"exec {SCRIPTS / 'bench'} debug {name} --cell {TASK}/review/0 {stdin}"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no terminal to type at\n  give it --command 'CMD'" in done.stderr
    assert "Traceback" not in done.stderr


class Person:
    """Somebody at a terminal, who types when they see what they wait for."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(SCRIPTS / "bench", ["bench", *arguments], environment(TERM="vt100"))
        self.seen = ""

    def sees(self, text: str) -> None:
        while text not in self.seen:
            assert select.select([self.terminal], [], [], 60)[0], self.seen
            self.seen += os.read(self.terminal, 65536).decode()

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self.terminal, text.encode())

    def code(self) -> int:
        """The exit code, once the command has ended."""
        while True:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:  # how Linux says that the other side is gone
                break
            self.seen += data.decode()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_person_gets_a_shell_of_their_own_in_the_sandbox(finished: tuple[Path, str]) -> None:
    folder, name = finished
    before = everything(folder)
    person = Person(folder, "debug", name, "--cell", f"{TASK}/review/0")
    person.sees("$ ")
    person.types("test -t 0 && test -t 1 && pwd; ls -d /oracle*; echo $((6 * 7))\n")
    person.sees("42")
    assert "\r\n/workspace\r\n" in person.seen
    assert "No such file" in person.seen
    person.types("echo waiting; while :; do sleep 0.05; done; echo never\n")
    person.sees("waiting\r\n")
    person.types("\x03")
    person.sees("$ ")
    person.types("echo gone > new; cat new; exit\n")
    person.sees("\r\ngone")
    assert person.code() == 0
    assert f"{TASK}/review/0: measured" in person.seen
    assert everything(folder) == before
    assert os.listdir(folder / "scratch") == []
