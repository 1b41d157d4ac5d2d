"""`config which|tree|explain`, `--cfg job` and `--info defaults-tree`, for both commands."""

import argparse
from pathlib import Path
from typing import Literal

from bench.cli_run import load, print_json
from bench.commandline import config_dirs
from bench.config import explain, load_config, resolved_yaml, tree, which
from bench.errors import ConfigError
from bench.exits import ExitCode

_ACTIONS = ("which", "tree", "explain")


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """What `config` takes: an action, for two of them a name, then overrides."""
    parser.add_argument(
        "action",
        choices=_ACTIONS,
        help="which OPTION: the file that gives it, and those that it hides (which suite/wild); "
        "tree: how the configuration is put together; "
        "explain KEY: what a key means, its value and where that comes from",
    )
    parser.add_argument("words", nargs="*", metavar="KEY or override", help="what to look at, then overrides")


def show_config(options: argparse.Namespace, root: Path, command: Literal["evolve", "bench"]) -> ExitCode:
    """Print what was asked for; a wrong key is a ConfigError with the nearest ones."""
    text = (
        _composed_text(options, root, command)
        if options.cfg or options.info
        else _action_text(options, root, command)
    )
    if options.json:
        print_json({"text": text})
    else:
        print(text)
    return ExitCode.VERDICT


def _composed_text(options: argparse.Namespace, root: Path, command: Literal["evolve", "bench"]) -> str:
    loaded = load(options, root, command)
    return loaded.composed.tree if options.info else resolved_yaml(loaded.composed)


def _action_text(options: argparse.Namespace, root: Path, command: Literal["evolve", "bench"]) -> str:
    overrides = [word for word in options.words if "=" in word or word.startswith("~")]
    names = [word for word in options.words if word not in overrides]
    folders = config_dirs(options.config_dir)
    if options.action != "tree" and len(names) != 1:
        raise ConfigError(f"config {options.action} takes one name, such as suite/wild or breaker")
    if options.action == "which":
        return which(names[0], root, folders)
    _, composed = load_config(overrides, root=root, config_dirs=folders, command=command)
    return tree(composed) if options.action == "tree" else explain(names[0], composed)
