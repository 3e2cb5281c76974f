"""No file of the store contains a forgotten session, compressed or not."""

import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator

from ccgrep.fulltext.surfaces import text_key
from ccgrep.store.objects import unpack_frame
from tests.helpers.canaries import FAMILIES, Canary, canary
from tests.helpers.embedded_home import vector_files_contain
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
PLACES = 20


def contents(home: Home) -> Iterator[bytes]:
    """Yield every byte of the store in lower case: files, unpacked objects, stored texts.

    Files also come reversed, since tantivy writes its term dictionary from the end.
    """
    for path in home.store_dir.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield data.lower()
            yield data[::-1].lower()
            yield from (_decompress(data[found.start() :]) for found in _ZLIB.finditer(data))
    for pack in home.store.packs():
        yield from (unpack_frame(frame).lower() for _, frame in pack.scan())


def _decompress(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data).lower()
    except zlib.error:
        return b""


def kept(home: Home, secrets: list[Canary]) -> list[str]:
    """Return the secrets whose middle part is in some file of the store."""
    parts = {s.value: s.value[len(s.value) // 2 :][:10].lower().encode() for s in secrets}
    found: set[str] = set()
    for data in contents(home):
        found |= {value for value, part in parts.items() if part in data}
    return [value for value in parts if value in found]


def fill(file: ClaudeFile, agent: ClaudeFile, given: Iterator[Canary]) -> None:
    """Write a session and its sub-agent with a secret wherever there is text."""
    more = {"gitBranch": f"fix-{next(given).value}", "slug": next(given).value}
    file.cwd = f"/home/sam/{next(given).value}"
    file.prompt(f"use {next(given).value} here", **more)
    file.blocks({"type": "thinking", "thinking": f"hm {next(given).value}"}, **more)
    command = f"{next(given).value} --deploy; git {next(given).value}"
    file.result(file.call("Bash", {"command": command}, **more), f"out {next(given).value}")
    file.result(file.call(f"mcp__{next(given).value}", {"x": next(given).value}), "failed", True)
    path = f"/tmp/{next(given).value}.txt"
    file.result(file.call("Write", {"file_path": path, "content": next(given).value}), "ok")
    file.answer(f"done with {next(given).value}", model=f"model {next(given).value}")
    file.meta("custom-title", customTitle=f"about {next(given).value}")
    file.meta(f"unknown-{next(given).value}")
    agent.turn(f"help with {next(given).value}", f"ok {next(given).value}", "cat k", "x")
    file.write()
    agent.write()


def test_no_byte_of_a_forgotten_secret_is_left(home: Home, figure: Callable[[str], None]) -> None:
    home.embed = "auto"
    plain = [name for name, (_, _, text) in FAMILIES.items() if text == "{}" and "pem" not in name]
    secrets = [canary(name, 7) for name in plain[:PLACES]]
    given = iter(secrets)
    file = home.claude(1)
    fill(file, home.subagent(file, "agent-a1b2c3d"), given)
    typed = [next(given), next(given)]
    lines = [
        {"display": f"use {one.value} now", "timestamp": 1_790_000_000_000 + n, "project": "/p",
         "sessionId": "0a1b2c3d-0000-4000-8000-000000000001"}
        for n, one in enumerate(typed)
    ]  # fmt: skip
    history = home.projects.parent / "history.jsonl"
    history.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    other = home.claude(2)
    other.turn("ordinary prompt", "ordinary answer", "make test", "ok")
    other.write()
    assert home.run("index", "-q").returncode == 0
    assert home.run("stats", "bash").returncode == 0
    prompt = f"use {secrets[3].value} here"
    assert kept(home, secrets) == [secret.value for secret in secrets]
    assert vector_files_contain(home, text_key(prompt))

    gone = [id for id in home.rows() if id != other.id]
    done = home.run("forget", *gone)
    assert done.returncode == 0, done.stderr
    assert home.run("gc").returncode == 0
    assert kept(home, secrets) == []
    assert not vector_files_contain(home, text_key(prompt))
    for again in (("index", "-q"), ("index", "--full", "-q"), ("stats", "bash"), ("gc",)):
        assert home.run(*again).returncode == 0
    left = kept(home, secrets)
    assert left == []
    figure(f"forget + gc: {len(left)} of {len(secrets)} secrets in {len(gone)} sessions left")
    file.path.unlink()
    shutil.rmtree(file.path.with_suffix(""))
    history.unlink()
    home.index()
    assert_same_as_fresh(home)
