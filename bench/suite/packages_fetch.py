"""Fetches a pinned wheel and reads its Python files. No code of a package is ever executed."""

import stat
import subprocess
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from bench.digest import digest_bytes
from bench.errors import SuiteError
from bench.suite.packages_model import PackageSpec, slug
from bench.suite.pip import pip_said, run_pip

_TEST_FOLDERS = frozenset({"test", "tests", "testing"})


def fetch_wheels(
    packages: Sequence[tuple[str, PackageSpec]], index: Path | None, folder: Path
) -> dict[str, Path]:
    """The wheel of each package, downloaded below `folder`; `index` replaces the package index by a folder.

    SuiteError, naming the package, when one cannot be had, has another SHA-256 or is built for one platform.
    """
    if _download(packages, index, folder / "together").returncode == 0:
        wheels = sorted((folder / "together").glob("*.whl"))
    else:
        wheels = [_fetch_alone(name, package, index, folder) for name, package in packages]
    found = {slug(wheel.name.partition("-")[0]): wheel for wheel in wheels}
    return {name: _checked(name, package, found.get(slug(name))) for name, package in packages}


def python_files(name: str, wheel: Path) -> dict[str, bytes]:
    """The package's own Python files by path, without its tests.

    SuiteError when the archive is broken or any of its members would leave the folder.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                _refuse_escape(name, member)
            return {m.filename: archive.read(m) for m in archive.infolist() if is_reviewed(m.filename)}
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise SuiteError(f"package `{name}`: {wheel.name} is not a readable wheel: {error}") from error


def is_reviewed(path: str) -> bool:
    """True for a Python file of the package proper: no test, no metadata, no installed script."""
    *folders, file = path.split("/")
    if not file.endswith(".py") or (folders and folders[0].endswith((".dist-info", ".data"))):
        return False
    is_test = file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"
    return not is_test and _TEST_FOLDERS.isdisjoint(folders)


def _fetch_alone(name: str, package: PackageSpec, index: Path | None, folder: Path) -> Path:
    """One wheel, so that a failure has a name; pip keeps what it had downloaded before."""
    target = folder / "alone" / slug(name)
    done = _download([(name, package)], index, target)
    wheel = next(target.glob("*.whl"), None)
    if done.returncode != 0 or wheel is None:
        raise SuiteError(_refusal(name, package, done.stderr or done.stdout))
    return wheel


def _download(
    packages: Iterable[tuple[str, PackageSpec]], index: Path | None, target: Path
) -> subprocess.CompletedProcess[str]:
    target.mkdir(parents=True)
    requirements = target / "requirements.txt"
    lines = (f"{name}=={package.version} --hash=sha256:{package.sha256}\n" for name, package in packages)
    requirements.write_text("".join(lines), encoding="utf-8")
    # A package that asks for another Python is fetched all the same: it is read, never run.
    limits = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--ignore-requires-python"]
    return run_pip("download", *limits, "-r", str(requirements), "-d", str(target), index=index)


def _checked(name: str, package: PackageSpec, wheel: Path | None) -> Path:
    """`wheel`, after a check of our own that it is the pinned one and holds nothing but Python."""
    if wheel is None:
        raise SuiteError(f"package `{name}` {package.version}: pip downloaded no wheel of this name.")
    found = digest_bytes(wheel.read_bytes())
    if found != package.sha256:
        raise SuiteError(f"package `{name}`: {wheel.name} has SHA-256 {found}, expected {package.sha256}.")
    if not wheel.name.endswith("-none-any.whl"):
        raise SuiteError(
            f"package `{name}`: {wheel.name} is built for one platform.\n"
            "Only pure-Python wheels (`…-none-any.whl`) can be reviewed; choose another package."
        )
    return wheel


def _refusal(name: str, package: PackageSpec, output: str) -> str:
    if "DO NOT MATCH THE HASHES" in output:
        reason = "does not have the pinned SHA-256: it is not the file that the suite was made from"
        advice = "Do not use it before you know why; `pip hash FILE` shows the SHA-256 of a wheel."
    else:
        reason = "could not be fetched"
        advice = "Check that the package index can be reached, and the package's name and version."
    return f"package `{name}` {package.version} {reason}.\n{advice} pip says:\n{pip_said(output)}"


def _refuse_escape(name: str, member: zipfile.ZipInfo) -> None:
    path = member.filename
    parts = PurePosixPath(path).parts
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    if path.startswith("/") or ".." in parts or "\\" in path or ":" in path or is_link:
        raise SuiteError(
            f"package `{name}`: its wheel holds `{path}`, which would leave the folder; it is refused."
        )
