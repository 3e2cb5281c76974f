"""Forgotten sessions leave no bytes and are never ingested again."""

import json

from ccgrep.store import fsck
from ccgrep.store.fsio import remove_tree
from tests.faults.injection import SavedHome, count_operations, run_killed_at
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.stored import object_bytes, write_session


def test_forgotten_session_is_ignored_after_its_file_moves(home: Home) -> None:
    codex = home.codex()
    codex.meta()
    codex.turn("canary-prompt", "canary-answer")
    codex.write()
    home.index()
    home.run("forget", codex.id)
    target = home.codex_sessions.parent / "archived_sessions" / codex.path.name
    target.parent.mkdir()
    codex.path.rename(target)
    home.index()
    assert home.rows() == {}
    assert b"canary" not in object_bytes(home)


def test_next_run_finishes_killed_forget(home: Home) -> None:
    file = write_session(home)
    other = write_session(home, 2)
    home.index()
    saved = SavedHome(home)
    operations = count_operations(home, "forget", file.id)
    finished = 0
    for n in scale.some(range(1, operations + 1), 8):
        saved.restore()
        run_killed_at(home, n, "forget", file.id)
        home.index()
        if file.id not in home.rows():
            assert b"answer 1" not in object_bytes(home), n
            finished += 1
        assert len(home.prompts(other.id)) == 3
    assert finished


def test_forget_keeps_other_session_with_same_id(home: Home) -> None:
    first = write_session(home, 1, slug="-a")
    second = write_session(home, 2, slug="-b", name=first.id)
    home.index()
    assert sorted(home.rows()) == [first.id, f"{first.id}~2"]
    forgotten = next(id for id in home.rows() if home.prompts(id)[0] == "prompt 1 0")
    home.run("forget", forgotten)
    second.turn("more", "to come")
    second.append()
    target = home.projects / "-c" / first.path.name
    target.parent.mkdir()
    first.path.rename(target)
    home.index()
    assert [home.prompts(id)[0] for id in home.rows()] == ["prompt 2 0"]
    assert len(home.prompts(next(iter(home.rows())))) == 4


def test_forgetting_superseded_session_keeps_sub_agents_of_live_one(home: Home) -> None:
    file = write_session(home)
    agent = home.subagent(file, "agent-a1b2c3d")
    agent.turn("look", "seen")
    agent.write()
    home.index()
    file.records.clear()
    file.turn("another", "story")
    file.write()
    home.index()
    home.run("forget", f"{file.id}~2")
    assert sorted(home.rows()) == sorted([file.id, agent.id])


def test_new_sub_agent_of_forgotten_session_is_ignored(home: Home) -> None:
    file = write_session(home)
    home.index()
    home.run("forget", file.id)
    agent = home.subagent(file, "agent-a1b2c3d")
    agent.turn("look", "seen")
    agent.write()
    home.index()
    assert home.rows() == {}


def test_forgetting_inline_sub_agent_keeps_its_parent(home: Home) -> None:
    file = home.claude(version="1.0.90")
    file.turn("one", "two")
    root = file.add("user", message={"role": "user", "content": "side"}, isSidechain=True)
    file.add(
        "assistant",
        message={"id": "m", "role": "assistant", "content": [{"type": "text", "text": "done"}]},
        isSidechain=True,
        parentUuid=root["uuid"],
    )
    root["parentUuid"] = None
    file.write()
    home.index()
    side = next(id for id in home.rows() if id.startswith("agent-"))
    home.run("forget", side)
    file.turn("three", "four")
    file.append()
    home.index()
    assert list(home.rows()) == [file.id]
    assert home.prompts(file.id) == ["one", "three"]
    assert not home.rows()[file.id].is_gone


def test_forgotten_keys_survive_lost_snapshot(home: Home) -> None:
    file, other = write_session(home, 1), write_session(home, 2)
    home.index()
    home.run("forget", file.id)
    remove_tree(str(home.store_dir / "objects"))
    (home.store_dir / "HEAD").unlink()
    assert home.run("fsck", "--repair").returncode == 0
    assert list(home.rows()) == [other.id]


def test_forget_leaves_no_bytes_and_blocks_later_ingests(home: Home) -> None:
    secret = home.claude(1)
    secret.turn("canary-prompt-7731", "canary-answer-7732", "echo", "canary-output-7733")
    secret.write()
    agent = home.subagent(secret, "agent-a1b2c3d")
    agent.turn("canary-agent-7734", "x")
    agent.write()
    other = home.claude(2)
    other.turn("ordinary", "talk")
    other.write()
    for _ in range(3):
        home.index()
        secret.turn("canary-more-7735", "y")
        secret.append()
    done = home.run("forget", secret.id)
    assert done.returncode == 0, done.stderr
    assert sorted(home.rows()) == [other.id]
    home.index()
    home.index(is_full=True)
    assert sorted(home.rows()) == [other.id]
    files = [path.read_bytes() for path in home.store_dir.rglob("*") if path.is_file()]
    held = b"".join(files) + object_bytes(home)
    assert [word for word in (b"canary", secret.id.encode()) if word in held] == []


def test_forgetting_fork_keeps_turns_of_original(home: Home) -> None:
    parent = home.claude()
    parent.turn("shared", "turn")
    parent.turn("own", "turn")
    parent.write()
    fork = parent.fork(home.projects / "-x", 2, seed=5)
    fork.turn("forked", "turn")
    fork.write()
    home.index()
    assert home.run("forget", fork.id).returncode == 0
    assert home.prompts(parent.id) == ["shared", "own"]
    assert fsck.check(home.store).is_clean


def test_forget_names_forks_and_takes_them_on_request(home: Home) -> None:
    first = write_session(home)
    fork = first.fork(first.path.parent, len(first.records) // 3 * 2, seed=2)
    fork.now_ms += 3_600_000
    fork.turn("only in the fork", "yes")
    fork.write()
    stranger = home.claude(3)  # The same turns at another time are no copy.
    stranger.now_ms += 86_400_000
    for number in range(3):
        stranger.turn(f"prompt 1 {number}", f"answer 1 {number}")
    stranger.write()
    home.index()
    assert home.turns(stranger.id) == home.turns(first.id)
    shared = sum(turn in home.turns(first.id) for turn in home.turns(fork.id))
    assert shared
    saved = SavedHome(home)
    done = home.run("forget", first.id)
    assert (done.returncode, done.stdout) == (0, f"forgot {first.id}\n")
    assert done.stderr == (
        f"ccgrep: forks and copies still hold these turns: {fork.id} ({shared} turns); "
        "`ccgrep forget --forks` takes them\n"
    )
    saved.restore()
    done = home.run("forget", first.id, "--json")
    assert json.loads(done.stdout)["held_by"] == {fork.id: shared}
    saved.restore()
    done = home.run("forget", "--forks", first.id)
    assert done.stdout.splitlines() == sorted([f"forgot {first.id}", f"forgot {fork.id}"])
    assert done.stderr == ""
    home.index()
    assert list(home.rows()) == [stranger.id]
    assert b"only in the fork" not in object_bytes(home)
