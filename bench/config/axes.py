"""Axes of a multirun, as data: which key takes which values, and what a `sweep:` block of an option file says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from bench.config.composed import CommandName
from bench.config.override import grammar_text
from bench.errors import ConfigError
from bench.text import did_you_mean

BLOCK = "sweep"
_PLAIN = re.compile(r"[A-Za-z_][\w./:@-]*")
_TYPED = frozenset({"null", "true", "false", "nan", "inf", "on", "off", "yes", "no"})

Scalar = str | int | float | bool | None


class Axis(Struct, frozen=True):
    """A key as it is typed (`model`, `+x.y`), and the texts that it takes one after the other."""

    key: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key without the mark of an added one."""
        return self.key.lstrip("+")


class SweepBlock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A `sweep:` block. A text of `axes` is read by Hydra's grammar (`range(1,4)`, `a,b`), a list as it is. Axes of one
    list of `zip` advance together; a point with all assignments of an entry of `exclude` is left out; each entry of
    `include` is one more point.
    """

    axes: dict[str, str | list[Scalar]] = field(default_factory=dict)
    zip: list[list[str]] = field(default_factory=list)
    include: list[dict[str, Scalar]] = field(default_factory=list)
    exclude: list[dict[str, Scalar]] = field(default_factory=list)


class Swept(Struct, frozen=True, kw_only=True):
    """What was typed and what the option files say, read for a multirun: the words that hold for every point, the
    axes, and the block's rules in texts.
    """

    command: CommandName
    fixed: tuple[str, ...]
    axes: tuple[Axis, ...]
    zipped: tuple[tuple[str, ...], ...] = ()
    include: tuple[tuple[tuple[str, str], ...], ...] = ()
    exclude: tuple[tuple[tuple[str, str], ...], ...] = ()


def read_block(content: Any) -> SweepBlock:
    """The block, of whatever stands under `sweep`. ConfigError says what is wrong in it, and where."""
    try:
        return SweepBlock() if content is None else msgspec.convert(content, SweepBlock)
    except msgspec.ValidationError as error:
        named = re.search(r"unknown field `(.+?)`", str(error))
        near = did_you_mean(named[1], SweepBlock.__struct_fields__) if named else ""
        raise ConfigError(
            f"the block sweep: cannot be read: {error}{near}\n"
            "  it holds axes, zip, include and exclude (docs/multirun.md)"
        ) from error


def word(value: Scalar) -> str:
    """A value as the grammar takes it: a plain word as it is, other text in quotes."""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _TYPED else grammar_text(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value)


def assignments(entries: Sequence[Mapping[str, Scalar]]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Entries of `include` or `exclude` as texts. ConfigError for one that says nothing."""
    if not all(entries):
        raise ConfigError(
            "the block sweep: has an empty entry in include or exclude: it would mean every point"
        )
    return tuple(tuple((key, word(value)) for key, value in entry.items()) for entry in entries)


def refuse_axes(swept: Swept, given: Sequence[str]) -> None:
    """ConfigError for what would silently run something else than what was meant: two axes on one key, a key that is
    also `given` once and for all, a zip of unequal lengths or of what is no axis, an axis without values.
    """
    names = [axis.name for axis in swept.axes]
    for axis in swept.axes:
        if names.count(axis.name) > 1:
            raise ConfigError(f"{axis.name} is an axis twice\n  give all its values in one: {axis.name}=a,b")
        if axis.name in given:
            raise ConfigError(
                f"{axis.name} is an axis and is also given one value\n  leave one of the two out"
            )
        if not axis.values:
            raise ConfigError(f"{axis.name} is an axis without a value: nothing matches")
    _refuse_zips(swept, {axis.name: len(axis.values) for axis in swept.axes})


def _refuse_zips(swept: Swept, lengths: Mapping[str, int]) -> None:
    zipped = [name for group in swept.zipped for name in group]
    for name in zipped:
        if name not in lengths:
            raise ConfigError(f"sweep.zip: {name} is no axis{did_you_mean(name, lengths)}")
        if zipped.count(name) > 1:
            raise ConfigError(f"sweep.zip: {name} is named twice")
    for group in swept.zipped:
        if len({lengths[name] for name in group}) > 1:
            told = ", ".join(f"{name} has {lengths[name]}" for name in group)
            raise ConfigError(f"sweep.zip: axes that advance together need as many values each: {told}")
    for entry in swept.exclude:
        unknown = next((key for key, _ in entry if key not in lengths), None)
        if unknown is not None:
            raise ConfigError(f"sweep.exclude: {unknown} is no axis{did_you_mean(unknown, lengths)}")
