"""Quality against cost as SVG: a dot for each (agent, model, effort), its intervals, and the front of its role. Pure."""

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from bench.multirun.front import Dot, Span, known
from bench.text import printable

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 56, 88
TICKS = 4
COLOURS = {"incumbent": "#5b6b7b", "candidate": "#1f5fb4", "comparator": "#b06a1f", "control": "#7a4fa3"}


class _Frame(Struct, frozen=True):
    """The plane: from 0 to the dearest dollar across, from 0 to 1 upwards."""

    dearest: float

    def x(self, cost: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * cost / self.dearest

    def y(self, quality: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * quality


def picture(dots: Sequence[Dot], title: str) -> str:
    """A picture that needs nothing else; the same dots give the same bytes. What has no known cost or quality is in
    the table alone, and is counted below.
    """
    roles = [role for role in COLOURS if known(dots, role)]
    drawn = [each for role in roles for each in known(dots, role)]
    frame = _Frame(max((cost.high for _, cost, _ in drawn), default=0.0) * 1.05 or 1.0)
    left_out = len(dots) - len(drawn)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{_text(title)}</title>",
        "<style>text{font:12px sans-serif;fill:#333}.small{font-size:11px}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22">{_text(title)}</text>',
        *_legend(roles),
        *_axes(frame),
        *(line for role in roles for line in _of_role(known(dots, role), COLOURS[role], frame)),
    ]
    if left_out:
        lines.append(
            f'<text class="small" x="{LEFT}" y="{HEIGHT - 10}">{left_out} of {len(dots)} have no known cost or '
            "quality: they are in the table only</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _of_role(drawn: Sequence[tuple[Dot, Span, Span]], colour: str, frame: _Frame) -> Iterator[str]:
    front = sorted((cost.value, good.value) for dot, cost, good in drawn if dot.front)
    path = " ".join(f"{frame.x(cost):.1f},{frame.y(good):.1f}" for cost, good in front)
    yield f'<polyline class="front" points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 3"/>'
    for dot, cost, good in drawn:
        yield from _mark(dot, cost, good, colour, frame)


def _mark(dot: Dot, cost: Span, good: Span, colour: str, frame: _Frame) -> Iterator[str]:
    """Both intervals, the dot (filled on the front), and its name."""
    x, y = frame.x(cost.value), frame.y(good.value)
    low, high = frame.x(cost.low), frame.x(cost.high)
    bottom, top = frame.y(good.low), frame.y(good.high)
    name = _text(name_of(dot))
    yield f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" opacity="0.5"/>'
    yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{top:.1f}" stroke="{colour}" opacity="0.5"/>'
    yield (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" stroke="{colour}" fill="{colour if dot.front else "#fff"}">'
        f"<title>{dot.role}, {name}: quality {good.value:.3f}, ${cost.value:.4f} a cell</title></circle>"
    )
    yield f'<text class="small" x="{x + 8:.1f}" y="{y - 6:.1f}">{name}</text>'


def _axes(frame: _Frame) -> Iterator[str]:
    for number in range(TICKS + 1):
        share = number / TICKS
        x, y = frame.x(share * frame.dearest), frame.y(share)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.2f}</text>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">${share * frame.dearest:.3g}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle">mean cost of a cell</text>'
    yield (
        f'<text class="small" x="{LEFT}" y="{HEIGHT - 28}">up: mean score of a task; bars: 95 %, tasks resampled; '
        "filled and dashed: the Pareto front of its role</text>"
    )


def _legend(roles: Sequence[str]) -> Iterator[str]:
    for number, role in enumerate(roles):
        x = LEFT + 110 * number
        yield f'<circle cx="{x + 5}" cy="38" r="5" fill="{COLOURS[role]}"/><text x="{x + 16}" y="42">{role}</text>'


def name_of(dot: Dot) -> str:
    """How a dot is called: its model, or the agent where none is named, and its effort."""
    return " ".join([dot.model or dot.agent, *([dot.effort] if dot.effort else [])])


def _text(text: str) -> str:
    return escape(printable(text))
