"""Flipped bits and truncated files: fsck finds them, no answer uses them, and they heal.

Lock files are not covered: they hold only a message for people.
"""

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ccgrep.fulltext import generations, verification
from ccgrep.model import Turn
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.store.checksummed_file import add_checksum
from ccgrep.store.fsio import remove_tree
from tests.faults.warm_process import WarmProcess
from tests.helpers import scale
from tests.helpers.embedded_home import Done, vectors_dir
from tests.helpers.homes import Home, assert_same_as_fresh, read_content
from tests.helpers.transcripts import ClaudeFile

DAMAGE = re.compile(
    r"damaged|lost|missing|truncated|rebuil|fsck|newer ccgrep|recreate|% of the texts are embedded"
)
TOPICS = ("login", "build", "worker", "cache", "parser", "proxy")


def fill(home: Home) -> list[ClaudeFile]:
    """Make a store with two packs, a forgotten session, vectors, a graph and tallies."""
    home.embed = "auto"
    files = []
    for seed, topic in enumerate(TOPICS):
        file = home.claude(seed + 1, slug=f"-home-sam-p{seed % 3}", cwd=f"/home/sam/p{seed % 3}")
        for number in range(3):
            file.turn(
                f"the {topic} is slow, case {number}",
                f"the {topic} had no index: mended {number}",
                f"make {topic}",
                f"ok {topic} {number}\n" * 20,
            )
        file.write()
        files.append(file)
    codex = home.codex(5)
    codex.meta()
    codex.turn("list what there is", "there are two", "ls", "a b c")
    codex.write()
    unwanted = home.claude(70)
    unwanted.turn("secret", "talk")
    unwanted.write()
    home.rest()
    assert home.run("index", "-q").returncode == 0
    assert home.run("forget", unwanted.id).returncode == 0
    home.rest()
    unwanted.path.unlink()
    for file in files[:2]:
        file.turn("and the rest of the login", "that is slow too")
        file.append()
    home.rest()
    assert home.run("index", "-q").returncode == 0
    VectorWriter(home.store, vectors_dir(home), graph_vectors=1).heal()
    assert home.run("stats").returncode == 0
    assert home.run("--semantic", "login").returncode == 0
    return files


def battery(files: list[ClaudeFile]) -> list[list[str]]:
    """Return a command for every kind of question."""
    return [
        ["login", "slow"],
        ["-F", "--no-refresh", "is slow, case 1"],
        ["-E", "--no-refresh", "mend[a-z]+ [12]"],
        ["-t", "tool", "-F", "ok cache 2", "--no-refresh"],
        ["-t", "tool", "make", "--no-refresh"],
        ["--semantic", "signing in takes long"],
        ["-p", "p1", "slow", "--no-refresh"],
        ["-l", "--since", "2026-01-01", "index"],
        ["show", files[0].id],
        ["list"],
        ["stats"],
        ["stats", "tools", "--no-refresh"],
        ["MCP", "parser mended"],
    ]


def damageable(home: Home) -> list[Path]:
    paths = sorted(path for path in home.store_dir.rglob("*") if path.is_file())
    return [path for path in paths if path.stat().st_size and path.name != "lock"]


def flip(path: Path, chance: random.Random) -> None:
    """Flip one bit; every other time, restore the mtime."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    with path.open("r+b") as file:
        file.write(data)
    if chance.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


class SavedStore:
    """A copy of a store that `restore` puts back, with its files recorded as verified."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._saved = home.directory.with_name("saved")
        shutil.copytree(home.store_dir, self._saved)
        self.restore()

    def restore(self) -> None:
        home = self._home
        for path in home.directory.glob("store*"):
            remove_tree(str(path))
        shutil.copytree(self._saved, home.store_dir)
        current = generations.current(str(home.store_dir))
        assert current is not None
        stamps = verification.file_stamps(current.path).values()
        noted = add_checksum("".join(sorted(stamps)).encode())
        (Path(current.path) / "CHECKED").write_bytes(noted)
        VectorWriter(home.store, vectors_dir(home)).write_checked()


@pytest.fixture
def rotten(home: Home) -> Iterator[tuple[Home, list[ClaudeFile], WarmProcess]]:
    files = fill(home)
    with WarmProcess(home) as process:
        yield home, files, process


def hits(done: Done) -> set[tuple[str, ...]]:
    """Return place and text of each record line, without the score, which may differ."""
    split = [line.split(":", 3) for line in done.out.splitlines()]
    return {(*parts[:2], *parts[3:]) for parts in split}


Texts = dict[tuple[str, str], str]
"""The text of each turn, by the session id and turn number of a record line."""


def texts_of(home: Home, files: list[ClaudeFile]) -> Texts:
    return {
        (file.id[:8], str(number)): "\n".join([turn.prompt, *turn.assistant_texts()])
        for file in files
        for number, turn in enumerate(home.turns(file.id))
    }


def assert_honest(command: list[str], done: Done, right: Done, texts: Texts) -> None:
    """Assert that an answer is right, or names the damage and invents no hit."""
    assert done.code in (0, 1, 2), (command, done)
    assert "Traceback" not in done.err, (command, done.err)
    if (done.code, done.out) == (right.code, right.out):
        return
    assert DAMAGE.search(done.err + done.out), (command, done, right)
    if command[0] == "--semantic":  # If some vectors are lost, others are nearest.
        assert all(text in texts[place, turn] for place, turn, text in hits(done)), (command, done)
    elif command[0] not in ("show", "list", "stats"):
        assert set(done.places) <= set(right.places), (command, done)
        shown = {hit for hit in hits(done) if hit[-1]}  # A lost text is omitted.
        assert shown <= hits(right), (command, done)


def heal(process: WarmProcess) -> str:
    """Repair the store with the commands that ccgrep suggests; return the last one."""
    for commands in (("index",), ("fsck", "--repair"), ("index", "--recreate")):
        healed, checked = process.run([[*commands], ["fsck"]])
        assert "Traceback" not in healed.err, healed.err
        if (healed.code, checked.code) == (0, 0):
            return " ".join(commands)
    raise AssertionError((healed, checked))


def state(home: Home) -> tuple[object, object]:
    """Return what the store holds and finds, in any order."""
    now = read_content(home.config)
    return now.sessions, now.places


def test_damage_is_found_never_used_in_answers_and_healed(
    rotten: tuple[Home, list[ClaudeFile], WarmProcess], figure: Callable[[str], None]
) -> None:
    home, files, process = rotten
    saved = SavedStore(home)
    commands = battery(files)
    right = {tuple(c): done for c, done in zip(commands, process.run(commands), strict=True)}
    assert all(done.code == 0 and done.out for done in right.values()), right
    before = state(home)
    texts = texts_of(home, files)
    chance = random.Random(23)
    flips, cuts = scale.of(4, 500), scale.of(2, 100)
    kinds: set[str] = set()
    found = answered = healed = 0
    for number in range(flips + cuts):
        saved.restore()
        paths = damageable(home)
        path = paths[number * len(paths) // flips] if number < flips else chance.choice(paths)
        (flip if number < flips else cut)(path, chance)
        kinds.add(re.sub(r"[0-9a-f]{8,}|\d+", "#", str(path.relative_to(home.store_dir))))
        chance.shuffle(commands)
        checked, *answers = process.run([["fsck"], *commands])
        assert "Traceback" not in checked.err, (path, checked)
        assert checked.code in (1, 2), (path, checked)
        found += 1
        for command, done in zip(commands, answers, strict=True):
            assert_honest(command, done, right[tuple(command)], texts)
            answered += 1
        heal(process)
        assert state(home) == before, path
        few = [command for command in commands if command[0] in ("login", "--semantic", "stats")]
        for command, done in zip(few, process.run(few), strict=True):
            assert hits(done) == hits(right[tuple(command)]), (path, command, done)
        healed += 1
    assert_same_as_fresh(home)
    figure(
        f"bit rot: {flips} flips and {cuts} cuts in {len(kinds)} kinds of files: fsck found "
        f"{found} of {flips + cuts}, {answered:,} answers honest, {healed} healed"
    )


def test_damage_without_transcript_is_named(home: Home, figure: Callable[[str], None]) -> None:
    files = fill(home)
    for file in files:
        file.path.unlink()
    home.index()
    right = {file.id: home.turns(file.id) for file in files}
    saved = SavedStore(home)
    chance = random.Random(24)
    packs = (home.store_dir / "objects" / "pack").glob("*.pack")
    pack = max(packs, key=lambda path: path.stat().st_size)
    cases, named, kept = scale.of(3, 60), 0, 0
    with WarmProcess(home) as process:
        for number in range(cases):
            saved.restore()
            (cut if number % 3 == 2 else flip)(pack, chance)
            (repaired,) = process.run([["fsck", "--repair"]])
            assert "Traceback" not in repaired.err
            rows = home.rows()
            for id, turns in right.items():
                entries = home.manifest(id).entries if id in rows else ()
                for place, turn in enumerate(turns):
                    is_there = place < len(entries) and entries[place].turn in home.store
                    if is_there:
                        assert home.store.load(entries[place].turn, Turn) == turn
                        kept += 1
                    else:
                        said = (f"turn {id}:{place}", f"session {id}", f"manifest of {id}")
                        assert any(one in repaired.out for one in said), repaired
                        named += 1
            assert home.run("fsck").returncode in (0, 1)
    assert named
    figure(f"bit rot without transcripts: {cases} packs, {kept} turns kept, {named} lost and named")


def test_every_byte_of_a_full_text_footer_is_verified(home: Home) -> None:
    """Also the version of tantivy, which its checksum does not cover."""
    file = home.claude()
    file.turn("where is the login", "in the form")
    file.write()
    home.index()
    (path,) = (home.store_dir / "text").rglob("*.term")
    data = path.read_bytes()
    start = data.index(b'{"version"')
    for at in range(start, len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert str(path) in generations.damaged_files(str(home.store_dir)), at
    path.write_bytes(data)
    assert generations.damaged_files(str(home.store_dir)) == []
    assert_same_as_fresh(home)


@pytest.mark.parametrize("ending", [".term", ".store", ".fast"])
def test_damage_that_keeps_the_mtime_is_detected(home: Home, ending: str) -> None:
    file = home.claude()
    file.turn("where is the login", "in the form")
    file.write()
    home.rest()
    home.index()
    right = home.run("login")
    (path,) = (home.store_dir / "text").rglob(f"*{ending}")
    before = path.stat()
    data = path.read_bytes()
    with path.open("r+b") as damaged:
        damaged.write(bytes([data[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = home.run("login")
    assert (done.returncode, done.stdout) == (0, right.stdout)
    assert f"the full-text index is damaged ({path}): rebuilding it" in done.stderr
    assert_same_as_fresh(home)
