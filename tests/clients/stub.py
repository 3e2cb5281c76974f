"""What the two stub model servers share: choosing the scripted answer, and a little HTTP.

The server keeps no conversation. It finds the last scripted prompt in the request, counts the
model's messages since, and answers with that step. So a retry, a resumed session and a fork each
get the answer they should. The first part of the URL's path is the scenario's name.
"""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple

from tests.clients.script import Answer, Scenario, Served

try:
    from compression import zstd  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from backports import zstd

TITLE = "A title by the stub"
"""The answer when a client asks for the title of a session."""
Texts = list[tuple[str, str]]
"""The role (`user` or `assistant`) and text of each message of a conversation."""


class Choice(NamedTuple):
    """The step of a script that a request asks for."""

    phrase: str
    step: int
    answer: Answer


class Stage:
    """The scripts of one scenario, and the answers so far."""

    def __init__(self, scenario: Scenario) -> None:
        self._scripts = {turn.phrase: turn.answers for turn in scenario.turns()}
        self._lock = threading.Lock()
        self.served: list[Served] = []
        self.first_number = 1
        self.problems: list[str] = []
        self.requests: list[Any] = []

    def choose(self, texts: Texts) -> Choice:
        """Return the next answer to the last scripted prompt among these texts."""
        phrase, step = "", 0
        for role, text in texts:
            if role == "assistant":
                step += 1
            elif found := self._find_phrase(text):
                phrase, step = found, 0
        answers = self._scripts.get(phrase, ())
        if step < len(answers):
            return Choice(phrase, step, answers[step])
        asked = phrase or " | ".join(text[-200:] for role, text in texts[-2:] if role == "user")
        self._add_problem(f"no answer {step + 1} is scripted for {asked!r}")
        return Choice(phrase, step, Answer(is_recorded=False))

    def _find_phrase(self, text: str) -> str:
        """Return the scripted prompt that ends last in a text; of several, the longest."""
        found = (one for one in self._scripts if one in text)
        return max(found, key=lambda one: (text.rfind(one) + len(one), len(one)), default="")

    def _add_problem(self, problem: str) -> None:
        with self._lock:
            self.problems.append(problem)

    def serve(self, choice: Choice, model: str) -> tuple[int, Served]:
        """Return the number of an answer in this scenario and the tokens to report."""
        with self._lock:
            number = self.first_number + len(self.served)
            served = Served(
                choice.phrase,
                choice.step,
                model,
                input=100 + number,
                output=10 + number,
                cache_read=3000 + number,
                cache_write=20 + number,
                is_recorded=choice.answer.is_recorded,
            )
            self.served.append(served)
        return number, served


class StubHandler(BaseHTTPRequestHandler):
    """Reads a request for one stage and sends JSON or events."""

    protocol_version = "HTTP/1.1"
    stages: ClassVar[dict[str, Stage]]

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self.send_json({})

    def do_GET(self) -> None:
        self.send_json({"error": {"type": "not_found_error", "message": "stub"}}, 404)

    def do_POST(self) -> None:
        body = self._read_body()
        name, _, path = self.path.partition("?")[0].lstrip("/").partition("/")
        if (stage := self.stages.get(name)) is None:
            self.do_GET()
        else:
            stage.requests.append(body)
            self.answer(stage, path, body)

    def answer(self, stage: Stage, path: str, body: Any) -> None:
        raise NotImplementedError

    def _read_body(self) -> Any:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.headers.get("Content-Encoding"):
            case "zstd":
                raw = zstd.decompress(raw)
            case "gzip":
                raw = gzip.decompress(raw)
        return json.loads(raw) if raw else {}

    def send_json(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def send_event(self, type: str, **fields: Any) -> None:
        data = json.dumps({"type": type, **fields})
        self.wfile.write(f"event: {type}\ndata: {data}\n\n".encode())
        self.wfile.flush()


class StubServer:
    """A server on a free port of the loopback interface, in a thread of this process."""

    def __init__(self, handler: type[StubHandler]) -> None:
        self._stages: dict[str, Stage] = {}
        own = type("Handler", (handler,), {"stages": self._stages})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), own)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def open_stage(self, scenario: Scenario) -> Stage:
        stage = self._stages[scenario.name] = Stage(scenario)
        return stage

    def url(self, scenario: Scenario) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{scenario.name}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
