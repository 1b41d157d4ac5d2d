"""What came out of a generation, computed again from what it left: artifacts, scores, rows, verdict."""

from collections.abc import Container, Iterable, Iterator, Mapping

from msgspec import Struct

from bench.arms import check_review
from bench.config import Config
from bench.digest import canonical_json, digest_bytes, digest_json
from bench.errors import NotReproducible, RunError, UserError
from bench.results import Artifact, Damage, ObjectStore, Row
from bench.scoring import ReviewScore
from bench.suite import LabelOracle, Suite, load_suite
from bench.sweep import CASSETTES
from evolve.errors import LockError
from evolve.gate import Promotion, read_promotion
from evolve.lock import Drift, Located, Observed, cassettes_in, drifts_of, models_served, observed_drifts
from evolve.promoted import PromotedGeneration, generation_faults, read_generation, rebuild

MOST_NAMED = 10
RECORD = "reproduction.json"


class Recomputed(Struct, frozen=True, kw_only=True):
    """The same once more. `results` is what comes out otherwise, `notes` why; `scored` and `left` count the scores
    that were computed again, and those of tasks whose labels are others now.
    """

    generation: PromotedGeneration
    again: Promotion
    results: tuple[Drift, ...]
    notes: tuple[str, ...]
    artifacts: int
    scored: int
    left: int


def recompute_all(
    located: Located, config: Config, observed: Observed, drifts: Iterable[Drift], suite: Suite | None
) -> Recomputed:
    """Everything that follows from the run's own files. NotReproducible where they are not all there."""
    generation = judged(located, config)
    store, rows = ObjectStore(located.place.run.objects), generation.rows
    reviews = _reviews(config, rows)
    left_behind = _whole(store, rows, set(reviews.values()))
    others = {drift.name for drift in drifts if drift.kind == "oracle"}
    labels = _labels(suite, others)
    scored, left = _split(rows, labels)
    again = _rebuilt(config, located, generation)
    verdict = [*_verdict(located, generation, observed, again)]
    return Recomputed(
        generation=generation,
        again=again,
        results=(
            *drifts_of("row", {"all": observed.rows}, {"all": again.metadata.rows}),
            *drifts_of("cassette", observed.cassettes, cassettes_in(located.place.folder / CASSETTES)),
            *observed_drifts(observed, _observed(observed, rows, store)),
            *_scores(scored, labels, reviews, left_behind.contents),
            *verdict,
        ),
        notes=tuple(generation_faults(config, located.place.run.id, generation)) if verdict else (),
        artifacts=left_behind.count,
        scored=len(scored),
        left=left,
    )


def judged(located: Located, config: Config) -> PromotedGeneration:
    """The generation as its folder holds it. NotReproducible names what of it cannot be read."""
    folder = located.place.folder
    if (located.place.run.path / RECORD).exists() and not (folder / "promotion.json").exists():
        raise LockError(
            f"{located.name} is a replay: it has no decision of its own\n"
            f"  reproduce what was replayed: evolve reproduce {located.lock.sealed.parent}"
        )
    try:
        promotion = read_promotion(folder / "promotion.json")
        return read_generation(folder, located.lock.sealed.generation, promotion, config)
    except UserError as error:
        raise LockError(str(error)) from error


class _Left(Struct, frozen=True):
    """How many artifacts the rows name, and the bytes of those that were wanted."""

    count: int
    contents: Mapping[str, bytes]


def _whole(store: ObjectStore, rows: Iterable[Row], wanted: Container[str]) -> _Left:
    """Every artifact is hashed, and read once. NotReproducible lists those that are not whole."""
    named: dict[str, Artifact] = {kept.digest: kept for row in rows for kept in row.artifacts.values()}
    contents: dict[str, bytes] = {}
    damaged: list[Damage] = []
    for each in named.values():
        try:
            if each.digest in wanted:
                contents[each.digest] = store.get(each.digest)
            elif (found := store.damage(each)) is not None:
                damaged.append(found)
        except RunError:
            damaged.append(store.damage(each) or Damage(each.digest, "changed"))
    if damaged:
        listed = "".join(f"\n  {each.digest} is {each.problem}" for each in damaged[:MOST_NAMED])
        more = f"\n  and {len(damaged) - MOST_NAMED} more" if len(damaged) > MOST_NAMED else ""
        raise NotReproducible(
            f"{len(damaged)} of {len(named)} artifacts of the rows are not whole in {store.folder}:{listed}{more}\n"
            "  restore them from a copy: bench store import"
        )
    return _Left(len(named), contents)


def suite_of(located: Located, config: Config) -> Suite | None:
    """The suite as it is now; None where it cannot be read, which is a drift."""
    try:
        return load_suite(config.suite, located.place.root)
    except UserError:
        return None


def _labels(suite: Suite | None, changed: Container[str]) -> dict[str, LabelOracle]:
    """The hidden labels of tasks that are what they were."""
    return {
        task.id: task.oracle
        for task in (() if suite is None else suite.tasks)
        if isinstance(task.oracle, LabelOracle) and f"task {task.id}" not in changed
    }


def _split(rows: Iterable[Row], labels: dict[str, LabelOracle]) -> tuple[list[Row], int]:
    scored = [row for row in rows if row.score is not None or row.outcome.kind == "review-invalid"]
    ready = [row for row in scored if row.identity.task in labels]
    return ready, len(scored) - len(ready)


def _reviews(config: Config, rows: Iterable[Row]) -> dict[tuple[str, str, int, int], str]:
    """The digest of the review that each row was scored by, where one was left."""
    last = {name: f"review-{arm.ordered_sessions()[-1][0]}" for name, arm in config.arms.items()}
    found = ((row, row.artifacts.get(last.get(row.identity.arm, ""))) for row in rows)
    return {_attempt(row): kept.digest for row, kept in found if kept is not None}


def _scores(
    rows: Iterable[Row],
    labels: Mapping[str, LabelOracle],
    reviews: Mapping[tuple[str, str, int, int], str],
    contents: Mapping[str, bytes],
) -> Iterator[Drift]:
    """The scores that do not follow from the review that was left."""
    known: dict[
        tuple[str, str | None], ReviewScore | None
    ] = {}  # agents that are deterministic repeat themselves
    for row in rows:
        task, digest = row.identity.task, reviews.get(_attempt(row))
        if (task, digest) not in known:
            content = None if digest is None else contents[digest]
            known[task, digest] = check_review(labels[task], content).checks.score
        score = known[task, digest]
        if score != row.score:
            then, now = (canonical_json(each).decode() for each in (row.score, score))
            yield Drift(kind="score", name="/".join(map(str, row.key)), then=then, now=now)


def _attempt(row: Row) -> tuple[str, str, int, int]:
    return (*row.key, row.identity.attempt)


def _observed(observed: Observed, rows: Iterable[Row], store: ObjectStore) -> Observed:
    return Observed(models=models_served(rows, store), rows="", verdict="", cassettes=observed.cassettes)


def _rebuilt(config: Config, located: Located, generation: PromotedGeneration) -> Promotion:
    try:
        return rebuild(config, located.place.run.id, generation)
    except (ValueError, UserError) as error:
        raise LockError(
            f"no verdict follows from the files of {located.place.folder}: {error}\n"
            "  restore the run folder from a copy"
        ) from error


def _verdict(
    located: Located, generation: PromotedGeneration, observed: Observed, again: Promotion
) -> Iterator[Drift]:
    path = located.place.folder / "promotion.json"
    then, now = digest_bytes(path.read_bytes()), digest_bytes(canonical_json(again) + b"\n")
    yield from drifts_of("verdict", {"promotion.json": then}, {"promotion.json": now})
    yield from drifts_of("verdict", {"verdict": observed.verdict}, {"verdict": digest_json(again.verdict)})
    if generation.torn:
        yield Drift(kind="row", name="the last line", then="whole", now="torn")
