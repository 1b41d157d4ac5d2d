"""What `bench prepare` does: the tasks of a suite of packages, or the Python environments of any other suite."""

import argparse
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from bench.cli_run import load, print_json
from bench.config import Config
from bench.environments import prepare_environments
from bench.errors import SuiteError
from bench.exits import ExitCode
from bench.sandbox import open_sandbox
from bench.suite import load_suite, packages_specification, prepare_packages

Say = Callable[[str], None]


def prepare(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Fetch what the suite's `prepare` block names, or else the requirements of its tasks."""
    options.overrides = [f"suite={options.suite}", *options.overrides]
    config = load(options, root, "bench").config
    index = None if options.index is None else Path(options.index).resolve()
    if index is not None and not index.is_dir():
        raise SuiteError(f"--index {options.index} is not a folder of wheels")
    if config.suite.prepare is None:
        _prepare_environments(options, config, root, index, say)
        return ExitCode.VERDICT
    specification = packages_specification(config.suite.prepare)
    if index is not None:
        specification = structs.replace(specification, index=str(index))
    prepared = prepare_packages(specification, root / config.suite.path, say)
    if options.json:
        print_json(structs.asdict(prepared) | {"folder": str(prepared.folder)})
    else:
        print(f"suite {config.suite.name}: {len(prepared.tasks)} tasks in {prepared.folder}")
    return ExitCode.VERDICT


def _prepare_environments(
    options: argparse.Namespace, config: Config, root: Path, index: Path | None, say: Say
) -> None:
    suite = load_suite(config.suite, root)
    contained = open_sandbox(config.sandbox).contains
    made = prepare_environments(root, suite.tasks, contained=contained, index=index, progress=say)
    if not made:
        raise SuiteError(f"suite {config.suite.name} needs no preparing: it lies in {suite.folder}")
    if options.json:
        environments = [structs.asdict(each) | {"folder": str(each.folder)} for each in made]
        print_json({"suite": config.suite.name, "environments": environments})
    else:
        tasks = sum(len(each.tasks) for each in made)
        print(
            f"suite {config.suite.name}: {len(made)} Python environments for {tasks} tasks, in {made[0].folder.parent}"
        )
