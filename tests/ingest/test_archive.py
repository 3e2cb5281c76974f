"""The bytes of transcripts: stored when a file is read, kept when it changes or is deleted."""

import base64
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ccgrep.ingest import archive
from ccgrep.model import ObjectId
from ccgrep.ops import gc, index
from ccgrep.ops.restore import RestoreOptions, list_versions, restore
from ccgrep.store.manifest import StoredPart
from ccgrep.store.originals import PackedPart, iterate_parts, list_stored_files, pack_part
from tests.helpers import scale
from tests.helpers.homes import Home, assert_bytes_stored, assert_same_as_fresh, stored_bytes
from tests.helpers.stored import object_bytes, write_session

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(4000)


def all_stored(home: Home) -> set[bytes]:
    """Return every content that is stored for any session."""
    store = home.store
    return {
        b"".join(iterate_parts(file.parts, store.read))
        for row in store.rows()
        for file in list_stored_files(row, store.read)
    }


def test_unfinished_line_is_stored_too(home: Home) -> None:
    file = write_session(home)
    with file.path.open("ab") as stream:
        stream.write(b'{"type":"user","mess')
    home.index()
    assert_bytes_stored(home)


def test_growing_file_has_few_parts(home: Home) -> None:
    file = write_session(home)
    home.index()
    for number in range(40):
        file.turn(f"prompt {number}", f"answer {number} " * 20)
        file.append()
        home.index()
    assert_bytes_stored(home)
    (row,) = home.store.rows()
    assert len(row.files[0].parts) <= 8
    assert row.versions == ()


def test_rewritten_file_keeps_both_contents(home: Home) -> None:
    file = write_session(home, turns=3)
    home.index()
    before = file.path.read_bytes()
    del file.records[2:]
    file.turn("another prompt", "another answer")
    file.write()
    home.index()
    assert all_stored(home) >= {before, file.path.read_bytes()}
    assert_same_as_fresh(home)


def test_file_rewritten_with_the_same_turns_is_a_version(home: Home, tmp_path: Path) -> None:
    file = write_session(home)
    home.index()
    before = file.path.read_bytes()
    file.path.write_bytes(before.replace(b"{", b"{ ", 1))
    home.index()
    versions = list_versions(home.config, file.id)
    assert [stored_bytes(home.store, one) for one in versions] == [before, file.path.read_bytes()]
    (found,) = restore(home.config, file.id, RestoreOptions(str(tmp_path / "to"), version=1))
    assert Path(found.path).read_bytes() == before


def test_copy_that_is_deleted_costs_nothing(home: Home) -> None:
    file = write_session(home)
    copy = file.path.parent.parent / "-elsewhere" / file.path.name
    copy.parent.mkdir()
    copy.write_bytes(file.path.read_bytes())
    home.index()
    copy.unlink()
    home.index()
    assert all_stored(home) == {file.path.read_bytes()}


def test_side_files_are_stored_and_restored(home: Home) -> None:
    file = write_session(home)
    folder = file.path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "toolu_1.txt").write_bytes(b"long output \xff\n" * 1000)
    home.index()
    (folder / "toolu_2.txt").write_bytes(b"second")
    file.turn("next", "answer")
    file.append()
    home.index()
    contents = {path: path.read_bytes() for path in (*folder.iterdir(), file.path)}
    for path in contents:
        path.unlink()
    folder.rmdir()
    home.index()
    restore(home.config, file.id, RestoreOptions())
    assert {path: path.read_bytes() for path in contents} == contents


def test_outputs_of_a_deleted_transcript_are_packed_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = write_session(home)
    output = parent.path.with_suffix("") / "tool-results" / "toolu_1.txt"
    output.parent.mkdir(parents=True)
    output.write_text("long output\n" * 1000)
    for number in range(5):
        agent = home.subagent(parent, f"agent-{number}", seed=50 + number)
        agent.turn(f"task {number}", "done")
        agent.write()
    parent.path.unlink()
    packed: list[bytes] = []

    def pack(data: bytes, turns: Sequence[tuple[ObjectId, bytes]], is_json: bool) -> PackedPart:
        packed.append(data)
        return pack_part(data, turns, is_json)

    monkeypatch.setattr(archive, "pack_part", pack)
    home.index()
    assert packed.count(output.read_bytes()) == 1
    files = [list_stored_files(row, home.store.read) for row in home.rows().values()]
    assert [str(output) in {file.path for file in stored} for stored in files] == [True] * 5
    assert_bytes_stored(home)
    assert_same_as_fresh(home)


def test_image_is_stored_once(home: Home) -> None:
    text = base64.b64encode(PNG).decode()
    for seed in (1, 2):
        file = home.claude(seed)
        file.turn(f"prompt {seed}", "answer")
        record = file.records[0]
        assert isinstance(record, dict)
        record["message"]["content"] = [
            {"type": "text", "text": f"look {seed}"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": text},
            },
        ]
        file.write()
    home.index()
    assert_bytes_stored(home)
    assert object_bytes(home).count(PNG) == 1
    assert text.encode()[:2000] not in object_bytes(home)


def test_long_file_is_cut_after_lines(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_PART_BYTES", 1000)
    monkeypatch.setattr(archive, "_MAX_PART_BYTES", 4000)
    file = write_session(home, turns=20)
    with file.path.open("ab") as stream:
        stream.write(b'{"type":"user","x":"' + b"y" * 9000 + b'"}\n')
    home.index()
    assert_bytes_stored(home)
    (row,) = home.store.rows()
    assert len(row.files[0].parts) > 5


def test_restoring_and_indexing_again_changes_nothing(home: Home) -> None:
    file = write_session(home)
    home.index()
    rows = [(row.session, row.manifest) for row in home.store.rows()]
    content = file.path.read_bytes()
    file.path.unlink()
    home.index()
    (found,) = restore(home.config, file.id, RestoreOptions())
    assert (found.state, found.path) == ("restored", str(file.path))
    home.index()
    assert file.path.read_bytes() == content
    assert [(row.session, row.manifest) for row in home.store.rows()] == rows
    assert_same_as_fresh(home)


def test_store_without_bytes_is_upgraded_by_index(home: Home) -> None:
    write_session(home, 1)
    write_session(home, 2)
    index.index(home.config._replace(keep="turns"))
    assert all_stored(home) == set()
    turns = [row.manifest for row in home.store.rows()]
    home.index()
    assert_bytes_stored(home)
    assert len(all_stored(home)) == 2
    assert [len(home.store.manifest(row).entries) for row in home.store.rows()] == [3, 3]
    assert len(turns) == 2


def test_gc_drops_bytes_that_are_no_longer_wanted(home: Home) -> None:
    file = write_session(home)
    (home.projects.parent / "history.jsonl").write_text(
        json.dumps({"display": "typed words", "sessionId": file.id, "timestamp": 1}) + "\n"
    )
    home.index()
    config = home.config._replace(keep="turns")
    gc.gc(config)
    assert all_stored(home) == set()
    assert not any(hint.parts for hint in home.store.snapshot().hints)
    kinds = {frame.kind for pack in home.store.packs() for _, frame in pack.scan()}
    assert not kinds & {"original", "side_files", "blob"}
    assert len(home.store.manifest(next(home.store.rows())).entries) == 3


def test_forget_removes_every_byte(home: Home) -> None:
    file = write_session(home, 1)
    other = write_session(home, 2)
    file.turn("rare-word-to-forget", "answer")
    file.append()
    lines = [
        json.dumps({"display": f"{word} line", "sessionId": id, "timestamp": 1})
        for word, id in (("forgotten-prompt", file.id), ("kept-prompt", other.id))
    ]
    (home.projects.parent / "history.jsonl").write_text("".join(f"{line}\n" for line in lines))
    home.index()
    gc.forget(home.config, [file.id])
    content = all_stored(home)
    assert content == {other.path.read_bytes()}
    (history,) = (hint for hint in home.store.snapshot().hints if hint.parts)
    assert stored_bytes(home.store, history) == f"{lines[1]}\n".encode()
    home.index()
    assert b"rare-word-to-forget" not in object_bytes(home)
    (history,) = (hint for hint in home.store.snapshot().hints if hint.parts)
    assert b"forgotten-prompt" not in stored_bytes(home.store, history)


def test_history_keeps_lines_that_the_client_removed(home: Home) -> None:
    write_session(home)
    history = home.projects.parent / "history.jsonl"
    lines = [
        json.dumps({"display": f"prompt {n}", "sessionId": f"s{n}", "timestamp": n}) + "\n"
        for n in range(3)
    ]
    history.write_text("".join(lines[:2]))
    home.index()
    history.write_text("".join(lines[1:]))
    write_session(home, 2)
    home.index()
    (hint,) = (hint for hint in home.store.snapshot().hints if hint.parts)
    assert stored_bytes(home.store, hint).decode() == "".join(lines)
    history.unlink()
    write_session(home, 3)
    home.index()
    (hint,) = (hint for hint in home.store.snapshot().hints if hint.parts)
    assert stored_bytes(home.store, hint).decode() == "".join(lines)


def test_recreate_carries_over_the_bytes_of_deleted_files(home: Home) -> None:
    gone = write_session(home, 1)
    rewritten = write_session(home, 2)
    home.index()
    contents = {gone.path.read_bytes(), rewritten.path.read_bytes()}
    gone.path.unlink()
    del rewritten.records[3:]
    rewritten.write()
    home.index()
    index.recreate(home.config)
    assert all_stored(home) == contents | {rewritten.path.read_bytes()}
    (found,) = restore(home.config, gone.id, RestoreOptions())
    assert Path(found.path).read_bytes() in contents
    home.index()
    assert_same_as_fresh(home)


class Archive(RuleBasedStateMachine):
    """Any sequence of appends, rewrites, rewinds, deletions and ingests keeps what was there."""

    make_home: Callable[[], Home]

    @initialize()
    def start(self) -> None:
        self.home = self.make_home()
        self.file = write_session(self.home)
        self.count = 0
        self.seen: set[bytes] = set()

    @rule(words=st.integers(1, 3000))
    def append(self, words: int) -> None:
        self.count += 1
        self.file.turn(f"prompt {self.count}", f"answer {self.count} " * words)
        self._restore_file()
        self.file.append()

    @rule(keep=st.integers(1, 6))
    def rewind(self, keep: int) -> None:
        del self.file.records[keep:]
        self.file.write()

    @rule()
    def rewrite(self) -> None:
        self._restore_file()
        content = self.file.path.read_bytes()
        self.file.path.write_bytes(content.replace(b"answer", b"reply:"))

    @rule(size=st.integers(0, 300))
    def cut(self, size: int) -> None:
        self._restore_file()
        os.truncate(self.file.path, max(self.file.path.stat().st_size - size, 0))

    @rule()
    def delete(self) -> None:
        self.file.path.unlink(missing_ok=True)

    @rule()
    def index(self) -> None:
        self.home.index()
        if self.file.path.exists():
            self.seen.add(self.file.path.read_bytes())

    @rule()
    def collect_garbage(self) -> None:
        if self.seen:
            gc.gc(self.home.config)

    def _restore_file(self) -> None:
        if not self.file.path.exists():
            self.file.write()

    @invariant()
    def every_content_is_stored(self) -> None:
        if not self.seen:
            return
        stored = all_stored(self.home)
        lost = [one for one in self.seen if not any(s.startswith(one) for s in stored)]
        assert lost == []

    @invariant()
    def newest_content_is_restored(self) -> None:
        if not self.seen or self.file.path.exists():
            return
        directory = str(self.home.directory / "restored")
        (found,) = restore(
            self.home.config, self.file.id, RestoreOptions(directory, is_forced=True)
        )
        assert Path(found.path).read_bytes() in {*all_stored(self.home)}


def test_any_sequence_of_changes_keeps_the_bytes(tmp_path_factory: pytest.TempPathFactory) -> None:
    class Machine(Archive):
        make_home = staticmethod(lambda: Home(tmp_path_factory.mktemp("home")))

    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=scale.of(6, 100), stateful_step_count=12, deadline=None),
    )


@given(st.lists(st.integers(1, 2_000_000), max_size=60))
def test_parts_shrink_towards_the_end(sizes: list[int]) -> None:
    parts: list[StoredPart] = []
    for size in sizes:
        total = sum(part.size for part in parts)
        kept = archive.keep_parts(parts, total, total + size)
        merged = sum(part.size for part in parts[len(kept) :]) + size
        parts = [*kept, StoredPart(bytes(32), merged)]  # type: ignore[arg-type]
    assert sum(part.size for part in parts) == sum(sizes)
    small = [part.size for part in parts if part.size < 1024 * 1024]
    assert len(small) <= 22
    assert archive.keep_parts(parts, sum(sizes), sum(sizes)) == parts
