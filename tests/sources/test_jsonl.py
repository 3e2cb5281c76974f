"""The line reader: damage is passed over, whole records are kept, memory is bounded."""

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from ccgrep.sources import claude_records
from ccgrep.sources.claude_records import Record
from ccgrep.sources.files import open_regular
from ccgrep.sources.jsonl import MAX_LINE_BYTES, Mark, Records
from ccgrep.sources.scan import Root, scan
from tests.helpers.homes import Home, assert_same_as_fresh


def record(number: int, **fields: Any) -> bytes:
    value = {
        "parentUuid": None,
        "type": "user",
        "message": {"role": "user", "content": f'text {number} with {{"a":1}} inside'},
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "timestamp": "2026-09-21T10:00:00.000Z",
        **fields,
    }
    return json.dumps(value).encode()


def read(data: bytes) -> tuple[list[str], list[tuple[int, int, str]]]:
    records = Records(io.BytesIO(data), Mark(0, 0), Record, claude_records.is_record)
    uuids = [found.uuid[-2:] for _, _, found in records]
    return uuids, [(spot.offset, spot.length, spot.reason) for spot in records.bad]


def test_record_cut_at_every_byte_before_a_whole_one_loses_only_itself() -> None:
    first, second = record(1), record(2)
    for cut in range(1, len(first)):
        uuids, bad = read(first[:cut] + second + b"\n" + record(3) + b"\n")
        assert uuids == ["02", "03"], cut
        assert bad == [(0, cut, "not JSON")], cut


def test_records_without_newline_between_them_are_both_whole() -> None:
    assert read(record(1) + record(2) + b"\n") == (["01", "02"], [])


def test_record_behind_nul_bytes_is_kept() -> None:
    data = record(1) + b"\n" + b"\0" * 100 + record(2) + b"\n"
    assert read(data) == (["01", "02"], [(len(record(1)) + 1, 100, "NUL bytes")])


def test_tail_fragment_on_a_line_of_its_own_is_counted_once() -> None:
    tail = record(9)[40:] + b"\n"
    assert read(record(1) + b"\n" + tail + record(2) + b"\n") == (
        ["01", "02"],
        [(len(record(1)) + 1, len(tail), "not JSON")],
    )


def test_record_with_garbage_behind_it_is_kept() -> None:
    uuids, bad = read(record(1) + b'tail of another","x":1}\n' + record(2) + b"\n")
    assert (uuids, len(bad)) == (["01", "02"], 1)


def test_fake_record_inside_a_string_is_never_salvaged() -> None:
    chance = random.Random(5)
    fake = record(66).decode()
    for _ in range(200):
        outer = record(1, message={"role": "user", "content": f"look: {fake} and {fake}"})
        cut = chance.randrange(1, len(outer))
        uuids, _ = read(outer[:cut] + record(2) + b"\n" + outer[cut:] + b"\n" + record(3) + b"\n")
        assert uuids == ["02", "03"], cut


def test_object_inside_a_cut_record_is_not_taken_for_a_record() -> None:
    nested = json.loads(record(66))
    outer = record(1, data={"type": "agent_progress", "message": nested, "more": "x" * 50})
    for cut in range(outer.index(b"00000066") + 200, len(outer)):
        uuids, _ = read(outer[:cut] + b"\n" + record(2) + b"\n")
        assert uuids[-1] == "02"
        if outer[cut - 1 : cut] != b"}":
            assert uuids == ["02"], cut


@pytest.mark.parametrize("depth", [100, 1_000, 10_000, 1_000_000])
def test_deep_nesting_loses_only_its_record(depth: int) -> None:
    deep = b'{"type":"user","unknown":' + b"[" * depth + b"]" * depth + b',"uuid":"77"}\n'
    uuids, bad = read(record(1) + b"\n" + deep + record(2) + b"\n")
    assert [uuid for uuid in uuids if uuid != "77"] == ["01", "02"]
    assert len(bad) == ("77" not in uuids)


def test_every_bad_byte_and_surrogate_keeps_its_turn() -> None:
    for byte in range(128, 256):
        line = record(1).replace(b"text 1", b"te" + bytes([byte]) + b"xt")
        assert read(line + b"\n")[0] == ["01"], byte
    for code in range(0xD800, 0xE000, 64):
        line = record(1).replace(b"text 1", b"te\\u%04xxt" % code)
        assert read(line + b"\n")[0] == ["01"], code


def test_unusual_json_is_still_read() -> None:
    assert read(b"\xef\xbb\xbf" + record(1) + b"\r\n\n  \n" + record(2) + b"\n")[0] == ["01", "02"]
    for value in (b"NaN", b"Infinity", b"1e999", b"1" * 100, b'"\\u0000"'):
        line = record(1)[:-1] + b',"summary":' + value + b"}\n"
        assert read(line) == (["01"], []), value


def test_unicode_line_separators_do_not_split_records() -> None:
    text = "a\u2028b\u0085c\x0bd"
    line = json.dumps(json.loads(record(1, summary=text)), ensure_ascii=False).encode()
    assert read(line + b"\n" + record(2) + b"\n") == (["01", "02"], [])


def test_unfinished_last_line_is_awaited_without_a_word() -> None:
    whole, last = record(1) + b"\n", record(2)
    for cut in range(len(last)):
        assert read(whole + last[:cut]) == (["01"], []), cut
    assert read(whole + last) == (["01", "02"], [])


def test_line_over_the_limit_is_skipped_within_bounded_memory(home: Home) -> None:
    file = home.claude()
    file.turn("before", "one")
    file.raw(b'{"type":"user","x":"' + b"y" * MAX_LINE_BYTES + b'"}\n')
    file.turn("after", "two")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["before", "after"]
    (spot,) = home.manifest(file.id).bad
    assert (spot.reason, spot.length) == ("line longer than 64 MiB", MAX_LINE_BYTES + 23)


def test_hostile_line_is_given_up_in_bounded_time() -> None:
    line = b'{"a":{"b":[' * 300 + b"1," * 2_000_000 + b"\n"
    assert read(line + record(2) + b"\n")[0] == ["02"]


def test_only_regular_files_inside_the_root_are_read(home: Home, tmp_path: Path) -> None:
    outside = home.claude(2)
    outside.path = tmp_path / "outside.jsonl"
    outside.turn("outside", "the tree")
    outside.write()
    inside = home.claude(1)
    inside.turn("inside", "the tree")
    inside.write()
    folder = inside.path.parent
    (folder / "link-to-file.jsonl").symlink_to(outside.path)
    (folder / "link-to-dir").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "aaaaaaaa-fifo.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    home.index()
    assert [home.prompts(id) for id in home.rows()] == [["inside"]]
    assert open_regular(str(folder / "aaaaaaaa-fifo.jsonl")) is None
    assert open_regular(str(folder / "link-to-file.jsonl")) is None


def test_root_may_be_a_symlink(home: Home, tmp_path: Path) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.write()
    link = tmp_path / "link"
    link.symlink_to(home.directory / ".claude")
    found = scan([Root(str(link), "claude_code")])
    assert list(found.files) == [str(file.path)]


@pytest.mark.parametrize("name", ["-rf", "..x", "a b", "x" * 300, "$(touch pwned)", "ab\ncd"])
def test_hostile_file_names_give_safe_ids(home: Home, name: str) -> None:
    file = home.claude(name=name[:200])
    file.turn("hello", "there")
    file.write()
    home.index()
    (id,) = home.rows()
    assert id.startswith("x") and len(id) == 13 and id.isalnum()
    assert_same_as_fresh(home)
