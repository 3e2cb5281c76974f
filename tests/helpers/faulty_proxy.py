"""A proxy in front of an S3 server that breaks one request: what a network does."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

NetworkFault = Literal["status 500", "lost answer", "no answer", "truncated", "wrong bytes"]
NETWORK_FAULTS: tuple[NetworkFault, ...] = (
    "status 500", "lost answer", "no answer", "truncated", "wrong bytes",
)  # fmt: skip


class FaultyProxy(ThreadingHTTPServer):
    """Forwards requests to a server. The request number `at` fails with `fault`.

    With "lost answer", the server obeys, but the client does not learn it.
    """

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream.removeprefix("http://")
        self.at = 0
        self.fault: NetworkFault = "status 500"
        self._count = 0
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def requests(self) -> int:
        return self._count

    def break_request(self, at: int, fault: NetworkFault) -> None:
        """Break a request, counted from now on; 0 breaks none."""
        with self._lock:
            self._count, self.at, self.fault = 0, at, fault

    def next_fault(self) -> NetworkFault | None:
        with self._lock:
            self._count += 1
            return self.fault if self._count == self.at else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _forward(self) -> None:
        fault = self.server.next_fault()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault == "status 500":
            self._answer(500, {}, b"")
            return
        if fault == "no answer":
            self.close_connection = True
            return
        status, headers, answer = self._ask(body)
        if fault == "lost answer":
            self.close_connection = True
            return
        if fault == "wrong bytes" and answer:
            answer = answer[:-1] + bytes([answer[-1] ^ 1])
        self._answer(status, headers, answer, is_cut=fault == "truncated")

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = _forward

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name != "Connection"}
        upstream.request(self.command, self.path, body or None, headers)
        answer = upstream.getresponse()
        data = answer.read()
        kept = {
            name: value
            for name, value in answer.getheaders()
            if name.lower() not in ("content-length", "transfer-encoding", "connection")
        }
        upstream.close()
        return answer.status, kept, data

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes, is_cut: bool = False
    ) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_cut else body)
        self.close_connection = is_cut or self.close_connection


@contextmanager
def faulty_proxy(upstream: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(upstream)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
