"""Finding what is installed by its name, with real distributions on the path."""

from pathlib import Path

import pytest

from bench.errors import ExtensionError
from bench.extensions import load_extension


def install(folder: Path, distribution: str, entry_points: str) -> None:
    """A distribution as an installer leaves it: metadata with entry points."""
    metadata = folder / f"{distribution}-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_an_installed_extension_is_found_by_its_name(site: Path) -> None:
    install(site, "oracle-of-delphi", "[incumbent.seers]\npythia = json:loads\n")

    assert load_extension("seers", "pythia")("[1]") == [1]


def test_an_unknown_name_is_refused_with_all_that_there_are(site: Path) -> None:
    install(site, "seers", "[incumbent.seers]\npythia = json:loads\nsibyl = json:dumps\n")

    with pytest.raises(ExtensionError) as refused:
        load_extension("seers", "pythja")

    assert str(refused.value) == (
        "nothing is registered as 'pythja' under incumbent.seers; did you mean 'pythia'?\n"
        "  registered there: pythia, sibyl"
    )


@pytest.mark.usefixtures("site")
def test_a_group_without_extensions_says_so() -> None:
    with pytest.raises(ExtensionError, match="registered there: nothing"):
        load_extension("seers", "pythia")


def test_a_name_that_two_distributions_register_is_refused_naming_both(site: Path) -> None:
    for distribution in ("delphi", "cumae"):
        install(site, distribution, "[incumbent.seers]\npythia = json:loads\n")

    with pytest.raises(ExtensionError, match="more than once: cumae, delphi; uninstall one"):
        load_extension("seers", "pythia")


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("agents", "rulebook"),
        ("agents", "command"),
        ("sandboxes", "host"),
        ("sandboxes", "bubblewrap"),
        ("proposers", "learnings"),
        ("proposers", "manual"),
        ("policies", "threshold_review"),
    ],
)
def test_what_this_project_registers_can_be_loaded(group: str, name: str) -> None:
    assert load_extension(group, name).options_schema["type"] == "object"
