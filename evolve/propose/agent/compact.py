"""Evidence made small enough to be read: long text loses its middle, long streams their beginning. Pure."""

import json
from typing import Any

LONGEST_TEXT = 4096  # characters of one string in a transcript
_UNREAD = frozenset({"signature"})


def compact_text(content: bytes, most: int) -> bytes:
    """The first and last halves of what is longer than `most` bytes, around a line that says how much is missing."""
    if len(content) <= most:
        return content
    marker = f"\n[compacted: {len(content)} bytes in all]\n".encode()
    room = max(most - len(marker), 0)
    tail = room // 2
    whole = content[: room - tail] + marker + (content[-tail:] if tail else b"")
    return whole[:most]


def compact_transcript(content: bytes, most: int) -> bytes:
    """The newest whole events that fit into `most` bytes, in their order; long strings in them lose their middle.
    What is no JSON is taken as text. Empty if not even the last event fits.
    """
    kept: list[bytes] = []
    size = 0
    for line in reversed(content.split(b"\n")):
        if not line.strip():
            continue
        event = _event(line) + b"\n"
        if size + len(event) > most:
            break
        kept.append(event)
        size += len(event)
    return b"".join(reversed(kept))


def _event(line: bytes) -> bytes:
    try:
        value = json.loads(line)
        return json.dumps(_shortened(value), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        text = _short(line.decode("utf-8", "replace"))
        return json.dumps({"type": "text", "text": text}, ensure_ascii=False).encode("utf-8", "replace")


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict):
        return {_short(name): _shortened(each) for name, each in value.items() if name not in _UNREAD}
    return [_shortened(each) for each in value] if isinstance(value, list) else value


def _short(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]}[… {len(text) - 2 * half} characters …]{text[-half:]}"
