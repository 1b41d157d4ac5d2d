"""What never enters a configuration: credentials, code, and values that depend on when or where it is read."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.config.complaint import Complaint, KeyPath
from bench.errors import ConfigError
from bench.redaction import CREDENTIALS

_TELLING = (
    r"(?:token|secret|password|passwd|passphrase|credentials?|authorization|(?:api|access|private)[_-]?key)"
)
_SECRET_KEY = re.compile(rf"[\w-]*{_TELLING}", re.IGNORECASE)
_SECRET_ASSIGNMENT = re.compile(
    rf"(?:^|[^\w-])[\w-]*{_TELLING}['\"]?\s*[=:]\s*['\"]?[^\s,}}\]'\"]{{8,}}", re.IGNORECASE
)
_SECRET_CALL = re.compile(r"\$\{\s*secret\s*:\s*([A-Za-z_]\w*)\s*\}")
_REFERENCE = re.compile(r"secret://env/[A-Za-z_]\w*")
_INNERMOST = re.compile(r"\$\{([^${}]*)\}")
_KEY = re.compile(r"[~+]{0,2}[A-Za-z_][\w.@/]{0,63}")
_SHORTEST_SECRET = 8

NO_REFERENCE = (
    "holds a ${ that refers to no key; prompts and commands belong in files, which are read as they are"
)
_REMEDY = (
    "put it into an environment variable and refer to it as ${secret:NAME}; "
    "only its name is then kept, never its value"
)


def refuse_credentials(overrides: Sequence[str]) -> None:
    """ConfigError when an override looks like a credential. The message holds nothing of its value."""
    for position, override in enumerate(overrides, start=1):
        kind = _credential(override)
        if kind is None and _SECRET_ASSIGNMENT.search(_REFERENCE.sub("", reference_secrets(override))):
            kind = "a secret, by its key's name"
        if kind:
            name = _harmless_key(override) or f"override {position}"
            raise ConfigError(f"{name} looks like {kind}; nothing was written\n  {_REMEDY}")


def _harmless_key(override: str) -> str | None:
    """The key of an override, unless it could be the credential itself."""
    key, equals, _value = override.partition("=")
    return key if equals and _KEY.fullmatch(key) and _credential(key) is None else None


def reference_secrets(content: Any) -> Any:
    """`content` with every ${secret:NAME} as the text secret://env/NAME, which only the gateway looks up."""
    if isinstance(content, str):
        return _SECRET_CALL.sub(r"secret://env/\1", content)
    if isinstance(content, dict):
        return {key: reference_secrets(value) for key, value in content.items()}
    return [reference_secrets(value) for value in content] if isinstance(content, list) else content


def content_complaints(content: Any, path: KeyPath = ()) -> Iterator[Complaint]:
    """Complaints on a file's or an override's content before anything in it is resolved."""
    for where, value in _walk(content, path):
        if where and where[-1] == "_target_":
            yield Complaint(where, "_target_ is not supported: configuration never names code to call")
        elif isinstance(value, str) and (complaint := interpolation_complaint(value)):
            yield Complaint(where, complaint)


def interpolation_complaint(text: str) -> str | None:
    """What is wrong with the `${…}` in `text`, where secrets are referenced already: only keys may be referred to."""
    rest = text
    while match := _INNERMOST.search(rest):
        name, colon, _argument = match[1].partition(":")
        if name.strip() == "secret":
            return "${secret:…} takes the name of an environment variable"
        if colon:
            return (
                f"${{{name.strip()}:…}} is not supported: what a run depends on stands in the configuration; "
                "refer to a key as ${key}, to a secret as ${secret:NAME}"
            )
        rest = rest[: match.start()] + "_" + rest[match.end() :]
    return NO_REFERENCE if "${" in rest else None


def value_complaints(values: Any) -> Iterator[Complaint]:
    """Complaints on resolved values: credentials, keys that are no text, and what JSON cannot hold."""
    for where, value in _walk(values, ()):
        if isinstance(value, dict):
            yield from (
                Complaint(where, f"the key {key!r} is not text; write it in quotes")
                for key in value
                if not isinstance(key, str)
            )
        elif isinstance(value, str):
            yield from _secret_value(where, value)
        elif isinstance(value, float) and not math.isfinite(value):
            yield Complaint(where, f"{value} is no number that can be kept")
        elif value is not None and not isinstance(value, bool | int | float | list):
            yield Complaint(where, f"a value of the type {type(value).__name__} cannot be kept")


def missing_paths(content: Any) -> list[KeyPath]:
    """The paths whose value is still to be given (`???`)."""
    return [where for where, value in _walk(content, ()) if value == "???"]


def _secret_value(where: KeyPath, value: str) -> Iterable[Complaint]:
    kind = _credential(value)
    named_secret = bool(where) and isinstance(where[-1], str) and _SECRET_KEY.fullmatch(where[-1])
    if kind is None and named_secret and len(_REFERENCE.sub("", value)) >= _SHORTEST_SECRET:
        kind = "a secret, by its key's name"
    if kind:
        yield Complaint(where, f"looks like {kind}; {_REMEDY}")


def _credential(text: str) -> str | None:
    return next((kind for kind, shape in CREDENTIALS.items() if re.search(shape, text)), None)


def _walk(content: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    yield path, content
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _walk(value, (*path, key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from _walk(value, (*path, index))
