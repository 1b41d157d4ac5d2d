"""What a run of either command does around its measuring: load, announce, watch, print."""

import argparse
import errno
import select
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO, cast

import msgspec
from msgspec import Struct

from bench.cancellation import Cancellation
from bench.commandline import config_dirs
from bench.config import Composed, Config, load_config, saved_config
from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import ConfigError, RunError, UserError
from bench.sandbox import WITHOUT_CONTAINMENT
from bench.sweep import Ground, works_on
from bench.text import printable
from bench.watch import Watchers, open_watcher

MOST_NAMED = 3
_IDLE = "no arm works on their kind"


class Loaded(Struct, frozen=True):
    """A command's configuration, how it was composed, and the extra conf folders."""

    config: Config
    composed: Composed
    folders: tuple[Path, ...]

    def save(self, folder: Path) -> None:
        """Write config.json, from which the run can be composed again."""
        document = saved_config(self.config, self.composed)
        write_whole(folder / "config.json", msgspec.json.format(canonical_json(document)) + b"\n")


def load(options: argparse.Namespace, root: Path, command: Literal["evolve", "bench"]) -> Loaded:
    """The configuration that the command's overrides compose. ConfigError shows everything wrong at once."""
    words = [word for word in options.overrides if "=" not in word and not word.startswith("~")]
    if words:
        raise ConfigError(
            f"{words[0]!r} is neither a command nor an override\n"
            f"  a command comes first (see {command} --help); an override is written key=value or ~key"
        )
    folders = config_dirs(options.config_dir)
    config, composed = load_config(options.overrides, root=root, config_dirs=folders, command=command)
    return Loaded(config, composed, folders)


def announce(loaded: Loaded, ground: Ground, say: Callable[[str], None]) -> None:
    """Say what a user may not expect: built-in options that a user file hides, tasks that are left out."""
    for shadow in loaded.composed.shadowed:
        say(f"note: {shadow.line()}")
    if not ground.sandbox.contains:
        say(f"note: {WITHOUT_CONTAINMENT}")
    arms = ground.config.arms.values()
    idle = [task.id for task in ground.tasks if not any(works_on(arm, task) for arm in arms)]
    left_out = _by_reason({**ground.skipped, **dict.fromkeys(idle, _IDLE)})
    for reason, tasks in left_out.items():
        named = ", ".join(tasks[:MOST_NAMED]) + (", …" if len(tasks) > MOST_NAMED else "")
        if reason == _IDLE:
            say(
                f"note: {len(tasks)} tasks of the suite are of a kind that these arms do not work on, and are not measured: {named}"
            )
        else:
            say(f"note: {len(tasks)} left out: {reason}: {named}")


def confirmed(config: Config, cost: str, cancellation: Cancellation) -> bool:
    """Whether a person at the terminal wants a run that may cost money. ConfigError where nobody can be asked."""
    if not config.budget.confirm:
        return True
    if not _asks():
        raise ConfigError(
            f"this run may cost money, and there is no terminal to ask at; cost: {cost}\n"
            f"  set budget.confirm=false to start it without being asked"
        )
    print(f"cost: {printable(cost)}\nstart? [y/N] ", end="", file=sys.stderr, flush=True)
    ready, _, _ = select.select([sys.stdin, cancellation], [], [])
    if cancellation not in ready and sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    print("nothing was started", file=sys.stderr)
    return False


def _asks() -> bool:
    """Whether somebody can be asked: a person who types and sees the question."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and sys.stderr.isatty()


def _by_reason(skipped: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for task, reason in skipped.items():
        reasons.setdefault(reason, []).append(task)
    return reasons


@contextmanager
def open_events(options: argparse.Namespace, out: TextIO) -> Iterator[Watchers]:
    """The watcher of a run: progress for people on `out`, and the stream of `--events`. RunError at the end if the
    file of the stream could not be written; a reader that went away is no error.
    """
    if options.events is None or options.events == "-":
        stream = sys.stdout.buffer if options.events else None
        with open_watcher(out, quiet=options.quiet, stream=stream) as watcher:
            yield watcher
        return
    try:
        file = _new_file(Path(options.events))
    except OSError as error:
        raise UserError(f"--events {options.events}: cannot be written: {error.strerror}") from error
    with file, open_watcher(out, quiet=options.quiet, stream=file) as watcher:
        yield watcher
        missing = watcher.missing
    if missing is not None:
        raise RunError(
            f"--events {options.events}: events are missing: {missing.strerror}\n"
            "  the run itself is complete: its rows and reports are in its folder"
        ) from missing


def _new_file(path: Path) -> BinaryIO:
    """The file for a stream of events; a regular file that is there already is nobody's to overwrite."""
    if path.is_file():
        raise FileExistsError(errno.EEXIST, "it exists already")
    return cast("BinaryIO", path.open("wb", buffering=0))


def command_again(options: argparse.Namespace) -> str:
    """The command line of this run, to be typed again."""
    return shlex.join(["evolve", *own_words(options), *options.overrides])


def own_words(options: argparse.Namespace) -> list[str]:
    """Where this command looks for the project and for configuration, as words of a command line."""
    root = ["--root", options.root] if options.root else []
    return [*root, *(word for folder in options.config_dir for word in ("--config-dir", folder))]


def results_to(options: argparse.Namespace) -> TextIO:
    """Where a run's result is printed: stdout, unless the stream of events has it."""
    return sys.stderr if options.events == "-" else sys.stdout


def print_json(value: Any) -> None:
    """One JSON object on stdout, indented for people who look at it all the same."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())
