import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.redaction import MARKER, Redactor

secrets = st.text(st.characters(exclude_categories=("Cs",)), min_size=8, max_size=20).filter(
    lambda text: text.strip() and text not in MARKER
)

CREDENTIALS = {
    "anthropic": "sk-ant-api03-" + "a1B2" * 8 + "-_x",
    "openai": "sk-proj-" + "Z9y8" * 6,
    "github": "ghp_" + "a1B2c3D4" * 4,
    "github fine-grained": "github_pat_" + "a1B2c3D4" * 4,
    "aws": "AKIA" + "ABCD1234EFGH5678",
}
CARRIERS = {
    "header": ("Authorization: Bearer {}", "opaque/token+1="),
    "header as JSON": ('{{"authorization": "Bearer {}"}}', "opaque.token"),
    "header as JSON in JSON": (r"{{\"authorization\": \"Bearer {}\"}}", "opaque.token"),
    "basic": ("authorization:basic {}", "dXNlcjpwYXNz"),
    "api key": ("x-api-key: {}", "opaque-key-1"),
    "url": ("https://{}@github.com/owner/name.git", "user:p%40ss"),
    "url with an at": ("postgres://{}@db/x", "user:p@ss"),
}


@given(secrets, st.text(), st.text())
def test_no_known_secret_survives_in_any_spelling(secret: str, before: str, after: str) -> None:
    spellings = (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))
    for spelling in spellings:
        shown = Redactor([secret]).text(before + spelling + after)
        assert all(each not in shown for each in spellings)


@given(st.lists(secrets, max_size=3), st.text())
def test_text_and_bytes_are_redacted_alike(known: list[str], filling: str) -> None:
    text = filling.join(("", *known, *CREDENTIALS.values(), "authorization: bearer \xa0x\u2028y")).encode(
        "utf-8", "ignore"
    )
    redactor = Redactor(known)
    assert redactor.bytes(text) == redactor.text(text.decode()).encode()


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS.keys())
@pytest.mark.parametrize("around", [("", ""), ('"', '"'), ("key=", "\n"), ("(", ")"), ("_", " ")])
def test_what_looks_like_a_credential_is_replaced(credential: str, around: tuple[str, str]) -> None:
    assert Redactor().text(credential.join(around)) == MARKER.join(around)


@pytest.mark.parametrize(("carrier", "secret"), CARRIERS.values(), ids=CARRIERS.keys())
def test_what_stands_where_credentials_stand_is_replaced(carrier: str, secret: str) -> None:
    assert Redactor().text(carrier.format(secret)) == carrier.format(MARKER)


@pytest.mark.parametrize(
    "harmless",
    [
        "the task-runner-for-long-names-of-tasks failed",
        "authorization: the check is missing",
        "see https://example.org/a@b and mail me@example.org",
        "AKIA is a prefix",
        "[redacted]",
        "",
    ],
)
def test_what_is_no_credential_stays(harmless: str) -> None:
    assert Redactor(["", "  "]).text(harmless) == harmless


def test_overlapping_secrets_leave_no_part_of_either() -> None:
    assert Redactor(["abcdefgh", "efghijkl"]).text("<abcdefghijkl>") == f"<{MARKER}>"


def test_a_secret_that_overlaps_itself_leaves_no_part() -> None:
    assert Redactor(["abababab"]).text("<ababababab>") == f"<{MARKER}>"


def test_a_known_secret_inside_a_token_does_not_let_the_rest_through() -> None:
    token = "sk-ant-" + "abcd" * 6
    assert Redactor(["abcdabcd"]).text(f"<{token}>") == f"<{MARKER}>"


def test_bytes_that_are_no_text_are_redacted_all_the_same() -> None:
    assert (
        Redactor(["säcret12"]).bytes(b"\xff\x00" + "säcret12".encode() + b"\xfe") == b"\xff\x00[redacted]\xfe"
    )


@pytest.mark.parametrize("unit", ["a", "sk-", "://", "://a", "authorization: ", "\\\"'", "://u:p"])
def test_a_long_hostile_text_is_done_in_one_go(unit: str) -> None:
    assert len(Redactor(["never-there"]).text(unit * (200_000 // len(unit)))) > 0
