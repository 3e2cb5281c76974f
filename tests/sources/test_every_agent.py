"""What holds for every agent: a small session of each grows, is damaged and is deleted."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.sources.registry import SOURCES, find_source
from tests.helpers import scale
from tests.helpers.cline_sessions import ClineSession, ClineTask
from tests.helpers.copilot_chat_file import CopilotChatFile
from tests.helpers.copilot_file import CopilotFile
from tests.helpers.cursor_database import CursorChat
from tests.helpers.cursor_file import CursorFile
from tests.helpers.google_files import GeminiFile, QwenFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.opencode_sessions import (
    OpencodeSession,
    SecondSession,
    write_database,
    write_storage,
)
from tests.helpers.pi_sessions import PiFile

PROMPTS = ["where is the kettle", "and the teapot", "and the cups"]


def write_claude_code(home: Home, cwd: Path, prompts: list[str]) -> Path:
    file = home.claude(cwd=str(cwd))
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write()


def write_codex(home: Home, cwd: Path, prompts: list[str]) -> Path:
    file = home.codex(cwd=str(cwd))
    file.meta()
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write()


def write_opencode(home: Home, cwd: Path, prompts: list[str]) -> Path:
    root = home.directory / ".local" / "share" / "opencode"
    (root / "opencode.db").unlink(missing_ok=True)
    return write_database(root, make_opencode_session(cwd, prompts))


def write_opencode_second(home: Home, cwd: Path, prompts: list[str]) -> Path:
    session = SecondSession(directory=str(cwd))
    for prompt in prompts:
        session.turn(prompt, "Here.")
    return session.write(home.directory / ".local" / "share" / "opencode")


def write_opencode_storage(home: Home, cwd: Path, prompts: list[str]) -> Path:
    root = home.directory / ".local" / "share" / "opencode"
    return write_storage(root, make_opencode_session(cwd, prompts))


def make_opencode_session(cwd: Path, prompts: list[str]) -> OpencodeSession:
    session = OpencodeSession(directory=str(cwd))
    for prompt in prompts:
        session.turn(prompt, "Here.")
    return session


def write_pi(home: Home, cwd: Path, prompts: list[str], folder: str = ".pi") -> Path:
    file = PiFile(home.directory / folder / "agent")
    file.header(cwd=str(cwd))
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write()


def write_oh_my_pi(home: Home, cwd: Path, prompts: list[str]) -> Path:
    return write_pi(home, cwd, prompts, ".omp")


def write_copilot_cli(home: Home, cwd: Path, prompts: list[str]) -> Path:
    file = CopilotFile(home.directory / ".copilot", cwd=str(cwd))
    file.start()
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write()


def write_gemini(home: Home, cwd: Path, prompts: list[str], is_log: bool = True) -> Path:
    file = GeminiFile(home.directory / ".gemini")
    file.header()
    for prompt in prompts:
        file.turn(prompt, "Here.")
    file.folder.mkdir(parents=True, exist_ok=True)
    (file.folder / ".project_root").write_text(str(cwd))
    return file.write() if is_log else file.write_document()


def write_gemini_document(home: Home, cwd: Path, prompts: list[str]) -> Path:
    return write_gemini(home, cwd, prompts, is_log=False)


def write_qwen(home: Home, cwd: Path, prompts: list[str]) -> Path:
    file = QwenFile(home.directory / ".qwen", cwd=str(cwd))
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write()


def write_cursor(home: Home, cwd: Path, prompts: list[str]) -> Path:
    file = CursorFile(home.directory / ".cursor", cwd=str(cwd))
    for prompt in prompts:
        file.turn(prompt, "Here.", "ls")
    return file.write()


def write_cursor_chat(home: Home, cwd: Path, prompts: list[str]) -> Path:
    folder = home.directory / ".config" / "Cursor" / "User" / "globalStorage"
    chat = CursorChat(folder, workspaceIdentifier={"uri": {"fsPath": str(cwd)}})
    for prompt in prompts:
        chat.turn(prompt, "Here.")
    chat.write()
    return chat.path


def write_copilot_chat(home: Home, cwd: Path, prompts: list[str], is_log: bool = True) -> Path:
    root = home.directory / ".config" / "Code" / "User" / "workspaceStorage"
    file = CopilotChatFile(root, cwd=str(cwd))
    file.describe()
    for prompt in prompts:
        file.turn(prompt, "Here.")
    return file.write_log() if is_log else file.write_document()


def write_copilot_chat_document(home: Home, cwd: Path, prompts: list[str]) -> Path:
    return write_copilot_chat(home, cwd, prompts, is_log=False)


def write_cline(home: Home, cwd: Path, prompts: list[str]) -> Path:
    session = ClineSession(home.directory / ".cline" / "data")
    session.cwd = str(cwd)
    for prompt in prompts:
        session.turn(prompt, "Here.")
    return session.write()


def write_roo(home: Home, cwd: Path, prompts: list[str]) -> Path:
    storage = home.directory / ".config" / "Code" / "User" / "globalStorage"
    task = ClineTask(storage / "rooveterinaryinc.roo-cline")
    task.item = {"workspace": str(cwd)}
    for prompt in prompts:
        task.user(f"<feedback>\n{prompt}\n</feedback>")
        task.answer("Here.")
    return task.write()


def write_aider(home: Home, cwd: Path, prompts: list[str]) -> Path:
    settings = home.directory / ".config" / "ccgrep" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'roots = ["{cwd}"]\n')
    (cwd / ".aider.input.history").touch()
    path = cwd / ".aider.chat.history.md"
    runs = "".join(f"\n#### {prompt}  \n\nHere.\n\n" for prompt in prompts)
    path.write_text(f"\n# aider chat started at 2026-01-31 10:00:00\n{runs}")
    return path


Writer = Callable[[Home, Path, list[str]], Path]
WRITERS: list[tuple[str, Writer]] = [
    ("claude_code", write_claude_code),
    ("codex", write_codex),
    ("opencode", write_opencode),
    ("opencode", write_opencode_second),
    ("opencode", write_opencode_storage),
    ("pi", write_pi),
    ("oh_my_pi", write_oh_my_pi),
    ("copilot_cli", write_copilot_cli),
    ("gemini", write_gemini),
    ("gemini", write_gemini_document),
    ("qwen", write_qwen),
    ("cursor", write_cursor),
    ("cursor", write_cursor_chat),
    ("copilot_chat", write_copilot_chat),
    ("copilot_chat", write_copilot_chat_document),
    ("cline", write_cline),
    ("roo", write_roo),
    ("aider", write_aider),
]
ROWS = {"opencode", "opencode_second", "opencode_storage", "cursor_chat"}
"""The forms in which a session is no file of its own."""
each_agent = pytest.mark.parametrize(
    ("name", "write"),
    WRITERS,
    ids=[write.__name__.removeprefix("write_") for _, write in WRITERS],
)


def is_file(write: Writer) -> bool:
    return write.__name__.removeprefix("write_") not in ROWS


@pytest.fixture
def cwd(home: Home) -> Path:
    path = home.directory / "src" / "shop"
    path.mkdir(parents=True)
    return path


def only_id(home: Home) -> str:
    (id,) = home.rows()
    return id


def test_every_agent_of_the_table_is_tested() -> None:
    assert {name for name, _ in WRITERS} == {one.name for one in SOURCES if one.module}


@each_agent
def test_growing_session_is_read_as_a_fresh_one(
    home: Home, cwd: Path, name: str, write: Writer
) -> None:
    for count in (1, 2, 3):
        path = write(home, cwd, PROMPTS[:count])
        home.index()
    id = only_id(home)
    row = home.rows()[id]
    assert (row.session.source, row.session.cwd) == (name, str(cwd))
    assert row.versions == ()
    assert home.prompts(id) == PROMPTS
    assert [turn.assistant_texts() for turn in home.turns(id)] == [["Here."]] * 3
    if is_file(write):
        assert stored_bytes(home.store, row.files[0]) == path.read_bytes()
    assert_same_as_fresh(home)


@each_agent
def test_deleted_session_is_restored(
    home: Home, cwd: Path, name: str, write: Writer, tmp_path: Path
) -> None:
    path = write(home, cwd, PROMPTS)
    content = path.read_bytes() if path.is_file() else b""
    home.index()
    id = only_id(home)
    if path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path)
    home.index()
    done = home.run("restore", id)
    if is_file(write):
        assert done.returncode == 0, done.stderr
        assert path.read_bytes() == content
    else:
        assert done.returncode == 2 and "use --to DIR" in done.stderr
        assert home.run("restore", id, "--to", str(tmp_path / "out")).returncode == 0
        (file,) = (tmp_path / "out").iterdir()
        assert file.read_bytes() == stored_bytes(home.store, home.rows()[id].files[0])
    assert home.prompts(id) == PROMPTS


@each_agent
def test_resume_prints_the_command_of_the_client(
    home: Home, cwd: Path, name: str, write: Writer
) -> None:
    write(home, cwd, PROMPTS)
    home.index()
    id, source = only_id(home), find_source(name)
    done = home.run("resume", id)
    if source.resume and write is not write_cursor_chat:
        command = " ".join(word.replace("{id}", id) for word in source.resume)
        assert (done.stdout, done.returncode) == (f"cd {cwd} && {command}\n", 0)
    else:
        assert done.returncode == 1
        assert f"{source.title} has no command for that" in done.stderr


@each_agent
def test_damage_loses_no_turn_that_was_read(
    home: Home, cwd: Path, name: str, write: Writer
) -> None:
    path = write(home, cwd, PROMPTS)
    home.index()
    id = only_id(home)
    path = max(path.rglob("*"), key=lambda one: one.is_file()) if path.is_dir() else path
    whole = path.read_bytes()
    dice = random.Random(name)
    for _ in range(scale.of(3, 40)):
        damaged = bytearray(whole)
        for _ in range(dice.randrange(1, 30)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path.write_bytes(bytes(damaged[: dice.choice([len(whole), dice.randrange(len(whole))])]))
        home.index()
        copies = [
            prompt for one in home.rows() if one.startswith(id) for prompt in home.prompts(one)
        ]
        assert set(PROMPTS) <= set(copies)


@pytest.mark.parametrize("write", [write for _, write in WRITERS if is_file(write)])
def test_rewriting_an_emptied_file_loses_no_turn(home: Home, cwd: Path, write: Writer) -> None:
    path = write(home, cwd, PROMPTS)
    home.index()
    whole = path.read_bytes()
    for content in (whole[:3], whole.replace(b"kettle", b"bottle")):
        path.write_bytes(content)
        home.index()
    copies = [prompt for id in home.rows() for prompt in home.prompts(id)]
    assert {*PROMPTS, "where is the bottle"} <= set(copies)
