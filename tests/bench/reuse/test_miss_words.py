"""Why a cell has no earlier row is said in a reader's words."""

from typing import get_args

import pytest

from bench.reuse import Miss, miss_words


@pytest.mark.parametrize("reason", get_args(Miss))
def test_no_reason_is_shown_by_its_internal_name(reason: str) -> None:
    assert miss_words(reason) != reason
    assert "." not in miss_words(f"{reason}: provenance.skill")


def test_what_differs_is_named() -> None:
    assert miss_words("differs: provenance.skill") == "the skill is another one"
    assert miss_words("unknown: identity.model") == "the model is not known"
