"""Word search: finds indexed words, ranks them as documented, and always gives the same answer."""

import random
import re
import string
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from ccgrep.errors import UsageError
from ccgrep.fulltext.terms import ANSWER_MARK
from ccgrep.ops.search import search
from ccgrep.search.query import is_question, parse
from ccgrep.search.request import Answer, Place, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.search.snippet import word_finder
from ccgrep.store.fsio import remove_tree
from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

DAY_MS = 86_400_000
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""For examples that build a store: shrinking one takes minutes."""
Kind = Literal["prompt", "answer", "input", "output", "thinking", "title"]
BODY_KINDS: tuple[Kind, ...] = ("prompt", "answer", "input", "output", "thinking")


def ask(home: Home, *patterns: str, is_indexed: bool = True, **fields: Any) -> Answer:
    request = Request(patterns, **{"limit": 0, **fields})
    result = search(home.config, request, SearchOptions(use_index=is_indexed))
    return result.answer


def places(answer: Answer) -> set[Place]:
    return {place for hit in answer.hits for place in (hit.place, *hit.also_in)}


@contextmanager
def temporary_home() -> Iterator[Home]:
    directory = Path(tempfile.mkdtemp())
    try:
        yield Home(directory / "home")
    finally:
        remove_tree(str(directory))


def add(file: ClaudeFile, kind: Kind, number: int, text: str) -> None:
    """Add a turn that has `text` in one kind of text only."""
    file.prompt(f"p{number} {text}" if kind == "prompt" else f"p{number}")
    if kind in ("input", "output"):
        given = {"command": text if kind == "input" else "run"}
        file.result(file.call("Bash", given), text if kind == "output" else "ran")
    if kind == "thinking":
        file.blocks({"type": "thinking", "thinking": text})
    file.answer(text if kind == "answer" else f"a{number}")
    if kind == "title":
        file.meta("ai-title", aiTitle=text)


LETTERS = {
    "ascii": string.ascii_letters + string.digits,
    "latin": "aeiouéèêñöüßøåçĳőłŠž",
    "folded": "ﬁﬀⅧ①Ｆｕ㎏²½ſK",
    "marks": "e\u0301o\u0308u\u0328n\u0303a",
    "greek": "αβγδέίώςσΣΩ",
    "cyrillic": "абвгдеёжИЙ",
    "hebrew": "אבגדהוש",
    "arabic": "ابتثجحخ",
    "devanagari": "कखगघचछजनम",
    "thai": "กขคงจชซ",
    "han": "日本語検索中文汉字漢",
    "kana": "ひらがなカタカナー",
    "hangul": "한국어검색가나다",
    "jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "turkish": "iıİIğşŞ",
    "emoji": "😀🚀💩👍🎉",
}
BETWEEN = (
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    ", ",
    ". ",
    "/",
    ".",
    "-",
    "_",
    ":",
    "=",
    "(",
    ")",
    "'",
    '"',
)
words = st.one_of(
    *(st.text(letters, min_size=1, max_size=8) for letters in LETTERS.values()),
    st.text(string.ascii_lowercase + string.digits, min_size=60, max_size=70),
    st.sampled_from("getUserName HTTPServer2 x86_64 v1.2.3 don't C++ node_modules of".split()),
)  # fmt: skip
mixed = st.lists(st.tuples(words, st.sampled_from(BETWEEN)), min_size=1, max_size=12).map(
    lambda pairs: "".join(word + between for word, between in pairs)
)
anything = st.text(st.characters(exclude_categories=["Cs", "Cn"]), min_size=1, max_size=40)
any_text = (mixed | anything).filter(lambda text: any(char.isalnum() for char in text))
several_texts = st.lists(any_text, min_size=1, max_size=16)
BORDER = re.compile(r"[\s!-/:-@\[-`{-~]")


@st.composite
def word_runs(draw: st.DrawFn, text: str) -> str:
    """Draw a part of `text` that splits no word and contains at least one."""
    borders = [
        at
        for at in range(len(text) + 1)
        if at in (0, len(text)) or BORDER.match(text[at - 1]) or BORDER.match(text[at])
    ]
    start, end = sorted(draw(st.tuples(*[st.sampled_from(borders)] * 2)))
    run = text[start:end]
    return run if any(char.isalnum() for char in run) else text


def assert_found_by_words(kind: Kind, texts: Sequence[str], data: st.DataObject) -> None:
    with temporary_home() as home:
        expected = []
        file = home.claude(1)
        for number, text in enumerate(texts):
            if kind == "title" and number:
                file = home.claude(number + 1)
            add(file, kind, number, text)
            expected.append(Place(file.id, 0 if kind == "title" else number))
            file.write()
        home.index()
        for text, place in zip(texts, expected, strict=True):
            query = data.draw(word_runs(text))
            if kind in ("output", "thinking"):  # Symbols are not indexed there.
                assume(all(any(map(str.isalnum, word)) for word in query.split()))
            assert place in places(ask(home, query)), (kind, query, text)


@settings(max_examples=scale.of(18, 60), deadline=None, phases=UNSHRUNK)
@given(st.sampled_from(["prompt", "answer", "input"]), several_texts, st.data())
def test_discussion_and_tool_input_are_found_by_their_words(
    kind: Kind, texts: list[str], data: st.DataObject
) -> None:
    assert_found_by_words(kind, texts, data)


@settings(max_examples=20, deadline=None, phases=UNSHRUNK)
@given(st.sampled_from(["output", "thinking"]), several_texts, st.data())
def test_output_and_thinking_are_found_by_their_words(
    kind: Kind, texts: list[str], data: st.DataObject
) -> None:
    assert_found_by_words(kind, texts, data)


@settings(max_examples=10, deadline=None, phases=UNSHRUNK)
@given(several_texts, st.data())
def test_titles_are_found_by_their_words(texts: list[str], data: st.DataObject) -> None:
    assert_found_by_words("title", texts, data)


@settings(max_examples=scale.of(18, 60), deadline=None, phases=UNSHRUNK)
@given(
    st.sampled_from(["prompt", "answer", "input", "output", "thinking"]), several_texts, st.data()
)
def test_literal_search_finds_any_part_of_a_line(
    kind: Kind, texts: list[str], data: st.DataObject
) -> None:
    types = {"prompt": "user", "answer": "assistant", "thinking": "thinking"}
    with temporary_home() as home:
        file = home.claude(1)
        for number, text in enumerate(texts):
            add(file, kind, number, f"x{text}")
        file.write()
        home.index()
        for number, text in enumerate(texts):
            line = data.draw(st.sampled_from([line for line in f"x{text}".split("\n") if line]))
            ends = st.integers(0, len(line))
            start, end = sorted((data.draw(ends), data.draw(ends)))
            part = line[start:end] if line[start:end].strip() else f"x{text}".split("\n")[0]
            answer = ask(home, part, mode="literal", types=(types.get(kind, "tool"),))
            assert Place(file.id, number) in places(answer), (kind, part, text)


few_words = st.lists(st.sampled_from(["oak", "elm", "ash", "fir", "検索", ANSWER_MARK]), max_size=6)


@settings(max_examples=15, deadline=None, phases=UNSHRUNK)
@given(st.lists(st.tuples(few_words, few_words), min_size=1, max_size=12))
def test_type_filter_finds_words_of_one_side_only(
    turns: list[tuple[list[str], list[str]]],
) -> None:
    with temporary_home() as home:
        file = home.claude(1)
        for number, (asked, answered) in enumerate(turns):
            file.prompt(" ".join([f"p{number}", *asked]))
            file.answer(" ".join([f"a{number}", *answered]))
        file.write()
        home.index()
        for side, kind in enumerate(("user", "assistant")):
            for query in ("oak", "elm fir", "検索", '"ash oak"', ANSWER_MARK):
                answer = ask(home, query, types=(kind,))
                found = places(answer) if answer.tier == "all" else set()
                expected = {
                    Place(file.id, number)
                    for number, turn in enumerate(turns)
                    if has_words(turn[side], query)
                }
                assert found == expected, (kind, query)


def has_words(words: Sequence[str], query: str) -> bool:
    """Return whether `words` has the words of a query, as written if it is a phrase."""
    if query.startswith('"'):
        return query.strip('"') in " ".join(words)
    return {*query.split()} <= {*words}


ages = st.lists(st.integers(0, 3650), min_size=2, max_size=8)


def write_sessions(home: Home, turns: Sequence[tuple[int, str, str]]) -> list[str]:
    """Write one session per turn, given its age in days, prompt and tool output."""
    ids = []
    for number, (age, prompt, output) in enumerate(turns):
        file = home.claude(number + 1)
        file.now_ms = 1_790_000_000_000 - age * DAY_MS
        file.turn(prompt, "done", "run", output or "nothing")
        file.write()
        ids.append(file.id)
    home.index()
    return ids


@settings(max_examples=scale.of(15, 50), deadline=None, phases=UNSHRUNK)
@given(ages)
def test_more_recent_of_equally_relevant_turns_never_scores_lower(old: list[int]) -> None:
    with temporary_home() as home:
        turns = [(age, f"fix the login test u{n:03}", "") for n, age in enumerate(old)]
        ids = write_sessions(home, turns)
        for query, mode in (
            ("login test", "words"),
            ("where was the login test nosuchword", "words"),
            ("login", "literal"),
            ("log[a-z]+ t", "regex"),
        ):
            scores = {hit.place.session: hit.score for hit in ask(home, query, mode=mode).hits}
            by_age = [score for _, score in sorted(zip(old, map(scores.get, ids), strict=True))]
            assert None not in by_age and by_age == sorted(by_age, reverse=True), query  # type: ignore[type-var]


VOCABULARY = "parser socket cache token retry button schema worker".split()
subsets = st.sets(st.sampled_from(VOCABULARY), min_size=2, max_size=5)


@settings(max_examples=scale.of(15, 50), deadline=None, phases=UNSHRUNK)
@given(subsets, st.data(), st.lists(subsets, max_size=6), st.integers(1, 3650))
def test_old_irrelevant_turn_never_ranks_above_a_recent_relevant_one(
    wanted: set[str], data: st.DataObject, noise: list[set[str]], age: int
) -> None:
    """An irrelevant turn has fewer of the words, or has them in tool output only."""
    fewer = data.draw(st.sets(st.sampled_from(sorted(wanted)), max_size=len(wanted) - 1))
    asked = " ".join(sorted(wanted))

    def pad(words: set[str], name: str) -> str:
        """Return a text of always the same length."""
        padding = (f"{name}{n}" for n in range(2 * len(wanted) - len(words)))
        return " ".join([*sorted(words), *padding])

    with temporary_home() as home:
        turns = [
            (0, pad(wanted, "recent"), ""),
            (age, pad(fewer, "fewer"), ""),
            (age, pad(set(), "output"), f"{asked} {asked} {asked}"),
            (age, pad({"zebra"}, "zebra"), ""),
            (0, f"{pad(wanted, 'often')} {asked} zebra", ""),
            *((n, pad(words, f"n{n}x"), "") for n, words in enumerate(noise)),
        ]
        ids = write_sessions(home, turns)
        for query in (asked, f"{asked} zebra", f"how did the {asked} nosuchword"):
            order = [hit.place.session for hit in ask(home, query).hits]
            for worse in (1, 2, 3):
                if ids[worse] in order:
                    assert order.index(ids[0]) < order.index(ids[worse]), (query, turns[worse])


def make_sessions(home: Home, seed: int = 5, sessions: int = 12) -> list[ClaudeFile]:
    """Build sessions of a few turns each, with words that many turns share."""
    chance = random.Random(seed)
    files = []
    for number in range(sessions):
        file = home.claude(number + 1, slug=f"-p{number % 3}", cwd=f"/src/p{number % 3}")
        file.now_ms -= chance.randrange(400) * DAY_MS
        for turn in range(chance.randrange(1, 5)):
            texts = [" ".join(chance.choices(VOCABULARY, k=chance.randrange(3, 30))) for _ in "abc"]
            file.turn(f"{number}.{turn} {texts[0]}", texts[1], f"echo {texts[2]}", texts[2])
        file.meta("ai-title", aiTitle=" ".join(chance.choices(VOCABULARY, k=3)))
        files.append(file)
    return files


QUERIES: tuple[tuple[str, ...], ...] = (
    ("parser",),
    ("socket", "cache"),
    ('"retry button"',),
    ("how did the token worker nosuchword schema",),
    ("-F", "cache token"),
    ("-E", "s[a-z]+t b"),
    ("echo",),
    ("-p", "p1", "schema"),
    ("-ttool", "worker"),
    ("--per-session", "1", "retry"),
)


def record_lines(home: Home) -> list[str]:
    return [home.run("--no-refresh", "-n0", *query).stdout for query in QUERIES]


def answers(home: Home) -> list[Answer]:
    pairs = [f"{a} {b}" for a in VOCABULARY for b in VOCABULARY]
    return [ask(home, query) for query in (*VOCABULARY, *pairs, "echo", "echo parser nosuchword")]


def test_same_query_has_the_same_answer_after_a_rebuild(home: Home) -> None:
    for file in make_sessions(home):
        file.write()
    home.index()
    first, lines = answers(home), record_lines(home)
    assert all(answer.hits for answer in first) and all(lines)
    for _ in range(3):
        assert answers(home) == first
    assert record_lines(home) == lines
    remove_tree(str(home.store_dir / "text"))
    assert answers(home) == first
    assert record_lines(home) == lines


@pytest.mark.parametrize("steps", ["whole sessions", "parts of sessions"])
def test_store_built_in_steps_prints_the_same_record_lines(tmp_path: Path, steps: str) -> None:
    """This holds after `ccgrep gc`: before, the words of replaced documents affect scores."""
    chance = random.Random(12)
    at_once, in_steps = Home(tmp_path / "at-once"), Home(tmp_path / "in-steps")
    for file in make_sessions(at_once):
        file.write()
    at_once.index()
    files = make_sessions(in_steps)
    chance.shuffle(files)
    for file in files:
        whole = file.records
        file.records = whole[: None if steps == "whole sessions" else chance.randrange(len(whole))]
        file.write()
        in_steps.index()
        file.records = whole
    for file in files:
        file.append()
    in_steps.index()
    for home in (at_once, in_steps):
        assert home.run("gc").returncode == 0
    assert answers(in_steps) == answers(at_once)
    assert record_lines(in_steps) == record_lines(at_once)


def test_forgotten_session_does_not_affect_scores(home: Home) -> None:
    """Age counts from the newest turn that is left."""
    for age in (300, 200, 100, 0):
        file = home.claude(age + 1)
        file.now_ms -= age * DAY_MS
        file.turn(f"parser {age}", "done")
        file.write()
        home.index()
    assert home.run("forget", file.id).returncode == 0
    for mode in ("words", "literal"):
        answer = ask(home, "parser", mode=mode)
        assert len(answer.hits) == 3
        assert answer == ask(home, "parser", mode=mode, is_indexed=False)


def test_limit_returns_the_first_of_all_hits(home: Home) -> None:
    chance = random.Random(1)
    for number in range(30):
        file = home.claude(number + 1)
        for turn in range(20):
            file.turn(f"{number}.{turn}", " ".join(chance.choices(VOCABULARY, k=25)))
        file.write()
        sub = home.subagent(file, f"agent-{number:08}", seed=100 + number)
        sub.turn(f"sub {number}", " ".join(chance.choices(VOCABULARY, k=8)))
        sub.write()
    home.index()
    question = "the cache was nosuchword in the worker retry button"
    for query, most in (("parser", 0), ("socket token", 0), (question, 100)):
        all_hits = ask(home, query, limit=most).hits
        assert len(all_hits) > 350 or len(all_hits) == most > 0
        for limit in (1, 7, 10, 60):
            assert ask(home, query, limit=limit).hits == all_hits[:limit], (query, limit)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("talk") / "home")
    for file in make_sessions(home):
        file.turn("日本語の検索 café getUserName() (x) --help", 'he said "no way": [a-z]* {2,3}')
        file.write()
    home.index()
    return home


SYNTAX = (
    "AND OR NOT field: said:parser /re/ * ? ~2 ^3 + - [a TO b] {a TO *} ( ) \" ' \\ : && || ! IN "
    '"a b"~3 title:* -parser +cache parser* <= > 日本 \0 \ud800 e\u0301 İ ß \U000e0041 ...'
).split(" ")
STRINGS = scale.of(250, 10_000)
queries = st.text(max_size=30) | st.lists(
    st.sampled_from([*SYNTAX, *VOCABULARY, "the", "xyzzy"]), min_size=1, max_size=8
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts)))


@settings(max_examples=STRINGS, deadline=None)
@given(queries)
def test_any_string_is_a_query(talk: Home, query: str) -> None:
    try:
        answer = ask(talk, query)
    except UsageError:
        assert not query.strip()
        return
    scores = [hit.score for hit in answer.hits]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert answer.total >= len(answer.hits)
    assert len(places(answer)) == sum(1 + len(hit.also_in) for hit in answer.hits)


NUMBER = 100_000
LONG_QUERIES = {
    "words": " ".join(f"w{n}" for n in range(NUMBER)),
    "a phrase": '"' + " ".join(f"w{n}" for n in range(NUMBER)) + '"',
    "a dotted name": ".".join(f"w{n}" for n in range(NUMBER)),
    "a repeated word": "cache " * NUMBER,
    "Chinese": "".join(chr(0x4E00 + n % 20_000) for n in range(NUMBER)),
    "no words": "()" * NUMBER,
}


def reject(text: str) -> list[str]:
    raise AssertionError("a query that is too long must not be analyzed")


@pytest.mark.parametrize("name", LONG_QUERIES)
def test_too_long_query_is_rejected_before_it_is_analyzed(name: str) -> None:
    with pytest.raises(UsageError, match="longer than 8192 characters: shorten it"):
        parse(LONG_QUERIES[name], reject, reject)


def test_query_with_too_many_words_is_rejected_at_the_first_one_too_many() -> None:
    analyzed = []

    def analyze(text: str) -> list[str]:
        analyzed.append(text)
        return text.split()

    with pytest.raises(UsageError, match="has more than 200 words: shorten it"):
        parse(" ".join(f"w{n}" for n in range(1000)), str.split, analyze)
    assert analyzed[-1] == "w200"


def test_too_long_query_on_the_command_line_is_exit_2(talk: Home) -> None:
    done = talk.run(*LONG_QUERIES["words"].split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_repeated_parts_are_found_without_backtracking() -> None:
    """Trying every way to match the parts of the unit would never finish."""
    unit = "a_" * 40 + "b"
    text = "a_" * 2000 + "zz zz " + unit
    (parsed,) = parse(unit, str.split, lambda typed: typed.split("_"))
    parsed = parsed._replace(stems=parsed.words)
    (span,) = word_finder([parsed], lambda word: [word.lower()])(text)
    assert text[span.start : span.end] == unit


def write_turns(home: Home, *prompts: str) -> list[str]:
    ids = []
    for seed, prompt in enumerate(prompts, 1):
        file = home.claude(seed)
        file.turn(prompt, "ok")
        file.write()
        ids.append(file.id)
    home.index()
    return ids


def find(home: Home, query: str, **options: Any) -> list[str]:
    return [hit.place.session for hit in ask(home, query, **options).hits]


def test_turns_with_some_words_come_after_those_with_all(home: Home) -> None:
    both, one, other, none = write_turns(
        home, "parser socket token", "parser socket", "socket token", "button"
    )
    assert find(home, "parser socket token", limit=10)[0] == both
    assert set(find(home, "parser socket token", limit=10)) == {both, one, other}
    assert find(home, "parser socket token", limit=1) == [both]
    assert find(home, "parser socket token", limit=10, needs_all_words=True) == [both]
    assert find(home, "parser socket token") == [both]  # without a limit
    assert find(home, "parser socket", limit=10) == find(home, "parser socket")
    assert none not in find(home, "parser socket token", limit=10)


def test_question_is_answered_by_the_turn_that_has_most_of_it(home: Home) -> None:
    noise = "why was this the one to do " * 30
    most, long, _ = write_turns(
        home,
        "the retry of the socket drops its token",
        f"{noise} socket parser token cache retry schema {noise * 20}",
        "the button is red",
    )
    assert find(home, "why does the socket retry drop a token of the worker", limit=10)[0] == most
    assert long in find(home, "why does the socket retry drop a token of the worker", limit=10)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("调试器怎么读取向量寄存器的内容", "向量寄存器怎么用调试器读"),
        ("サイドバーの幅を狭くする", "幅の狭いサイドバー"),
        ("로그인 시험이 자주 실패한다", "자주 실패하는 로그인시험"),
    ],
)
def test_question_without_spaces_matches_by_parts(home: Home, text: str, query: str) -> None:
    wanted, _ = write_turns(home, text, "完全无关的另一件事情")
    assert find(home, query, limit=10)[:1] == [wanted]


def test_rare_words_in_output_count_and_its_length_does_not(home: Home) -> None:
    for seed in range(10, 30):
        file = home.claude(seed)
        file.turn(f"build {seed} failed", "the build is failing")
        file.write()
    short, long = home.claude(1), home.claude(2)
    short.turn("the build failed with bytes", "bytes of the failed build")
    long.turn("go on", "done", "make", "VirtualAlloc 1455 failed\n" + "line of output\n" * 5000)
    short.write()
    long.write()
    home.index()
    assert find(home, "VirtualAlloc failed 1455 in the build", limit=10)[0] == long.id


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how did we fix the flaky login test", True),
        ("what was it", False),
        ("flaky login test", False),
        ("为什么侧边栏太窄", True),
        ("why does parse_json fail on empty files", False),
        ("why does src/auth.ts fail on empty files", False),
        ('why does "empty file" fail again today here', False),
        ("exit code 137 after building the image", False),
    ],
)
def test_question_has_four_plain_words(query: str, expected: bool) -> None:
    assert is_question(query) == expected


def test_phrase_that_many_outputs_only_seem_to_have_is_not_found(home: Home) -> None:
    """The index has no word positions of outputs: none of the first documents has the phrase."""
    file = home.claude(1, name="aaaaaaaa-first")
    for number in range(300):
        file.turn(f"step {number}", "ok", "cat", "the ts of auth and src")
    file.write()
    home.index()
    done = home.run("--all", "src/auth.ts")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
