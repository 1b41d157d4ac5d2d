"""What a measurement depends on of this program: what it needs, and nothing else that is installed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bench.harness import Harness, first_difference, read_harness

NAMES = st.sampled_from(["hydra-core", "msgspec", "pyyaml"])
VERSIONS = st.sampled_from(["1.0", "2.0", "3.0"])
HARNESSES = st.builds(
    Harness,
    python=VERSIONS,
    distributions=st.dictionaries(NAMES, VERSIONS),
    code=st.dictionaries(NAMES, VERSIONS),
)


def install(folder: Path, name: str, version: str, requires: Sequence[str] = (), points: str = "") -> None:
    """A distribution as an installer leaves it."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    lines = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {each}" for each in requires),
    ]
    (metadata / "METADATA").write_text("\n".join(lines) + "\n")
    (metadata / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_package_that_nothing_here_needs_changes_nothing(site: Path) -> None:
    before = read_harness()
    install(site, "unrelated", "1.0", ["msgspec"])
    assert read_harness() == before


def test_a_needed_package_of_another_version_is_named_with_both(site: Path) -> None:
    before = read_harness()
    install(site, "msgspec", "99.0")
    said = first_difference(before, read_harness())
    assert said == f"harness: msgspec {before.distributions['msgspec']}, now 99.0"


def test_what_a_needed_package_needs_is_covered_also_through_an_extra(site: Path) -> None:
    install(
        site,
        "msgspec",
        "99.0",
        ["direct", "wide[more]", 'never; python_version < "3"', 'optional; extra == "x"'],
    )
    install(site, "wide", "1.0", ['deep; extra == "more"', 'other; extra == "less"'])
    for name in ("direct", "deep", "other", "never", "optional"):
        install(site, name, "1.0")
    found = read_harness().distributions
    assert {"direct", "wide", "deep"} <= found.keys()
    assert not {"never", "optional", "other"} & found.keys()


def test_an_extension_that_is_used_is_covered_with_its_code_and_what_it_needs(site: Path) -> None:
    install(site, "my-agent", "1.0", ["its-library"], "[incumbent.agents]\nmine = my_agent.adapter:MINE\n")
    install(site, "its-library", "3.0")
    code = site / "my_agent" / "adapter.py"
    code.parent.mkdir()
    (code.parent / "__init__.py").write_text("")
    code.write_text("MINE = 1\n")
    used = (("agents", "mine"), ("sandboxes", "host"))
    before, without = read_harness(used), read_harness((("agents", "command"),))
    assert (before.distributions["my-agent"], before.distributions["its-library"]) == ("1.0", "3.0")
    assert "my-agent" not in without.distributions
    code.write_text("MINE = 2\n")
    assert first_difference(before, read_harness(used)) == "harness: my-agent's own code was changed"
    assert read_harness((("agents", "command"),)) == without


def test_own_code_is_named(site: Path) -> None:
    now = read_harness()
    before = structs.replace(now, code={"incumbent": "other"})
    assert first_difference(before, now) == "harness: incumbent's own code was changed"


@given(HARNESSES, HARNESSES)
def test_a_difference_is_named_exactly_where_the_digests_differ(one: Harness, other: Harness) -> None:
    assert (first_difference(one, other) is None) == (one.digest == other.digest)


def test_older_plans_that_do_not_know_their_harness_name_nothing() -> None:
    assert first_difference(None, read_harness()) is None
