"""The Python of this program, made available inside a sandbox without anything that is installed into it."""

import sys
import sysconfig
from pathlib import Path

from bench.sandbox.protocol import Hidden, Mount, ReadOnly

_INSIDE = Path("/opt/python")
_SYSTEM = Path("/usr")


def python_mounts() -> tuple[str, tuple[Mount, ...]]:
    """The interpreter's path inside a contained sandbox, and the mounts that it needs there: none for the
    system's own, else only the program, its library and the standard library, without installed packages.
    """
    base = Path(sys.base_prefix).resolve()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if base.is_relative_to(_SYSTEM):
        return str(base / "bin" / name), ()
    standard = f"lib/{name}"
    mounts: list[Mount] = [
        ReadOnly((base / "bin" / name).resolve(), str(_INSIDE / "bin" / name)),
        ReadOnly(base / standard, str(_INSIDE / standard)),
    ]
    if (base / standard / "site-packages").is_dir():
        mounts.append(Hidden(str(_INSIDE / standard / "site-packages")))
    for library in sorted((base / "lib").glob("libpython*.so*")):
        mounts += [ReadOnly(library.resolve(), str(target / library.name)) for target in _library_folders()]
    return str(_INSIDE / "bin" / name), tuple(mounts)


def _library_folders() -> tuple[Path, ...]:
    """Where the interpreter's library has to be seen: an interpreter built with a shared library looks for it at
    the absolute path for which it was built.
    """
    built = sysconfig.get_config_var("LIBDIR") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None
    return (_INSIDE / "lib", Path(built)) if built else (_INSIDE / "lib",)
