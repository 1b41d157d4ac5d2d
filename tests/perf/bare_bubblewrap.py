"""The starts of bubblewrap that a cell makes, without the harness around them."""

import os
import platform
import subprocess
from pathlib import Path

from projects import ORACLE, Project

from bench.sandbox import Layered, Mount, ReadOnly, Writable
from bench.sandbox.masks import hidden_paths
from bench.sandbox.mounts import (
    FILES,
    NAMESPACES,
    SEALS,
    mask_options,
    mount_options,
    private_options,
    system_options,
    system_trees,
)
from bench.sandbox.program import bubblewrap_program
from bench.sandbox.seccomp import system_call_filter
from bench.workspace import Template

_MEMORY = 4096 << 20  # bytes, as conf/sandbox/bubblewrap.yaml has it
_ENVIRONMENT = {"HOME": "/home/agent", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}


class BareBubblewrap:
    """Starts the agent, then the hidden test, in sandboxes of the same options, and reads what they print."""

    def __init__(self, project: Project, template: Template, folder: Path) -> None:
        for name in ("home", "output", "upper", "work", "oracle", "etc"):
            (folder / name).mkdir()
        self._folder, self._agent = folder, project.agent
        self._filter = folder / "filter"
        self._filter.write_bytes(system_call_filter(platform.machine()) or b"")
        self._program = bubblewrap_program(None)
        self._common = [
            *NAMESPACES,
            *system_options(),
            *mask_options(hidden_paths(system_trees())),
            *self._files(),
            *SEALS,
            *private_options(_MEMORY),
        ]
        self._lower = (template.tree,)

    def once(self) -> None:
        """One start of each."""
        upper = self._folder / "upper"
        live = Layered(self._lower, "/workspace", upper, self._folder / "work")
        check = Layered((*self._lower, upper), "/workspace", throwaway=True)
        home = Writable(self._folder / "home", "/home/agent")
        output = Writable(self._folder / "output", "/output")
        self._start((live, home, output, ReadOnly(self._agent, "/opt/agent")), ["/opt/agent"])
        oracle = ReadOnly(self._folder / "oracle", "/oracle")
        self._start((check, home, oracle), ["/bin/sh", "-c", ORACLE], b"x\n")

    def _start(self, mounts: tuple[Mount, ...], command: list[str], stdin: bytes = b"") -> None:
        calls = os.open(self._filter, os.O_RDONLY)
        try:
            subprocess.run(
                [*self._options(mounts, calls), "--", *command],
                input=stdin,
                capture_output=True,
                pass_fds=(calls,),
                env={},
                check=True,
            )
        finally:
            os.close(calls)

    def _options(self, mounts: tuple[Mount, ...], calls: int) -> list[str]:
        environment = [option for item in _ENVIRONMENT.items() for option in ("--setenv", *item)]
        return [
            self._program,
            *self._common,
            *mount_options(mounts),
            *("--remount-ro", "/"),
            *("--seccomp", str(calls)),
            *("--clearenv", *environment, "--chdir", "/workspace"),
        ]

    def _files(self) -> list[str]:
        """The files of /etc, from a folder."""
        options = []
        for path, content in FILES.items():
            source = self._folder / path.removeprefix("/")
            source.write_text(content)
            options += ["--ro-bind", str(source), path]
        return options
