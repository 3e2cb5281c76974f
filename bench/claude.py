"""Generates a Claude Code session with its sub-agents, workers and fork.

The number of turns excludes copies: the common part of a fork, the conversation in a compaction
worker, and what a main session repeats of its sub-agents.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.claude_records import ClaudeFile, Setting
from bench.text import TERMS
from bench.transcript import Family, Record, Summary, add_up, random_weights, split

# The mean bytes after the last step of a turn, plus half a step.
_MAIN_TAIL = 24_000
_AGENT_TAIL = 18_000


def write_claude(family: Family, directory: Path, seed: int) -> Summary:
    setting = Setting(family, directory, seed)
    main = ClaudeFile(setting, setting.folder, setting.session_id)
    agents = [size for size in family.agent_bytes if size > 0 or family.is_small]
    if family.is_small:
        for file in [main] * family.turns + [_new_agent(main) for _ in agents]:
            file.small_turn()
    elif family.turns:
        _write_turns(main, agents)
    else:
        main.snapshot()
        main.metadata("")
    for number in range(len(family.agent_bytes) - len(agents)):
        # At most one worker copies the conversation, or copies would be most of the corpus.
        _run_worker(main, may_copy=number == 2)
    if family.is_forked:
        _fork(main)
    return add_up(file.save() for file in setting.files)


def _write_turns(main: ClaudeFile, agents: Sequence[int]) -> None:
    """Write all turns of a main session, with its sub-agents."""
    rng, family = main.rng, main.setting.family
    ends = family.turn_ends(rng)
    spawned = split(len(agents), random_weights(rng, family.turns, 1.0))
    sizes = iter(agents)
    most = family.max_bytes + sum(agents)
    if not main.setting.has_attachments and rng.random() < 0.25:
        main.add(type="summary", summary=main.title, leafUuid=main.writer.uuid())
    for end, count in zip(ends, spawned, strict=True):
        prompt = main.writer.prompt()
        main.ask(prompt)
        for size in itertools.islice(sizes, count):
            # Later sub-agents are smaller by what the main session repeats of earlier ones.
            left = most - sum(file.size for file in main.setting.files)
            _spawn(main, min(size, left))
        while main.size < end - _MAIN_TAIL:
            main.step()
        main.answer(main.writer.size(1_100, 0.8, 12_000))
        main.close_turn(prompt)


def _spawn(main: ClaudeFile, size: int) -> None:
    """Write a sub-agent to a file of its own, and what the main session repeats of it."""
    prompt = main.writer.markdown(main.writer.size(1_300, 0.6))
    agent = _new_agent(main)
    arguments: Record = {"description": main.writer.sentence()[:40], "subagent_type": "Explore"}
    use = main.use("Task", arguments | {"prompt": prompt})
    source = main.message([use])[0]
    content = [{"type": "text", "text": _run_agent(agent, prompt, size)}]
    main.now = agent.now
    if main.setting.era == "progress":
        _repeat_agent(main, agent, prompt, str(use["id"]))
    details: Record = {"status": "completed", "prompt": prompt, "agentId": agent.agent_id}
    details |= {"content": content, "totalDurationMs": 80_000, "totalTokens": 20_000}
    block: Record = {"tool_use_id": use["id"], "type": "tool_result", "content": content}
    main.user([block], sourceToolAssistantUUID=source, toolUseResult=details)


def _new_agent(main: ClaudeFile, worker: str = "") -> ClaudeFile:
    setting = main.setting
    if setting.era == "beside":
        return ClaudeFile(setting, setting.folder, setting.session_id, main.writer.hex(7))
    folder = setting.folder / setting.session_id / "subagents"
    return ClaudeFile(setting, folder, setting.session_id, f"a{worker}{main.writer.hex(16)}")


def _run_agent(agent: ClaudeFile, prompt: str, size: int) -> str:
    rng = agent.rng
    agent.max_bytes = size
    agent.user(prompt)
    if agent.setting.era == "progress" and rng.random() < 0.2:
        # A loop of a broken command makes up 12 % of the user lines of one home in the census.
        for _ in range(min(int(rng.expovariate(1 / 30)), size // 2_500)):
            agent.user("<local-command-caveat>Caveat: local</local-command-caveat>", isMeta=True)
            agent.user(f"Unknown skill: {rng.choice(TERMS)}")
    while agent.size < size - _AGENT_TAIL:
        agent.step()
    agent.turns += 1
    return agent.answer(agent.writer.size(1_600, 0.7, 9_000))


def _repeat_agent(main: ClaudeFile, agent: ClaudeFile, prompt: str, use_id: str) -> None:
    for line in agent.lines:
        record = msgspec.json.decode(line)
        if record["type"] == "progress" or main.rng.random() > 0.18:
            continue
        kept = ("type", "message", "uuid", "timestamp", "requestId")
        message = {key: record[key] for key in kept if key in record}
        copies = [message] if main.rng.random() < 0.7 else []
        body: Record = {"message": message, "normalizedMessages": copies, "prompt": prompt}
        main.progress("agent", use_id, **body, agentId=agent.agent_id)


def _run_worker(main: ClaudeFile, may_copy: bool) -> None:
    """Write a sub-agent that no user asked for: warm-up, compaction, next-prompt suggestion."""
    rng = main.rng
    if main.setting.era == "beside":
        agent, prompt, size = _new_agent(main), "Warmup", 300
    elif rng.random() < 0.6:
        agent, size = _new_agent(main, "compact-"), main.writer.size(6_000, 0.4, 12_000)
        prompt = "Your task is to create a detailed summary of the conversation so far."
        if may_copy and rng.random() < 0.4:
            _copy_conversation(main, agent)
    else:
        agent, size = _new_agent(main, "prompt_suggestion-"), 60
        prompt = "[SUGGESTION MODE: Suggest what the user might naturally type next.]"
    agent.user(prompt)
    agent.answer(size)
    agent.turns += 1


def _copy_conversation(main: ClaudeFile, agent: ClaudeFile) -> None:
    """Repeat the parent's messages under new uuids, as compaction workers do."""
    for line in main.lines:
        record = msgspec.json.decode(line)
        if record["type"] in ("user", "assistant"):
            record.pop("toolUseResult", None)
            own = {"isSidechain": True, "agentId": agent.agent_id, "parentUuid": agent.parent}
            agent.parent = main.writer.uuid()
            agent.add(**record | own | {"uuid": agent.parent})


def _fork(main: ClaudeFile) -> None:
    """Copy a session up to the end of a turn under a new id, and continue from there."""
    rng = main.rng
    child = ClaudeFile(main.setting, main.setting.folder, main.writer.uuid())
    old, new = main.session_id.encode(), child.session_id.encode()
    for line in main.lines[: rng.choice(main.turn_ends)]:
        child.add_line(line.replace(b'"sessionId":"' + old, b'"sessionId":"' + new))
    child.parent = main.parent
    prompt = child.writer.prompt()
    child.ask(prompt)
    for _ in range(rng.randint(2, 20)):
        child.step()
    child.answer(800)
    child.close_turn(prompt)
