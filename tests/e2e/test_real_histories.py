"""Real histories, used as a stranger would: a project out of one command, or the reason why there is none."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from bench.exits import ExitCode
from tests.bench.newtask.small_history import git
from tests.e2e.commands import run

TOP = Path(__file__).parents[2]


def successive_releases(folder: Path, package: str, messages: Mapping[str, str]) -> Path:
    """A repository with one commit for each of these releases of a package from the index."""
    wheels, repository = folder / "wheels", folder / package
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for version, message in messages.items():
        wanted = ["--no-deps", "--only-binary=:all:", "--dest", str(wheels), f"{package}=={version}"]
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wanted], check=True)
        for path in repository.iterdir():
            if path.name != ".git":
                shutil.rmtree(path)
        with zipfile.ZipFile(next(wheels.glob(f"{package}-{version}-*.whl"))) as wheel:
            wheel.extractall(repository, [name for name in wheel.namelist() if ".dist-info" not in name])
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", message)
    return repository


@pytest.mark.slow
@pytest.mark.network
def test_a_patch_release_of_a_package_becomes_a_project_that_runs(tmp_path: Path) -> None:
    repaired = "Fix a crash on augmented assignment to the builtin print"
    repository = successive_releases(tmp_path, "pyflakes", {"3.0.0": "Release 3.0.0", "3.0.1": repaired})
    made = run("evolve", "init", folder=repository, timeout=600)
    assert made.code == ExitCode.VERDICT, made.err
    (task,) = yaml.safe_load((repository / "suites/mine/suite.yaml").read_text())["tasks"]
    assert [each["target"] for each in task["oracle"]["files"]][2:] == ["0-test_other.py"]
    again = run("bench", "validate", "mine", "--runs", "1", folder=repository, timeout=600)
    assert again.code == ExitCode.VERDICT, again.err + again.out
    planned = run("evolve", "plan", folder=repository)
    assert planned.code == ExitCode.VERDICT, planned.err
    ran = run("evolve", "--json", folder=repository, timeout=600)
    assert ran.code == ExitCode.VERDICT, ran.err
    (generation,) = ran.json["generations"]
    assert generation["decision"] == "insufficient_evidence", "nobody here can repair it"


@pytest.mark.slow
@pytest.mark.network
def test_a_release_without_tests_is_refused_with_the_reason(tmp_path: Path) -> None:
    messages = {"0.6.0": "Release 0.6.0", "0.6.1": "Release 0.6.1"}
    repository = successive_releases(tmp_path, "isodate", messages)
    refused = run("evolve", "init", folder=repository)
    assert refused.code == ExitCode.REQUEST
    assert "1 x it adds or changes no test" in refused.err
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.slow
def test_this_project_is_told_what_its_own_commits_lack(tmp_path: Path) -> None:
    if not (TOP / ".git").exists():
        pytest.skip("there is no history at hand")
    own = tmp_path / "own"
    git(tmp_path, "clone", "-q", str(TOP), str(own))
    refused = run("evolve", "init", folder=own)
    assert (refused.code, "has a conf already" in refused.err) == (ExitCode.REQUEST, True)
    shutil.rmtree(own / "conf")
    refused = run("evolve", "init", folder=own, timeout=300)
    assert refused.code == ExitCode.REQUEST
    assert "its tests need pytest" in refused.err
    assert not (own / "evolve.toml").exists()
