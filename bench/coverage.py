"""In which text does a tool find a word? Asked of each on a home of a few turns, not believed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.contender import Contender, Limits, contender
from bench.home import ROOTS
from bench.peers import PLANTED, Peer, Places
from bench.results import KINDS
from tests.helpers.transcripts import ClaudeFile, CodexFile

_WORDS = dict(
    zip(
        KINDS,
        "zanzibar quetzal oleander philharmonic tarragon xylograph bergamot".split(),
        strict=True,
    )
)
_AGENT = f"agent-{PLANTED}1"
_SHORT_AGENT = _AGENT[:8]
_ID = f"{PLANTED}-0000-4000-8000-000000000002"


def coverage(peers: Sequence[Peer], places: Places, limits: Limits) -> dict[str, list[str]]:
    """The kinds of text that each tool finds a word in."""
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as name:
        work = Path(name)
        proofs = (_fill(work / "home"), _SHORT_AGENT)
        return {
            peer.name: _covered(contender(peer, places, work, limits), proofs) for peer in peers
        }


def _fill(home: Path) -> str:
    """A session with each word in a place of its own; gives the id of Codex's."""
    project = home / ROOTS[0] / "-home-dev-probe"
    file = ClaudeFile(project, 1, session_id=_ID)
    file.turn(f"please look at {_WORDS['prompts']}", f"found {_WORDS['answers']} there")
    file.prompt("and what else")
    file.blocks({"type": "thinking", "thinking": f"perhaps {_WORDS['thinking']}", "signature": "s"})
    call = file.call("Bash", {"command": f"make {_WORDS['tool input']}"})
    file.result(call, f"made {_WORDS['tool output']}")
    file.answer("done")
    file.write()
    below = ClaudeFile(
        project / _ID / "subagents", 2, name=_AGENT, session_id=_ID, is_sidechain=True
    )
    below.turn(f"explore {_WORDS['sub-agents']}", "explored")
    below.turn("go on", "explored more")
    below.write()
    codex = CodexFile(home / ROOTS[1], 3)
    codex.meta()
    codex.turn(f"please try {_WORDS['Codex']}", "tried")
    codex.turn("go on", "tried more")
    codex.write()
    return codex.id[:8]


def _covered(one: Contender, proofs: Sequence[str]) -> list[str]:
    if one.is_out:
        return []
    if not one.peer.is_scan:
        one.build()
    if one.peer.start and not one.is_out:
        one.start()
    try:
        return [kind for kind, word in _WORDS.items() if _is_found(one, word, proofs)]
    finally:
        one.stop()


def _is_found(one: Contender, word: str, proofs: Sequence[str]) -> bool:
    run = None if one.is_out else one.search(word, is_proven=False)
    if run is None:
        return False
    return one.is_found(run, word) or any(proof in run.output for proof in proofs)
