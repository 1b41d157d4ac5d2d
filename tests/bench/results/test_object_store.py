import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rows import full_disk

from bench.errors import RunError
from bench.results import Artifact, Damage, ObjectStore


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "objects")


def place(store: ObjectStore, artifact: Artifact) -> Path:
    return store.folder / artifact.digest[:2] / artifact.digest[2:]


@given(st.binary(max_size=200))
def test_what_is_put_is_got_by_its_sha256(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    store = ObjectStore(tmp_path_factory.mktemp("store"))
    artifact = store.put(content)
    assert artifact == Artifact(hashlib.sha256(content).hexdigest(), len(content))
    assert store.get(artifact.digest) == content


def test_an_object_lies_in_its_shard_for_its_owner_only(store: ObjectStore) -> None:
    path = place(store, store.put(b"transcript"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_same_bytes_are_kept_once(store: ObjectStore) -> None:
    first = place(store, store.put(b"x")).stat()
    assert place(store, store.put(b"x")).stat().st_ino == first.st_ino


def test_a_changed_object_is_neither_got_nor_verified(store: ObjectStore) -> None:
    artifact = store.put(b"what was said")
    place(store, artifact).write_bytes(b"what was SAID")
    with pytest.raises(RunError, match="was changed"):
        store.get(artifact.digest)
    assert store.verify([artifact]) == (Damage(artifact.digest, "changed"),)


def test_putting_a_damaged_object_again_heals_it(store: ObjectStore) -> None:
    artifact = store.put(b"what was said")
    place(store, artifact).write_bytes(b"")
    assert store.put(b"what was said") == artifact
    assert store.get(artifact.digest) == b"what was said"


def test_a_referenced_object_that_is_missing_is_named(store: ObjectStore) -> None:
    kept, gone = store.put(b"kept"), store.put(b"gone")
    place(store, gone).unlink()
    assert store.verify([kept, gone]) == (Damage(gone.digest, "missing"),)
    with pytest.raises(RunError, match=gone.digest):
        store.get(gone.digest)


def test_a_file_that_is_no_object_is_reported(store: ObjectStore) -> None:
    store.put(b"kept")
    (store.folder / "ab").mkdir(exist_ok=True)
    (store.folder / "ab" / "notes").write_bytes(b"")
    assert store.verify() == (Damage("abnotes", "changed"),)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "a" * 63])
def test_only_a_digest_names_an_object(store: ObjectStore, digest: str) -> None:
    with pytest.raises(RunError, match="not the SHA-256"):
        store.get(digest)


def test_an_object_that_the_disk_has_no_room_for_leaves_nothing(store: ObjectStore) -> None:
    kept = store.put(b"kept")
    with full_disk(1000), pytest.raises(RunError, match="free some space"):
        store.put(b"x" * 5000)
    assert [path for path in store.folder.rglob("*") if path.is_file()] == [place(store, kept)]


def test_what_a_crash_left_unfinished_is_no_object(store: ObjectStore) -> None:
    artifact = store.put(b"kept")
    (place(store, artifact).parent / ".unfinished-1").write_bytes(b"ke")
    assert store.verify([artifact]) == ()
