"""kill -9 while texts are embedded: what is published is never embedded again, and the rest is.

A child embeds small batches and publishes each, and writes down every text that it encodes.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ccgrep.fulltext import generations
from ccgrep.fulltext.surfaces import text_key
from ccgrep.semantic.embedding import live_keys
from ccgrep.semantic.vectors import Batch, Vectors, VectorWriter, damaged_files
from tests.faults.injection import SavedHome, assert_heals, count_operations, run_killed_at
from tests.helpers import scale
from tests.helpers.embedded_home import vectors_dir
from tests.helpers.homes import Home, assert_same_as_fresh

WRAPPED = """
import os, sys
from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.semantic import embedding
from ccgrep.fulltext.surfaces import text_key
embedding._TEXTS_AT_ONCE = 8
embedding._SAVE_EVERY_S = 0.0
encode = LightEncoder.encode
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def and_write_down(self, texts):
    made = encode(self, texts)
    os.write(log, "".join(f"{text_key(text)}\\n" for text in texts).encode())
    return made
LightEncoder.encode = and_write_down
from ccgrep.cli import main
sys.exit(main(sys.argv[1:]))
"""
WHO = ("login", "build", "worker", "cache", "parser", "proxy")
WHAT = ("is slow", "crashes", "leaks", "hangs", "lies")


def fill(home: Home, sessions: int = 4) -> None:
    """Some hundred short texts."""
    home.embed = "auto"
    for seed in range(sessions):
        file = home.claude(seed + 1, slug=f"-p{seed % 2}")
        file.meta("custom-title", customTitle="-")
        for who, what in product(WHO, WHAT):
            file.turn(f"{who} {what}, case {seed}", f"{who} mended, {what} no more, {seed}")
        file.write()
    home.rest()


def start(home: Home, log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", WRAPPED, str(log), *(arguments or ("index", "-q"))],
        env=home.environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def encoded(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


def published(home: Home) -> set[int]:
    return set(Vectors(vectors_dir(home)).keys().tolist())


def wanted(home: Home) -> set[int]:
    found = generations.current(str(home.store_dir))
    assert found is not None
    surfaces = ("prompt", "answer", "title")
    keys = live_keys(generations.open_reader(found.path), surfaces)
    return set(keys.tolist()) - {0}


def assert_whole(home: Home) -> None:
    """Every text has vectors, once, and nothing is left over or damaged."""
    found = Vectors(vectors_dir(home))
    assert set(found.keys().tolist()) == wanted(home)
    assert (found.damaged, damaged_files(str(home.store_dir))) == ([], [])
    assert found.count == len(found.keys())
    names = {segment.name for segment in found.segments()}
    graphs = [path.stem for path in Path(vectors_dir(home)).glob("*.hnsw")]
    assert all(graph.partition("-")[0] in names for graph in graphs)
    assert os.listdir(home.store_dir / "tmp") == []


def test_killed_at_random_moments_embeds_nothing_twice(
    home: Home, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    fill(home, sessions=scale.of(2, 4))
    home.index()
    chance = random.Random(4)
    log = tmp_path / "encoded"
    kills, wanted_kills = 0, scale.of(3, 20)
    while kills < wanted_kills:
        before = published(home)
        log.unlink(missing_ok=True)
        child = start(home, log)
        deadline = time.monotonic() + 30
        # Once it encodes, so that every kill is in the midst of it.
        while not encoded(log) and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.06))
        if child.poll() is not None:
            assert child.returncode == 0
            break
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        kills += 1
        assert before.isdisjoint(encoded(log))
        assert before <= published(home)
    before = published(home)
    log.unlink(missing_ok=True)
    assert start(home, log).wait() == 0
    assert before.isdisjoint(encoded(log))
    log.unlink(missing_ok=True)
    assert start(home, log).wait() == 0
    assert encoded(log) == []
    assert_whole(home)
    assert_same_as_fresh(home)
    assert kills == wanted_kills
    figure(f"kill -9 while embedding: {kills} times, 0 texts of a published batch embedded twice")


def test_interrupted_embedding_keeps_finished_batches(home: Home, tmp_path: Path) -> None:
    fill(home)
    home.index()
    log = tmp_path / "encoded"
    child = start(home, log)
    while len(encoded(log)) < 40 and child.poll() is None:
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait() == 130
    done = encoded(log)
    assert 40 <= len(done) < len(wanted(home))
    assert set(done) <= published(home)
    log.unlink()
    assert start(home, log).wait() == 0
    assert set(done).isdisjoint(encoded(log))
    assert_whole(home)
    assert_same_as_fresh(home)


@pytest.fixture
def small(home: Home) -> Home:
    """A store of some vectors with graphs, and texts that are not embedded yet."""
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
    """Kills a command before each of its operations, each time from the same state."""
    saved = SavedHome(home)
    operations = count_operations(home, *command)
    for n in scale.some(range(1, operations + 1), sample):
        saved.restore()
        run_killed_at(home, n, *command)
        yield n


def test_killed_at_every_operation_of_publishing_and_folding(
    small: Home, figure: Callable[[str], None]
) -> None:
    """The new segment is larger than those that are there: they are folded into it."""
    home = small
    made = 0
    for _ in each_kill(home, "index", "-q", sample=5):
        made += 1
        assert damaged_files(str(home.store_dir)) == []
        done = home.run("index", "-q")
        assert (done.returncode, done.stderr) == (0, "")
        assert_whole(home)
    assert len(Vectors(vectors_dir(home)).segments()) == 1
    assert_same_as_fresh(home)
    assert made >= 5
    figure(f"kill -9, index that embeds and folds: {made} operations, all = fresh")


def test_killed_forget_leaves_no_vector_after_the_next(
    small: Home, figure: Callable[[str], None]
) -> None:
    home = small
    kept, gone = home.claude(1), home.claude(2)
    secret = text_key("login case 1")
    assert secret in published(home)
    made = 0
    for _ in each_kill(home, "forget", gone.id, sample=8):
        made += 1
        if home.run("forget", gone.id).returncode != 0:  # it was forgotten before the kill
            assert home.run("gc").returncode == 0
        assert secret not in published(home)
        data = b"".join(path.read_bytes() for path in Path(vectors_dir(home)).iterdir())
        assert secret.to_bytes(8, "little") not in data
        assert text_key("login case 0") in published(home)
    assert kept.id in home.rows()
    assert_heals(home)
    assert_same_as_fresh(home, {gone.id})
    figure(f"kill -9, forget with vectors: {made} operations, 0 bytes of it left")


def test_killed_at_every_operation_of_writing_graphs(
    home: Home, figure: Callable[[str], None]
) -> None:
    """In a process of its own each time, as the indexing process does it."""
    home.claude().write()
    home.index()
    directory = vectors_dir(home)
    rng = np.random.default_rng(1)
    made = np.asarray(rng.normal(size=(120, 384)), np.float32)

    def add(part: slice) -> None:
        keys = [*range(1, 121)][part]
        writer = VectorWriter(home.store, directory, graph_vectors=30)
        writer.heal()
        writer.add(Batch(keys, [(0, 1)] * len(keys), made[part]))

    from ccgrep.store import fsio  # noqa: PLC0415

    add(slice(0, 50))
    saved = home.directory.with_name("saved")
    shutil.copytree(directory, saved)
    operations = kills = 0
    while True:
        operations += scale.of(5, 1)
        shutil.rmtree(directory)
        shutil.copytree(saved, directory)
        child = os.fork()
        if child == 0:
            left = operations

            def hook(_operation: str, _path: str) -> None:
                nonlocal left
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)

            fsio.hook = hook
            add(slice(50, 120))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found = Vectors(directory)
        assert found.damaged == []
        assert set(range(1, 51)) <= set(found.keys().tolist())
        if status == 0:
            break
        kills += 1
        if len(found.keys()) < 120:
            add(slice(50, 120))
        VectorWriter(home.store, directory, graph_vectors=30).heal()
        found = Vectors(directory)
        assert found.keys().tolist() == [*range(1, 121)]
        assert found.count == 120
        graphs = [path.stem.partition("-")[0] for path in Path(directory).glob("*.hnsw")]
        large = [one.name for one in found.segments() if one.count >= 30]
        assert sorted(graphs) == sorted(large)
    assert operations > 10
    figure(f"kill -9, vectors with graphs folded: {kills} operations, 0 lost")
