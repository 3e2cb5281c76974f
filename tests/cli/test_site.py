"""`ccgrep export --site`: the pages, the search in a real browser, and what the next run writes."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from ccgrep.cli import site_export
from ccgrep.cli.context import Context
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import write_escaped
from tests.helpers.terminal import need

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def fill(home: Home) -> list[str]:
    file = home.claude(1)
    file.turn("why does the zebra test fail", "the clock drifts; deployed a fix", "ls", "output")
    file.turn(f"push it with {SECRET}", "done")
    file.write()
    codex = home.codex(2, cwd="/home/sam/src/api")
    codex.meta()
    codex.turn("feed the giraffe 测试登录", "fed")
    codex.write()
    home.index()
    return [file.id, codex.id]


def names(site: Path) -> set[str]:
    return {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}


def export(home: Home, site: Path, *words: str) -> str:
    done = home.run("export", "--site", str(site), *words)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def found(site: Path, query: str) -> list[str]:
    """Return the links that the site's search shows in a browser."""
    need("chromium")
    done = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={site.parent / 'browser'}",
            *("--virtual-time-budget=20000", "--dump-dom"),
            f"{(site / 'index.html').as_uri()}#q={query}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    hits = done.stdout.partition('<ol id="hits">')[2].partition("</ol>")[0]
    return re.findall(r'<li><a href="([^"]+)">', hits)


def test_site_has_a_page_for_each_session_project_and_month(home: Home, tmp_path: Path) -> None:
    claude, codex = fill(home)
    site = tmp_path / "site"
    said = export(home, site)
    written = names(site)
    assert {f"session/{claude}.html", f"session/{codex}.html", "index.html", "site.js"} <= written
    assert {re.sub("[0-9a-f]{12}", "HASH", name) for name in written if "/" in name} >= {
        "project/HASH.html",
        "month/2026-09.html",
        "search/turns.js",
        "search/sessions.js",
    }
    assert said == f"ccgrep: 2 sessions: {len(written) - 1} files written, 0 deleted\n"
    links = re.findall(r'href="([^"#]+)"', (site / "index.html").read_text())
    assert links and all((site / link).is_file() for link in links)
    for page in (*site.glob("project/*.html"), *site.glob("month/*.html")):
        links = re.findall(r'href="([^"#]+)"', page.read_text())
        assert links and all((page.parent / link).is_file() for link in links)


def test_search_of_the_site_works_from_a_disk(home: Home, tmp_path: Path) -> None:
    claude, codex = fill(home)
    site = tmp_path / "site"
    export(home, site)
    assert found(site, "zebra") == [f"session/{claude}.html#s0-t0"]
    assert found(site, "deploy clock") == [f"session/{claude}.html#s0-t0"]  # deploy: deployed
    assert found(site, "登录") == [f"session/{codex}.html#s0-t0"]
    assert found(site, "nonsense") == []
    page = (site / "session" / f"{claude}.html").read_text()
    assert 'id="s0-t0"' in page


def test_next_run_writes_only_what_changed(home: Home, tmp_path: Path) -> None:
    claude, codex = fill(home)
    site = tmp_path / "site"
    export(home, site)
    assert export(home, site) == "ccgrep: 2 sessions: 0 files written, 0 deleted\n"
    before = {name: (site / name).stat().st_mtime_ns for name in names(site)}
    file = home.claude(3)
    file.turn("a new question", "a new answer")
    file.write()
    export(home, site)
    changed = {name for name in names(site) if (site / name).stat().st_mtime_ns != before.get(name)}
    assert f"session/{file.id}.html" in changed
    assert not changed & {f"session/{claude}.html", f"session/{codex}.html"}
    assert home.run("forget", file.id).returncode == 0
    assert "deleted" in export(home, site)
    assert f"session/{file.id}.html" not in names(site)


def test_run_without_changes_reads_no_turn(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home)
    arguments = SimpleNamespace(
        site=str(tmp_path / "site"), ref=[], tools=False, thinking=False, no_redact=False
    )
    context = Context(home.environment, False, False, 80)
    assert site_export.export_site(arguments, context, home.config) == 0
    monkeypatch.setattr(site_export, "show_range", None)
    assert site_export.export_site(arguments, context, home.config) == 0


def test_new_title_changes_the_page(home: Home, tmp_path: Path) -> None:
    claude, _ = fill(home)
    site = tmp_path / "site"
    export(home, site)
    (path,) = home.projects.rglob(f"{claude}.jsonl")
    title = {"type": "custom-title", "customTitle": "Zebras at last", "sessionId": claude}
    with path.open("a") as file:
        file.write(json.dumps(title) + "\n")
    export(home, site)
    assert "<h1>Zebras at last</h1>" in (site / "session" / f"{claude}.html").read_text()
    assert "Zebras at last" in (site / "index.html").read_text()


def test_pages_lead_back_and_subagents_are_not_on_the_front_page(
    home: Home, tmp_path: Path
) -> None:
    main = home.claude(1, cwd="/home/sam/src/shop")
    main.turn("why does the zebra test fail", "the clock")
    agent = home.subagent(main, "agent-a1b2c3d")
    agent.turn("look around", "nothing")
    other = home.claude(2, cwd="/home/sam/old/shop", slug="-old")
    other.turn("an older shop", "yes")
    for file in (main, agent, other):
        file.write()
    home.index()
    site = tmp_path / "site"
    export(home, site)
    front = (site / "index.html").read_text()
    assert "agent-a1b2c3d.html" not in front
    assert "/home/sam/src/shop" in front and "/home/sam/old/shop" in front
    months = "".join(path.read_text() for path in site.glob("month/*.html"))
    assert re.search(r'agent-a1b2c3d.html">look around</a>\s+<span[^>]*>[^<]*sub-agent', months)
    page = (site / "session" / f"{main.id}.html").read_text()
    assert '<a href="../index.html">All sessions</a>' in page
    assert "All sessions" not in home.run("export", main.id, "--format", "html").stdout


def test_site_of_some_sessions(home: Home, tmp_path: Path) -> None:
    claude, codex = fill(home)
    site = tmp_path / "site"
    export(home, site, claude[:8])
    assert {name for name in names(site) if "session/" in name} == {f"session/{claude}.html"}
    hash = re.search("@[0-9a-f]{10}", home.run("show", f"{codex}:0").stdout)
    assert hash is not None
    export(home, site, f"{claude}:1", hash[0])
    assert {f"session/{id}.html" for id in (claude, codex)} <= names(site)
    done = home.run("export", "--site", str(site), "-", input=f"{codex}:0:1.000:text\n")
    assert done.returncode == 0
    assert {name for name in names(site) if "session/" in name} == {f"session/{codex}.html"}


def test_secrets_are_redacted_unless_asked_for(home: Home, tmp_path: Path) -> None:
    fill(home)
    site = tmp_path / "site"
    export(home, site)
    everything = b"".join((site / name).read_bytes() for name in names(site)).decode()
    assert SECRET not in everything and SECRET.lower() not in everything.lower()
    export(home, site, "--no-redact")
    everything = b"".join((site / name).read_bytes() for name in names(site)).decode()
    assert SECRET in everything


def test_text_of_transcripts_stays_text(home: Home, tmp_path: Path) -> None:
    file = home.claude(1, cwd="/home/sam/</script><script>alert(1)</script>")
    file.turn("</script><script>alert(1)</script> \u2028 <img src=x onerror=alert(1)>", "yes")
    for attack in ATTACKS.values():
        file.turn(f"zebra {attack}", "answer")
    write_escaped(file)
    home.index()
    site = tmp_path / "site"
    export(home, site)
    for name in names(site):
        text = (site / name).read_text()
        assert not acting(text, "\n\t"), name
        is_page = name.endswith(".html")
        assert not is_page or ("<script>" not in text and "<img src=x" not in text), name
    assert found(site, "zebra")


@pytest.mark.parametrize("option", ["-f", "-o", "-n"])
def test_options_without_effect_are_errors(home: Home, tmp_path: Path, option: str) -> None:
    value = {"-f": "md", "-o": "x.md", "-n": "1"}[option]
    done = home.run("export", "--site", str(tmp_path / "site"), option, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--site" in done.stderr and option in done.stderr
    assert not (tmp_path / "site").exists()


def test_folder_with_other_files_is_left_alone(home: Home, tmp_path: Path) -> None:
    fill(home)
    site = tmp_path / "site"
    site.mkdir()
    (site / "thesis.txt").write_text("mine")
    done = home.run("export", "--site", str(site))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"ccgrep: '{site}' has other files: choose an empty or a new directory\n"
    )
    assert names(site) == {"thesis.txt"}


def test_state_file_cannot_delete_files_elsewhere(home: Home, tmp_path: Path) -> None:
    fill(home)
    site = tmp_path / "site"
    export(home, site)
    other = tmp_path / "other.txt"
    other.write_text("mine")
    state = json.loads((site / ".ccgrep-site.json").read_text())
    state["keys"] |= {"../other.txt": "x", str(other): "x"}
    (site / ".ccgrep-site.json").write_text(json.dumps(state))
    export(home, site)
    assert other.read_text() == "mine"


def test_lost_page_is_written_again(home: Home, tmp_path: Path) -> None:
    claude, _ = fill(home)
    site = tmp_path / "site"
    export(home, site)
    (site / "session" / f"{claude}.html").unlink()
    shutil.rmtree(site / "search")
    export(home, site)
    assert os.path.exists(site / "session" / f"{claude}.html")
    assert found(site, "zebra")


def test_export_needs_a_ref_or_a_site(home: Home) -> None:
    fill(home)
    done = home.run("export")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no REF: pass session ids" in done.stderr
