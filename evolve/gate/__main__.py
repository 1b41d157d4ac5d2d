"""`python -m evolve.gate schemas` writes the generated schema of this package into that folder."""

import sys
from pathlib import Path

from bench.generated_schema import write_schemas
from evolve.gate import promotion_schema

write_schemas(Path(sys.argv[1]), {"promotion": promotion_schema()})
