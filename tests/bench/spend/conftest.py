"""The rows of these tests are made by the builders of tests/bench/results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "results"))
