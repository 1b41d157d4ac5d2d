"""A project of a user in a temporary folder, and what loading its configuration says."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Literal

import pytest
from msgspec import Struct

from bench.config import Composed, Config, load_config
from bench.errors import ConfigError

# what an option file of a model says when no gateway leads to it
NO_WAY = (
    "provider: null\nupstream: null\nbase_url: null\nkey: null\nscript: null\ncassettes: null\nrecord: true\n"
    "requests_per_minute: null\nefforts: null\ncontext: null\nmax_output: null\n"
)
Command = Literal["evolve", "bench"]


class Project(Struct, frozen=True):
    """A project's root with an evolve.toml and option files of its own."""

    root: Path

    def marker(self, text: str) -> "Project":
        (self.root / "evolve.toml").write_text(dedent(text), encoding="utf-8")
        return self

    def option(self, relative: str, text: str) -> "Project":
        """Write `conf/<relative>`."""
        path = self.root / "conf" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return self

    def load(
        self, *overrides: str, command: Command = "evolve", config_dirs: Sequence[Path] = ()
    ) -> tuple[Config, Composed]:
        return load_config(overrides, root=self.root, config_dirs=config_dirs, command=command)

    def config(self, *overrides: str, command: Command = "evolve") -> Config:
        return self.load(*overrides, command=command)[0]

    def composed(self, *overrides: str, command: Command = "evolve") -> Composed:
        return self.load(*overrides, command=command)[1]

    def refusal(self, *overrides: str, command: Command = "evolve", config_dirs: Sequence[Path] = ()) -> str:
        """What is said when the configuration is refused."""
        with pytest.raises(ConfigError) as caught:
            self.load(*overrides, command=command, config_dirs=config_dirs)
        return str(caught.value)
