"""Is what was built what a stranger needs, and no more? `check_install.py WHEEL VENV` installs the one into the other.

Prints each distribution with its size and the reason that pyproject.toml gives for it; exits 1 on a fault.
"""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

MOST_DISTRIBUTIONS = 30
MOST_MEGABYTES = 150
NEEDED = (
    "bench/_conf/config.yaml",
    "bench/_conf/prompts/review.md",
    "bench/_schemas/config.schema.json",
    "bench/starter/project/evolve.toml",
    "bench/starter/project/.gitignore",
    "bench/starter/project/.claude/skills/code-review/SKILL.md",
    "bench/starter/project/suites/starter/suite.yaml",
    "bench/agents/rulebook/program/__main__.py",
    "bench/agents/installed/pinned/pins.json",
    "bench/py.typed",
    "evolve/py.typed",
)
FORBIDDEN = ("hydra", "omegaconf", "jsonschema", "yaml")


def faults_of_wheel(wheel: Path) -> list[str]:
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [f"the wheel lacks {name}" for name in NEEDED if name not in names]
    strange = {name.split("/")[0] for name in names} - {"bench", "evolve"}
    extra = [f"the wheel holds {name}" for name in strange if not name.endswith(".dist-info")]
    licence = (
        [] if any(name.endswith("licenses/LICENSE") for name in names) else ["the wheel lacks its licence"]
    )
    return missing + extra + licence


def faults_of_install(venv: Path) -> list[str]:
    """The number and size of what is installed, printed one by one."""
    code = (
        "from importlib.metadata import distributions\n"
        "for each in distributions():\n"
        "    size = sum(p.stat().st_size for f in each.files or [] if (p := f.locate()).is_file())\n"
        "    print(each.name, size)\n"
    )
    listed = subprocess.run([venv / "bin" / "python", "-c", code], capture_output=True, text=True, check=True)
    sizes = {name: int(size) for name, size in map(str.split, listed.stdout.splitlines())}
    sizes = {name: size for name, size in sizes.items() if name not in ("pip", "setuptools", "wheel")}
    reasons = dict(
        re.findall(r'^  "([\w-]+)[^#\n]*# (.*)$', Path("pyproject.toml").read_text(), re.MULTILINE)
    )
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size / 1e6:7.1f} MB  {name:28} {reasons.get(name, 'needed by another')}")
    total = sum(sizes.values()) / 1e6
    print(f"{total:7.1f} MB in {len(sizes)} distributions")
    faults = (
        [f"{len(sizes)} distributions, {MOST_DISTRIBUTIONS} are allowed"]
        if len(sizes) > MOST_DISTRIBUTIONS
        else []
    )
    return faults + ([f"{total:.0f} MB, {MOST_MEGABYTES} are allowed"] if total > MOST_MEGABYTES else [])


def faults_of_help(venv: Path) -> list[str]:
    """`--help` answers without what only composing and validating need."""
    code = (
        "import sys, contextlib, io\n"
        "from evolve.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main(['--help'])\n"
        f"print(*[name for name in {FORBIDDEN!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [venv / "bin" / "python", "-c", code], capture_output=True, text=True, check=True, cwd=venv
    )
    return [f"evolve --help imports {name}" for name in done.stdout.split()]


def main() -> int:
    wheel, venv = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", wheel], check=True)
    faults = faults_of_wheel(wheel) + faults_of_install(venv) + faults_of_help(venv)
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
