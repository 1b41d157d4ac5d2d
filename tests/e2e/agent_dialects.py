"""How each real agent is told by a model to do the same things. A new adapter adds its dialect here."""

from tests.e2e.agent_rig import SKILL, Dialect

CLAUDE_CODE = Dialect(
    agent="claude_code",
    model="claude_haiku_4_5",
    protocol="anthropic_messages",
    tools={
        "skill": {"name": "Skill", "input": {"skill": SKILL}},
        "no-skill": {"name": "Skill", "input": {"skill": "no-such-skill"}},
        "answer": {"name": "Write", "input": {"file_path": "answer.txt", "content": "42\n"}},
        "shell": {"name": "Bash", "input": {"command": "ARGUMENT", "description": "look"}},
        "forbidden": {"name": "WebFetch", "input": {"url": "https://example.org", "prompt": "read"}},
        "subagent": {
            "name": "Agent",
            "input": {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"},
        },
    },
)

DIALECTS = (CLAUDE_CODE,)
