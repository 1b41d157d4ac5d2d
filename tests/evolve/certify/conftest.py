"""The builders of the gate's tests serve here, too."""

import sys
from pathlib import Path

for folder in ("evolve/gate", "bench/results"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))
