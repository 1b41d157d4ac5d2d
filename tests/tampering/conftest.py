"""One ground for all cells of these tests."""

from collections.abc import Iterator

import pytest

from tests.tampering.tiny_project import Range, open_range


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with open_range(tmp_path_factory.mktemp("tampering")) as opened:
        yield opened
