"""How each real agent is told by a model to do the same things. A new adapter adds its dialect here."""

from tests.e2e.agent_rig import SKILL, Dialect

CLAUDE_CODE = Dialect(
    agent="claude_code",
    model="claude_haiku_4_5",
    provider="anthropic",
    # of a cache write that does not say how long it is kept, the dearest
    rates={"input": 1, "cache_read": 0.1, "cache_write": 2, "output": 5},
    tools={
        "skill": {"name": "Skill", "input": {"skill": SKILL}},
        "read-skill": {"name": "Skill", "input": {"skill": "ARGUMENT"}},
        "write-review": {
            "name": "Write",
            "input": {"file_path": "/output/review.json", "content": "ARGUMENT"},
        },
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

CODEX = Dialect(
    agent="codex",
    model="gpt_5_5",
    provider="openai",
    rates={"input": 4, "cache_read": 0.5, "cache_write": 6, "output": 30},
    tools={
        "skill": {"name": "exec_command", "input": {"cmd": f"cat .agents/skills/{SKILL}/SKILL.md"}},
        "read-skill": {"name": "exec_command", "input": {"cmd": "cat .agents/skills/ARGUMENT/SKILL.md"}},
        "write-review": {
            "name": "exec_command",
            "input": {"cmd": "cat > /output/review.json <<'END'\nARGUMENT\nEND"},
        },
        "no-skill": {"name": "exec_command", "input": {"cmd": "cat .agents/skills/no-such-skill/SKILL.md"}},
        "answer": {
            "name": "apply_patch",
            "text": "*** Begin Patch\n*** Add File: answer.txt\n+42\n*** End Patch\n",
        },
        "shell": {"name": "exec_command", "input": {"cmd": "ARGUMENT"}},
        "forbidden": {"name": "web_search", "input": {"query": "the answer"}},
    },
)

DIALECTS = (CLAUDE_CODE, CODEX)
