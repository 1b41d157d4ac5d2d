"""The operating characteristic as SVG: how often the policy promotes, by the true effect."""

from collections.abc import Sequence

from evolve.certify.model import Certificate, Point

WIDTH, HEIGHT, EDGE = 640, 360, 50
TICKS = 4


def svg(certificate: Certificate) -> str:
    """A picture that needs nothing else; the same certificate gives the same bytes."""
    points = sorted(certificate.curve, key=lambda each: each.effect)
    path = " ".join(f"{_x(points, each.effect):.1f},{_y(each.rate):.1f}" for each in points)
    title = f"{certificate.policy}, {certificate.tasks} tasks x {certificate.repeats} repeats"
    bound = _y(certificate.bound)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>How often {title} promotes</title>",
        "<style>text{font:12px sans-serif;fill:#333}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{EDGE}" y="24">{title}: chance of a promotion by the true effect (points)</text>',
        *(_tick(number / TICKS) for number in range(TICKS + 1)),
        f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{bound:.1f}" y2="{bound:.1f}" stroke="#c33" stroke-dasharray="4"/>',
        f'<polyline points="{path}" fill="none" stroke="#236" stroke-width="2"/>',
        *(_mark(points, each) for each in points),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _tick(rate: float) -> str:
    return f'<text x="8" y="{_y(rate) + 4:.1f}">{rate:.0%}</text>'


def _mark(points: Sequence[Point], point: Point) -> str:
    """The interval, the rate, and the effect below."""
    across, low, high = _x(points, point.effect), _y(point.interval[0]), _y(point.interval[1])
    return (
        f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="#236"/>'
        f'<circle cx="{across:.1f}" cy="{_y(point.rate):.1f}" r="3" fill="#236"/>'
        f'<text x="{across - 10:.1f}" y="{HEIGHT - EDGE + 20}">{100 * point.effect:+.0f}</text>'
    )


def _x(points: Sequence[Point], effect: float) -> float:
    low, high = points[0].effect, points[-1].effect
    return EDGE + (WIDTH - 2 * EDGE) * (effect - low) / (high - low or 1)


def _y(rate: float) -> float:
    return HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * rate
