"""What `evolve recipe` finds: the words of a run, composed again from today's files."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.commandline import config_dirs
from bench.config import CommandName, load_config, read_composed_files, read_overrides, read_saved_config
from bench.exits import ExitCode
from bench.project import find_project, find_run
from evolve.lock import drift_line, drifts_of
from evolve.reproduce.model import REPRODUCTION_VERSION, Recipe
from evolve.reproduce.values import value_differences


def read_recipe(options: argparse.Namespace) -> Recipe:
    """The words and what they come to today. ConfigError if they cannot be composed any more."""
    root = find_project(options.run, options.root, Path.cwd())
    run = find_run(root, options.run)
    saved = run.path / "config.json"
    then, words = read_saved_config(saved), read_overrides(saved)
    command: CommandName = "bench" if then.proposer is None else "evolve"
    config, composed = load_config(
        words, root=root, config_dirs=config_dirs(options.config_dir), command=command
    )
    values = value_differences(msgspec.to_builtins(then), msgspec.to_builtins(config), composed.origin)
    now = {file.label: file.digest for file in composed.files}
    files = tuple(drifts_of("configuration-file", read_composed_files(saved), now))
    code = ExitCode.DRIFTED if values or files else ExitCode.VERDICT
    return Recipe(
        schema_version=REPRODUCTION_VERSION,
        run=run.id,
        command=command,
        overrides=words,
        same=not values,
        values=values,
        files=files,
        code=int(code),
    )


def recipe_lines(recipe: Recipe) -> Iterator[str]:
    """The same for people."""
    yield f"run {recipe.run}: {' '.join((recipe.command, *recipe.overrides))}"
    same = "the same configuration" if recipe.same else f"{len(recipe.values)} values are others"
    yield f"composed again today: {same}, {len(recipe.files)} files are others"
    for each in recipe.values:
        first, second = (value or "not there" for value in (each.first, each.second))
        origin = f" ({each.origin})" if each.origin else ""
        yield f"  {each.key}: {first} then, {second} now{origin}"
    yield from (f"  {drift_line(each)}" for each in recipe.files)
