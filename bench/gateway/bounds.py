"""The proof of a request's ceiling, made before anything is forwarded.

A token is at least one byte of what is sent, as every tokenizer in use falls back to bytes at worst. To the bytes
of the body comes what a provider writes around them, and what is small in bytes but not in tokens (pictures,
documents) counts as a full context window. What a provider would fetch, look up or run on its own has no bound,
and would be a way out of the cell: it is refused, budget or not.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bench.gateway.model import Cause, Ceiling, ModelProtocol, ServedModel

# What a provider puts around a request: the frame of its messages and its own words on the use of tools.
HIDDEN_TOKENS = 2048

_LIMIT_NAMES: Mapping[ModelProtocol, tuple[str, ...]] = {
    "anthropic_messages": ("max_tokens",),
    "openai_responses": ("max_output_tokens",),
    "openai_chat": ("max_completion_tokens", "max_tokens"),
}
# Kept by the provider between requests, or carried out by it.
_REMOTE: Mapping[ModelProtocol, tuple[str, ...]] = {
    "anthropic_messages": ("mcp_servers", "container"),
    "openai_responses": ("previous_response_id", "conversation", "background", "prompt"),
    "openai_chat": ("web_search_options", "plugins"),
}
_DEAR = {"service_tier": ("priority",), "speed": ("fast",)}
# Tools that the client carries out, by the beginning of their type. Any other is the provider's.
_CLIENT_TOOLS = (
    "function", "custom", "bash_", "text_editor_", "computer_", "memory_", "local_shell", "shell",
    "apply_patch", "tool_search", "namespace",
)  # fmt: skip
_REFERENCES = frozenset({"file_id", "file_url"})
_MEDIA = frozenset(
    {
        "image",
        "document",
        "input_image",
        "input_file",
        "image_url",
        "input_audio",
        "file",
        "computer_screenshot",
    }
)
# Only these spellings can hold a reference or a medium; a body without them is not walked.
_WALK = re.compile(
    rb'"(?:file_id|file_url|image|document|input_image|input_file|image_url|input_audio|file|'
    rb'computer_screenshot|item_reference|compact_\w*)"'
)
_DECISIVE = re.compile(
    rb'"(max_tokens|max_output_tokens|max_completion_tokens|model|n|stream|service_tier|speed|tools)"\s*:'
)
# an escaped half of a surrogate pair without its other half, after an even number of backslashes
_LONE_HALF = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_ESCAPED_NAME = re.compile(rb"\\u00[2-7]")


class Unbounded(Struct, frozen=True):
    """Why a request is refused."""

    cause: Cause
    reason: str


def parse_request(body: bytes) -> dict[str, Any] | Unbounded:
    """The JSON object of a request. What two readers could understand differently is refused."""
    try:
        request = _decoded(body)
        if isinstance(request, dict) and _may_repeat(body):
            _refuse_repetition(body)
    except (ValueError, RecursionError) as error:
        return Unbounded("bad-request", f"the body is no JSON that can be passed on: {error}")
    if not isinstance(request, dict):
        return Unbounded("bad-request", "the body is no JSON object")
    return request


def _decoded(body: bytes) -> Any:
    """The value of a body. Halves of surrogate pairs, which JavaScript programs send, are no text for this reader."""
    try:
        return msgspec.json.decode(body)
    except ValueError:
        return msgspec.json.decode(_LONE_HALF.sub(rb"\1\\ufffd", body))


def prove(
    protocol: ModelProtocol, body: bytes, request: Mapping[str, Any], models: Mapping[str, ServedModel]
) -> Ceiling | Unbounded:
    """The most that this request can be charged for, or why nobody can say."""
    model = models.get(request["model"]) if isinstance(request.get("model"), str) else None
    if model is None:
        known = ", ".join(sorted(models))
        return Unbounded("not-served", f"model {request.get('model')!r} is not served here, only {known}")
    reason = _remote(protocol, request) or _dear(request) or _provider_tool(request)
    media = False
    if reason is None and (_WALK.search(body) or _ESCAPED_NAME.search(body)):
        reason, media = _content(request)
    if reason is not None:
        return Unbounded("unbounded", reason)
    return _ceiling(protocol, len(body), request, model, media=media)


def _ceiling(
    protocol: ModelProtocol, size: int, request: Mapping[str, Any], model: ServedModel, *, media: bool
) -> Ceiling | Unbounded:
    if media and model.context is None:
        return Unbounded(
            "unbounded", f"it holds a picture or document, and the context window of {model.id} is unknown"
        )
    output = _most_output(protocol, request, model)
    if isinstance(output, Unbounded):
        return output
    text = size + HIDDEN_TOKENS
    known = text if model.context is None else model.context if media else min(text, model.context)
    return Ceiling(model=model.id, input_tokens=known, output_tokens=output)


def _most_output(protocol: ModelProtocol, request: Mapping[str, Any], model: ServedModel) -> int | Unbounded:
    """The request's own limit, else the model's; times the answers that it wants."""
    stated = [request[name] for name in _LIMIT_NAMES[protocol] if request.get(name) is not None]
    if not all(_positive(value) for value in stated):
        return Unbounded("bad-request", f"its limit of output tokens is {stated!r}, no positive integer")
    # two limits: nobody says which one a server obeys
    limit = max(stated, default=model.most_output)
    if limit is None:
        name = _LIMIT_NAMES[protocol][0]
        return Unbounded(
            "unbounded",
            f"it sets no {name}, and the most that {model.id} writes is unknown; set one of the two",
        )
    answers = request.get("n", 1) if protocol == "openai_chat" else 1
    if not _positive(answers):
        return Unbounded("bad-request", f"n is {answers!r}, no positive integer")
    return int(limit) * int(answers)


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _remote(protocol: ModelProtocol, request: Mapping[str, Any]) -> str | None:
    found = [name for name in _REMOTE[protocol] if request.get(name)]
    return f"`{found[0]}` reaches beyond the request" if found else None


def _dear(request: Mapping[str, Any]) -> str | None:
    found = [name for name, values in _DEAR.items() if request.get(name) in values]
    return f"`{found[0]}`={request[found[0]]} has a price of its own" if found else None


def _provider_tool(request: Mapping[str, Any]) -> str | None:
    """The first tool that the provider would carry out, and not the agent."""
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        kind = tool.get("type", "custom") if isinstance(tool, dict) else "custom"
        if not str(kind).startswith(_CLIENT_TOOLS):
            return f"the tool {str(kind)!r} is carried out by the provider, outside the cell"
    return None


def _content(request: Mapping[str, Any]) -> tuple[str | None, bool]:
    """What in the content refers to something outside, and whether there is a picture or document in it."""
    media = False
    for node in _nodes(request):
        reason = _reference(node)
        if reason is not None:
            return reason, media
        media = media or node.get("type") in _MEDIA
    return None, media


def _reference(node: Mapping[str, Any]) -> str | None:
    kind = node.get("type")
    if kind == "item_reference" or str(kind).startswith("compact_"):
        return f"`{kind}` reaches beyond the request"
    if any(isinstance(node.get(name), str) for name in _REFERENCES):
        return "it refers to a file that the provider keeps or fetches"
    address = node.get("image_url") if kind in ("input_image", "image_url") else None
    address = address.get("url") if isinstance(address, dict) else address
    if kind == "url" and isinstance(node.get("url"), str):
        address = node["url"]
    if isinstance(address, str) and not address.startswith("data:"):
        return "it refers to an address that the provider would fetch"
    return None


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value, without recursion: its depth is a stranger's choice."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            yield current
            waiting.extend(each for each in current.values() if isinstance(each, dict | list))
        else:
            waiting.extend(each for each in current if isinstance(each, dict | list))


def _may_repeat(body: bytes) -> bool:
    """Whether a decisive name can stand twice at the top; in doubt, yes."""
    counts = Counter(_DECISIVE.findall(body))
    return any(number > 1 for number in counts.values()) or _ESCAPED_NAME.search(body) is not None


def _refuse_repetition(body: bytes) -> None:
    """ValueError for an object that has one name twice: readers differ on which one counts."""
    json.loads(body, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        raise ValueError(f"the name {twice!r} stands twice in one object")
    return found
