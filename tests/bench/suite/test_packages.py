"""`bench prepare` for suites of published packages, with real pip, real ruff and a folder of wheels as index."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.digest import digest_tree
from bench.errors import SuiteError
from bench.suite.packages import packages_specification, prepare_packages
from bench.suite.packages_fetch import python_files
from bench.suite.packages_label import find_ruff
from bench.suite.packages_model import LabelTool, PreparedSuite

RUFF = Path(sys.executable).parent / "ruff"
needs_ruff = pytest.mark.skipif(
    not RUFF.is_file() or find_spec("pip") is None,
    reason="needs pip and the extra `wild` (ruff) in this environment",
)

DEFECTS = "def choose(name):\n    return dict(), name == 'a' or name == 'b'\n"
CLEAN = "def choose(name):\n    return {}\n"
NO_HASH = "0" * 64


def build_wheel(folder: Path, name: str, files: Mapping[str, str | bytes], tag: str = "py3-none-any") -> Path:
    """A wheel of version 1.0 that pip accepts."""
    folder.mkdir(exist_ok=True)
    wheel = folder / f"{name}-1.0-{tag}.whl"
    information = {
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{name}-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, **information}.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return wheel


def listed(wheel: Path, **more: str) -> dict[str, str]:
    return {"version": "1.0", "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(), **more}


def prepare_mapping(index: Path, packages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    tool = {
        "name": "ruff",
        "version": ruff_version(),
        "rules": {"C408": True, "PLR1714": True, "B904": False},
    }
    return {"kind": "packages", "tool": tool, "index": str(index), "packages": packages, **more}


def ruff_version() -> str:
    if not RUFF.is_file():
        return "0"
    return subprocess.run(
        [str(RUFF), "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[1]


class Shop:
    """A folder of wheels, a request for all of them, and the place where the suite is to be."""

    def __init__(self, folder: Path) -> None:
        self.index = folder / "index"
        self.destination = folder / "prepared" / "mine"
        self.said: list[str] = []
        self.request = prepare_mapping(self.index, {})

    def offer(self, name: str, files: Mapping[str, str | bytes], **more: str) -> None:
        self.request["packages"][name] = listed(build_wheel(self.index, name, files), **more)

    def prepare(self, destination: Path | None = None) -> PreparedSuite:
        specification = packages_specification(self.request)
        return prepare_packages(specification, destination or self.destination, self.said.append)

    def tasks(self) -> dict[str, dict[str, Any]]:
        suite = yaml.safe_load((self.destination / "suite.yaml").read_text())
        return {task["id"]: task for task in suite["tasks"]}

    def labels(self, name: str) -> list[dict[str, Any]]:
        document = json.loads((self.destination / "labels" / f"{name}.json").read_text())
        assert document["schema_version"] == 1
        findings: list[dict[str, Any]] = document["findings"]
        return findings


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.offer("alpha", {"alpha/__init__.py": "", "alpha/core.py": DEFECTS})
    shop.offer("beta", {"beta.py": CLEAN})
    return shop


@needs_ruff
def test_a_package_with_remarks_is_a_defect_task_and_one_without_is_a_control(shop: Shop) -> None:
    prepared = shop.prepare()

    assert prepared.fresh
    tasks = shop.tasks()
    assert tasks["review-alpha"]["class"] == "review-defect"
    assert tasks["review-beta"]["class"] == "review-clean"
    assert tasks["review-alpha"]["source"] == {"tree": "trees/alpha"}
    assert (shop.destination / "trees/alpha/alpha/core.py").read_text() == DEFECTS
    assert [(label["id"], label["line_start"], label["severity"]) for label in shop.labels("alpha")] == [
        ("C408-001", 2, "medium"),
        ("PLR1714-002", 2, "medium"),
    ]
    assert shop.labels("beta") == []
    for task in tasks.values():
        assert (shop.destination / task["prompt"]).is_file()


@needs_ruff
def test_splits_alternate_over_the_names_unless_they_are_declared(shop: Shop) -> None:
    shop.offer("gamma", {"gamma.py": CLEAN}, split="holdout")

    shop.prepare()

    splits = {name: task["split"] for name, task in shop.tasks().items()}
    assert splits == {"review-alpha": "train", "review-beta": "holdout", "review-gamma": "holdout"}


@needs_ruff
def test_a_second_prepare_fetches_nothing(shop: Shop) -> None:
    first = shop.prepare()
    shutil.rmtree(shop.index)

    second = shop.prepare()

    assert not second.fresh
    assert second.tasks == first.tasks
    assert "already prepared" in shop.said[-1]


@needs_ruff
def test_a_prepared_folder_that_was_edited_is_made_anew(shop: Shop) -> None:
    shop.prepare()
    (shop.destination / "labels/alpha.json").write_text("{}")

    assert shop.prepare().fresh
    assert len(shop.labels("alpha")) == 2


@needs_ruff
def test_the_same_request_gives_the_same_bytes_everywhere(shop: Shop, tmp_path: Path) -> None:
    shop.prepare()
    elsewhere = tmp_path / "deep" / "er" / "mine"
    shop.prepare(elsewhere)

    assert digest_tree(shop.destination) == digest_tree(elsewhere)


@needs_ruff
def test_suppression_comments_and_settings_in_the_package_change_no_label(shop: Shop) -> None:
    shop.offer(
        "quiet",
        {
            "quiet/__init__.py": "# ruff: noqa\nempty = dict()  # noqa: C408\n",
            "quiet/ruff.toml": 'lint.select = ["F"]\n',
        },
    )

    shop.prepare()

    assert [label["id"] for label in shop.labels("quiet")] == ["C408-001"]


@needs_ruff
def test_tests_metadata_and_unreadable_files_are_left_out(shop: Shop) -> None:
    shop.offer(
        "mixed",
        {
            "mixed/core.py": "empty = dict()\n",
            "mixed/old.py": "print 'no longer Python'\nempty = dict()\n",
            "mixed/latin.py": b"# -*- coding: latin-1 -*-\nempty = dict()  # \xe9\n",
            "mixed/data.txt": "dict()",
            "mixed/tests/sample.py": "empty = dict()\n",
            "mixed/test_core.py": "empty = dict()\n",
            "mixed/conftest.py": "empty = dict()\n",
            "mixed-1.0.data/scripts/run.py": "empty = dict()\n",
        },
    )

    prepared = shop.prepare()

    tree = shop.destination / "trees" / "mixed"
    assert [path.relative_to(tree).as_posix() for path in tree.rglob("*.*")] == ["mixed/core.py"]
    assert [task.labels for task in prepared.tasks if task.package == "mixed"] == [1]
    assert any("2 unreadable left out" in line for line in shop.said)


@needs_ruff
def test_a_task_stops_at_its_number_of_labels(shop: Shop) -> None:
    files = {f"many/part{number}.py": "empty = dict()\n" * 4 for number in range(9)}
    shop.offer("many", files)
    shop.request["labels_per_task"] = 10

    shop.prepare()

    assert len(shop.labels("many")) == 12
    assert len(list((shop.destination / "trees/many/many").iterdir())) == 3


@needs_ruff
def test_a_package_whose_remarks_fit_no_task_is_refused_instead_of_called_clean(shop: Shop) -> None:
    shop.offer("dense", {"dense/a.py": CLEAN, "dense/b.py": "empty = dict()\n" * 8})
    shop.request["labels_per_task"] = 5

    with pytest.raises(SuiteError, match=r"`dense`.*too many"):
        shop.prepare()


@needs_ruff
@pytest.mark.parametrize("again", [False, True])
def test_another_hash_names_the_package_and_changes_nothing(shop: Shop, again: bool) -> None:
    if again:
        shop.prepare()
    before = digest_tree(shop.destination)
    shop.request["packages"]["beta"]["sha256"] = NO_HASH

    with pytest.raises(SuiteError, match=r"`beta` 1\.0 does not have the pinned SHA-256"):
        shop.prepare()

    assert digest_tree(shop.destination) == before
    assert [path.name for path in shop.destination.parent.iterdir()] == (["mine"] if again else [])


@needs_ruff
def test_a_version_that_the_index_does_not_have_names_the_package(shop: Shop) -> None:
    shop.request["packages"]["beta"]["version"] = "2.0"

    with pytest.raises(SuiteError, match=r"`beta` 2\.0 could not be fetched") as caught:
        shop.prepare()

    assert "No matching distribution" in str(caught.value)


@needs_ruff
def test_a_wheel_for_one_platform_is_refused(shop: Shop) -> None:
    compiled = f"cp{sys.version_info.major}{sys.version_info.minor}-abi3-{_platform()}"
    wheel = build_wheel(shop.index, "compiled", {"compiled.py": CLEAN}, compiled)
    shop.request["packages"]["compiled"] = listed(wheel)

    with pytest.raises(SuiteError, match=r"`compiled`.*built for one platform"):
        shop.prepare()


def _platform() -> str:
    from sysconfig import get_platform

    return get_platform().replace("-", "_").replace(".", "_")


@needs_ruff
def test_promised_labels_are_verified(shop: Shop) -> None:
    digest = {task.package: task.digest for task in shop.prepare().tasks}["alpha"]
    shop.request["packages"]["alpha"]["labels"] = digest
    assert shop.prepare().fresh

    shop.request["tool"]["rules"]["C408"] = False
    with pytest.raises(SuiteError, match=r"`alpha`.*the list promises") as caught:
        shop.prepare()

    assert digest in str(caught.value)
    assert len(shop.labels("alpha")) == 2


def test_a_folder_that_prepare_did_not_write_is_kept(shop: Shop) -> None:
    shop.destination.mkdir(parents=True)
    (shop.destination / "thesis.txt").write_text("years of work")

    with pytest.raises(SuiteError, match="not a folder that `bench prepare` wrote"):
        shop.prepare()

    assert (shop.destination / "thesis.txt").read_text() == "years of work"


def test_a_file_in_the_place_of_the_folder_is_kept(shop: Shop) -> None:
    shop.destination.parent.mkdir()
    shop.destination.write_text("years of work")

    with pytest.raises(SuiteError, match="not a folder that `bench prepare` wrote"):
        shop.prepare()

    assert shop.destination.read_text() == "years of work"


@needs_ruff
def test_a_package_set_to_null_is_left_out(shop: Shop) -> None:
    shop.request["packages"]["alpha"] = None

    assert [task.package for task in shop.prepare().tasks] == ["beta"]


def _no_package(request: dict[str, Any]) -> None:
    request["packages"] = {"alpha": None}


def _no_rule(request: dict[str, Any]) -> None:
    request["tool"]["rules"] = {"C408": False}


def _same_package_twice(request: dict[str, Any]) -> None:
    request["packages"]["Alpha"] = request["packages"]["alpha"]


def _no_index(request: dict[str, Any]) -> None:
    request["index"] = "/nowhere/at/all"


def _unquoted_version(request: dict[str, Any]) -> None:
    request["packages"]["alpha"]["version"] = 1.1


def _option_as_name(request: dict[str, Any]) -> None:
    request["packages"]["--index-url=x"] = request["packages"].pop("alpha")


def _lines_in_version(request: dict[str, Any]) -> None:
    request["packages"]["alpha"]["version"] = "1.0\n-r other.txt"


def _blocking_severity(request: dict[str, Any]) -> None:
    request["severity"] = "high"


def _more_labels_than_findings(request: dict[str, Any]) -> None:
    request["labels_per_task"] = 81


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_package, "names no package"),
        (_no_rule, "nothing to label"),
        (_same_package_twice, "same package twice: alpha"),
        (_no_index, "not a folder of wheels"),
        (_unquoted_version, "version"),
        (_option_as_name, "packages"),
        (_lines_in_version, "version"),
        (_blocking_severity, "severity"),
        (_more_labels_than_findings, "labels_per_task"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_before_anything_is_fetched(
    shop: Shop, spoil: Callable[[dict[str, Any]], None], message: str
) -> None:
    spoil(shop.request)

    with pytest.raises(SuiteError, match=message):
        shop.prepare()

    assert not shop.destination.parent.exists()


@pytest.mark.parametrize(
    "path", ["../evil.py", "alpha/../../evil.py", "/evil.py", "a\\..\\evil.py", "c:evil.py"]
)
def test_a_wheel_that_would_leave_its_folder_is_refused(tmp_path: Path, path: str) -> None:
    wheel = build_wheel(tmp_path, "alpha", {"alpha.py": CLEAN, path: CLEAN})

    with pytest.raises(SuiteError, match=r"`alpha`.*would leave the folder"):
        python_files("alpha", wheel)


def test_a_wheel_that_holds_a_link_is_refused(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "alpha", {"alpha.py": CLEAN})
    with zipfile.ZipFile(wheel, "a") as archive:
        link = zipfile.ZipInfo("alpha/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")

    with pytest.raises(SuiteError, match="would leave the folder"):
        python_files("alpha", wheel)


def test_a_broken_wheel_names_the_package(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "alpha", {"alpha.py": CLEAN})
    wheel.write_bytes(wheel.read_bytes().replace(b"return", b"rexurn"))

    with pytest.raises(SuiteError, match=r"`alpha`.*not a readable wheel"):
        python_files("alpha", wheel)


TOOL = LabelTool(name="ruff", version="0.17.6", rules={"C408": True})


def test_an_absent_ruff_is_answered_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"-m pip install 'ruff==0\.17\.6'"):
        find_ruff(TOOL, tmp_path)


def test_another_version_of_ruff_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "ruff"
    other.write_text("#!/bin/sh\necho ruff 0.1.0\n")
    other.chmod(0o755)

    with pytest.raises(SuiteError, match=r"labelled by ruff 0\.17\.6, but .* is 0\.1\.0"):
        find_ruff(TOOL, tmp_path)
