"""A distribution of someone else that registers an agent and a policy, each with a schema of its own."""

from collections.abc import Mapping
from typing import Any


class Registered:
    """What an entry point names, as far as the configuration knows it."""

    def __init__(self, options_schema: Mapping[str, Any]) -> None:
        self.options_schema = options_schema


SCRIPTED = Registered(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["turns", "tone"],
        "properties": {
            "turns": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "description": "How many turns it takes.",
            },
            "tone": {"enum": ["calm", "eager"], "description": "How it speaks."},
            "key": {"type": "string", "description": "A reference to a secret."},
        },
    }
)
COIN = Registered(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["bias"],
        "properties": {"bias": {"$ref": "#/$defs/share", "description": "How often heads come up."}},
        "$defs": {"share": {"type": "number", "minimum": 0, "maximum": 1}},
    }
)
