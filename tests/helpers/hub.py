"""A local server that answers like a model hub."""

import json
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from ccgrep.semantic.model import Model, find


@cache
def _model() -> Model:
    return find(None, {"HOME": "/nonexistent"})


class Hub:
    """A model hub on this machine that serves the bundled model under any name."""

    def __enter__(self) -> str:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _HubHandler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _HubHandler(BaseHTTPRequestHandler):
    _REVISION = "0123456789abcdef0123456789abcdef01234567"

    def do_GET(self) -> None:
        model = Path(_model().directory)
        path = unquote(urlsplit(self.path).path)
        files = [file for file in model.rglob("*") if file.is_file()]
        if "/tree/" in path:
            rows = [
                {"type": "file", "path": str(file.relative_to(model)), "oid": "0" * 40,
                 "size": file.stat().st_size}
                for file in files
            ]  # fmt: skip
            self._answer(json.dumps(rows).encode())
        elif path.startswith("/api/models/"):
            siblings = [{"rfilename": str(file.relative_to(model))} for file in files]
            name = path.split("/revision/")[0].removeprefix("/api/models/")
            answer = {"id": name, "sha": self._REVISION, "siblings": siblings}
            self._answer(json.dumps(answer).encode())
        else:
            self._answer((model / path.partition(f"/resolve/{self._REVISION}/")[2]).read_bytes())

    do_HEAD = do_GET

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{sha256(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", self._REVISION)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""
