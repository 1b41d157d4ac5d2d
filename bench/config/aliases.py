"""Refuses YAML that is small as text and huge as data, before anything is made of it."""

import yaml

from bench.errors import ConfigError

# more than any option file holds by far; what aliases stand for is counted as often as they do
MOST_PARTS = 100_000


def refuse_bombs(text: str, label: str) -> None:
    """ConfigError for a text whose aliases stand for more than 100,000 parts. YAMLError where it is no YAML."""
    sizes: dict[str, int] = {}
    around: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((anchor, total))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            opened, before = around.pop()
            sizes |= {opened: total - before} if opened else {}
        elif isinstance(event, yaml.AliasEvent):
            total += sizes.get(str(anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            sizes |= {anchor: 1} if anchor else {}
        if total > MOST_PARTS:
            raise ConfigError(
                f"{label} holds more than {MOST_PARTS:,} parts, aliases written out; make it smaller"
            )
