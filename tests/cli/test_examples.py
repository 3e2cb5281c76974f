"""The bundled example home."""

from pathlib import Path

from tests.helpers.homes import Home

EXAMPLE = Path(__file__).parents[2] / "examples" / "home"


def test_example_home_is_read_completely(home: Home) -> None:
    report = home.json("index", "--root", str(EXAMPLE))
    counts = {key: report[key] for key in ("files_parsed", "turns", "new_sessions", "bad_lines")}
    assert counts == {"files_parsed": 14, "turns": 55, "new_sessions": 16, "bad_lines": 0}
    assert (report["unknown_types"], report["troubles"]) == ({}, [])
    assert report["new_objects"] == 56  # 3 of the 55 are shared, 4 more are recovered

    listed = {
        session["short_id"]: session
        for session in home.json("list", "--subagents", "include")["sessions"]
    }
    assert {id: session["turn_count"] for id, session in listed.items()} == {
        "6816c1da": 3,
        "01a19ceb": 3,
        "f602c333": 4,
        "778043b8": 4,
        "01a13940": 3,
        "d47a6b7e": 4,
        "ede7d935": 6,
        "6d8909bf": 4,
        "agent-a7": 1,
        "f531b72d": 4,
        "0a7355a2": 4,
        "6c6ce060": 4,
        "745a74e9": 6,
        "f8a5fac0": 5,
        "0eab4b26": 1,
        "a1867b77": 3,
    }
    assert listed["agent-a7"]["parent"] == listed["6d8909bf"]["id"]
    assert listed["f602c333"]["title"] == "docker build cache"
    assert {id for id, s in listed.items() if s["is_prompt_only"]} == {"0eab4b26", "a1867b77"}
    assert {s["project"] for s in listed.values()} == {
        "/home/sam/src/shopfront",
        "/home/sam/src/pipeline",
        "/home/sam/src/notes-app",
    }


def test_example_has_a_fork_and_a_spill(home: Home) -> None:
    home.run("index", "-q", "--root", str(EXAMPLE))
    ids = {id[:8]: id for id in home.rows()}
    parent, fork = (
        [e.turn for e in home.manifest(ids[x]).entries] for x in ("f8a5fac0", "745a74e9")
    )
    assert parent[:3] == fork[:3]
    outputs = [
        call.result.text
        for turn in home.turns(ids["6d8909bf"])
        for call in turn.calls()
        if call.result is not None
    ]
    assert sum("local hour 01 occurs twice" in output for output in outputs) == 1
