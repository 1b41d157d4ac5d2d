"""Seconds that 41 real cells took, as published: GitNexus, eval/workflow_bench/session_durations.json, run 33912693948
of 2026-09-04, one worker, two cells cut at the ceiling of 5400 s (research/gitnexus.md §5.6). In submission order.
"""

from itertools import chain, zip_longest

BY_ARM = {
    "ce_review": (
        3744.6, 2140.4, 1418.4, 436.1, 653.3, 1022.3, 851.2, 1191.1, 902.1, 847.2, 502.6, 991.3, 1222.7, 544.0,
    ),
    "review": (
        5400.0, 2976.4, 1162.8, 627.1, 901.3, 436.9, 704.3, 963.4, 631.8, 627.9, 663.5, 662.4, 361.3, 741.1,
    ),
    "candidate_review": (
        2485.6, 1338.0, 3075.2, 702.5, 1240.4, 5400.0, 762.1, 342.9, 826.3, 489.7, 675.4, 337.8, 734.3,
    ),
}  # fmt: skip

# As a plan orders them: task by task, repeat by repeat, and there the comparator, the incumbent, its candidate.
PLANNED = tuple(each for each in chain(*zip_longest(*BY_ARM.values())) if each is not None)
