"""Answers that the gateway gives itself, in the shape that each protocol's clients understand.

The status decides whether a client gives up: what must end a session has to be one that no client repeats
(research with the real programs: 403 ends Messages and Chat clients, 429 `insufficient_quota` the Responses one).
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from bench.gateway.model import Cause, ModelProtocol, ServedModel

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    529: "overloaded_error",
}
_FINAL: frozenset[Cause] = frozenset(
    {
        "budget",
        "too-many-requests",
        "replay-miss",
        "no-scripted-reply",
        "unbounded",
        "not-served",
        "distrusted",
    }
)
_STATUSES: dict[Cause, int] = {
    "too-large": 413,
    "slow-request": 408,
    "bad-request": 400,
    "unknown-path": 404,
    "throttled": 429,
    "unreachable": 502,
    "connection-dropped": 502,
    "stopped": 502,
}


class LocalAnswer(Struct, frozen=True):
    """A whole answer: status, headers, body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def refusal(protocol: ModelProtocol | None, cause: Cause, message: str, wait: float = 0) -> LocalAnswer:
    """The answer to a request that is not carried out; `wait` seconds are for one that may be repeated."""
    status = _status(protocol, cause)
    told = f"incumbent gateway: {message}"
    body = _anthropic_error(status, told) if protocol == "anthropic_messages" else _openai_error(cause, told)
    # the providers' own libraries obey this header
    again = [("retry-after", str(max(1, round(wait))))] if wait else [("x-should-retry", "false")]
    return _json_answer(status, body, tuple(again))


def error_body(protocol: ModelProtocol, status: int, message: str, kind: str | None) -> bytes:
    """A provider's error in its protocol's shape."""
    if protocol == "anthropic_messages":
        shaped = {"type": kind or _ANTHROPIC_TYPES.get(status, "api_error"), "message": message}
        return json.dumps({"type": "error", "error": shaped}, ensure_ascii=False).encode()
    named = kind or (
        "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    )
    error = {"message": message, "type": named, "param": None, "code": kind}
    return json.dumps({"error": error}, ensure_ascii=False).encode()


def model_list(models: Sequence[ServedModel], *, anthropic: bool) -> LocalAnswer:
    """The models that may be asked for."""
    if not anthropic:
        return _json_answer(200, {"object": "list", "data": [_openai_model(each.id) for each in models]})
    listed = [_anthropic_model(each.id) for each in models]
    first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
    return _json_answer(200, {"data": listed, "has_more": False, "first_id": first, "last_id": last})


def one_model(model: ServedModel, *, anthropic: bool) -> LocalAnswer:
    """What is known of one model."""
    return _json_answer(200, _anthropic_model(model.id) if anthropic else _openai_model(model.id))


def counted_tokens(tokens: int) -> LocalAnswer:
    """The answer to a request that only counts."""
    return _json_answer(200, {"input_tokens": tokens})


def _status(protocol: ModelProtocol | None, cause: Cause) -> int:
    if cause in _FINAL:
        return 429 if protocol == "openai_responses" else 403
    return _STATUSES[cause]


def _anthropic_error(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _ANTHROPIC_TYPES[status], "message": message}}


def _openai_error(cause: Cause, message: str) -> dict[str, Any]:
    kind = "insufficient_quota" if cause in _FINAL else "invalid_request_error"
    code = kind if cause in _FINAL else cause.replace("-", "_")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _openai_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "incumbent"}


def _anthropic_model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def _json_answer(status: int, body: dict[str, Any], more: tuple[tuple[str, str], ...] = ()) -> LocalAnswer:
    content = json.dumps(body, ensure_ascii=False).encode()
    return LocalAnswer(status, (("content-type", "application/json"), *more), content)
