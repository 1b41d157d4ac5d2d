"""The one redaction function: what no row, artifact, transcript, log or message may hold."""

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

MARKER = "[redacted]"

PASSWORD = "a password in an address"  # noqa: S105 - its name, not one
# What a credential looks like, by what it is. ASCII only, so that the same rules hold for text and its bytes.
# Each begins with its letters and looks behind them only then: the letters are found ten times as fast.
CREDENTIALS = {
    "an API key (sk-…)": r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}",
    "a GitHub token": r"gh(?<![A-Za-z0-9]gh)[opsur]_[A-Za-z0-9]{16,}|github_pat_(?<![A-Za-z0-9]github_pat_)[A-Za-z0-9_]{16,}",
    "a GitLab token": r"glpat-(?<![A-Za-z0-9]glpat-)[A-Za-z0-9_-]{16,}",
    "an AWS key": r"A(?<![A-Za-z0-9]A)(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Z])",
    "a Google API key": r"AIza(?<![A-Za-z0-9]AIza)[0-9A-Za-z_-]{35}",
    "a Slack token": r"xox(?<![A-Za-z0-9]xox)[a-z]-[A-Za-z0-9-]{10,}",
    "a Hugging Face token": r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,}",
    "a package index token": r"npm_(?<![A-Za-z0-9]npm_)[A-Za-z0-9]{30,}|pypi-(?<![A-Za-z0-9]pypi-)[A-Za-z0-9_-]{30,}",
    "a JSON web token": r"eyJ(?<![A-Za-z0-9]eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "a bearer token": r"(?i:\bbearer)\s{1,8}[A-Za-z0-9._~+/-]{16,}",
    "a private key": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,8192}",
    PASSWORD: r"://[^/\s:@]{0,256}:[^/\s:@]{1,256}@",
}
# Group 1, where there is one, is the secret.
_PATTERNS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        *(shape for kind, shape in CREDENTIALS.items() if kind != PASSWORD),
        r"""(?i:authorization)[\\"']*\s{0,8}[:=]\s{0,8}[\\"']*(?i:bearer|basic|token)\s{1,8}([^\s"'\\,]+)""",
        r"""(?i:x-api-key)[\\"']*\s{0,8}[:=]\s{0,8}[\\"']*([^\s"'\\,]{8,})""",
        r"""://([^\s/?#"'<>]+)@""",
    )
)

_Spans = Iterator[tuple[int, int]]


class Redactor:
    """Replaces the secrets it is told of, wherever they stand, and whatever looks like a credential."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {spelling for secret in secrets if secret.strip() for spelling in _spellings(secret)}
        self._secrets = tuple(sorted(spelling for spelling in spellings if spelling not in MARKER))
        self._secret_bytes = tuple(_as_bytes(spelling) for spelling in self._secrets)

    def text(self, text: str) -> str:
        """`text` with every secret replaced by a marker."""
        return _redacted(text, self._secrets)

    def bytes(self, content: bytes) -> bytes:
        """The same for bytes, whatever their encoding; secrets are looked for in UTF-8."""
        return _redacted(content.decode("latin-1"), self._secret_bytes).encode("latin-1")


def _spellings(secret: str) -> set[str]:
    """A secret as it is, within JSON text and within a URL."""
    escaped = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {secret, *escaped, quote(secret, safe="", errors="surrogatepass")}


def _as_bytes(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _redacted(text: str, secrets: tuple[str, ...]) -> str:
    if not text:
        return text
    parts, done = [], 0
    for start, end in _merged(sorted([*_of_secrets(text, secrets), *_of_patterns(text)])):
        parts += [text[done:start], MARKER]
        done = end
    return "".join((*parts, text[done:]))


def _of_secrets(text: str, secrets: tuple[str, ...]) -> _Spans:
    """Every occurrence, overlapping ones too."""
    for secret in secrets:
        start = text.find(secret)
        while start >= 0:
            yield start, start + len(secret)
            start = text.find(secret, start + 1)


def _of_patterns(text: str) -> _Spans:
    for pattern in _PATTERNS:
        group = 1 if pattern.groups else 0
        yield from (found.span(group) for found in pattern.finditer(text))


def _merged(spans: list[tuple[int, int]]) -> _Spans:
    """Overlapping or touching spans as one, so that no part of a secret stands beside another's marker."""
    current: tuple[int, int] | None = None
    for start, end in spans:
        if current and start <= current[1]:
            current = (current[0], max(current[1], end))
            continue
        if current:
            yield current
        current = (start, end)
    if current:
        yield current
