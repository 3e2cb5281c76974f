"""Stores of earlier versions are used, and stores of a newer version are left alone."""

import json
import re
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.store.access import FORMAT
from tests.compat.make import HERE, fill
from tests.helpers.embedded_home import Done, run_many, vectors_dir
from tests.helpers.homes import Home, assert_same_as_fresh

STORES = sorted(path.name.partition(".")[0] for path in HERE.glob("*.tar.xz"))
WITHOUT_STORE = {"completions", "model", "settings", "setup", "team"}
ARGUMENTS = {
    "search": ["login"],
    "blame": ["x.py"],
    "export": ["cd613e30"],
    "forget": ["cd613e30"],
    "import": [__file__],
    "restore": ["cd613e30"],
    "resume": ["cd613e30"],
    "prune": ["--older-than", "1d", "--dry-run"],
    "show": ["cd613e30"],
    "unmark": ["cd613e30"],
}


def filled(home: Home) -> Home:
    fill(home.projects, home.codex_sessions)
    home.embed = "auto"
    home.rest()
    return home


QUERIES = [
    ["login", "slow"],
    ["-F", "is slow 1"],
    ["-E", "mend[a-z]+ in"],
    ["-t", "tool", "-F", "ok cache"],
    ["show", "cd613e30"],
    ["stats", "tools"],
    ["--semantic", "signing in takes long", "-n", "3"],
]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> list[Done]:
    """The answers of a store that this version made."""
    home = filled(Home(tmp_path_factory.mktemp("right") / "home"))
    _, *answers = run_many(home, [["index", "-q"], *QUERIES])
    assert all(done.code == 0 and done.out for done in answers), answers
    return answers


def assert_same_answer(command: list[str], done: Done, expected: Done) -> None:
    """Assert that two answers are equal; scores of vectors from another CPU differ slightly."""
    assert done.code == expected.code, command
    if command[0] != "--semantic":
        assert done.out == expected.out, command
        return
    assert done.places == expected.places
    assert all(abs(a - b) < 0.01 for a, b in zip(done.scores, expected.scores, strict=True))


@pytest.mark.parametrize("name", STORES)
def test_store_of_an_earlier_version_is_used(
    home: Home, name: str, right: list[Done], figure: Callable[[str], None]
) -> None:
    """Without transcripts, so that every answer comes from the store."""
    home.embed = "auto"
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(home.directory, filter="data")
    commands = [QUERIES[0], ["index", "--json"], *QUERIES, ["fsck"]]
    first, indexed, *answers, checked = run_many(home, commands)
    for command, done, expected in zip(QUERIES, answers, right, strict=True):
        assert_same_answer(command, done, expected)
    assert (first.code, first.out) == (right[0].code, right[0].out)
    report = json.loads(indexed.out)
    assert report["files_parsed"] == 0
    embedded = report["embedded"]["texts"]
    assert (embedded == 0) == ("vectors" in members(name))
    assert checked.code == 0, checked
    filled(home).index()  # The transcripts are back, in another directory.
    assert_same_as_fresh(home)
    figure(
        f"store {name}: {len(answers)} answers right, {report['files_parsed']} files parsed, "
        f"{embedded} texts embedded"
    )


def test_store_with_marks_has_them_still(home: Home) -> None:
    with tarfile.open(HERE / "format1-marks.tar.xz") as archive:
        archive.extractall(home.directory, filter="data")
    assert home.run("mark").stdout == "cd613e30:0\tkept\tsince the first version with marks\n"
    assert home.run("-l", "login", "--tag", "kept").stdout == "cd613e30\n"


def members(name: str) -> set[str]:
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        return {Path(path).parts[1] for path in archive.getnames() if "/" in path}


def test_current_format_has_a_fixture() -> None:
    assert any(name.startswith(f"format{FORMAT}-") for name in STORES)


def hash_store(home: Home) -> str:
    digest = sha256()
    for path in sorted(home.store_dir.rglob("*")):
        info = path.stat()
        digest.update(f"{path} {info.st_mode} {info.st_size} {info.st_mtime_ns}".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("number", "features"), [(FORMAT + 1, ""), (FORMAT, "shiny")], ids=["format", "feature"]
)
def test_store_of_a_newer_version_is_neither_read_nor_written(
    home: Home, number: int, features: str, figure: Callable[[str], None]
) -> None:
    filled(home)
    home.embed = "never"
    home.index()
    assert home.run("stats").returncode == 0
    text = f"ccgrep store\nformat {number}\nfeatures {features}\n"
    (home.store_dir / "FORMAT").write_text(text)
    before = hash_store(home)
    commands = [[name, *ARGUMENTS.get(name, [])] for name in COMMANDS if name not in WITHOUT_STORE]
    commands = [command for command in commands if command[0] not in ("mcp", "pick")]
    commands += [["-F", "login"], ["--no-refresh", "login"], ["--no-index", "-F", "login"]]
    commands += [["-l", "login"], ["fsck", "--repair"], ["index", "--full"], ["stats", "tools"]]
    for command, done in zip(commands, run_many(home, commands), strict=True):
        assert (done.code, done.out) == (2, ""), (command, done)
        assert re.fullmatch(r"ccgrep: the store is from a newer ccgrep \(format \d.*\n", done.err)
    file = home.claude(9)
    file.turn("grown", "since")
    file.write()
    assert home.run("login").returncode == 2
    assert home.run("__complete", "session", "").stdout == ""
    served = home.run("mcp", input=json.dumps(LIST) + "\n")
    assert "newer ccgrep" in served.stdout
    assert hash_store(home) == before
    assert home.run("index", "--recreate").returncode == 0
    assert_same_as_fresh(home)
    what = f"feature {features}" if features else f"format {number}"
    figure(
        f"store of a newer version ({what}): {len(commands) + 3} commands refused, store unchanged"
    )


LIST = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_conversations"},
}  # fmt: skip


def test_full_text_index_of_another_engine_is_rebuilt_from_objects(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Tantivy rejects an unknown format, and usearch a graph that it cannot map."""
    filled(home)
    _, right = run_many(home, [["index", "-q"], QUERIES[0]])
    VectorWriter(home.store, vectors_dir(home), graph_vectors=1).heal()
    version = re.compile(rb'"index_format_version":\d')
    changed = 0
    for path in (home.store_dir / "text").rglob("*.*"):
        data = path.read_bytes()
        if version.search(data):
            path.write_bytes(version.sub(b'"index_format_version":9', data))
            changed += 1
    assert changed
    for path in Path(vectors_dir(home)).glob("*.hnsw"):
        data = b"usearch" + bytes(9) + path.read_bytes()[16:]
        segment = path.name.partition("-")[0]
        path.unlink()
        path.with_name(f"{segment}-{sha256(data).hexdigest()[:32]}.hnsw").write_bytes(data)
    before = "from ccgrep.semantic import vectors; vectors.MAX_WITHOUT_GRAPHS = 0"
    commands = [QUERIES[0], QUERIES[-1], ["index", "--json"]]
    found, near, indexed = run_many(home, commands, before)
    assert (found.code, found.out) == (right.code, right.out)
    assert "rebuilding it" in found.err
    assert near.code == 0
    report = json.loads(indexed.out)
    assert (report["files_parsed"], report["embedded"]["texts"]) == (0, 0)
    assert_same_as_fresh(home)
    figure(
        f"full-text index of another engine: rebuilt from objects, {report['files_parsed']} files "
        f"parsed, {report['embedded']['texts']} texts embedded"
    )
