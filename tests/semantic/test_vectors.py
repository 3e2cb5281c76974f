"""Vectors are added, searched, folded, pruned and repaired."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.semantic import vector_writer, vectors
from ccgrep.semantic.similarity_scale import SimilarityScale
from ccgrep.semantic.vector_files import CheckedFiles, damaged_files, model_dir
from ccgrep.semantic.vector_writer import Batch, VectorWriter
from ccgrep.semantic.vectors import Vectors
from ccgrep.store.store import Store
from tests.helpers.homes import Home

SCALE = SimilarityScale(0.05, 0.55)

DIMENSIONS = 16


def random_vectors(number: int, seed: int = 1, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    numbers = np.random.default_rng(seed).normal(size=(number, dimensions))
    return np.asarray(numbers / np.linalg.norm(numbers, axis=1)[:, None], np.float32)


def batch(keys: Sequence[int], vectors: NDArray[np.float32]) -> Batch:
    return Batch(keys, [(key, key + 7) for key in keys], vectors)


@pytest.fixture
def store(home: Home) -> Store:
    home.claude().write()
    home.index()
    return home.store


@pytest.fixture
def directory(store: Store) -> str:
    return model_dir(store.directory, "test")


def files(directory: str, ending: str) -> list[Path]:
    return sorted(Path(directory).glob(f"*{ending}"))


def counts(directory: str) -> list[int]:
    return sorted(segment.count for segment in Vectors(directory).segments)


def test_added_vectors_are_found(store: Store, directory: str) -> None:
    made = random_vectors(50)
    VectorWriter(store, directory).add(batch(range(1, 51), made))
    found = Vectors(directory)
    assert (found.count, found.keys().tolist(), found.damaged) == (50, [*range(1, 51)], [])
    for at in (0, 17, 49):
        ((key, match),) = found.nearest(made[at], 1).items()
        assert (key, match.start, match.end) == (at + 1, at + 1, at + 8)
        assert match.similarity == pytest.approx(1, abs=2e-3)
    few = found.of([3, 5, 999], found.probe(made[2], SCALE))
    assert sorted(few) == [3, 5]
    assert few[3].similarity > few[5].similarity


def test_best_vector_of_a_text_is_its_match(store: Store, directory: str) -> None:
    made = random_vectors(3)
    writer = VectorWriter(store, directory)
    writer.add(Batch([7, 7], [(0, 10), (10, 20)], made[:2]))
    writer.add(Batch([7], [(20, 30)], made[2:]))
    for at in range(3):
        opened = Vectors(directory)
        for found in (
            opened.nearest(made[at], 5),
            opened.of([7], opened.probe(made[at], SCALE)),
        ):
            assert found[7][1:3] == (10 * at, 10 * at + 10)


def test_batch_that_is_added_again_is_stored_once(store: Store, directory: str) -> None:
    """Ctrl-C may interrupt after a batch is written and before it is recorded as saved."""
    made = random_vectors(50)
    writer = VectorWriter(store, directory)
    for _ in range(2):
        writer.add(batch(range(1, 51), made))
        found = Vectors(directory)
        assert (found.count, len(found.keys()), len(found.segments)) == (50, 50, 1)


def test_text_with_many_vectors_does_not_displace_others(store: Store, directory: str) -> None:
    one = random_vectors(1)
    made = np.concatenate([np.repeat(one, 400, axis=0), random_vectors(20, 2)])
    keys = [1] * 400 + [*range(2, 22)]
    VectorWriter(store, directory, graph_vectors=100).add(batch(keys, made))
    assert len(Vectors(directory).nearest(one[0], 10)) == 10
    assert len(Vectors(directory).nearest(one[0], 999)) == 21


def test_empty_directory_has_no_vectors(directory: str) -> None:
    found = Vectors(directory)
    assert (found.count, found.keys().tolist(), found.nearest(random_vectors(1)[0], 3)) == (
        0,
        [],
        {},
    )
    assert found.of([1], found.probe(random_vectors(1)[0], SCALE)) == {}


def test_folding_keeps_every_key_in_few_segments(
    store: Store, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_writer, "MAX_VECTORS", 64)
    writer = VectorWriter(store, directory, graph_vectors=32)
    chance, made = random.Random(3), 0
    everything = random_vectors(600)
    for _ in range(80):
        size = chance.randint(1, 12)
        keys = range(made + 1, made + size + 1)
        writer.add(batch(keys, everything[made : made + size]))
        made += size
        sizes = counts(directory)
        assert sum(sizes) == made
        assert max(sizes) <= 64
        # About one segment for each power of two can still be folded.
        assert sum(one <= 32 for one in sizes) <= 8
    found = Vectors(directory)
    assert found.keys().tolist() == [*range(1, made + 1)]
    for at in range(0, made, 37):
        probe = found.probe(everything[at], SCALE)
        assert found.of([at + 1], probe)[at + 1].similarity > 0.99
    graphs = {path.name.partition("-")[0] for path in files(directory, ".hnsw")}
    large = {segment.name for segment in found.segments if segment.count >= 32}
    assert graphs == large


def test_batch_larger_than_a_segment_is_split(
    store: Store, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_writer, "MAX_VECTORS", 64)
    VectorWriter(store, directory).add(batch(range(1, 201), random_vectors(200)))
    assert counts(directory) == [8, 64, 64, 64]


def test_files_are_private_and_named_by_their_content(store: Store, directory: str) -> None:
    VectorWriter(store, directory, graph_vectors=10).add(batch(range(1, 51), random_vectors(50)))
    for path in (*files(directory, ".vec"), *files(directory, ".hnsw")):
        assert path.stat().st_mode & 0o777 == 0o600
    assert damaged_files(store.directory) == []


def test_pruning_removes_vectors_from_disk(store: Store, directory: str) -> None:
    writer = VectorWriter(store, directory, graph_vectors=10)
    made = random_vectors(60)
    writer.add(batch(range(1, 51), made[:50]))
    writer.add(batch(range(51, 61), made[50:]))
    before = {path.name for path in files(directory, ".vec")}
    assert writer.prune(np.array([1, 2, 55])) == 57
    assert Vectors(directory).keys().tolist() == [1, 2, 55]
    assert before.isdisjoint(path.name for path in files(directory, ".vec"))
    assert files(directory, ".hnsw") == []
    assert writer.prune(np.array([], np.int64)) == 3
    assert files(directory, ".vec") == []


def test_pruning_removes_damaged_and_orphaned_files(store: Store, directory: str) -> None:
    """They may hold vectors of forgotten texts."""
    writer = VectorWriter(store, directory, graph_vectors=10)
    writer.add(batch(range(1, 51), random_vectors(50)))
    writer.add(batch(range(51, 56), random_vectors(5, 2)))
    flip(max(files(directory, ".vec"), key=lambda path: path.stat().st_size), 100)
    writer.prune(np.array([51]))
    assert (len(files(directory, ".vec")), files(directory, ".hnsw")) == (1, [])


def flip(path: Path, offset: int, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)
    change_mtime(path)


def change_mtime(path: Path) -> None:
    """Set another time, as a later write does."""
    now = path.stat().st_mtime_ns + 5_000_000
    os.utime(path, ns=(now, now))


SEARCH_SCRIPT = """
import sys
import numpy as np
from ccgrep.semantic import vectors
from ccgrep.semantic.similarity_scale import SimilarityScale
vectors.MAX_WITHOUT_GRAPHS = 0
query = np.load(sys.argv[2])
for directory in sys.argv[3:]:
    found = vectors.Vectors(directory)
    near = found.nearest(query, 5)
    same = found.of(list(near), found.probe(query, SimilarityScale(0.05, 0.55)))
    assert all(abs(same[key].similarity - near[key].similarity) < 2e-3 for key in near)
    print(len(found.damaged), *near)
"""


def search_in_child(
    tmp_path: Path, query: NDArray[np.float32], directories: Sequence[str]
) -> list[list[int]]:
    """Search in a child process: a damaged graph may crash it."""
    np.save(tmp_path / "query.npy", query)
    command = [sys.executable, "-c", SEARCH_SCRIPT, "-", str(tmp_path / "query.npy"), *directories]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def copies(directory: str, number: int, target: Path) -> list[Path]:
    made = [target / str(at) for at in range(number)]
    for one in made:
        shutil.copytree(directory, one, copy_function=shutil.copy2)
    return made


def offsets(size: int, number: int) -> list[int]:
    """Return offsets in the header, at the end and between."""
    chance = random.Random(size)
    return [*range(24), *range(size - 8, size), *chance.sample(range(size), number)]


@pytest.mark.parametrize("ending", [".vec", ".hnsw"])
def test_damaged_file_neither_crashes_nor_returns_wrong_matches(
    store: Store, directory: str, tmp_path: Path, ending: str
) -> None:
    writer = VectorWriter(store, directory, graph_vectors=100)
    made = random_vectors(300)
    writer.add(batch(range(1, 201), made[:200]))
    # Another segment, which stays intact.
    writer.add(batch(range(201, 204), made[200:203]))
    query = made[42]
    (whole,) = search_in_child(tmp_path, query, [directory])
    assert whole[:2] == [0, 43]
    large = max(files(directory, ending), key=lambda path: path.stat().st_size)
    size = large.stat().st_size
    places = offsets(size, 30)
    made_copies = copies(directory, 2 * len(places), tmp_path / "copies")
    for at, copy in zip(places, made_copies[::2], strict=True):
        flip(copy / large.name, at, at % 8)
    for at, copy in zip(places, made_copies[1::2], strict=True):
        os.truncate(copy / large.name, at)
        change_mtime(copy / large.name)
    answers = search_in_child(tmp_path, query, [str(copy) for copy in made_copies])
    left = whole[1:] if ending == ".hnsw" else None
    for damaged, *keys in answers:
        assert damaged == 1
        if left is None:
            assert set(keys) <= {201, 202, 203}
        else:
            assert keys == left  # all vectors are compared instead


def test_healing_rebuilds_graphs_and_drops_damaged_segments(store: Store, directory: str) -> None:
    writer = VectorWriter(store, directory, graph_vectors=100)
    writer.add(batch(range(1, 201), random_vectors(200)))
    (graph,) = files(directory, ".hnsw")
    flip(graph, 77)
    assert damaged_files(store.directory) == [str(graph)]
    writer.heal()
    assert damaged_files(store.directory) == []
    assert len(files(directory, ".hnsw")) == 1
    files(directory, ".hnsw")[0].unlink()
    writer.heal()
    assert len(files(directory, ".hnsw")) == 1
    (segment,) = files(directory, ".vec")
    flip(segment, 77)
    writer.heal()
    assert (files(directory, ".vec"), files(directory, ".hnsw")) == ([], [])
    assert Vectors(directory).damaged == []


def test_healing_drops_repeated_vectors(store: Store, directory: str, tmp_path: Path) -> None:
    """A process was killed before it removed the segments that it folded."""
    writer = VectorWriter(store, directory, graph_vectors=30)
    made = random_vectors(60)
    writer.add(batch(range(1, 41), made[:40]))
    (old,) = copies(directory, 1, tmp_path / "old")
    writer.add(batch(range(41, 61), made[40:]))  # smaller: not folded
    writer.add(
        Batch([61] * 45, [(at, at + 1) for at in range(45)], random_vectors(45, 2))
    )  # folds both
    assert counts(directory) == [105]
    for path in (*old.glob("*.vec"), *old.glob("*.hnsw")):
        path.rename(Path(directory) / path.name)
    assert counts(directory) == [40, 105]
    writer.heal()
    assert counts(directory) == [105]
    assert Vectors(directory).keys().tolist() == [*range(1, 62)]
    assert len(files(directory, ".hnsw")) == 1


def test_lost_or_damaged_checked_file_is_written_again(store: Store, directory: str) -> None:
    writer = VectorWriter(store, directory, graph_vectors=100)
    writer.add(batch(range(1, 201), random_vectors(200)))
    checked = Path(directory) / "CHECKED"
    right = checked.read_bytes()
    name = files(directory, ".vec")[0].name
    for wrong in (b"", b"\xff\xfe", b"x" * 5000, right[:-20], right.replace(b" ", b"  ")):
        checked.write_bytes(wrong)
        found = Vectors(directory)
        assert (found.count, found.damaged) == (200, [])
        writer.write_checked()
        assert checked.read_bytes() == right
    checked.unlink()
    flip(Path(directory) / name, 50)
    assert Vectors(directory).damaged == [name]


def test_damage_after_a_file_was_verified_is_found(store: Store, directory: str) -> None:
    VectorWriter(store, directory).add(batch(range(1, 21), random_vectors(20)))
    (segment,) = files(directory, ".vec")
    assert Vectors(directory).damaged == []
    flip(segment, segment.stat().st_size - 1)
    assert Vectors(directory).damaged == [segment.name]


def test_segment_that_another_process_folds_meanwhile_is_not_damaged(
    store: Store, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process folds after the directory is listed and before its files are opened."""
    writer = VectorWriter(store, directory)
    made = random_vectors(20)
    writer.add(batch(range(1, 11), made[:10]))
    names = CheckedFiles.names
    folds = 0

    def list_then_fold(self: Any) -> list[str]:
        nonlocal folds
        listed = names(self)
        if not folds:
            folds += 1
            writer.add(batch(range(11, 21), made[10:]))
        return listed

    monkeypatch.setattr(CheckedFiles, "names", list_then_fold)
    found = Vectors(directory)
    assert (found.count, found.damaged) == (20, [])


def test_removed_graph_is_replaced_by_comparing_all(
    store: Store, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MAX_WITHOUT_GRAPHS", 0)
    made = random_vectors(200)
    VectorWriter(store, directory, graph_vectors=100).add(batch(range(1, 201), made))
    found = Vectors(directory)
    files(directory, ".hnsw")[0].unlink()
    assert [*found.nearest(made[9], 1)] == [10]


def test_read_only_directory_can_be_searched(store: Store, directory: str) -> None:
    VectorWriter(store, directory).add(batch(range(1, 21), random_vectors(20)))
    (Path(directory) / "CHECKED").unlink()
    os.chmod(directory, 0o555)
    try:
        assert Vectors(directory).count == 20
    finally:
        os.chmod(directory, 0o700)


WHO = ("The login form", "Our build", "A background worker", "The payment API", "The search index")
WHAT = ("crashes", "is too slow", "leaks memory", "returns the wrong date", "ignores the setting")
WHEN = (
    "on Windows", "after an upgrade", "when two users write at once", "behind a proxy",
    "with very large files", "in the nightly run", "if the cache is cold", "for new accounts",
)  # fmt: skip
DONE = ("", ", so add a test", ", please look into the logs", "; it worked last week")


def sentences() -> list[str]:
    return [f"{a} {b} {c}{d}" for a, b, c, d in product(WHO, WHAT, WHEN, DONE)]


QUERIES = (
    "sign-in problems", "compile time", "RAM consumption", "timezone bug", "option has no effect",
    "race condition", "regression since the last release", "large uploads", "first start is slow",
    "write a regression test", "read the log files", "corporate network", "credit card",
    "nightly job", "customers who just registered",
)  # fmt: skip


def test_graph_finds_nearly_all_of_the_nearest(
    store: Store, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads build the graph, so each build may miss other neighbours."""
    from ccgrep.semantic.encoder import open_encoder  # noqa: PLC0415
    from tests.helpers.models import MODEL  # noqa: PLC0415 - skips without the extra

    monkeypatch.setattr(vectors, "MAX_WITHOUT_GRAPHS", 0)
    monkeypatch.setattr(vectors, "_GRAPH_FACTOR", 0)
    texts = sentences()
    encoder = open_encoder(MODEL).encoder
    made = encoder.encode([*texts, *QUERIES])
    VectorWriter(store, directory, graph_vectors=100).add(
        batch(range(1, len(texts) + 1), made[: len(texts)])
    )
    found = Vectors(directory)
    (segment,) = found.segments
    matched = 0
    for query in made[len(texts) :]:
        tenth = np.sort(segment.rough_similarities(query))[-10]
        # Rounding may swap texts that are equally near.
        near = [match for match in found.nearest(query, 10).values() if match[0] >= tenth - 1e-3]
        matched += len(near)
    assert matched / (10 * len(QUERIES)) >= 0.95


@pytest.mark.parametrize("limit", [1, 10, 256, 999, 5000])
def test_nearest_are_those_of_exact_comparisons(store: Store, directory: str, limit: int) -> None:
    """The rough comparison decides which vectors are compared exactly. It must not lose any."""
    made = random_vectors(3000, dimensions=384)
    keys = [at // 3 for at in range(3000)]  # three vectors of each text
    writer = VectorWriter(store, directory)
    writer.add(batch(keys[:2000], made[:2000]))
    writer.add(batch(keys[2000:], made[2000:]))
    for query in random_vectors(20, seed=2, dimensions=384):
        exact = made.astype("<f2").astype(np.float32) @ query
        best = exact.reshape(1000, 3).max(axis=1)
        found = Vectors(directory).nearest(query, limit)
        right = sorted(range(1000), key=lambda key: (-best[key], key))[:limit]
        similarities = [match.similarity for match in found.values()]
        assert similarities == pytest.approx(best[right].tolist(), abs=1e-6)
        # Rounding may swap texts that are equally near.
        assert all(abs(best[key] - found[key].similarity) < 1e-6 for key in found)


def test_texts_that_are_all_similar_do_not_widen_the_background(
    store: Store, directory: str
) -> None:
    """The typical similarities of this scale are 0 and 0.2, those of the texts are 0.7 to 0.8."""
    query = random_vectors(1)[0]
    other = random_vectors(60, seed=2)
    other -= (other @ query)[:, None] * query
    other /= np.linalg.norm(other, axis=1)[:, None]
    near = np.linspace(0.7, 0.8, 60, dtype=np.float32)[:, None]
    writer = VectorWriter(store, directory)
    assert Vectors(directory).probe(query, SCALE).background == pytest.approx((0.1, 0.1))
    writer.add(batch(range(1, 61), near * query + np.sqrt(1 - near**2) * other))
    mean, spread = Vectors(directory).probe(query, SCALE).background
    assert mean == pytest.approx((60 * 0.75 + 100 * 0.1) / 160, abs=1e-3)
    assert 0.03 < spread < 0.1


def test_whitening_changes_deviations_but_not_similarities(store: Store, directory: str) -> None:
    texts = random_vectors(300)
    texts[:, 0] += 3
    texts /= np.linalg.norm(texts, axis=1)[:, None]
    keys = list(range(1, 301))
    VectorWriter(store, directory).add(batch(keys, texts))
    found = Vectors(directory)
    plain = found.of(keys, found.probe(texts[7], SCALE))
    whitened = found.of(keys, found.probe(texts[7], SCALE, is_whitened=True))
    assert [one.similarity for one in plain.values()] == pytest.approx(
        [one.similarity for one in whitened.values()]
    )
    deviations = [one.deviation for one in whitened.values()]
    assert (np.mean(deviations), np.std(deviations)) == pytest.approx((0, 1), abs=1e-3)
    assert deviations != pytest.approx([one.deviation for one in plain.values()], abs=0.1)
