"""How a model tells each agent to use a skill and to write a file. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Gestures(Struct, frozen=True):
    """Two calls of tools. <skill> stands for a skill's name, <folder> for where the cells' skills lie, <path>
    and <content> for a file.
    """

    skill: Mapping[str, Any]
    write: Mapping[str, Any]

    def use(self, skill: str, folder: str) -> dict[str, Any]:
        """The call by which the model uses a skill."""
        return _filled(self.skill, skill=skill, folder=folder)

    def put(self, path: str, content: str) -> dict[str, Any]:
        """The call by which the model writes a file."""
        return _filled(self.write, path=path, content=content)


def _filled(call: Mapping[str, Any], **words: str) -> dict[str, Any]:
    text = json.dumps(call)
    for name, value in words.items():
        text = text.replace(f"<{name}>", json.dumps(value)[1:-1])
    filled: dict[str, Any] = json.loads(text)
    return filled


_SHELL_WRITE = {
    "cmd": "mkdir -p \"$(dirname '<path>')\"; cat > '<path>' <<'END-OF-FILE'\n<content>\nEND-OF-FILE"
}
GESTURES: Mapping[str, Gestures] = {
    "claude_code": Gestures(
        {"name": "Skill", "input": {"skill": "<skill>"}},
        {"name": "Write", "input": {"file_path": "<path>", "content": "<content>"}},
    ),
    "codex": Gestures(
        {"name": "exec_command", "input": {"cmd": "cat <folder>/<skill>/SKILL.md"}},
        {"name": "exec_command", "input": _SHELL_WRITE},
    ),
    "opencode": Gestures(
        {"name": "skill", "input": {"name": "<skill>"}},
        {"name": "write", "input": {"filePath": "<path>", "content": "<content>"}},
    ),
    "pi": Gestures(
        {"name": "read", "input": {"path": "<folder>/<skill>/SKILL.md"}},
        {"name": "write", "input": {"path": "<path>", "content": "<content>"}},
    ),
}
