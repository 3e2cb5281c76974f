"""Roots, file names and links: which files a scan finds, and which of them are opened."""

import os
import unicodedata
from pathlib import Path

import pytest

from ccgrep.config import make_config
from ccgrep.sources.files import open_regular
from ccgrep.sources.registry import Root, find_roots, spell_as_listed
from ccgrep.sources.scan import scan
from tests.helpers.homes import Home, assert_same_as_fresh


def test_only_regular_files_below_the_root_are_read(home: Home, tmp_path: Path) -> None:
    outside = home.claude(2)
    outside.path = tmp_path / "outside.jsonl"
    outside.turn("outside", "the tree")
    outside.write()
    inside = home.claude(1)
    inside.turn("inside", "the tree")
    inside.write()
    folder = inside.path.parent
    (folder / "link-to-file.jsonl").symlink_to(outside.path)
    (folder / "link-to-dir").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "aaaaaaaa-fifo.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    home.index()
    assert [home.prompts(id) for id in home.rows()] == [["inside"]]
    assert open_regular(str(folder / "aaaaaaaa-fifo.jsonl")) is None
    assert open_regular(str(folder / "link-to-file.jsonl")) is None


def test_root_may_be_a_symbolic_link(home: Home, tmp_path: Path) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.write()
    link = tmp_path / "link"
    link.symlink_to(home.directory / ".claude")
    found = scan([Root(str(link), "claude_code")])
    assert list(found.files) == [str(file.path)]


@pytest.mark.parametrize("name", ["-rf", "..x", "a b", "x" * 300, "$(touch pwned)", "ab\ncd"])
def test_hostile_file_name_gives_a_safe_id(home: Home, name: str) -> None:
    file = home.claude(name=name[:200])
    file.turn("hello", "there")
    file.write()
    home.index()
    (id,) = home.rows()
    assert id.startswith("x") and len(id) == 13 and id.isalnum()
    assert_same_as_fresh(home)


def test_home_directory_has_the_roots_of_both_agents(tmp_path: Path) -> None:
    for name in (".claude/projects", ".config/claude/projects", ".codex/sessions"):
        (tmp_path / name).mkdir(parents=True)
    assert find_roots(str(tmp_path)) == [
        Root(str(tmp_path / ".claude"), "claude_code"),
        Root(str(tmp_path / ".config/claude"), "claude_code"),
        Root(str(tmp_path / ".codex"), "codex"),
    ]


def test_default_roots_include_the_xdg_directory_of_claude_code(tmp_path: Path) -> None:
    for name in (".claude", ".codex", ".config/claude"):
        (tmp_path / name).mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "CCGREP_DIR": str(tmp_path / "store")}

    def root_names(**variables: str) -> list[str]:
        roots = make_config({**environment, **variables}).roots
        return [os.path.relpath(root.path, tmp_path) for root in roots]

    assert root_names() == [".claude", ".codex"]
    (tmp_path / ".config/claude/projects").mkdir()
    assert root_names() == [".claude", ".config/claude", ".codex"]
    assert root_names(CLAUDE_CONFIG_DIR=str(tmp_path / ".claude")) == [".claude", ".codex"]


def test_root_that_links_to_another_root_is_scanned_once(tmp_path: Path) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    (root / "projects").mkdir(parents=True)
    link.symlink_to(root)
    found = scan([Root(str(root), "claude_code"), Root(str(link), "claude_code")])
    assert found.complete_roots == [str(root)]


def test_root_is_spelled_as_its_directory_lists_it(tmp_path: Path) -> None:
    listed = tmp_path / unicodedata.normalize("NFD", "Café") / "Backup"
    listed.mkdir(parents=True)
    typed = str(tmp_path / unicodedata.normalize("NFC", "café") / "BACKUP")
    assert spell_as_listed(typed) == str(listed)
    assert spell_as_listed(f"{typed}{os.sep}") == f"{listed}{os.sep}"


@pytest.mark.parametrize("path", ["/", ".", "..", "a/../b", "missing"])
def test_path_without_another_spelling_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path)
    assert spell_as_listed(path) == path


def test_exact_name_wins_over_another_spelling(tmp_path: Path) -> None:
    for name in ("root", "ROOT", "Root"):
        (tmp_path / name).mkdir(exist_ok=True)
    listed = {str(path) for path in tmp_path.iterdir()}
    assert {spell_as_listed(path) for path in listed} == listed


def test_no_link_below_the_root_is_opened(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (elsewhere / "below").mkdir(parents=True)
    (elsewhere / "below" / "file.jsonl").write_bytes(b"outside")
    (root / "projects").mkdir(parents=True)
    (root / "projects" / "linked").symlink_to(elsewhere)
    (root / "sessions").symlink_to(elsewhere)
    linked = root / "projects" / "linked" / "below" / "file.jsonl"
    assert linked.read_bytes() == b"outside"
    assert open_regular(str(linked), str(root)) is None
    descriptor = open_regular(str(root / "sessions" / "below" / "file.jsonl"), str(root))
    assert descriptor is not None
    os.close(descriptor)


def test_opening_closes_every_other_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "projects" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "file.jsonl").write_bytes(b"")
    still_open: set[int] = set()
    real_open, real_close = os.open, os.close

    def counting_open(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        descriptor = real_open(path, flags, dir_fd=dir_fd)
        still_open.add(descriptor)
        return descriptor

    def counting_close(descriptor: int) -> None:
        still_open.remove(descriptor)
        real_close(descriptor)

    monkeypatch.setattr(os, "open", counting_open)
    monkeypatch.setattr(os, "close", counting_close)
    for name in ("file.jsonl", "missing.jsonl", "missing/file.jsonl", "../b"):
        descriptor = open_regular(str(folder / name), str(tmp_path))
        assert still_open == ({descriptor} if descriptor is not None else set())
        if descriptor is not None:
            os.close(descriptor)
