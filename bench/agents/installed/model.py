"""The values of agents that are installed: what is pinned, and what was found."""

import platform
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import Struct

from bench.sandbox import Layout, Mount, ReadOnly

Interpreter = Literal["node"]
_MACHINES = {"x86_64": "linux-x64", "amd64": "linux-x64", "aarch64": "linux-arm64", "arm64": "linux-arm64"}


class NpmSource(Struct, frozen=True, forbid_unknown_fields=True, tag="npm", tag_field="way"):
    """A package of the npm registry: one with its integrity, or one with a lock file that names everything it
    needs, each with its integrity. `archive` replaces the registry's address of the package.
    """

    package: str
    version: str
    integrity: str | None = None
    lock: str | None = None
    archive: str | None = None


class WheelSource(Struct, frozen=True, forbid_unknown_fields=True, tag="pip", tag_field="way"):
    """A wheel of the Python package index, with its SHA-256."""

    package: str
    version: str
    sha256: str


class Build(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to get one version on one platform (`any` where it does not matter).

    `shown` is what a sandbox has to see of the installation; `program` lies below it, and is empty where
    `shown` is the program itself. `version` is what the program says of itself.
    """

    version: str
    platform: str
    source: NpmSource | WheelSource
    shown: str
    program: str = ""
    interpreter: Interpreter | None = None

    @property
    def way(self) -> str:
        return "npm" if isinstance(self.source, NpmSource) else "pip"

    @property
    def fits(self) -> bool:
        """Whether it is for this machine."""
        return self.platform in ("any", this_platform())


class Pin(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An agent that can be installed: the command's usual name, the version that is taken unless another one
    is asked for, the lowest and highest version that was tested, and the builds.
    """

    name: str
    command: str
    pinned: str
    tested: tuple[str, str]
    builds: tuple[Build, ...]

    @property
    def range(self) -> str:
        """The tested range in words."""
        low, high = self.tested
        return low if low == high else f"{low} to {high}"

    def covers(self, version: str) -> bool:
        """Whether a version lies in the tested range; one that is not made of three numbers does not."""
        try:
            asked, low, high = map(_numbers, (version, *self.tested))
        except ValueError:
            return False
        return low <= asked <= high


class Installed(Struct, frozen=True, kw_only=True):
    """A program that is there. `path` is the file or folder that a sandbox has to see; `digest` is that of its
    bytes; `program` lies below it, and is empty where `path` is the program itself.
    """

    name: str
    version: str
    path: Path
    digest: str
    way: Literal["npm", "pip", "path"]
    program: str = ""
    interpreter: Path | None = None

    @property
    def executable(self) -> Path:
        """The program's file on this host."""
        return self.path / self.program if self.program else self.path

    def start(self, layout: Layout) -> tuple[tuple[str, ...], tuple[Mount, ...]]:
        """The beginning of a command line as the sandbox sees it, and the mounts that it needs there."""
        # under its own name: what node needs is looked for in a folder `node_modules`
        inside = PurePosixPath("/opt/agent") / self.path.name
        program = layout.seen(self.executable, str(inside / self.program))
        mounts: list[Mount] = [ReadOnly(self.path, str(inside))]
        if self.interpreter is None:
            return (program,), tuple(mounts)
        seen = layout.seen(self.interpreter, f"/opt/{self.interpreter.name}")
        if layout.contained and self.interpreter.is_relative_to("/usr"):
            seen = str(self.interpreter)
        else:
            mounts.append(ReadOnly(self.interpreter, f"/opt/{self.interpreter.name}"))
        return (seen, program), tuple(mounts)


class State(Struct, frozen=True, kw_only=True):
    """What is known of one agent: `installed` is None, with the `reason`, where it cannot be used."""

    pin: Pin
    version: str
    installed: Installed | None
    reason: str = ""


def this_platform() -> str:
    """This machine as pins name it."""
    return _MACHINES.get(platform.machine().lower(), f"linux-{platform.machine()}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
