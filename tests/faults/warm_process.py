"""A process that has loaded everything, the model included, and forks for each list of commands.

So a test can query hundreds of damaged stores in the time that a few new processes would take. If
the damage crashes a command, only the fork dies.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.helpers.embedded_home import Done
from tests.helpers.homes import Home

_CODE = """
import io, json, os, sys, traceback
from ccgrep.semantic import ENVIRONMENT
os.environ.update(ENVIRONMENT)
from ccgrep.cli import main
from ccgrep.config import make_config
from ccgrep.errors import CcgrepError
from ccgrep.semantic import vectors
from ccgrep.mcp.arguments import SearchArguments
from ccgrep.mcp.history import StoreHistory
from ccgrep.mcp.tools import Tools
import ccgrep.cli.commands.fsck, ccgrep.cli.commands.index, ccgrep.cli.commands.list
import ccgrep.cli.commands.search, ccgrep.cli.commands.show, ccgrep.cli.commands.stats
import ccgrep.cli.commands.status, ccgrep.refresh.update, ccgrep.stats.shard_tally
import numkong, usearch.index
from ccgrep.search import semantic_search
from ccgrep.semantic.configured_model import find_model
from ccgrep.semantic.embedder import make_embedder
vectors.MAX_WITHOUT_GRAPHS = 0  # use graphs, however few vectors there are
config = make_config(os.environ)
semantic_search._open_query_encoder(make_embedder(config, find_model(config)))

def call_mcp(query):
    config = make_config(os.environ)
    tools = Tools(config, StoreHistory(config), None, int, frozenset, lambda *_: None)
    notes = []
    try:
        made = tools.search_conversations(SearchArguments(query, include_self=True), notes.append)
    except CcgrepError as error:
        sys.stderr.write(str(error))
        return 2
    sys.stderr.write(" ".join(notes))
    for hit in made["results"]:
        print(hit["session_id"], hit["turn_number"], hit["score"], hit["snippet"], sep=":")
    return 0

def run(arguments):
    kept = sys.stdout, sys.stderr
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.stdout, sys.stderr = streams
    try:
        code = call_mcp(arguments[1]) if arguments[0] == "MCP" else main(arguments)
    except BaseException:
        code = 99
        traceback.print_exc()
    finally:
        sys.stdout, sys.stderr = kept
    for stream in streams:
        stream.flush()
    return [code, *(stream.buffer.getvalue().decode() for stream in streams)]

for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        results = [run(arguments) for arguments in request["commands"]]
        with open(request["answer"], "w") as file:
            json.dump(results, file)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps(status), flush=True)
"""


class WarmProcess:
    """A context manager that runs commands on a home."""

    def __init__(self, home: Home) -> None:
        self._answer = home.directory.with_name("answer.json")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE],
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "WarmProcess":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run(self, commands: Iterable[Sequence[str]]) -> list[Done]:
        """Run commands in one fork and return what each printed; fail if a signal killed it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"commands": [list(command) for command in commands]}
        line = json.dumps({**request, "answer": str(self._answer)})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        assert status == 0, f"signal {-status}"
        return [Done(*result) for result in json.loads(Path(self._answer).read_text())]
