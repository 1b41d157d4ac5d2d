"""A virtual environment without any path of the place where it was made."""

import platform
import sys
import sysconfig
from pathlib import Path, PurePosixPath

from bench.digest import digest_json
from bench.sandbox import Mount, python_mounts
from bench.suite import Environment, environment_digest

# Raised whenever the same inputs would be built differently.
_REVISION = 1
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
# A shell carries out the second line. To Python it is the first part of a string, which the third line ends.
_START = b"""#!/bin/sh
'''exec' "${0%/*}/python3" "$0" "$@"
' '''
"""


def host_python() -> Path:
    """This project's interpreter on the host, outside any virtual environment."""
    return Path(sys.base_prefix).resolve() / "bin" / _VERSION


def seen_python(*, contained: bool) -> tuple[str, tuple[Mount, ...]]:
    """The interpreter as a command sees it, and the mounts that it needs there."""
    return python_mounts() if contained else (str(host_python()), ())


def environment_key(environment: Environment, python: str) -> str:
    """What a built environment is known by: its requirements, the interpreter as it is seen, the platform."""
    platform_key = [platform.python_version(), sys.implementation.cache_tag, sysconfig.get_platform()]
    return digest_json([_REVISION, environment_digest(environment), python, *platform_key])


def packages_folder(folder: Path) -> Path:
    """Where the environment in `folder` keeps its packages."""
    return folder / "lib" / _VERSION / "site-packages"


def make_virtual(folder: Path, python: str) -> None:
    """Make `folder` a virtual environment of the interpreter at `python`, or give the one there that interpreter."""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    packages_folder(folder).mkdir(parents=True, exist_ok=True)
    home = PurePosixPath(python).parent
    (folder / "pyvenv.cfg").write_text(
        f"home = {home}\ninclude-system-site-packages = false\nversion = {platform.python_version()}\n",
        "utf-8",
    )
    links = {
        "lib64": "lib",
        f"bin/{_VERSION}": python,
        "bin/python3": _VERSION,
        "bin/python": "python3",
    }
    for name, target in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)


def loosen_scripts(folder: Path) -> None:
    """Let the scripts in `bin` find the interpreter beside them, wherever the environment is seen."""
    built = str(folder).encode()
    for script in sorted((folder / "bin").iterdir()):
        if script.is_symlink() or not script.is_file():
            continue
        content = script.read_bytes()
        start = _start_of(content)
        if built in start:
            script.write_bytes(_START + content[len(start) :])


def _start_of(content: bytes) -> bytes:
    """The lines of a script that name its interpreter: one, or three where the name is long or holds blanks."""
    if not content.startswith(b"#!"):
        return b""
    lines = content.split(b"\n", 3)
    long = lines[0] == b"#!/bin/sh" and len(lines) > 3 and lines[1].startswith(b"'''exec'")  # noqa: PLR2004
    return b"".join(line + b"\n" for line in lines[: 3 if long else 1])
