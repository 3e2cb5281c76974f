"""Files that opencode, Pi, Cline and Aider changed."""

from pathlib import Path

from tests.helpers.cline_sessions import ClineSession, result, use
from tests.helpers.homes import Home
from tests.helpers.opencode_sessions import OpencodeSession, write_database
from tests.helpers.opencode_sessions import call as part
from tests.helpers.pi_sessions import PiFile, call


def write_file(home: Home) -> Path:
    path = home.directory / "lamp.py"
    path.write_text("bright\n")
    return path


def assert_blamed(home: Home, path: Path, id: str) -> None:
    home.index()
    assert id[:8] in home.run("blame", str(path)).stdout
    lines = home.run("blame", "--line", "1", str(path)).stdout
    assert id[:8] in lines, lines


def test_opencode(home: Home) -> None:
    path = write_file(home)
    session = OpencodeSession(directory=str(home.directory))
    session.prompt("brighten it")
    edit = {"filePath": str(path), "oldString": "dark", "newString": "bright"}
    session.answer(part("edit", "Edit applied successfully.", **edit))
    write_database(home.directory / ".local" / "share" / "opencode", session)
    assert_blamed(home, path, session.id)


def test_pi(home: Home) -> None:
    path = write_file(home)
    file = PiFile(home.directory / ".pi" / "agent")
    file.header(cwd=str(home.directory))
    file.prompt("brighten it")
    edits = [{"oldText": "dark", "newText": "bright"}]
    file.answer(call("t1", "edit", path=str(path), edits=edits))
    file.result("t1", "Successfully replaced 1 block(s).")
    file.write()
    assert_blamed(home, path, file.id)


def test_cline(home: Home) -> None:
    path = write_file(home)
    session = ClineSession(home.directory / ".cline" / "data")
    session.cwd = str(home.directory)
    session.prompt("brighten it")
    session.answer(use("t1", "editor", path=str(path), old_text="dark", new_text="bright"))
    session.add("user", result("t1", '{"query":"edit","result":"Edited","success":true}'))
    session.write()
    assert_blamed(home, path, session.id)
