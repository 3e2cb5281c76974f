"""Finds out in which kinds of text each tool finds a word, on a home of a few turns."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.contender import Contender, Limits, make_contender
from bench.home import ROOTS
from bench.peers import PLANTED, InstallDir, Peer
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


def measure_coverage(
    peers: Sequence[Peer], install_dir: InstallDir, limits: Limits
) -> dict[str, list[str]]:
    """Return the kinds of text in which each tool finds a word."""
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as name:
        work = Path(name)
        proofs = (_write_transcripts(work / "home"), _SHORT_AGENT)
        return {
            peer.name: _covered_kinds(make_contender(peer, install_dir, work, limits), proofs)
            for peer in peers
        }


def _write_transcripts(home: Path) -> str:
    """Write each word into a kind of text of its own. Return the short id of Codex's session."""
    project = home / ROOTS[0] / "-home-dev-probe"
    file = ClaudeFile(project, 1, session_id=_ID)
    file.turn(f"please look at {_WORDS['prompts']}", f"found {_WORDS['answers']} there")
    file.prompt("and what else")
    file.blocks({"type": "thinking", "thinking": f"perhaps {_WORDS['thinking']}", "signature": "s"})
    call = file.call("Bash", {"command": f"make {_WORDS['tool input']}"})
    file.result(call, f"made {_WORDS['tool output']}")
    file.answer("done")
    file.write()
    agent = ClaudeFile(
        project / _ID / "subagents", 2, name=_AGENT, session_id=_ID, is_sidechain=True
    )
    agent.turn(f"explore {_WORDS['sub-agents']}", "explored")
    agent.turn("go on", "explored more")
    agent.write()
    codex = CodexFile(home / ROOTS[1], 3)
    codex.meta()
    codex.turn(f"please try {_WORDS['Codex']}", "tried")
    codex.turn("go on", "tried more")
    codex.write()
    return codex.id[:8]


def _covered_kinds(contender: Contender, proofs: Sequence[str]) -> list[str]:
    if contender.is_excluded:
        return []
    if not contender.peer.is_scan:
        contender.build()
    if contender.peer.start and not contender.is_excluded:
        contender.start()
    try:
        return [kind for kind, word in _WORDS.items() if _is_found(contender, word, proofs)]
    finally:
        contender.stop()


def _is_found(contender: Contender, word: str, proofs: Sequence[str]) -> bool:
    run = None if contender.is_excluded else contender.search(word, must_find=False)
    if run is None:
        return False
    return contender.is_found(run, word) or any(proof in run.output for proof in proofs)
