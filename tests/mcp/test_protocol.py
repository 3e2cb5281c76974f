"""The server follows the protocol, whatever a client sends. The official SDK is the judge."""

import json
import subprocess
import sys
import threading
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types.jsonrpc import JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter
from mcp_types.methods import parse_server_notification, validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from ccgrep.mcp import protocol
from ccgrep.mcp.arguments import TOOLS, input_schema
from ccgrep.mcp.jsonrpc import RpcError, decode
from ccgrep.mcp.server import MAX_LINE_BYTES, OnProgress, Server
from tests.helpers.homes import Home
from tests.helpers.mcp_client import LIMIT_S, ServerClient, run_with_server

LATEST = HANDSHAKE_PROTOCOL_VERSIONS[-1]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def initialize(id: Any, version: str) -> dict[str, Any]:
    client = {"name": "test", "version": "0"}
    return request(id, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


def call(id: Any, **arguments: Any) -> dict[str, Any]:
    return request(id, "tools/call", name="search_conversations", arguments=arguments)


def validated(message: Any) -> Any:
    """Return a message of the server after the SDK has accepted it."""
    jsonrpc_message_adapter.validate_python(message)
    return message


class Recorder:
    """A server in this process, and what it sent. Its tool waits for `release`."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.called: list[str] = []
        self.started = threading.Event()
        self.release = threading.Event()
        self.server = Server(self._send, lambda: self, lambda: None)

    def _send(self, message: bytes) -> None:
        parsed = json.loads(message)
        self.sent.append(parsed)
        for one in parsed if isinstance(parsed, list) else [parsed]:
            validated(one)

    def call(self, name: str, arguments: bytes, on_progress: OnProgress) -> tuple[str, bool]:
        self.called.append(name)
        self.started.set()
        for done in (1, 3, 2, 5):
            on_progress(done, 5)
        assert self.release.wait(LIMIT_S)
        return "{}", False

    def receive(self, *messages: Any) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.server.receive(line)

    def finish(self) -> list[Any]:
        self.release.set()
        self.server.finish()
        return self.sent


def talk(home: Home, *messages: Any) -> list[Any]:
    """Send messages to a server process, and return what it sent."""
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages]
    done = subprocess.run(
        [sys.executable, "-m", "ccgrep", "mcp"],
        env=home.environment,
        input=b"".join(lines),
        capture_output=True,
        check=True,
        timeout=LIMIT_S,
    )
    assert done.stderr == b""
    return [validated(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture
def zoo(home: Home) -> Home:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    home.rest()
    home.index()
    return home


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN_PROTOCOL_VERSIONS[-1]])
def test_sdk_client_lists_and_calls_tools_in_each_era(zoo: Home, mode: str) -> None:
    async def work(server: ServerClient) -> list[tuple[str, int]]:
        assert len((await server.client.list_tools()).tools) == len(TOOLS)
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await server.client.send_ping()
        return await server.search("zebra")

    assert len(run_with_server(zoo, work, mode=mode)) == 1


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01", "2026-07-28"])
def test_handshake_negotiates_the_version(version: str) -> None:
    recorder = Recorder()
    recorder.receive(
        initialize(1, version),
        notification("notifications/initialized"),
        request(2, "tools/list"),
        request("three", "ping"),
    )
    first, second, third = recorder.finish()
    spoken = version if version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST
    assert first["result"]["protocolVersion"] == spoken
    methods = {1: "initialize", 2: "tools/list", "three": "ping"}
    for reply in (first, second, third):
        validate_server_result(methods[reply["id"]], spoken, reply["result"])


def test_stateless_requests_get_results_of_their_version() -> None:
    recorder = Recorder()
    recorder.release.set()
    recorder.receive(
        request(1, "server/discover", _meta=ENVELOPE),
        request(2, "tools/list", _meta=ENVELOPE),
        {**call(3), "params": {**call(3)["params"], "_meta": ENVELOPE}},
    )
    replies = {reply["id"]: reply["result"] for reply in recorder.finish() if "id" in reply}
    for id, method in ((1, "server/discover"), (2, "tools/list"), (3, "tools/call")):
        validate_server_result(method, MODERN_PROTOCOL_VERSIONS[-1], replies[id])
    wrong = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    recorder.receive(request(4, "tools/list", _meta=wrong))
    error = recorder.sent[-1]["error"]
    assert (error["code"], error["data"]["requested"]) == (-32022, "2099-01-01")
    assert error["data"]["supported"] == [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS]
    recorder.receive(request(5, "tools/list", _meta={next(iter(ENVELOPE)): "2026-07-28"}))
    assert recorder.sent[-1]["error"]["code"] == -32602


def test_known_versions_are_those_of_the_sdk() -> None:
    assert protocol.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert protocol.STATELESS_VERSIONS == MODERN_PROTOCOL_VERSIONS


def test_ping_and_cancellation_work_while_a_tool_runs() -> None:
    recorder = Recorder()
    recorder.receive(call(1))
    assert recorder.started.wait(LIMIT_S)
    recorder.receive(
        call("waiting"),
        request(2, "ping"),
        call(1),
        notification("notifications/cancelled", requestId=1),
        notification("notifications/cancelled", requestId="waiting", reason="no need"),
        notification("notifications/cancelled", requestId="unknown"),
        call(3),
    )
    assert recorder.sent == [
        {"jsonrpc": "2.0", "id": 2, "result": {}},
        {
            "jsonrpc": "2.0", "id": 1,
            "error": {"code": -32600, "message": "a request with this id is still running"},
        },
    ]  # fmt: skip
    assert [reply["id"] for reply in recorder.finish()[2:]] == [3]
    assert len(recorder.called) == 2


def test_progress_is_sent_if_asked_for_and_always_increases() -> None:
    recorder = Recorder()
    asked = {**call(1)["params"], "_meta": {"progressToken": "token"}}
    recorder.receive({**call(1), "params": asked}, call(2))
    *progress, _, _ = recorder.finish()
    assert [one["params"]["progress"] for one in progress] == [1, 3, 5]
    for one in progress:
        assert one["params"]["progressToken"] == "token"
        parse_server_notification(one["method"], LATEST, one["params"])


def test_batch_is_answered_as_one_where_the_version_has_batches() -> None:
    recorder = Recorder()
    recorder.release.set()
    batch = [
        request(1, "ping"),
        call(2),
        notification("notifications/initialized"),
        {"jsonrpc": "2.0", "id": 3},
    ]
    recorder.receive(batch, initialize(0, "2025-03-26"), batch, [], [notification("x")])
    refused, _, empty, answered = recorder.finish()
    assert refused["error"]["code"] == empty["error"]["code"] == -32600
    assert {reply["id"] for reply in answered} == {1, 2, 3}
    recorder.receive(initialize(0, LATEST), batch)
    assert recorder.sent[-1]["error"]["code"] == -32600


HUGE = 10**4000 + 7
MALFORMED: list[tuple[bytes, Any, int | None]] = [
    # line, id and error code of the reply
    (b"not json", None, -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, -32700),
    (b"[" * 100_000, None, -32700),
    (b'{"a":' * 100_000, None, -32700),
    (b"\x00\xff\xfe", None, -32700),
    (b'"text"', None, -32600),
    (b"null", None, -32600),
    (b"[]", None, -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
    (b"{}", None, -32600),
    (b'{"id":1,"method":"ping"}', 1, -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, -32600),
    (b'{"jsonrpc":2.0,"id":1,"method":"ping"}', 1, -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', 1, -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 1, -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":"x","method":"resources/list"}', "x", -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 1, -32602),
    (b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % HUGE, HUGE, None),
    (b'{"jsonrpc":"2.0","id":"' + b"i" * 100_000 + b'","method":"ping"}', "i" * 100_000, None),
    (b'  {"jsonrpc":"2.0","id":1,"method":"ping","extra":1}\r', 1, None),
]


def test_malformed_lines_get_the_specified_errors() -> None:
    recorder = Recorder()
    for line, id, code in MALFORMED:
        recorder.sent.clear()
        recorder.receive(line)
        (reply,) = recorder.sent
        assert (reply["id"], reply.get("error", {}).get("code")) == (id, code), line[:80]


def test_nothing_answers_notifications_and_responses() -> None:
    recorder = Recorder()
    recorder.receive(
        notification("notifications/initialized"),
        notification("no/such/method"),
        notification("tools/list"),
        notification("notifications/cancelled", requestId=[1]),
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "no"}},
    )
    assert recorder.finish() == []


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover"])
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHODS | st.text()},
    optional={
        "id": st.integers() | st.text() | JSON_VALUES,
        "params": JSON_VALUES
        | st.fixed_dictionaries(
            {}, optional={"_meta": JSON_VALUES, "name": st.sampled_from([*TOOLS]) | st.text()}
        ),
    },
)


@given(st.lists(st.binary() | (MESSAGES | JSON_VALUES).map(lambda v: json.dumps(v).encode())))
def test_any_line_gets_valid_replies(lines: list[bytes]) -> None:
    recorder = Recorder()
    recorder.release.set()
    recorder.receive(*(line.replace(b"\n", b" ") for line in lines))
    recorder.finish()
    for reply in recorder.sent:
        kind = type(jsonrpc_message_adapter.validate_python(reply))
        assert kind is not JSONRPCNotification
        assert kind is not JSONRPCError or reply["error"]["code"] in range(-32700, -32000)


def test_process_survives_hostile_lines(zoo: Home) -> None:
    long = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * MAX_LINE_BYTES + b'"}\n'
    half = rb'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":'
    half += rb'"search_conversations","arguments":{"query":"zebra \ud83e zoo \\ud800 \ude00"}}}'
    too_long, ping, *others = talk(
        zoo, b"\n", long, request(1, "ping"), half + b"\n", b'{"jsonrpc":"2.0","id":3,'
    )
    assert (too_long["id"], too_long["error"]["code"]) == (None, -32600)
    assert (ping["id"], ping["result"]) == (1, {})
    replies = {reply["id"]: reply for reply in others}  # A call may be answered after the rest.
    assert len(json.loads(replies[2]["result"]["content"][0]["text"])["results"]) == 1
    assert replies[None]["error"]["code"] == -32700


ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("search_conversations", {"query": "x"}),
    ("search_conversations", {}),
    ("search_conversations", {"query": 7}),
    ("search_conversations", {"query": "x", "limit": 0}),
    ("search_conversations", {"query": "x", "limit": 501}),
    ("search_conversations", {"query": "x", "limit": "10"}),
    ("search_conversations", {"query": "x", "limit": 10**30}),
    ("search_conversations", {"query": "x", "type": ["tool", "user"]}),
    ("search_conversations", {"query": "x", "type": "other"}),
    ("search_conversations", {"query": "x", "include_self": None}),
    ("search_conversations", {"query": "x", "unknown": 1}),
    ("list_conversations", {"subagents": "fold", "branch": "main", "until": "1d"}),
    ("list_conversations", {"limit": -3}),
    ("read_turn", {"session_id": "x", "turn_number": -1, "include": ["outputs"]}),
    ("read_turn", {"session_id": "x", "turn_number": 1, "include": ["secrets"]}),
    ("read_turn", {"session_id": "x", "turn_number": 1, "include": "outputs"}),
    ("read_turn", {"session_id": "x", "turn_number": 1, "include": "out"}),
    ("read_conversation", {"session_id": "x", "offset": -1}),
    ("read_conversation", {"session_id": "x", "cursor": None}),
]


def test_published_schemas_accept_what_the_server_accepts() -> None:
    accepted = 0
    for name, arguments in ARGUMENTS:
        schema = input_schema(TOOLS[name].arguments)
        jsonschema.Draft202012Validator.check_schema(schema)
        is_valid = jsonschema.Draft202012Validator(schema).is_valid(arguments)
        try:
            decode(json.dumps(arguments).encode(), TOOLS[name].arguments)
        except RpcError:
            assert not is_valid, arguments
        else:
            assert is_valid, arguments
            accepted += 1
    assert accepted == 6


def test_server_works_without_any_extra(zoo: Home) -> None:
    blocked = "import sys; sys.modules['watchfiles'] = None; sys.modules['mcp'] = None\n"
    program = blocked + "from ccgrep.cli import main; main(['mcp'])"
    lines = [call(1, query="zebra"), call(2, query="okapi")]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=zoo.environment,
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    assert done.stderr == ""
    texts = [json.loads(line)["result"]["content"][0]["text"] for line in done.stdout.splitlines()]
    assert [len(json.loads(text)["results"]) for text in texts] == [1, 0]


def test_client_is_given_only_the_type_of_a_bug(capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(Recorder):
        def call(self, name: str, arguments: bytes, on_progress: OnProgress) -> tuple[str, bool]:
            raise ZeroDivisionError("a secret of a transcript")

    broken = Broken()
    broken.receive(call(1), call(2))
    assert [reply["error"] for reply in broken.finish()] == [
        {"code": -32603, "message": "internal error of ccgrep"}
    ] * 2
    assert "ZeroDivisionError" in capfd.readouterr().err
