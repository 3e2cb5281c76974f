"""Resumes sessions that ccgrep restored, or made from turns, with the real clients.

Of a scenario that ran, ccgrep knows every turn and every byte. Each session is restored into an
empty home, rebuilt into another one, resumed there, and handed over to the other client. The stub's
log then tells whether the model gets the whole conversation, and indexing the home tells whether
ccgrep recognizes its turns.
"""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ccgrep.model import Message, Note, ObjectId, Text, ToolCall, Turn
from ccgrep.rebuild.form import is_compaction
from ccgrep.rebuild.transcript import rebuild_transcript
from ccgrep.sources.spills import is_background
from ccgrep.store.lifecycle import open_store
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store
from tests.clients.ccgrep import Ccgrep
from tests.clients.install import Clients
from tests.clients.script import Client, Scenario, Session, turn
from tests.clients.stub import Stage, StubServer
from tests.clients.terminal import WAIT_S
from tests.clients.world import World

_GO_ON = turn("please go on", "Going on.")
_FIRST_NUMBER = 501
"""No id that the stub makes up may be one of the scenario's."""
_UNCUT_CHARS = 1000
"""Codex cuts the middle of long outputs when it sends them."""
_ROOTS: dict[Client, str] = {"claude": ".claude", "codex": ".codex"}


class Rebuilder:
    """Rebuilds, resumes and hands over the sessions of scenarios that ran."""

    def __init__(self, runs: Path, clients: Clients, servers: dict[Client, StubServer]) -> None:
        self._runs = runs
        self._clients = clients
        self._servers = servers
        self.restored: Counter[Client] = Counter()
        self.resumed: Counter[Client] = Counter()
        self.handed_over: Counter[Client] = Counter()

    def check(self, scenario: Scenario) -> Iterator[str]:
        """Yield what differs for each session of a scenario."""
        store = open_store(str(self._runs / scenario.name / "store"))
        rows = [row for row in store.rows() if row.session.kind == "main" and row.session.turns]
        for number, row in enumerate(rows):
            if row.session.is_prompt_only:
                continue
            yield from self._restore(scenario, row, number)
            yield from self._resume(scenario, row, number)
            yield from self._hand_over(scenario, row, number)

    def _restore(self, scenario: Scenario, row: Row, number: int) -> Iterator[str]:
        """Restore the bytes of a session and of the one it was forked from, and resume it."""
        if row.session.is_recovered:
            return  # The client has never written a transcript of it.
        name = f"{scenario.name}+restored{number}"
        world, stage = self._open(name, scenario.client)
        store = open_store(str(self._runs / scenario.name / "store"))
        ccgrep = self._copy_store(scenario, name)
        root = world.home / _ROOTS[scenario.client]
        original = self._runs / scenario.name / "home" / _ROOTS[scenario.client]
        for id in filter(None, (row.session.id, row.session.forked_from)):
            for file in ccgrep.ask("restore", id, "--to", str(root))["files"]:
                path = Path(file["path"])
                if path.read_bytes() != (original / path.relative_to(root)).read_bytes():
                    yield f"{name}: {path.name} differs from the client's file"
        directory = row.session.current_cwd or row.session.cwd
        # With another model, Codex begins with a summary.
        yield from self._run(world, row.base_id, directory, row.session.models[-1:])
        history = [*_inherited_ids(store, row), *_live_ids(store, row)]
        yield from _compare(name, _load(store, history), stage, True, is_restored=True)
        before = [entry.turn.hex() for entry in store.manifest(row).entries]
        yield from self._compare_turns(name, ccgrep, row.session.id, before)
        self.restored[scenario.client] += 1

    def _resume(self, scenario: Scenario, row: Row, number: int) -> Iterator[str]:
        name = f"{scenario.name}+rebuilt{number}"
        world, stage = self._open(name, scenario.client)
        store = open_store(str(self._runs / scenario.name / "store"))
        transcript = rebuild_transcript(store, row)
        path = world.home / _ROOTS[scenario.client] / transcript.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(transcript.content)
        ccgrep = self._copy_store(scenario, name)
        yield from self._run(world, row.base_id, row.session.cwd)
        history = [*_inherited_ids(store, row), *_live_ids(store, row)]
        yield from _compare(name, _load(store, history), stage, is_same_client=True)
        before = [entry.turn.hex() for entry in store.manifest(row).entries]
        yield from self._compare_turns(name, ccgrep, row.session.id, before)
        self.resumed[scenario.client] += 1

    def _hand_over(self, scenario: Scenario, row: Row, number: int) -> Iterator[str]:
        other: Client = "codex" if scenario.client == "claude" else "claude"
        name = f"{scenario.name}+{other}{number}"
        world, stage = self._open(name, other)
        store = open_store(str(self._runs / scenario.name / "store"))
        ccgrep = self._copy_store(scenario, name)
        command = ccgrep.run("resume", row.session.id, "--with", other, "--no-redact")
        id = command.split()[-1]
        yield from self._run(world, id, row.session.current_cwd or row.session.cwd)
        history = [*_inherited_ids(store, row), *_live_ids(store, row)]
        yield from _compare(name, _load(store, history), stage, is_same_client=False)
        yield from self._compare_turns(name, ccgrep, id, history)
        tree = ccgrep.ask("list", "--tree", "--limit", "0")["sessions"]
        if not any(one["id"] == id and one["depth"] for one in tree):
            yield f"{name}: list --tree does not show the origin"
        self.handed_over[other] += 1

    def _open(self, name: str, client: Client) -> tuple[World, Stage]:
        scenario = Scenario(name, client, (Session("main", (_GO_ON,)),))
        server = self._servers[client]
        world = World(self._runs / name, self._clients, scenario, server.url(scenario))
        stage = server.open_stage(world.scenario)
        stage.first_number = _FIRST_NUMBER
        return world, stage

    def _copy_store(self, scenario: Scenario, name: str) -> Ccgrep:
        shutil.copytree(self._runs / scenario.name / "store", self._runs / name / "store")
        return Ccgrep(self._runs / name)

    def _run(
        self, world: World, id: str, directory: str, models: tuple[str, ...] = ()
    ) -> Iterator[str]:
        claude = ("claude", "-p", "--dangerously-skip-permissions", "--resume", id)
        codex = ("codex", "exec", *(word for model in models for word in ("-m", model)))
        command = claude if world.client == "claude" else (*codex, "resume", id)
        done = subprocess.run(
            [*command, "--", _GO_ON.prompt],
            cwd=directory,
            env=world.environment,
            input="",
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * WAIT_S,
        )
        if done.returncode:
            yield f"{' '.join(command)}: {(done.stdout + done.stderr)[-1000:]}"

    def _compare_turns(
        self, name: str, ccgrep: Ccgrep, id: str, before: list[str]
    ) -> Iterator[str]:
        """Compare the stored turns after the client added one."""
        ccgrep.run("index", "--quiet")
        store = open_store(str(self._runs / name / "store"))
        rows = {row.session.id: row for row in store.rows()}
        if any(row.is_superseded for row in rows.values()):
            yield f"{name}: a session was superseded"
        if id not in rows:
            yield f"{name}: {id} is not stored"
            return
        entries = store.manifest(rows[id]).entries
        after = [entry.turn.hex() for entry in entries]
        if after[:-1] != before:
            yield f"{name}: turns {[one[:8] for one in before]} became {[t[:8] for t in after]}"
        elif store.load(entries[-1].turn, Turn).prompt != _GO_ON.prompt:
            yield f"{name}: the new turn is missing"


def _load(store: Store, ids: list[str]) -> list[Turn]:
    return [store.load(ObjectId(bytes.fromhex(id)), Turn) for id in ids]


def _count_images(turns: list[Turn]) -> int:
    """Return the number of images in prompts and read files since the last summary."""
    is_summary = [any(isinstance(s, Note) and is_compaction(s) for s in one.steps) for one in turns]
    first = len(turns) - is_summary[::-1].index(True) if True in is_summary else 0
    calls = [call for one in turns[first:] for call in one.calls()]
    results = [one.result for one in calls if one.name in ("Read", "view_image") and one.result]
    blobs = chain(*(one.attached for one in turns[first:]), *(one.blobs for one in results))
    return sum(blob.media_type.startswith("image/") for blob in blobs)


def _live_ids(store: Store, row: Row) -> list[str]:
    entries = store.manifest(row).entries
    return [entry.turn.hex() for entry in entries if not entry.is_rolled_back]


def _inherited_ids(store: Store, row: Row) -> list[str]:
    """Return the turns before a fork of Codex: in the scenarios, those that ended before it."""
    is_fork = row.session.source == "codex" and row.session.forked_from
    original = store.row(row.session.forked_from) if is_fork else None
    entries = store.manifest(original).entries if original else ()
    older = (entry for entry in entries if (entry.ended or 0) <= (row.session.started or 0))
    return [entry.turn.hex() for entry in older if not entry.is_rolled_back]


def _compare(
    name: str, turns: list[Turn], stage: Stage, is_same_client: bool, is_restored: bool = False
) -> Iterator[str]:
    """Yield each part of the conversation that the model did not get, in order.

    Of a restored session, calls that have another name in the client's own records are not
    compared: those inside a script of Codex, and those of MCP servers.
    """
    yield from (f"{name}: {problem}" for problem in stage.problems)
    requests = [body for body in stage.requests if _GO_ON.prompt in str(body)]
    if not requests:
        yield f"{name}: no request asks to go on"
        return
    if _count_images(turns) > str(requests[-1]).count("base64"):
        yield f"{name}: the model did not get the images"
    got = list(_list_request(requests[-1]))
    names = {one[0] for one in got if not isinstance(one, str)}
    position = 0
    for wanted in _list_expected(turns):
        if is_restored and isinstance(wanted, ToolCall) and wanted.name not in names:
            continue
        found = next(
            (n for n in range(position, len(got)) if _fits(wanted, got[n], is_same_client)), None
        )
        if found is None:
            yield f"{name}: the model did not get {wanted!r:.300}"
        else:
            position = found


def _list_expected(turns: list[Turn]) -> list[Any]:
    """Return prompts, texts and calls, from the last summary on."""
    expected: list[Any] = []
    for one in turns:
        expected.append(one.prompt)
        for step in one.steps:
            if isinstance(step, Note):
                if is_compaction(step):
                    expected = [step.text]
            elif isinstance(step, Message):
                parts = (part for part in step.parts if isinstance(part, Text | ToolCall))
                expected += [part.text if isinstance(part, Text) else part for part in parts]
    return [one for one in expected if one]


def _fits(wanted: Any, got: Any, is_same_client: bool) -> bool:
    """Return whether a text or call of a request is the expected one."""
    if isinstance(wanted, str):
        # Claude Code records the name and the arguments of a command apart.
        words = wanted.split() if wanted.startswith("/") else [wanted.strip()]
        return isinstance(got, str) and all(word in got for word in words)
    result = wanted.result.text[:_UNCUT_CHARS] if wanted.result else ""
    if is_background(result):
        result = result.partition("\n")[0]  # ccgrep adds the output, which the client reads later.
    if isinstance(got, str):
        return not is_same_client and wanted.name in got and result in got
    name, input, output = got
    if is_same_client:
        is_same = name == wanted.name and input == (wanted.input or {})
        return is_same and result in output
    fields = wanted.input if isinstance(wanted.input, dict) else {}
    command = fields.get("command") or fields.get("cmd") or ""
    return result in output and (not command or command in input.values())


def _list_request(body: Any) -> Iterator[Any]:
    """Yield the texts of a request, and its calls as (name, input, output)."""
    if "messages" in body:
        blocks = [
            block for message in body["messages"] for block in _to_blocks(message.get("content"))
        ]
        outputs = {
            block["tool_use_id"]: _join_texts(block.get("content"))
            for block in blocks
            if block["type"] == "tool_result"
        }
        for block in blocks:
            if block["type"] == "text":
                yield block["text"]
            elif block["type"] == "tool_use":
                yield block["name"], block["input"], outputs[block["id"]]
    else:
        yield from _list_items(body["input"])


def _list_items(items: list[dict[str, Any]]) -> Iterator[Any]:
    outputs = {
        item.get("call_id"): _join_texts(item.get("output"))
        for item in items
        if item["type"].endswith("_output")
    }
    for item in items:
        if item["type"] == "message":
            yield _join_texts(item["content"])
        elif item["type"] == "function_call":
            output = outputs.get(item.get("call_id"), "")
            yield item["name"], json.loads(item["arguments"]), output
        elif item["type"] == "custom_tool_call":
            yield item["name"], item["input"], outputs.get(item.get("call_id"), "")


def _to_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _join_texts(content: Any) -> str:
    return "\n".join(block.get("text", "") for block in _to_blocks(content))
