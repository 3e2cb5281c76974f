"""JSON-RPC 2.0 messages, one per line: decodes what a client sends and encodes replies.

A client is a program, but a model chooses some of its strings. So whatever arrives is checked
here: no message can stop the server, and every request gets exactly one reply.
"""

import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
"""An escape in a JSON string: a surrogate pair, a lone surrogate, or any other."""
_NUMBER = re.compile(rb"-?\d+")
_NO_ID = b"null"


class RpcError(Exception):
    """A request that gets an error as its reply. `id` is the request's, as JSON."""

    def __init__(self, code: int, message: str, data: Any = None, id: bytes = _NO_ID) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.id = id


class Message(Struct, frozen=True):
    """A request; a notification if `id` is empty. `id` and `params` are JSON, echoed unread."""

    method: str
    id: bytes
    params: bytes

    @property
    def is_request(self) -> bool:
        return bool(self.id)


class _Envelope(Struct):
    jsonrpc: Raw = Raw()
    id: Raw = Raw()
    method: Raw = Raw()
    params: Raw = Raw()
    result: Raw = Raw()
    error: Raw = Raw()


def parse_line(line: bytes) -> bytes | list[bytes]:
    """Return the message of a line, or the messages of a batch, as JSON.

    Half of a character becomes U+FFFD: a model may cut an emoji in two.
    """
    line = _replace_lone_surrogates(line)
    try:
        if line.lstrip()[:1] != b"[":
            msgspec.json.decode(line, type=Raw)
            return line
        return [bytes(item) for item in msgspec.json.decode(line, type=list[Raw])]
    except (msgspec.DecodeError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"invalid JSON: {error}") from None


def parse_message(text: bytes) -> Message | None:
    """Return a request or a notification, or None for a response, which needs no answer."""
    try:
        envelope = msgspec.json.decode(text, type=_Envelope)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RpcError(INVALID_REQUEST, f"not a message: {error}") from None
    id = bytes(envelope.id)
    if id and not (id.startswith(b'"') or _NUMBER.fullmatch(id)):
        raise RpcError(INVALID_REQUEST, "the id of a request must be a string or an integer")
    if bytes(envelope.result) or bytes(envelope.error):
        return None
    try:
        if decode(bytes(envelope.jsonrpc) or b"0", str) != "2.0":
            raise RpcError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
        return Message(decode(bytes(envelope.method) or b"0", str), id, bytes(envelope.params))
    except RpcError as error:
        raise RpcError(INVALID_REQUEST, f"not a request: {error}", id=id or _NO_ID) from None


def decode(text: bytes, type: Any) -> Any:
    """Decode JSON into a type; whatever is wrong with it is an error in the parameters."""
    try:
        return msgspec.json.decode(text, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _replace_lone_surrogates(text: bytes) -> bytes:
    if b"\\u" not in text:
        return text
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["lone"] else match[0], text)


def encode_result(id: bytes, result: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": Raw(id), "result": result})


def encode_error(error: RpcError) -> bytes:
    fields = {"code": error.code, "message": str(error)}
    if error.data is not None:
        fields["data"] = error.data
    return msgspec.json.encode({"jsonrpc": "2.0", "id": Raw(error.id), "error": fields})


def encode_notification(method: str, params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})
