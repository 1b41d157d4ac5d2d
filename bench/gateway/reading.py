"""Reading usage out of an answer while its bytes pass by: incrementally, in bounded memory, changing nothing."""

from typing import Any, Protocol

import msgspec
from msgspec import Struct

from bench.gateway.model import Cause, ModelProtocol

# An event or a whole answer that is larger is passed on, but not understood.
LARGEST_EVENT = 16 * 1024 * 1024
_LINE_END = b"\n"


class Reading(Struct, frozen=True, kw_only=True):
    """What an answer stated. `complete` only if it came to its own end, once."""

    native: dict[str, Any] | None
    served: str | None
    complete: bool
    cause: Cause | None = None
    detail: str = ""


class AnswerReader(Protocol):
    """Takes the bytes of one answer."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes; never raises on what a provider sends."""
        ...

    def close(self) -> Reading:
        """What was stated, once there are no more."""
        ...


def reader_for(protocol: ModelProtocol, content_type: str) -> AnswerReader:
    """A reader for an answer of this media type."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return StreamReader(protocol)
    if kind == "application/json":
        return WholeReader()
    return _StrangeReader(kind)


class _Found:
    """The notebook of a reader."""

    def __init__(self) -> None:
        self.native: dict[str, Any] | None = None
        self.served: str | None = None
        self.terminals = 0
        self.cause: Cause | None = None
        self.detail = ""

    def fault(self, cause: Cause, detail: str) -> None:
        """Keep the first fault."""
        if self.cause is None:
            self.cause, self.detail = cause, detail

    def add_usage(self, usage: Any) -> None:
        """Later fields replace earlier ones: providers state running totals."""
        if isinstance(usage, dict):
            self.native = (self.native or {}) | usage

    def name_model(self, model: Any) -> None:
        if isinstance(model, str) and self.served is None:
            self.served = model

    def reading(self) -> Reading:
        if self.cause is None and self.terminals == 0:
            self.fault("stream-cut", "the answer ended before its last event")
        return Reading(
            native=self.native,
            served=self.served,
            complete=self.cause is None,
            cause=self.cause,
            detail=self.detail,
        )


class StreamReader:
    """Reads server-sent events."""

    def __init__(self, protocol: ModelProtocol) -> None:
        self._protocol = protocol
        self._found = _Found()
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        *lines, rest = data.split(_LINE_END)
        for line in lines:
            self._line += line
            self._take(bytes(self._line))
            self._line.clear()
        self._line += rest
        if len(self._line) > LARGEST_EVENT:
            self._too_large()
            self._line.clear()

    def close(self) -> Reading:
        """What the stream stated. An event without the blank line that ends it was cut."""
        return self._found.reading()

    def _take(self, line: bytes) -> None:
        line = line.removesuffix(b"\r")
        if line.startswith(b"data:"):
            self._size += len(line)
            if self._size > LARGEST_EVENT:
                self._too_large()
            else:
                self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            self._event(_LINE_END.join(self._data))
            self._data.clear()
            self._size = 0

    def _too_large(self) -> None:
        self._data.clear()
        self._found.fault("malformed", f"an event is larger than {LARGEST_EVENT} bytes")

    def _event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self._terminal("[DONE]")
            return
        if b'"usage"' not in data and b'"delta"' in data and self._found.served is not None:
            return  # most events: text that says nothing of usage
        try:
            event = msgspec.json.decode(data)
        except (ValueError, RecursionError):
            self._found.fault("malformed", "an event of the stream is no JSON")
            return
        if isinstance(event, dict):
            self._read(event)
        else:
            self._found.fault("malformed", "an event of the stream is no JSON object")

    def _read(self, event: dict[str, Any]) -> None:
        match self._protocol:
            case "anthropic_messages":
                self._read_anthropic(event)
            case "openai_responses":
                self._read_responses(event)
            case "openai_chat":
                self._read_chat(event)

    def _read_anthropic(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            message = _part(event, "message")
            self._found.name_model(message.get("model"))
            self._found.add_usage(message.get("usage"))
        elif kind == "message_delta":
            self._found.add_usage(event.get("usage"))
        elif kind == "message_stop":
            self._terminal(kind)
        elif kind == "error":
            self._found.fault("provider-error", f"the stream says: {_message(event)}")

    def _read_responses(self, event: dict[str, Any]) -> None:
        kind, response = event.get("type"), _part(event, "response")
        self._found.name_model(response.get("model"))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self._terminal(str(kind))
            self._found.add_usage(response.get("usage"))
        if kind in ("error", "response.failed"):
            self._found.fault("provider-error", f"the stream says: {_message(response or event)}")

    def _read_chat(self, event: dict[str, Any]) -> None:
        self._found.name_model(event.get("model"))
        self._found.add_usage(event.get("usage"))
        if event.get("error"):
            self._found.fault("provider-error", f"the stream says: {_message(event)}")

    def _terminal(self, name: str) -> None:
        self._found.terminals += 1
        if self._found.terminals > 1:
            self._found.fault("two-terminals", f"a second {name}")


class WholeReader:
    """Reads an answer that is one JSON object."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._found = _Found()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if len(self._body) + len(data) > LARGEST_EVENT:
            self._found.fault("malformed", f"the answer is larger than {LARGEST_EVENT} bytes")
            return
        self._body += data

    def close(self) -> Reading:
        """What the object states."""
        try:
            answer = msgspec.json.decode(self._body)
        except (ValueError, RecursionError):
            self._found.fault("malformed", "the answer is no JSON, or was cut")
            return self._found.reading()
        if isinstance(answer, dict):
            self._found.terminals = 1
            self._found.name_model(answer.get("model"))
            self._found.add_usage(answer.get("usage"))
        else:
            self._found.fault("malformed", "the answer is no JSON object")
        return self._found.reading()


class _StrangeReader:
    """For what is neither events nor JSON: an HTML page of some proxy, mostly."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def feed(self, data: bytes) -> None:
        """Look at nothing."""

    def close(self) -> Reading:
        detail = f"the answer is {self._kind or 'of no stated type'}, neither JSON nor events"
        return Reading(native=None, served=None, complete=False, cause="not-the-protocol", detail=detail)


def _part(value: dict[str, Any], name: str) -> dict[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _message(value: dict[str, Any]) -> str:
    error = _part(value, "error")
    return str(error.get("message") or value.get("message") or error.get("type") or "an error")[:300]
