"""Reviews and labels for tests, by hand and by hypothesis."""

import json
from typing import Any

from hypothesis import strategies as st

from bench.scoring import Finding, Review
from bench.suite import Label, Severity

SEVERITIES = ("critical", "high", "medium", "low")


def finding(
    name: str = "f1",
    *,
    severity: Severity = "high",
    path: str = "src/cart.py",
    line: int = 10,
    end_line: int | None = None,
    category: str = "correctness",
) -> Finding:
    return Finding(
        id=name,
        severity=severity,
        path=path,
        line=line,
        end_line=line if end_line is None else end_line,
        category=category,
        scenario="when the cart is empty",
        evidence="line 10 divides",
        recommendation="check first",
        blocking=severity in ("critical", "high"),
    )


def label(
    name: str = "l1",
    *,
    severity: Severity = "high",
    path: str = "src/cart.py",
    start: int = 10,
    end: int | None = None,
    category: str = "correctness",
) -> Label:
    return Label(name, severity, path, start, start if end is None else end, category)


def review(*findings: Finding, verdict: str | None = None) -> Review:
    """The verdict that fits the findings, unless one is given."""
    fitting = "approve" if not findings else "comment"
    if any(each.blocking for each in findings):
        fitting = "request_changes"
    return Review(schema_version=1, verdict=verdict or fitting, findings=tuple(findings))


def artifact(**changes: Any) -> dict[str, Any]:
    """A valid artifact as plain data, with some top-level fields replaced."""
    one = {
        "id": "f1", "severity": "high", "path": "src/cart.py", "line": 10, "end_line": 12,
        "category": "correctness", "scenario": "s", "evidence": "e", "recommendation": "r", "blocking": True,
    }  # fmt: skip
    return {"schema_version": 1, "verdict": "request_changes", "findings": [one]} | changes


def written(data: Any) -> bytes:
    return json.dumps(data).encode()


_paths = st.sampled_from(("a.py", "b.py"))
_lines = st.integers(1, 8)
_severities = st.sampled_from(SEVERITIES)
_categories = st.sampled_from(("correctness", "security"))


@st.composite
def findings(draw: st.DrawFn, most: int = 6) -> list[Finding]:
    """Findings with unique ids on few lines of two files, so that they often compete for a label."""
    count = draw(st.integers(0, most))
    return [
        finding(
            f"f{number}",
            severity=draw(_severities),
            path=draw(_paths),
            line=(start := draw(_lines)),
            end_line=start + draw(st.integers(0, 3)),
            category=draw(_categories),
        )
        for number in range(count)
    ]


@st.composite
def labels(draw: st.DrawFn, least: int = 0, most: int = 6) -> list[Label]:
    """Labels with unique ids on the same few lines."""
    count = draw(st.integers(least, most))
    return [
        label(
            f"l{number}",
            severity=draw(_severities),
            path=draw(_paths),
            start=(start := draw(_lines)),
            end=start + draw(st.integers(0, 3)),
            category=draw(_categories),
        )
        for number in range(count)
    ]
