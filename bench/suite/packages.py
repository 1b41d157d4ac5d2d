"""What `bench prepare` does for a suite of published packages: fetch, choose files, label, write."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from bench.digest import digest_bytes, digest_json
from bench.errors import SuiteError
from bench.suite.model import Split
from bench.suite.packages_fetch import fetch_wheels, python_files
from bench.suite.packages_label import Remark, as_labels, find_ruff, remarks_on, take_files
from bench.suite.packages_model import PackageSpec, PackagesSpec, PreparedSuite, PreparedTask, slug
from bench.suite.packages_write import is_untouched, put_in_place, read_record, write_suite, write_task
from bench.suite.pip import require_pip

# Raised whenever the same inputs would be written differently, so that older folders are made anew.
_REVISION = 1

Progress = Callable[[str], None]


class _Workshop(Struct, frozen=True):
    """What making one task needs besides the package: the request, the tool and two folders."""

    specification: PackagesSpec
    ruff: Path
    sources: Path
    suite: Path


def packages_specification(prepare: Mapping[str, Any]) -> PackagesSpec:
    """The `prepare` mapping of a suite's configuration as a struct; SuiteError names the key that is wrong."""
    try:
        return msgspec.convert(prepare, PackagesSpec)
    except msgspec.ValidationError as error:
        raise SuiteError(f"`suite.prepare` is not a list of packages to prepare: {error}") from error


def prepare_packages(specification: PackagesSpec, destination: Path, progress: Progress) -> PreparedSuite:
    """Write the suite folder `destination`: one review task per package, labelled by the pinned tool.

    Nothing is fetched when the folder already holds this suite. SuiteError names the package that failed;
    `destination` is then as it was.
    """
    inputs = digest_json({"revision": _REVISION, "specification": specification})
    record = read_record(destination)
    if record is not None and record.inputs == inputs and is_untouched(destination, record):
        progress(f"already prepared: {len(record.tasks)} tasks in {destination}")
        return PreparedSuite(destination, record.tasks, fresh=False)
    _refuse_impossible(specification)
    require_pip()
    ruff = find_ruff(specification.tool, Path(sys.executable).parent)
    try:
        tasks = _build(specification, ruff, destination, inputs, progress)
    except OSError as error:
        raise SuiteError(f"the suite cannot be written to {destination}: {error}.") from error
    return PreparedSuite(destination, tasks, fresh=True)


def _build(
    specification: PackagesSpec, ruff: Path, destination: Path, inputs: str, progress: Progress
) -> tuple[PreparedTask, ...]:
    """Make everything in a folder beside `destination`, which it replaces only when it is complete."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{destination.name}-", dir=destination.parent) as scratch:
        folder = Path(scratch)
        workshop = _Workshop(specification, ruff, folder / "sources", folder / "suite")
        progress(f"fetching {len(specification.chosen)} packages")
        wheels = fetch_wheels(specification.chosen, _index(specification), folder / "wheels")
        tasks = tuple(_make_task(workshop, name, wheels[name], progress) for name, _ in specification.chosen)
        write_suite(workshop.suite, destination.name, tasks, inputs)
        put_in_place(workshop.suite, destination, folder / "replaced")
    return tasks


def _refuse_impossible(specification: PackagesSpec) -> None:
    """SuiteError for a request that could not become a suite, before anything is fetched."""
    names = [slug(name) for name, _ in specification.chosen]
    if not names:
        raise SuiteError("`suite.prepare.packages` names no package.")
    if not specification.tool.selected:
        raise SuiteError("`suite.prepare.tool.rules` sets no rule to true: there is nothing to label.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SuiteError(f"`suite.prepare.packages` names the same package twice: {', '.join(twice)}.")
    if specification.index is not None and not Path(specification.index).is_dir():
        raise SuiteError(f"`suite.prepare.index` is not a folder of wheels: {specification.index}.")


def _make_task(workshop: _Workshop, name: str, wheel: Path, progress: Progress) -> PreparedTask:
    package = dict(workshop.specification.chosen)[name]
    files = python_files(name, wheel)
    remarks = _remarks(workshop, name, files)
    taken = _taken(workshop, name, remarks)
    chosen = ((path, remark) for path in taken for remark in remarks[path])
    labels = as_labels(chosen, workshop.specification.severity)
    document = write_task(workshop.suite, name, {path: files[path] for path in taken}, labels)
    task = PreparedTask(
        id=f"review-{slug(name)}",
        package=name,
        version=package.version,
        split=_split(workshop.specification, name),
        files=len(taken),
        labels=len(labels),
        digest=_expected(name, package, digest_bytes(document)),
    )
    progress(_said(task, len(files), len(files) - len(remarks)))
    return task


def _split(specification: PackagesSpec, name: str) -> Split:
    """The split of a package: as declared, else train and holdout in turn over the sorted names."""
    names = [each for each, _ in specification.chosen]
    in_turn: Split = "holdout" if names.index(name) % 2 else "train"
    return dict(specification.chosen)[name].split or in_turn


def _index(specification: PackagesSpec) -> Path | None:
    return None if specification.index is None else Path(specification.index).resolve()


def _remarks(workshop: _Workshop, name: str, files: Mapping[str, bytes]) -> dict[str, tuple[Remark, ...]]:
    """What the tool says about every file of a package that it can read."""
    tree = workshop.sources / slug(name)
    for path, content in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    try:
        return remarks_on(workshop.ruff, workshop.specification.tool, tree, sorted(files))
    except SuiteError as error:
        raise SuiteError(f"package `{name}`: {error}") from error


def _taken(workshop: _Workshop, name: str, remarks: Mapping[str, Sequence[Remark]]) -> tuple[str, ...]:
    """The files of the task; SuiteError when none is left, or only those without the package's labels."""
    counts = {path: len(of_file) for path, of_file in remarks.items()}
    taken = take_files(counts, workshop.specification.labels_per_task)
    if any(counts.values()) and not any(counts[path] for path in taken):
        raise SuiteError(
            f"package `{name}`: each of its files that has labels has too many of them for one task.\n"
            "Raise `labels_per_task` or choose another package."
        )
    if not taken:
        raise SuiteError(f"package `{name}`: its wheel holds no Python file that can be reviewed.")
    return taken


def _expected(name: str, package: PackageSpec, digest: str) -> str:
    """`digest`, or SuiteError when the list of packages promises other labels."""
    if package.labels is not None and package.labels != digest:
        raise SuiteError(
            f"package `{name}`: its labels have SHA-256 {digest}, but the list promises {package.labels}.\n"
            "Rules, severity, `labels_per_task` or the tool are not those that the list was made with; "
            "put them back, or take `labels` out of the list."
        )
    return digest


def _said(task: PreparedTask, files: int, unreadable: int) -> str:
    kind = "clean control" if task.clean else f"{task.labels} labels"
    left_out = f", {unreadable} unreadable left out" if unreadable else ""
    return f"{task.package} {task.version}: {kind}, {task.files} of {files} files{left_out} ({task.split})"
