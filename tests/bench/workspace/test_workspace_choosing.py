"""The way of making working copies is the one asked for, or the cheapest that works here, and is never guessed."""

from pathlib import Path

import pytest
from workspace_builders import open_backend

from bench.errors import SandboxUnavailable
from bench.sandbox import Layered, Sandbox
from bench.workspace import Template, choose_workspaces
from bench.workspace.choosing import can_clone


def test_what_is_asked_for_is_what_is_used(tmp_path: Path, sandbox: Sandbox) -> None:
    assert choose_workspaces("overlay", sandbox, tmp_path).name == "overlay"
    assert choose_workspaces("copy", sandbox, tmp_path).name == "copy"


def test_of_its_own_accord_it_takes_the_overlay_where_layers_work(tmp_path: Path, sandbox: Sandbox) -> None:
    assert choose_workspaces("auto", sandbox, tmp_path).name == "overlay"


def test_without_containment_it_takes_a_copy_that_nobody_has_to_mount(tmp_path: Path) -> None:
    host = open_backend("host", tmp_path)
    expected = "reflink" if can_clone(tmp_path) else "copy"
    assert choose_workspaces("auto", host, tmp_path).name == expected
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    template = Template(digest="d", tree=tmp_path / "tree", commit="c", base_commit="b")
    copy = choose_workspaces("auto", host, tmp_path).create(template, tmp_path / "cell")
    assert not isinstance(copy.live("/workspace", writable=True), Layered)
    assert not isinstance(copy.throwaway("/workspace"), Layered)


def test_an_overlay_that_does_not_work_is_refused_with_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"'host'.*set sandbox\.workspace=auto"):
        choose_workspaces("overlay", open_backend("host", tmp_path), tmp_path)


def test_a_reflink_that_does_not_work_is_refused_with_what_to_set(tmp_path: Path, sandbox: Sandbox) -> None:
    if can_clone(tmp_path):
        assert choose_workspaces("reflink", sandbox, tmp_path).name == "reflink"
        return
    with pytest.raises(SandboxUnavailable, match=r"cannot share blocks.*set sandbox\.workspace=auto"):
        choose_workspaces("reflink", sandbox, tmp_path)


def test_trying_leaves_nothing_behind(tmp_path: Path, sandbox: Sandbox) -> None:
    choose_workspaces("auto", sandbox, tmp_path)
    choose_workspaces("auto", open_backend("host", tmp_path), tmp_path)
    assert list(tmp_path.iterdir()) == []
