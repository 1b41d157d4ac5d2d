"""The one way from what was typed to a frozen configuration."""

from collections.abc import Sequence
from pathlib import Path

from bench.config.axes import Swept
from bench.config.composed import CommandName, Composed
from bench.config.model import Config
from bench.config.validate import validate


def load_config(
    overrides: Sequence[str],
    *,
    root: Path | None,
    config_dirs: Sequence[Path] = (),
    command: CommandName = "evolve",
    point: bool = False,
) -> tuple[Config, Composed]:
    """Compose and validate; see `bench.config.compose.compose` for the order of precedence. ConfigError lists
    everything that is wrong. `config_dirs` win over the project's conf/, the first of them over the rest.
    A `point` of a multirun may come with the `sweep:` block that it is of.
    """
    # Hydra costs 160 ms to import, and `--help` must not pay for it.
    from bench.config.compose import compose  # noqa: PLC0415

    composed = compose(overrides, root=root, config_dirs=config_dirs, command=command, point=point)
    return validate(composed.values, command=command, origin=composed.origin), composed


def load_swept(
    overrides: Sequence[str],
    *,
    root: Path | None,
    config_dirs: Sequence[Path] = (),
    command: CommandName = "evolve",
) -> Swept:
    """The axes of a multirun; see `bench.config.compose.read_swept`."""
    from bench.config.compose import read_swept  # noqa: PLC0415

    return read_swept(overrides, root=root, config_dirs=config_dirs, command=command)
