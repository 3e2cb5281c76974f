"""A process that has everything loaded, model included, and forks for each list of commands.

So hundreds of damaged stores are asked in the time that a few new processes would take, and what
dies of the damage is a process that the test waits for.
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
from ccgrep.mcp import tools
import ccgrep.cli.commands.fsck, ccgrep.cli.commands.index, ccgrep.cli.commands.list
import ccgrep.cli.commands.search, ccgrep.cli.commands.show, ccgrep.cli.commands.stats
import ccgrep.cli.commands.status, ccgrep.refresh.update, ccgrep.stats.shard_tally, usearch.index
from ccgrep.search import semantic_search
from ccgrep.semantic.configured_model import find_model
vectors._ALL_COMPARED = 0  # graphs are used, however few vectors there are
semantic_search._open_query_encoder(find_model(make_config(os.environ)))

def asked(query):
    context = tools.ServerContext(make_config(os.environ), None, int, frozenset)
    try:
        made = tools.search_conversations(
            context, query, tools.make_filters(context), 10, None, (), "words", True, None
        )
    except CcgrepError as error:
        sys.stderr.write(str(error))
        return 2
    sys.stderr.write(" ".join(made.pop("notes", [])))
    for hit in made["results"]:
        print(hit["session_id"], hit["turn_number"], hit["score"], hit["snippet"], sep=":")
    return 0

def one(arguments):
    kept = sys.stdout, sys.stderr
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    sys.stdout, sys.stderr = streams
    try:
        code = asked(arguments[1]) if arguments[0] == "MCP" else main(arguments)
    except BaseException:
        code = 99
        traceback.print_exc()
    finally:
        sys.stdout, sys.stderr = kept
    for stream in streams:
        stream.flush()
    return [code, *(stream.buffer.getvalue().decode() for stream in streams)]

for line in sys.stdin:
    asked_for = json.loads(line)
    child = os.fork()
    if child == 0:
        made = [one(arguments) for arguments in asked_for["commands"]]
        with open(asked_for["answer"], "w") as file:
            json.dump(made, file)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps(status), flush=True)
"""


class Prepared:
    """Runs commands on a home; used as a context."""

    def __init__(self, home: Home) -> None:
        self._answer = home.directory.with_name("answer.json")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE],
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Prepared":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run(self, commands: Iterable[Sequence[str]]) -> list[Done]:
        """What each command said; a signal that ended one of them is an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"commands": [list(one) for one in commands], "answer": str(self._answer)}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        assert status == 0, f"signal {-status}"
        return [Done(*one) for one in json.loads(Path(self._answer).read_text())]
