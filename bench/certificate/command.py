"""What `bench validate` does: tries solutions of known worth on each task, and writes down what became of them."""

import argparse
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import structs

from bench.cancellation import Cancellation
from bench.certificate.file import harness_digest, place, write_certificate
from bench.certificate.model import SuiteCertificate, TaskCertificate
from bench.certificate.trying import certify_task, judged, open_bench, trying
from bench.certificate.words import closing_lines, task_lines
from bench.cli_run import load, print_json
from bench.commandline import cancel_on_signals
from bench.errors import SandboxUnavailable, SuiteError, WorkspaceError
from bench.exits import ExitCode
from bench.suite import Task
from bench.sweep import Ground, open_ground, run_ordered

Say = Callable[[str], None]


def validate(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Certify the tasks of a suite; CHECK unless all that were tried are certified."""
    options.overrides = [f"suite={options.suite}", *options.overrides]
    loaded = load(options, root, "bench")
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(trying(loaded.config), root, loaded.folders, cancellation) as ground,
    ):
        if not ground.sandbox.contains:
            raise SandboxUnavailable(
                "a certificate says what a task is worth in a sandbox, and this one contains nothing\n"
                "  choose another one: sandbox=bubblewrap"
            )
        chosen = _chosen(ground, options.task)
        made = certify(ground, chosen, options.runs, cancellation, say)
        if cancellation.cancelled:
            say("stopped: no certificate was written")
            return ExitCode.INTERRUPTED
        written = write_certificate(ground.suite, made)
        path = place(ground.suite)
    if options.json:
        print_json(structs.replace(made, digest=written.digest))
    else:
        lines = [line for task in made.tasks for line in task_lines(task)] if options.quiet else []
        print("\n".join([*lines, *closing_lines(written, str(path))]))
    return ExitCode.VERDICT if made.certified else ExitCode.CHECK


def certify(
    ground: Ground, tasks: Sequence[Task], runs: int, cancellation: Cancellation, say: Say
) -> SuiteCertificate:
    """The certificates of these tasks, each said as soon as it is there. Nothing is written."""
    bench = open_bench(ground, runs)
    made: list[TaskCertificate] = []

    def fold(_task: Task, certificate: TaskCertificate) -> None:
        made.append(certificate)
        for line in task_lines(certificate):
            say(line)

    def work(task: Task) -> TaskCertificate:
        try:
            return certify_task(bench, task, cancellation)
        except WorkspaceError as error:
            return judged(task, (), [f"its starting state cannot be made: {error}"])

    workers = ground.config.workers
    run_ordered(tasks, work, fold, workers=workers, window=2 * workers, cancellation=cancellation)
    return SuiteCertificate(
        suite=ground.suite.name,
        harness=harness_digest(),
        sandbox=ground.config.sandbox.name,
        runs=runs,
        tasks=tuple(made),
    )


def _chosen(ground: Ground, patterns: Sequence[str]) -> list[Task]:
    """The tasks that some pattern names, all where there is none."""
    chosen = [
        task for task in ground.tasks if not patterns or any(fnmatchcase(task.id, each) for each in patterns)
    ]
    if not chosen:
        raise SuiteError(
            f"--task {' '.join(patterns)} names no task of the suite {ground.suite.name}\n"
            f"  it has: {', '.join(task.id for task in ground.tasks[:20])}"
        )
    return chosen
