"""Reviews and labels for tests, by hand and by hypothesis."""

import json

from hypothesis import strategies as st

from bench.scoring import Finding, Review
from bench.suite import Label

SEVERITIES = ("critical", "high", "medium", "low")


def finding(name="f1", *, severity="high", path="src/cart.py", line=10, end_line=None, category="correctness"):
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


def label(name="l1", *, severity="high", path="src/cart.py", start=10, end=None, category="correctness"):
    return Label(name, severity, path, start, start if end is None else end, category)


def review(*findings, verdict=None):
    """The verdict that fits the findings, unless one is given."""
    fitting = "approve" if not findings else "comment"
    if any(each.blocking for each in findings):
        fitting = "request_changes"
    return Review(schema_version=1, verdict=verdict or fitting, findings=tuple(findings))


def artifact(**changes):
    """A valid artifact as plain data, with some top-level fields replaced."""
    one = {
        "id": "f1", "severity": "high", "path": "src/cart.py", "line": 10, "end_line": 12,
        "category": "correctness", "scenario": "s", "evidence": "e", "recommendation": "r", "blocking": True,
    }  # fmt: skip
    return {"schema_version": 1, "verdict": "request_changes", "findings": [one]} | changes


def written(data) -> bytes:
    return json.dumps(data).encode()


_paths = st.sampled_from(("a.py", "b.py"))
_lines = st.integers(1, 8)
_severities = st.sampled_from(SEVERITIES)
_categories = st.sampled_from(("correctness", "security"))


@st.composite
def findings(draw, most=6):
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
def labels(draw, least=0, most=6):
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
