"""The one way from what was typed to a frozen configuration."""

from collections.abc import Sequence
from pathlib import Path

from bench.config.composed import CommandName, Composed
from bench.config.model import Config
from bench.config.validate import validate


def load_config(
    overrides: Sequence[str],
    *,
    root: Path | None,
    config_dirs: Sequence[Path] = (),
    command: CommandName = "evolve",
) -> tuple[Config, Composed]:
    """Compose and validate; see `bench.config.compose.compose` for the order of precedence. ConfigError lists
    everything that is wrong. `config_dirs` win over the project's conf/, the first of them over the rest.
    """
    # Hydra costs 160 ms to import, and `--help` must not pay for it.
    from bench.config.compose import compose  # noqa: PLC0415

    composed = compose(overrides, root=root, config_dirs=config_dirs, command=command)
    return validate(composed.values, command=command, origin=composed.origin), composed
