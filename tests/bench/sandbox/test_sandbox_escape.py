"""What a command in the bubblewrap sandbox must not reach. Sandboxes with a hole do not pass."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sandbox_conformance as conformance
from sandbox_cell import Cell, sandbox, shown

from bench.cancellation import Cancellation
from bench.errors import SandboxError
from bench.sandbox import Command, Sandbox, bubblewrap
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.descriptors import Descriptors
from bench.sandbox.mounts import NAMESPACES, system_options
from bench.sandbox.namespace import Namespace
from bench.sandbox.process import Launch
from bench.sandbox.program import bubblewrap_program

# Tries one connection after the other and names those that succeeded.
TRY_SOCKETS = """if True:
    import json, socket, sys
    reached = []
    def attempt(name, connect):
        try:
            connect()
            reached.append(name)
        except OSError:
            pass
    attempt("listener of the host", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2))
    attempt("abstract socket of the host", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[2]))
    attempt("another network", lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 9)))
    attempt("the name service", lambda: socket.getaddrinfo("example.org", 80))
    attempt("the virtual machine's host", lambda: socket.socket(40))
    attempt("the kernel's cryptography", lambda: socket.socket(38))
    own = socket.create_server(("127.0.0.1", 0))
    attempt("itself", lambda: socket.create_connection(own.getsockname(), 2))
    routes = open("/proc/net/route").read().splitlines()[1:]
    print(json.dumps([reached, [name for _, name in socket.if_nameindex()], routes]))
"""

# keyctl, add_key, request_key, io_uring_setup.
TRY_CALLS = """if True:
    import ctypes, errno, platform
    numbers = {"x86_64": (250, 248, 249, 425), "aarch64": (219, 217, 218, 425)}[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    for number in numbers:
        assert libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS, number
"""

LIST = """if True:
    import json, os, sys
    print(json.dumps([os.listdir("/"), os.listdir("/home"), os.listdir("/home/agent"), os.path.exists(sys.argv[1])]))
"""

SYSTEM = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "dev", "etc", "proc", "run", "tmp", "usr"}


def reaches_no_network(cell: Cell) -> None:
    name = f"sandbox-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{name}")
        abstract.listen()
        result = cell.script(TRY_SOCKETS, str(server.getsockname()[1]), name)
    assert msgspec.json.decode(shown(result)) == [["itself"], ["lo"], []]


def sees_no_folder_of_the_host(cell: Cell) -> None:
    secret = cell.folder.parent / "secret"
    secret.write_text("the labels")
    root, home, own, found = msgspec.json.decode(shown(cell.script(LIST, str(secret))))
    assert set(root) <= SYSTEM | {Path(mount.target).parts[1] for mount in cell.mounts}
    assert (home, own, found) == (["agent"], [], False)


def reads_nothing_of_the_host_from_process_one(cell: Cell) -> None:
    result = cell.shell(
        "cat /proc/1/cmdline; cat /proc/1/environ; :", environment={"PATH": "/bin", "TOKEN": "abc"}
    )
    assert result.stdout.head.startswith(b"bwrap\0--args\0")
    assert not any(
        text in result.stdout.head for text in (os.fsencode(cell.folder), b"site-packages", b"TOKEN")
    )


def has_no_privileges(cell: Cell) -> None:
    status = shown(cell.run("cat", "/proc/self/status")).decode()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    held = {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    assert held == {"0000000000000000"}
    assert (fields["NoNewPrivs"], fields["Uid"].split()) == ("1", ["1000"] * 4)
    assert not cell.run("unshare", "--user", "true").succeeded
    assert not cell.run("mount", "-t", "tmpfs", "none", "/tmp").succeeded


def changes_nothing_of_the_host(cell: Cell) -> None:
    for script in (
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
        "echo cell > /proc/sys/kernel/hostname",
        "echo x > /usr/bin/new",
        "rm /usr/bin/env",
        "chmod 777 /usr/bin/env",
        "echo x > /new",
        "echo x > /etc/new",
        "echo x > /dev/new",
    ):
        assert not cell.shell(script).succeeded, script


def calls_nothing_that_no_namespace_confines(cell: Cell) -> None:
    shown(cell.script(TRY_CALLS))


CHECKS: tuple[conformance.Check, ...] = (
    reaches_no_network,
    sees_no_folder_of_the_host,
    reads_nothing_of_the_host_from_process_one,
    has_no_privileges,
    changes_nothing_of_the_host,
    calls_nothing_that_no_namespace_confines,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_contained_command(check: conformance.Check, contained: Cell) -> None:
    check(contained)


def test_bubblewrap_itself_has_an_empty_environment(contained: Cell) -> None:
    environments: list[bytes] = []
    with Cancellation() as cancellation:

        def look(_: bytes) -> None:
            own = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
            environments.extend(Path(f"/proc/{pid}/environ").read_bytes() for pid in own)
            cancellation.cancel("seen enough")

        contained.shell(
            'echo ready; sleep "$1"', conformance.token(), cancellation=cancellation, observe=look
        )
    assert environments == [b""]


class TellsItsOptions(Bubblewrap):
    """Starts bubblewrap with its options as arguments, not through a descriptor."""

    def _launch(self, command: Command, descriptors: Descriptors, namespace: Namespace) -> Launch:
        options = self._options(command, descriptors, namespace)
        launch = super()._launch(command, descriptors, namespace)
        argv = ("bwrap", *options, "--", *command.argv)
        return msgspec.structs.replace(launch, argv=argv, inherit=descriptors.handed)


def shares_the_network(_: Path) -> tuple[str, Any]:
    flags = [flag for flag in NAMESPACES if flag not in ("--unshare-all", "--hostname", "cell")]
    return "NAMESPACES", (*flags, "--unshare-pid")


def allows_user_namespaces(_: Path) -> tuple[str, Any]:
    return "NAMESPACES", tuple(flag for flag in NAMESPACES if flag != "--disable-userns")


def shows_a_folder_of_the_host(folder: Path) -> tuple[str, Any]:
    return "system_options", lambda: [*system_options(), "--ro-bind", str(folder), "/host"]


def filters_no_calls(_: Path) -> tuple[str, Any]:
    return "system_call_filter", lambda _: None


@pytest.mark.parametrize(
    ("hole", "check"),
    [
        (shares_the_network, reaches_no_network),
        (allows_user_namespaces, has_no_privileges),
        (shows_a_folder_of_the_host, sees_no_folder_of_the_host),
        (filters_no_calls, calls_nothing_that_no_namespace_confines),
    ],
    ids=lambda part: part.__name__,
)
def test_a_sandbox_with_a_hole_does_not_pass(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    make_cell: Callable[[Sandbox], Cell],
    hole: Callable[[Path], tuple[str, Any]],
    check: conformance.Check,
) -> None:
    monkeypatch.setattr(bubblewrap, *hole(tmp_path))
    with pytest.raises(AssertionError):
        check(make_cell(sandbox("bubblewrap", tmp_path)))


def test_a_sandbox_that_tells_its_options_does_not_pass(
    tmp_path: Path, make_cell: Callable[[Sandbox], Cell]
) -> None:
    with pytest.raises(AssertionError):
        reads_nothing_of_the_host_from_process_one(make_cell(TellsItsOptions(bubblewrap_program(None))))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root owns the device nodes")
def test_a_device_mode_that_root_changed_is_restored_and_told(contained: Cell) -> None:
    before = Path("/dev/full").stat().st_mode
    # a cell of another process that ends in between may be the one that sees it and restores it
    results = [contained.run("chmod", "604", "/dev/full") for _ in range(5)]
    assert Path("/dev/full").stat().st_mode == before
    told = {result.detail for result in results}
    assert "changed the mode of /dev/full of the host, which was restored" in told


def test_a_command_has_three_pipes_and_no_other_descriptor(contained: Cell) -> None:
    opened = (
        shown(contained.shell("for fd in /proc/self/fd/*; do readlink $fd; done; :")).decode().splitlines()
    )
    assert [name.partition(":")[0] for name in opened] == ["pipe"] * 3


@pytest.mark.parametrize(
    "hole", [{"NAME\0--bind\0/\0/host\0--setenv\0X": ""}, {"NAME": "x\0--bind\0/\0/host"}]
)
def test_no_option_can_be_smuggled_in(contained: Cell, hole: dict[str, str]) -> None:
    with pytest.raises(SandboxError, match="zero byte"):
        contained.run("true", environment=hole)
