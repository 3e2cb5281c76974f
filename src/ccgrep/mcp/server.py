"""Answers the messages of a client: one line in, at most one line out.

The thread that reads the messages answers all but calls of tools. One worker thread runs the tools,
one call at a time: two searches at once take twice the memory and are no faster. So a client can
ping the server, or cancel a call, while a tool runs.

Start-up is what an agent waits for. The tools are imported by the first call.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol

from ccgrep.mcp import protocol
from ccgrep.mcp.arguments import TOOLS
from ccgrep.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
    decode,
    encode_error,
    encode_notification,
    encode_result,
    parse_line,
    parse_message,
)

MAX_LINE_BYTES = 4 * 1024 * 1024
_MAX_REPORTS = 20  # of the progress of one call

OnProgress = Callable[[int, int], None]
"""Receives how much is done, and of how much."""


class Toolbox(Protocol):
    """Runs tools. `call` returns the reply, and whether it is an error."""

    def call(self, name: str, arguments: bytes, on_progress: OnProgress) -> tuple[str, bool]: ...


class _Batch:
    """Collects the replies to one message of the client."""

    def __init__(self, send: Callable[[bytes], None], is_array: bool) -> None:
        self._send = send
        self._is_array = is_array
        self._replies: list[bytes] = []
        self.open = 1

    def add(self, reply: bytes) -> None:
        if self._is_array:
            self._replies.append(reply)
        else:
            self._send(reply)

    def close(self) -> None:
        """Send the replies as one array when the last one is there."""
        self.open -= 1
        if not self.open and self._replies:
            self._send(b"[" + b",".join(self._replies) + b"]")


class _Call:
    """A call of a tool that waits or runs."""

    def __init__(self, id: bytes, params: protocol.CallParams, batch: _Batch) -> None:
        self.id = id
        self.params = params
        self.batch = batch
        self.is_cancelled = False


class Server:
    """One connection with a client."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        open_tools: Callable[[], Toolbox],
        after_call: Callable[[], None],
    ) -> None:
        self._send = send
        self._open_tools = open_tools
        self._after_call = after_call
        self._version = protocol.HANDSHAKE_VERSIONS[-1]
        self._calls: dict[bytes, _Call] = {}
        self._lock = Lock()  # of `_calls` and of batches
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._worker: Thread | None = None

    def receive(self, line: bytes) -> None:
        """Answer a line, now or after the calls before it."""
        try:
            if len(line) > MAX_LINE_BYTES:
                error = f"a message must have at most {MAX_LINE_BYTES:,} bytes"
                raise RpcError(INVALID_REQUEST, error)
            texts = parse_line(line)
            if isinstance(texts, list) and (self._version != protocol.BATCH_VERSION or not texts):
                raise RpcError(INVALID_REQUEST, "batches are not supported: send one message")
        except RpcError as error:
            self._send(encode_error(error))
            return
        batch = _Batch(self._send, is_array=isinstance(texts, list))
        for text in texts if isinstance(texts, list) else [texts]:
            self._receive(text, batch)
        with self._lock:
            batch.close()

    def finish(self) -> None:
        """Wait until every call is answered."""
        if self._worker is not None:
            self._queue.put(None)
            self._worker.join()

    def _receive(self, text: bytes, batch: _Batch) -> None:
        try:
            message = parse_message(text)
        except RpcError as error:
            batch.add(encode_error(error))
            return
        if message is None:
            return
        try:
            result = self._handle(message, batch)
        except RpcError as error:
            error.id = message.id
            reply = encode_error(error)
        else:
            if result is None:
                return
            reply = encode_result(message.id, result)
        if message.is_request:
            batch.add(reply)

    def _handle(self, message: Message, batch: _Batch) -> dict[str, Any] | None:
        """Return the result of a message, or None if it has none, or not yet."""
        if not message.is_request:
            if message.method == "notifications/cancelled":
                self._cancel(decode(message.params or b"{}", protocol.CancelledParams))
            return None
        match message.method:
            case "initialize":
                wanted = protocol.parse_params(message.params, protocol.InitializeParams)
                self._version = protocol.choose_version(wanted.protocol_version)
                return protocol.initialize_result(self._version)
            case "server/discover":
                params = protocol.parse_params(message.params, protocol.Params)
                return protocol.complete(params, protocol.discover_result(params))
            case "ping":
                params = protocol.parse_params(message.params, protocol.Params)
                return protocol.complete(params, {})
            case "tools/list":
                params = protocol.parse_params(message.params, protocol.ListParams)
                return protocol.complete(params, protocol.list_result(params))
            case "tools/call":
                self._enqueue(message, batch)
                return None
        raise RpcError(METHOD_NOT_FOUND, f"unknown method '{message.method[:100]}'")

    def _enqueue(self, message: Message, batch: _Batch) -> None:
        params = protocol.parse_params(message.params, protocol.CallParams)
        if params.name not in TOOLS:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        call = _Call(message.id, params, batch)
        with self._lock:
            if call.id in self._calls:
                raise RpcError(INVALID_REQUEST, "a request with this id is still running")
            self._calls[call.id] = call
            batch.open += 1
        if self._worker is None:
            self._worker = Thread(target=self._work, daemon=True)
            self._worker.start()
        self._queue.put(call)

    def _cancel(self, params: protocol.CancelledParams) -> None:
        """Drop a call that waits; the reply of one that runs is not sent."""
        with self._lock:
            call = self._calls.get(bytes(params.request_id))
            if call is not None:
                call.is_cancelled = True

    def _work(self) -> None:
        tools: Toolbox | None = None
        while (call := self._queue.get()) is not None:
            reply = None
            if not call.is_cancelled:
                try:
                    tools = tools or self._open_tools()
                    reply = self._run(tools, call)
                except Exception:  # a bug: the next call may work
                    import traceback  # noqa: PLC0415 - for bugs alone

                    traceback.print_exc()
                    error = RpcError(INTERNAL_ERROR, "internal error of ccgrep", id=call.id)
                    reply = encode_error(error)
            self._finish(call, reply)
            self._after_call()

    def _finish(self, call: _Call, reply: bytes | None) -> None:
        with self._lock:
            del self._calls[call.id]  # before the reply: the client may use the id again
            if reply is not None and not call.is_cancelled:
                call.batch.add(reply)
            call.batch.close()

    def _run(self, tools: Toolbox, call: _Call) -> bytes:
        params = call.params
        text, is_error = tools.call(params.name, bytes(params.arguments), self._progress_of(call))
        result = protocol.complete(params, protocol.call_result(text, is_error))
        return encode_result(call.id, result)

    def _progress_of(self, call: _Call) -> OnProgress:
        """Return a function that sends progress notifications, if the client wants them."""
        token = call.params.meta.progress_token
        last = 0

        def report(done: int, total: int) -> None:
            nonlocal last
            step = done * _MAX_REPORTS // max(total, 1)
            if token is None or call.is_cancelled or step <= last:
                return  # The specification demands that progress increases, without a flood.
            last = step
            params = {"progressToken": token, "progress": done, "total": total}
            self._send(encode_notification("notifications/progress", params))

        return report
