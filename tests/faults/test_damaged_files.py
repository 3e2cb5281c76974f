"""Damage in a transcript costs only the damaged records."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ccgrep.sources.jsonl import Records
from ccgrep.store.fsio import remove_tree
from tests.helpers import scale
from tests.helpers.attacks import BENIGN
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile


def test_transcript_cut_at_any_byte_of_its_last_records_is_completed_later(
    home: Home, figure: Callable[[str], None]
) -> None:
    file = home.claude()
    for number in range(100):
        file.turn(f"prompt {number}", f"answer {number}", "ls", "out")
    lines = file.lines()
    whole = b"".join(lines)
    file.path.parent.mkdir(parents=True)
    cuts = scale.some(range(len(whole) - sum(map(len, lines[-3:])), len(whole) + 1), 3)
    for cut in cuts:
        if home.store_dir.exists():
            remove_tree(str(home.store_dir))
        file.path.write_bytes(whole[:cut])
        assert home.index().bad_lines == 0
        file.path.write_bytes(whole)
        home.index()
        assert_same_as_fresh(home)
    figure(
        f"half-written line: {len(lines)} records, cut at {len(cuts)} bytes of the last 3, "
        "all = fresh"
    )


def damage(chance: random.Random, file: ClaudeFile) -> tuple[list[bytes], set[str]]:
    """Return lines damaged as real transcripts are, and the uuids of the lost records."""
    lines, lost = file.lines(), set()
    at = chance.randrange(1, len(lines) - 1)
    kind = chance.choices(["splice", "missing newline", "NUL bytes"], [21, 3, 6])[0]
    if kind == "splice":
        lost.add(json.loads(lines[at])["uuid"])
        lines[at] = lines[at][: chance.randrange(1, len(lines[at]) - 1)]
    elif kind == "missing newline":
        lines[at] = lines[at].rstrip(b"\n")
    else:
        lines[at] = bytes(chance.randrange(1, 5000)) + lines[at]
    return lines, lost


def uuids(home: Home, id: str) -> set[str]:
    kept = b"".join(entry.uuids for entry in home.manifest(id).entries)
    return {kept[at : at + 16].hex() for at in range(0, len(kept), 16)}


def test_whole_records_beside_damage_are_all_kept(
    home: Home, figure: Callable[[str], None]
) -> None:
    chance = random.Random(9)
    wanted, spots = {}, 0
    for seed in range(scale.of(40, 100)):
        file = home.claude(seed + 1)
        for number in range(4):
            file.turn(f"prompt {seed} {number}", f"answer {number}", "make", "ok {'a':1}")
        lines, lost = damage(chance, file)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(b"".join(lines))
        records = [record for record in file.records if isinstance(record, dict)]
        wanted[file.id] = {record["uuid"].replace("-", "") for record in records} - {
            uuid.replace("-", "") for uuid in lost
        }
        spots += bool(lost) or any(line.startswith(b"\0") for line in lines)
    report = home.index()
    assert {id: uuids(home, id) for id in wanted} == wanted
    assert report.bad_lines == spots
    assert_same_as_fresh(home)
    kept = sum(map(len, wanted.values()))
    figure(f"damage: {len(wanted)} files, {spots} fragments counted, all {kept} whole records kept")


PLACES = ("prompt", "answer", "output")


def add_raw_turn(file: ClaudeFile, place: str, number: int, raw: bytes) -> None:
    """Add a turn with raw bytes of a JSON string in one of three places."""
    texts = dict.fromkeys(PLACES, "word") | {place: "beforeMARKbehind"}
    file.turn(f"turn{number} {texts['prompt']}", texts["answer"], "make", texts["output"])
    for record in file.records[-4:]:
        line = json.dumps(record).encode() + b"\n"
        file.records[file.records.index(record)] = line.replace(b"MARK", raw)


def test_invalid_utf8_costs_no_turn(home: Home, figure: Callable[[str], None]) -> None:
    """Try every byte on its own and every half of a surrogate pair, in three places."""
    bytes_ = [bytes([byte]) for byte in range(256) if byte not in b'"\\\n']  # these end a string
    halves = [b"\\u%04x" % code for code in scale.some(range(0xD800, 0xE000), 128)]
    file = home.claude()
    number = 0
    for place in PLACES:
        for raw in (*bytes_, *halves):
            add_raw_turn(file, place, number, raw)
            number += 1
    file.write()
    report = home.index()
    turns = home.turns(file.id)
    lost = number - len(turns)
    assert (report.bad_lines, lost) == (0, 0)
    seen = [text for turn in turns for text in (turn.prompt, *turn.assistant_texts())]
    assert all(text == text.encode().decode() for text in seen)
    assert sum("before" in text and "behind" in text for text in seen) == 2 * number // 3
    for arguments in (("show", file.id, "--tools"), ("show", file.id, "--json"), ("before*",)):
        assert home.run(*arguments).returncode == 0  # and its output was decoded as UTF-8
    figure(
        f"invalid UTF-8: {len(bytes_)} bytes and {len(halves)} lone surrogates in "
        f"{len(PLACES)} places, {lost} of {number} turns lost"
    )


def test_clean_transcript_never_takes_the_slow_path(
    home: Home, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    slow: list[Any] = []

    def record(*arguments: Any) -> Iterator[Any]:
        slow.append(arguments)
        return iter(())

    for name in ("_read_damaged", "_decode_leniently"):
        monkeypatch.setattr(Records, name, record)
    file = home.claude()
    for number in range(500):
        text = BENIGN[number % len(BENIGN)]
        file.turn(f"prompt {number} {text}", text, f"echo {text}", text * 20)
    file.write()
    home.index()
    assert len(home.turns(file.id)) == 500
    assert slow == []
    figure(f"slow path: {len(slow)} of {len(file.records)} records of a clean transcript")


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("field", ["known", "unknown"])
def test_deeply_nested_record_does_not_affect_its_neighbours(
    home: Home, agent: str, field: str, figure: Callable[[str], None]
) -> None:
    depths = [10**power for power in range(2, scale.of(5, 7))]
    file: Any = home.claude() if agent == "claude" else home.codex()
    if agent == "codex":
        file.meta()
    for depth in depths:
        file.turn(f"prompt before{depth}", "answer")
        name = b"input" if field == "known" else b"unknown"
        nested = b'{"a":[' * depth + b"]}" * depth
        block = b'{"type":"tool_use","name":"x","id":"y","%s":%s}' % (name, nested)
        if agent == "claude":
            file.raw(b'{"type":"assistant","message":{"content":[' + block + b"]}}\n")
        else:
            file.raw(b'{"type":"response_item","payload":' + block + b"}\n")
        file.turn(f"prompt after{depth}", "answer")
    file.write()
    done = home.run("index")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    prompts = {f"prompt {side}{depth}" for depth in depths for side in ("before", "after")}
    assert prompts <= set(home.prompts(file.id))
    assert home.run("show", file.id, "--tools", "--json").returncode == 0
    figure(f"nesting, {agent}, {field} field: {depths} deep, {len(prompts)} neighbours kept")
    assert_same_as_fresh(home)
