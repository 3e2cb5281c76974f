"""kill -9 while embedding: published texts are never encoded again, all others are."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from signal import SIGINT, SIGKILL

import numpy as np
import pytest

from ccgrep.fulltext import generations
from ccgrep.fulltext.surfaces import text_key
from ccgrep.semantic.prune import live_keys
from ccgrep.semantic.vector_files import damaged_files
from ccgrep.semantic.vector_writer import Batch, VectorWriter
from ccgrep.semantic.vectors import Vectors
from ccgrep.store import fsio
from tests.faults.injection import SavedHome, assert_heals, count_operations, run_killed_at
from tests.helpers import scale
from tests.helpers.embedded_home import vectors_dir
from tests.helpers.homes import Home, assert_same_as_fresh

INDEX = """
import os, sys
from ccgrep.cli import main
from ccgrep.fulltext.surfaces import text_key
from ccgrep.semantic import embedding
from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.store import fsio
embedding._TEXTS_AT_ONCE = 8
embedding._SAVE_EVERY_S = -1.0  # after every batch
path, kind, at, number = sys.argv[1:]
log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
steps = {"encode": 0, "step": 0}
def step(*kinds):
    for kind_of_step in kinds:
        steps[kind_of_step] += 1
        if kind_of_step == kind and steps[kind] == int(at):
            os.kill(os.getpid(), int(number))
encode = LightEncoder.encode
def record(self, texts):
    fsio.hook = lambda *_: step("step")
    step("encode", "step")
    vectors = encode(self, texts)
    os.write(log, "".join(f"{text_key(text)}\\n" for text in texts).encode())
    step("step")
    return vectors
LightEncoder.encode = record
sys.exit(main(["index", "-q"]))
"""
"""Indexes in small batches, logs the texts it encodes, and signals itself at a given step.

Steps are the beginning and end of each encoding, and file operations after the first one.
"""
BATCH = 8
WHO = ("login", "build", "worker", "cache", "parser", "proxy")
WHAT = ("is slow", "crashes", "leaks", "hangs", "lies")


def fill(home: Home, sessions: int = 4) -> None:
    """Write sixty short texts a session."""
    home.embed = "auto"
    for seed in range(sessions):
        file = home.claude(seed + 1, slug=f"-p{seed % 2}")
        file.meta("custom-title", customTitle="-")
        for who, what in product(WHO, WHAT):
            file.turn(f"{who} {what}, case {seed}", f"{who} mended, {what} no more, {seed}")
        file.write()
    home.rest()


def index(home: Home, log: Path, kind: str = "step", at: int = 0, signal: int = 0) -> int:
    """Index in a new process that signals itself at a step; return its exit code."""
    log.unlink(missing_ok=True)
    return subprocess.run(
        [sys.executable, "-c", INDEX, str(log), kind, str(at), str(int(signal))],
        env=home.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def encoded(log: Path) -> list[int]:
    """Return the keys of the texts that the last index run encoded."""
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


def published(home: Home) -> set[int]:
    """Return the keys that have vectors."""
    return set(Vectors(vectors_dir(home)).keys().tolist())


def wanted(home: Home) -> set[int]:
    """Return the keys of all texts to embed."""
    found = generations.current(str(home.store_dir))
    assert found is not None
    surfaces = ("prompt", "answer", "title")
    keys = live_keys(generations.open_reader(found.path), surfaces)
    return set(keys.tolist()) - {0}


def assert_embedded(home: Home) -> None:
    """Assert that every text has vectors once, and no file is damaged or left over."""
    found = Vectors(vectors_dir(home))
    assert set(found.keys().tolist()) == wanted(home)
    assert (found.damaged, damaged_files(str(home.store_dir))) == ([], [])
    assert found.count == len(found.keys())
    names = {segment.name for segment in found.segments}
    graphs = [path.stem for path in Path(vectors_dir(home)).glob("*.hnsw")]
    assert all(graph.partition("-")[0] in names for graph in graphs)
    assert os.listdir(home.store_dir / "tmp") == []


def test_killed_embedding_never_encodes_a_published_text_again(
    home: Home, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    fill(home, sessions=scale.of(2, 4))
    home.index()
    chance = random.Random(4)
    log = tmp_path / "encoded"
    kills = scale.of(2, 20)
    twice: set[int] = set()
    for _ in range(kills):
        before = published(home)
        assert index(home, log, "step", chance.randint(1, 12), SIGKILL) == -SIGKILL
        twice |= before & set(encoded(log))
        assert before <= published(home)
    before = published(home)
    assert index(home, log) == 0
    twice |= before & set(encoded(log))
    assert not twice
    assert index(home, log) == 0
    assert encoded(log) == []
    assert_embedded(home)
    assert_same_as_fresh(home)
    figure(f"kill -9 while embedding: {kills} times, {len(twice)} published texts encoded again")


def test_interrupted_embedding_keeps_finished_batches(home: Home, tmp_path: Path) -> None:
    fill(home, sessions=2)
    home.index()
    log = tmp_path / "encoded"
    assert index(home, log, "encode", 6, SIGINT) == 130
    done = encoded(log)
    assert len(done) == 5 * BATCH < len(wanted(home))
    assert set(done) == published(home)
    assert index(home, log) == 0
    assert set(done).isdisjoint(encoded(log))
    assert_embedded(home)
    assert_same_as_fresh(home)


@pytest.fixture
def partly_embedded(home: Home) -> Home:
    """A store with vectors, and texts that are not embedded yet."""
    home.embed = "auto"
    for seed in range(2):
        file = home.claude(seed + 1)
        file.meta("custom-title", customTitle="-")
        for who in WHO[:2]:
            file.turn(f"{who} case {seed}", f"{who} mended {seed}")
        file.write()
    home.rest()
    assert home.run("index", "-q").returncode == 0
    file = home.claude(9)
    file.meta("custom-title", customTitle="-")
    for who in WHO:
        file.turn(f"{who} again", f"{who} mended again")
    file.write()
    home.rest()
    home.index()
    return home


def each_kill(home: Home, *command: str, sample: int) -> Iterator[int]:
    """Kill a command before each of its operations, each time from the same state."""
    saved = SavedHome(home)
    operations = count_operations(home, *command)
    for n in scale.some(range(1, operations + 1), sample):
        saved.restore()
        run_killed_at(home, n, *command)
        yield n


def test_killed_at_every_operation_of_publishing_and_folding_vectors(
    partly_embedded: Home, figure: Callable[[str], None]
) -> None:
    """The new segment is larger than the old ones, which are folded into it."""
    home = partly_embedded
    kills = 0
    for _ in each_kill(home, "index", "-q", sample=3):
        kills += 1
        assert damaged_files(str(home.store_dir)) == []
        done = home.run("index", "-q")
        assert (done.returncode, done.stderr) == (0, "")
        assert_embedded(home)
    assert len(Vectors(vectors_dir(home)).segments) == 1
    assert_same_as_fresh(home)
    assert kills > 3
    figure(f"kill -9, index that embeds and folds: {kills} operations, all = fresh")


def test_killed_forget_leaves_no_vector_after_the_next_run(
    partly_embedded: Home, figure: Callable[[str], None]
) -> None:
    home = partly_embedded
    kept, gone = home.claude(1), home.claude(2)
    secret = text_key("login case 1")
    assert secret in published(home)
    kills = left = 0
    for _ in each_kill(home, "forget", gone.id, sample=5):
        kills += 1
        if home.run("forget", gone.id).returncode != 0:  # it was forgotten before the kill
            assert home.run("gc").returncode == 0
        assert secret not in published(home)
        left += sum(
            secret.to_bytes(8, "little") in path.read_bytes()
            for path in Path(vectors_dir(home)).iterdir()
        )
        assert text_key("login case 0") in published(home)
    assert left == 0
    assert kept.id in home.rows()
    assert_heals(home)
    assert_same_as_fresh(home, {gone.id})
    figure(f"kill -9, forget with vectors: {kills} operations, {left} files with its key left")


def add_vectors(home: Home, part: slice) -> None:
    """Add some of 120 made-up vectors; a segment of 30 or more gets a graph."""
    made = np.asarray(np.random.default_rng(1).normal(size=(120, 384)), np.float32)
    keys = [*range(1, 121)][part]
    writer = VectorWriter(home.store, vectors_dir(home), graph_vectors=30)
    writer.heal()
    writer.add(Batch(keys, [(0, 1)] * len(keys), made[part]))


def add_killed_at(home: Home, part: slice, operation: int) -> bool:
    """Add vectors in a fork that is killed at an operation; return whether it was."""
    child = os.fork()
    if child == 0:
        left = operation

        def hook(_operation: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), SIGKILL)

        fsio.hook = hook
        add_vectors(home, part)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, SIGKILL)
    return status != 0


def test_killed_at_every_operation_of_writing_graphs(
    home: Home, figure: Callable[[str], None]
) -> None:
    home.claude().write()
    home.index()
    directory = vectors_dir(home)
    add_vectors(home, slice(0, 50))
    saved = home.directory.with_name("saved")
    shutil.copytree(directory, saved)
    kills = 0
    for operation in count(scale.of(5, 1), scale.of(5, 1)):
        shutil.rmtree(directory)
        shutil.copytree(saved, directory)
        is_killed = add_killed_at(home, slice(50, 120), operation)
        found = Vectors(directory)
        assert found.damaged == []
        assert set(range(1, 51)) <= set(found.keys().tolist())
        if not is_killed:
            break
        kills += 1
        if len(found.keys()) < 120:
            add_vectors(home, slice(50, 120))
        VectorWriter(home.store, directory, graph_vectors=30).heal()
        found = Vectors(directory)
        assert found.keys().tolist() == [*range(1, 121)]
        assert found.count == 120
        graphs = [path.stem.partition("-")[0] for path in Path(directory).glob("*.hnsw")]
        large = [segment.name for segment in found.segments if segment.count >= 30]
        assert sorted(graphs) == sorted(large)
    assert kills > 1
    figure(f"kill -9, vectors with graphs folded: {kills} operations, all vectors kept")
