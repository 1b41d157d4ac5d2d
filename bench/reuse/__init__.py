"""Which earlier rows stand for cells, why none for the others, and whether what they measured still holds."""

from bench.reuse.adopt import adopt
from bench.reuse.drift import (
    ALPHA,
    DRIFT_VERSION,
    DriftFile,
    DriftState,
    Pair,
    Pool,
    Retired,
    all_retired,
    alpha_of,
    judge_drift,
    key_digest,
    retired_classes,
    sign_test,
    value_of,
)
from bench.reuse.model import MISSES, Kind, Limits, Miss, Selection, Source, Wanted
from bench.reuse.prior import DRIFT, NONE, PREVIOUS, Found, Prior, find_prior, project_drift, read_drift
from bench.reuse.select import UNKNOWN, all_fresh, select, with_canaries

__all__ = [
    "ALPHA",
    "DRIFT",
    "DRIFT_VERSION",
    "MISSES",
    "NONE",
    "PREVIOUS",
    "UNKNOWN",
    "DriftFile",
    "DriftState",
    "Found",
    "Kind",
    "Limits",
    "Miss",
    "Pair",
    "Pool",
    "Prior",
    "Retired",
    "Selection",
    "Source",
    "Wanted",
    "adopt",
    "all_fresh",
    "all_retired",
    "alpha_of",
    "find_prior",
    "judge_drift",
    "key_digest",
    "project_drift",
    "read_drift",
    "retired_classes",
    "select",
    "sign_test",
    "value_of",
    "with_canaries",
]
