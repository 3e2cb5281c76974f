"""The line reader skips damage, keeps complete records and bounds its effort."""

import io
import json
import random
from typing import Any

import pytest

from ccgrep.sources import jsonl
from ccgrep.sources.claude_records import Record
from ccgrep.sources.jsonl import MAX_LINE_BYTES, Mark, Records
from tests.helpers.homes import Home


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
    records = Records(io.BytesIO(data), Mark(0, 0), Record)
    uuids = [value.uuid[-2:] for _, _, value in records]
    return uuids, [(spot.offset, spot.length, spot.reason) for spot in records.bad]


def test_truncated_record_before_a_complete_one_loses_only_itself() -> None:
    first, second = record(1), record(2)
    for cut in range(1, len(first)):
        uuids, bad = read(first[:cut] + second + b"\n" + record(3) + b"\n")
        assert uuids == ["02", "03"], cut
        assert bad == [(0, cut, "not JSON")], cut


def test_two_records_on_one_line_are_both_read() -> None:
    assert read(record(1) + record(2) + b"\n") == (["01", "02"], [])


def test_record_after_nul_bytes_is_read() -> None:
    data = record(1) + b"\n" + b"\0" * 100 + record(2) + b"\n"
    assert read(data) == (["01", "02"], [(len(record(1)) + 1, 100, "NUL bytes")])


def test_tail_fragment_on_its_own_line_is_one_bad_spot() -> None:
    tail = record(9)[40:] + b"\n"
    assert read(record(1) + b"\n" + tail + record(2) + b"\n") == (
        ["01", "02"],
        [(len(record(1)) + 1, len(tail), "not JSON")],
    )


def test_record_before_garbage_is_read() -> None:
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


def test_object_nested_in_a_truncated_record_is_not_a_record() -> None:
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


def test_record_with_invalid_byte_or_surrogate_is_read() -> None:
    for byte in range(128, 256):
        line = record(1).replace(b"text 1", b"te" + bytes([byte]) + b"xt")
        assert read(line + b"\n")[0] == ["01"], byte
    for code in range(0xD800, 0xE000, 64):
        line = record(1).replace(b"text 1", b"te\\u%04xxt" % code)
        assert read(line + b"\n")[0] == ["01"], code


def test_unusual_json_is_read() -> None:
    assert read(b"\xef\xbb\xbf" + record(1) + b"\r\n\n  \n" + record(2) + b"\n")[0] == ["01", "02"]
    for value in (b"NaN", b"Infinity", b"1e999", b"1" * 100, b'"\\u0000"'):
        line = record(1)[:-1] + b',"summary":' + value + b"}\n"
        assert read(line) == (["01"], []), value


def test_unicode_line_separators_do_not_split_records() -> None:
    text = "a\u2028b\u0085c\x0bd"
    line = json.dumps(json.loads(record(1, summary=text)), ensure_ascii=False).encode()
    assert read(line + b"\n" + record(2) + b"\n") == (["01", "02"], [])


def test_unfinished_last_line_is_not_a_bad_spot() -> None:
    whole, last = record(1) + b"\n", record(2)
    for cut in range(len(last)):
        assert read(whole + last[:cut]) == (["01"], []), cut
    assert read(whole + last) == (["01", "02"], [])


def test_line_over_the_limit_is_skipped(home: Home) -> None:
    file = home.claude()
    file.turn("before", "one")
    file.raw(b'{"type":"user","x":"' + b"y" * MAX_LINE_BYTES + b'"}\n')
    file.turn("after", "two")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["before", "after"]
    (spot,) = home.manifest(file.id).bad
    assert (spot.reason, spot.length) == ("line longer than 64 MiB", MAX_LINE_BYTES + 23)


def test_line_with_too_many_values_is_skipped() -> None:
    line = b'{"a":{"b":[' * 300 + b"1," * 2_200_000 + b"\n"
    assert read(line + record(2) + b"\n") == (
        ["02"],
        [(0, len(line), "too many values on one line")],
    )


def test_salvaging_a_hostile_line_has_bounded_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    class CountingDecoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            attempts.append(idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr(jsonl, "_lenient", CountingDecoder)
    line = b'{"a":' * 300 + b'"' + b"x" * 2_000_000 + b"\n"
    assert read(line + record(2) + b"\n")[0] == ["02"]
    assert len(attempts) < 20
