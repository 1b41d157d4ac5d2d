"""What this program is, as far as a measurement depends on it: its own code, the Python, what it is built on."""

import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import bench as package
from bench.digest import digest_bytes, digest_json, digest_tree
from bench.extensions import find_extension

OWN = "incumbent"
_Asked = tuple[str, frozenset[str]]  # a distribution, and the extras of it that are asked for


class Harness(Struct, frozen=True, kw_only=True):
    """The version of each distribution that `incumbent` and the extensions in use need, those of theirs included;
    the digest of the code of `incumbent` and of each extension that another distribution brings; the Python.
    """

    python: str
    distributions: dict[str, str]
    code: dict[str, str]

    @property
    def digest(self) -> str:
        """What a row's provenance says."""
        return digest_json(self)


def read_harness(extensions: Iterable[tuple[str, str]] = ()) -> Harness:
    """The harness as it is installed now. `extensions` are those in use, as (group, name) of their entry points."""
    code = {OWN: digest_tree(Path(package.__file__).parent, suffixes=(".py",))}
    roots = [OWN]
    for group, name in extensions:
        point = find_extension(group, name)
        owner = canonicalize_name(point.dist.name) if point.dist else point.module
        if owner != OWN:
            roots.append(owner)
            code[owner] = _code_of(point.module)
    return Harness(python=sys.version, distributions=_closure(roots), code=code)


def first_difference(before: Harness | None, now: Harness | None) -> str | None:
    """What is no longer as it was, with both versions where it has some; None if nothing is, or nobody knows."""
    if before is None or now is None:
        return None
    found = [*_differences(before, now)]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"harness: {found[0]}{more}" if found else None


def _differences(before: Harness, now: Harness) -> Iterator[str]:
    for name in sorted({*before.distributions, *now.distributions}):
        old, new = before.distributions.get(name), now.distributions.get(name)
        if old != new:
            yield f"{name} {old or 'not installed'}, now {new or 'not installed'}"
    if before.python != now.python:
        yield f"Python {_one_line(before.python)}, now {_one_line(now.python)}"
    for name in sorted({*before.code, *now.code}):
        if before.code.get(name) != now.code.get(name):
            yield f"{name}'s own code was changed"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _closure(roots: Iterable[str]) -> dict[str, str]:
    """The versions of these distributions and of all that they need; what is not installed is left out."""
    versions: dict[str, str] = {}
    seen: set[_Asked] = set()
    left: list[_Asked] = [(root, _installed_extras(root)) for root in roots]
    while left:
        asked = left.pop()
        if asked in seen:
            continue
        seen.add(asked)
        found = _find(asked[0])
        if found is not None:
            versions[asked[0]] = found.version
            left += [
                (canonicalize_name(needed.name), frozenset(needed.extras))
                for needed in _needs(found, asked[1])
            ]
    return dict(sorted(versions.items()))


def _installed_extras(name: str) -> frozenset[str]:
    """The extras of which everything is installed in a version that fits."""
    found = _find(name)
    extras = (found.metadata.get_all("Provides-Extra") or []) if found else []
    return frozenset(extra for extra in extras if found and _is_installed(found, extra))


def _is_installed(found: Distribution, extra: str) -> bool:
    plain = {str(each) for each in _needs(found, frozenset())}
    added = [each for each in _needs(found, frozenset({extra})) if str(each) not in plain]
    return all(
        (needed := _find(canonicalize_name(each.name))) is not None
        and each.specifier.contains(needed.version, prereleases=True)
        for each in added
    )


def _needs(found: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    """What a distribution needs on this platform, alone and with the extras."""
    for line in found.requires or ():
        try:
            needed = Requirement(line)
        except InvalidRequirement:
            continue
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *sorted(extras))):
            yield needed


def _find(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _code_of(module: str) -> str:
    """Digest of the Python files of the package, or of the module, that an entry point names."""
    spec = find_spec(module.partition(".")[0])
    places = list(spec.submodule_search_locations or ()) if spec else []
    if places:
        return digest_json([digest_tree(Path(place), suffixes=(".py",)) for place in places])
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return ""
    return digest_bytes(Path(spec.origin).read_bytes())
