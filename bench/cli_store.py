"""What `bench store` does: verify, gc, export, import."""

import argparse
from pathlib import Path
from typing import Any

from bench.archive import (
    MOST,
    collect_garbage,
    collect_lines,
    export_lines,
    export_run,
    import_lines,
    import_run,
    verify_lines,
    verify_store,
)
from bench.cli_run import print_json
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import find_project, find_run
from bench.text import printable

_GIB = 1024**3


def store(options: argparse.Namespace) -> ExitCode:
    """Do it, and print what came of it."""
    _check(options)
    word = options.words[0] if options.words else ""
    root = find_project(word if options.action == "export" else "", options.root, Path.cwd())
    code, result, lines = _done(options, root, word)
    if options.json:
        print_json(result)
    else:
        print("\n".join(printable(line) for line in lines))
    return code


def _done(options: argparse.Namespace, root: Path, word: str) -> tuple[ExitCode, Any, list[str]]:
    """The exit code, and the result for programs and for people."""
    if options.action == "verify":
        verified = verify_store(root)
        return ExitCode.VERDICT if verified.sound else ExitCode.CHECK, verified, verify_lines(verified)
    if options.action == "gc":
        collected = collect_garbage(root, options.keep, dry_run=options.dry_run)
        return ExitCode.VERDICT, collected, collect_lines(collected)
    if options.action == "export":
        exported = export_run(find_run(root, word), Path(options.to).absolute())
        return ExitCode.VERDICT, exported, export_lines(exported)
    most = MOST if options.most is None else int(options.most * _GIB)
    imported = import_run(root, Path(word).absolute(), most)
    return ExitCode.VERDICT, imported, import_lines(imported)


def _check(options: argparse.Namespace) -> None:
    """RunError if the words do not fit the action."""
    action, takes = options.action, {"export": "the run to export", "import": "the file to import"}
    if options.cfg or options.info or options.config_dir:
        raise RunError("bench store takes no --cfg, --info or --config-dir")
    if action in takes and len(options.words) != 1:
        raise RunError(f"bench store {action} takes one word: {takes[action]}")
    if action not in takes and options.words:
        raise RunError(f"bench store {action} takes no {printable(options.words[0])!r}")
    if (options.to is None) == (action == "export"):
        raise RunError("bench store export RUN --to FILE: the two belong together")
    if action != "gc" and (options.keep or options.dry_run):
        raise RunError(f"bench store {action} removes nothing: --keep and --dry-run are for gc")
