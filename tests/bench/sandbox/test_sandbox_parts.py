"""The rules that the sandboxes are made of."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_cell import configuration

from bench.cancellation import Cancellation
from bench.errors import SandboxError
from bench.sandbox import (
    WITHOUT_CONTAINMENT,
    Command,
    End,
    Limits,
    Sandbox,
    containment_refusal,
    masks,
    open_sandbox,
)
from bench.sandbox.capture import Capture
from bench.sandbox.cgroups import Group, Place, find_places, host_places, usable_places
from bench.sandbox.crash import crash_signal
from bench.sandbox.diagnosis import explain_failure
from bench.sandbox.gated import Gated
from bench.sandbox.limits import Limiter
from bench.sandbox.masks import hidden_paths
from bench.sandbox.mounts import mask_options, system_options, system_trees
from bench.sandbox.process_tree import later, parse_status
from bench.sandbox.seccomp import system_call_filter
from bench.sandbox.waiting import open_process

VERSION_1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / {root}/memory rw,relatime shared:9 - cgroup cgroup rw,memory
36 31 0:33 / {root}/pids rw,relatime - cgroup cgroup rw,pids
37 31 0:34 / {root}/unified rw,relatime - cgroup2 cgroup2 rw
"""
VERSION_2 = "29 23 0:26 / {root} rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


@given(st.lists(st.binary(max_size=40)), st.integers(0, 30))
def test_a_capture_keeps_the_first_and_the_last_bytes(chunks: list[bytes], keep: int) -> None:
    capture = Capture(keep)
    for chunk in chunks:
        capture.take(chunk)
    whole, kept = b"".join(chunks), capture.captured()
    assert kept.size == len(whole)
    assert kept.head == whole[:keep]
    assert kept.tail == whole[keep:][max(0, len(whole) - 2 * keep) :]


@given(st.integers(0, 255))
def test_an_exit_code_is_a_crash_only_where_a_shell_reports_one(code: int) -> None:
    crash = crash_signal(code)
    assert crash is None or code == 128 + crash
    assert crash_signal(128 + signal.SIGKILL) is signal.SIGKILL
    assert crash_signal(129) is None  # git, called wrongly


@given(st.sampled_from(list(signal.Signals)))
def test_a_process_that_a_signal_ended_was_killed_by_it(number: signal.Signals) -> None:
    assert crash_signal(-number) is number


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=15))
def test_the_name_of_a_process_cannot_forge_its_status(name: str) -> None:
    behind = "S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 7890 1000 10"
    seen = parse_status(99, f"99 ({name}) {behind}\n")
    assert (seen.pid, seen.state, seen.parent, seen.session, seen.born) == (99, "S", 12, 56, 7890)


def test_what_was_started_after_a_process_is_found_by_its_number() -> None:
    with (
        subprocess.Popen(("cat",), stdin=subprocess.PIPE) as one,
        subprocess.Popen(("cat",), stdin=one.stdin) as two,
    ):
        assert {one.pid, two.pid} <= later(one.pid).keys()
        assert os.getpid() not in later(one.pid) or os.getpid() > one.pid
        assert later(one.pid)[two.pid].parent == os.getpid()


def test_once_the_numbers_began_again_everything_is_looked_at() -> None:
    highest = int(Path("/proc/sys/kernel/pid_max").read_text())
    assert os.getpid() in later(highest)


def test_a_thread_has_no_handle_of_its_own() -> None:
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        assert open_process(thread.native_id) is None
    finally:
        waiting.set()
        thread.join()


def test_a_variable_that_no_shell_can_hand_on_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"'a\.b'"):
        Gated(("true",), {"PATH": "/bin", "a.b": "1"}, b"")


@pytest.mark.parametrize("code", [126, 127])
def test_no_command_can_pretend_that_it_was_not_started(code: int, tmp_path: Path) -> None:
    host = open_sandbox(configuration("host", tmp_path))
    script = f"echo 'gate-0123456789abcdef: 1: exec: sh: not found' >&2; exit {code}"
    for argv in (("/bin/sh", "-c", script), ("sh", "-c", script)):
        command = Command(argv=argv, directory="/", environment={"PATH": "/bin"}, mounts=(), seconds=60.0)
        with Cancellation() as cancellation:
            result = host.run(command, cancellation)
        assert (result.end, result.code) == (End.EXITED, code)


def test_groups_of_version_1_are_made_below_our_own_first(tmp_path: Path) -> None:
    (tmp_path / "memory" / "outer" / "own").mkdir(parents=True)
    memberships = "8:pids:/\n4:memory:/outer/own\n0::/\n"
    places = find_places(VERSION_1.format(root=tmp_path), memberships)
    assert [(str(place.folder.relative_to(tmp_path)), place.version) for place in places] == [
        ("unified", 2),
        ("memory/outer/own", 1),
        ("memory/outer", 1),
        ("memory", 1),
        ("pids", 1),
    ]


def test_a_group_of_version_2_needs_its_controllers_delegated(tmp_path: Path) -> None:
    (tmp_path / "user" / "own").mkdir(parents=True)
    places = find_places(VERSION_2.format(root=tmp_path), "0::/user/own\n")
    assert [place.folder for place in places] == [tmp_path / "user" / "own", tmp_path / "user", tmp_path]
    (tmp_path / "user" / "cgroup.subtree_control").write_text("cpu io\n")
    assert usable_places(places) == ()


def test_a_path_out_of_the_mount_is_not_followed(tmp_path: Path) -> None:
    places = find_places(VERSION_2.format(root=tmp_path), "0::/../elsewhere\n")
    assert [place.folder for place in places] == [tmp_path]


def test_a_group_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    missing = Place(tmp_path / "missing", 1, ("pids",))
    with pytest.raises(OSError, match="No such file"):
        Group.make((Place(tmp_path, 2, ()), missing), memory=None, processes=5)
    assert list(tmp_path.iterdir()) == []


def test_a_host_without_groups_says_what_limits_it_has() -> None:
    by_limit, files = "by resource limit of each process", "file size and open files by resource limits"
    told = [Limiter((), root=root, own_users=True).describe() for root in (True, False)]
    assert told == [
        f"memory {by_limit}, pids by nothing, {files}",
        f"memory {by_limit}, pids {by_limit}, {files}",
    ]


def test_limits_of_a_host_without_groups_hold_for_each_process() -> None:
    import resource

    limiter = Limiter((), root=False, own_users=True)
    with (
        subprocess.Popen(("cat",), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        limiter.begin(Limits(memory=10**9, processes=9, open_files=77), spare=1) as confinement,
    ):
        confinement.admit(process.pid)
        numbers = (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)
        assert [resource.prlimit(process.pid, number)[0] for number in numbers] == [10**9, 10, 77, 0]


def test_the_places_that_are_used_are_found_usable_again() -> None:
    assert host_places() == host_places()


def installed(tree: Path) -> Path:
    """A system tree with this project, the labelling tool and others installed."""
    for name in (
        "bin/ruff",
        "bin/python3",
        "local/bin/ruff",
        "local/lib/python3.11/dist-packages/ruff/__init__.py",
        "local/lib/python3.11/dist-packages/ruff-0.17.6.dist-info/METADATA",
        "local/lib/python3.11/dist-packages/ruffian/__init__.py",
        "lib/python3/dist-packages/yaml/__init__.py",
        "src/project/pyproject.toml",
        "src/project/bench/__init__.py",
        "src/project/suites/labels.json",
    ):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    return tree


def test_the_labelling_tool_is_hidden_wherever_the_system_has_it_and_nothing_else(tmp_path: Path) -> None:
    tree = installed(tmp_path / "usr")
    packages = tree / "local/lib/python3.11/dist-packages"
    assert set(hidden_paths((tree,))) == {
        tree / "bin/ruff",
        tree / "local/bin/ruff",
        packages / "ruff",
        packages / "ruff-0.17.6.dist-info",
    }


def test_the_labelling_tool_is_hidden_in_every_bin_below_the_system(tmp_path: Path) -> None:
    for place in ("local/cargo/bin", "lib/rust/bin", "local/a/b/bin"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "ruff").touch()
    assert len(hidden_paths((tmp_path,))) == 3


def test_what_vanished_since_it_was_listed_is_not_masked(tmp_path: Path) -> None:
    (tmp_path / "ruff").touch()
    assert mask_options([tmp_path / "ruff", tmp_path / "gone"]) == [
        "--ro-bind",
        os.devnull,
        str(tmp_path / "ruff"),
    ]


def test_a_program_that_is_a_link_is_hidden_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "program").touch()
    (tmp_path / "bin" / "ruff").symlink_to(tmp_path / "program")
    assert hidden_paths((tmp_path,)) == (tmp_path / "program",)


def test_this_project_is_hidden_where_it_lies_below_the_system() -> None:
    checkout = Path(masks.__file__).parents[2]
    hidden = hidden_paths((checkout.parent,))
    package = Path(masks.__file__).parents[1]
    assert any(path in (package, *package.parents) for path in hidden)
    assert checkout.parent not in hidden


def test_a_system_with_real_folders_beside_usr_shows_them(tmp_path: Path) -> None:
    for name in ("usr", "bin", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "sbin").symlink_to("usr/sbin")
    assert system_trees(tmp_path) == (tmp_path / "usr", tmp_path / "bin", tmp_path / "lib")
    options = system_options(tmp_path)
    assert options[:9] == [
        *("--ro-bind", str(tmp_path / "usr"), "/usr"),
        *("--ro-bind", str(tmp_path / "bin"), "/bin"),
        *("--ro-bind", str(tmp_path / "lib"), "/lib"),
    ]
    assert options[9:12] == ["--symlink", "usr/sbin", "/sbin"]


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"kernel.unprivileged_userns_clone": "0"}, "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ({"user.max_user_namespaces": "0"}, "sudo sysctl -w user.max_user_namespaces=10000"),
        (
            {"kernel.apparmor_restrict_unprivileged_userns": "1"},
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_a_setting_that_forbids_namespaces_is_named(settings: dict[str, str], advice: str) -> None:
    allowed = {"kernel.unprivileged_userns_clone": "1", "user.max_user_namespaces": "100"}
    assert advice in explain_failure("it failed", {**allowed, **settings}, container=False)
    assert "sysctl" not in explain_failure("it failed", allowed, container=False)


def test_inside_a_container_its_own_options_are_named() -> None:
    message = explain_failure("Can't mount proc on /newroot/proc", {}, container=True)
    assert "docker run --security-opt seccomp=unconfined" in message


def test_an_unknown_processor_has_no_filter() -> None:
    assert system_call_filter("riscv64") is None
    assert len(system_call_filter("aarch64") or b"") % 8 == 0


def test_the_host_backend_shows_the_real_folders(tmp_path: Path) -> None:
    host = open_sandbox(configuration("host", tmp_path))
    layout = host.layout(tmp_path)
    assert (layout.workspace, layout.temporary) == (str(tmp_path / "workspace"), str(tmp_path / "temporary"))
    assert layout.seen(tmp_path / "file", "/target") == str(tmp_path / "file")
    assert (layout.contained, host.contains, host.can_layer(tmp_path)) == (False, False, False)
    assert "labels" in WITHOUT_CONTAINMENT


@pytest.mark.parametrize("name", ["bubblewrap", "host"])
@pytest.mark.parametrize("calls_model", [False, True])
def test_only_an_uncontained_agent_that_calls_a_model_is_refused(
    name: str, calls_model: bool, tmp_path: Path
) -> None:
    config = configuration(name, tmp_path)
    contains = open_sandbox(config).contains
    refusal = containment_refusal(config, contains=contains, calls_model=calls_model)
    assert (refusal is not None) == (calls_model and not contains)
    if refusal is not None:
        assert "sandbox.accept_no_containment=true" in refusal


@pytest.mark.parametrize("name", ["bubblewrap", "host"])
def test_a_trial_succeeds_where_the_tests_run(name: str, tmp_path: Path) -> None:
    backend: Sandbox = open_sandbox(configuration(name, tmp_path))
    backend.probe()
    assert set(backend.describe()) == {"backend", "version", "policy"}
    assert sys.platform == "linux"
