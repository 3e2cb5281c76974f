"""Write a home directory of synthetic transcripts that is shaped like real ones.

Record types, line sizes, streaming fragments, repeats and the share of text worth keeping
follow a census of 5,278 Claude Code and 943 Codex transcripts; the words are made up.
The same arguments give the same bytes, whatever the number of processes. A turn is counted
once: copies in forks and compaction workers, and prompts queued mid-turn, add nothing.
Damaged lines, compressed rollouts and spilled tool results are left to the tests.
"""

from __future__ import annotations

import argparse
import base64
import functools
import itertools
import multiprocessing
import os
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

Record = dict[str, object]


def listed(text: str) -> list[str]:
    return text.split()


NEWEST = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
DAY_S = 86_400.0
WINDOW_DAYS = 90
LOCAL_OFFSET_S = 2 * 3600

CODEX_BYTE_SHARE = 0.20
CODEX_FILE_SHARE = 0.10
MAIN_FILE_SHARE = 0.34
EMPTY_MAIN_SHARE = 0.07
FORK_SHARE = 0.008
WORKER_SHARE = 0.22
AGENT_BYTE_SHARE = 0.39
COPIED_BYTE_SHARE = 0.06
BYTES_PER_TURN = 115_000
FILES_PER_PROJECT = 60
LOCAL_NAMES = 20

VOCABULARY_SIZE = 30_000
STOP_WORDS = listed("""the to and a of in is it that for on with this be as are not from or we an by if
can at so have but was you should now will which when all has then use only there each into out
no any one also its been more they does what how need new before after because where same let me
here them than must just some still would did our your their may were first other two both while
make get see find check look run add fix change move keep remove read write want like work works
instead without already again really actually probably maybe over under between every once""")
TERMS = listed("""test file function error path class module config server client request response
session token user data type value index cache query table column schema migration build deploy
docker branch commit merge rebase diff patch lint parser lexer stream buffer thread async await
queue worker handler route endpoint middleware auth login password cookie header payload json
yaml toml regex string integer boolean array list dict tuple struct enum interface trait generic
template render component state props hook effect reducer store selector action event listener
callback promise future timeout retry backoff socket proxy gateway webhook upload download batch
chunk offset limit cursor page filter sort group join insert update delete select transaction
lock mutex semaphore race deadlock leak memory heap stack pointer reference allocator profile
benchmark latency throughput metric counter gauge histogram trace span log level debug warning
fixture mock stub assert expect coverage snapshot pipeline job stage artifact release version
dependency package import export bundle compile link binary library framework plugin extension
shell script command argument flag option environment variable secret key certificate signature
hash digest checksum encode decode serialize validate sanitize escape normalize tokenize vector
embedding model prompt context window turn transcript search score rank result snippet""")
ONSETS = listed("b bl br c ch cl cr d dr f fl g gr h j k kr l m n p pl pr qu r s sk st t tr v w z")
VOWELS = listed("a e i o u " * 12 + "ai ea io ou " * 4 + "é ü")
CODAS = ["", "", "", "n", "r", "s", "l", "t", "m", "x", "nd", "rk", "st"]
SUFFIXES = ["", "", "", "", "ing", "ed", "s", "er", "able", "ation", "ly", "ity"]
HAN = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产"

CODE: dict[str, tuple[str, ...]] = {
    "py": (
        "def @(self, @: @, @: @ = #) -> @:",
        "@ = @.@(@, @=#)",
        "if @ is None or @.@ != #:",
        "return @.@[@]",
        "for @, @ in @.items():",
        'raise @(f"$ $ {@}: $ $")',
        "@[@] = @(@.@, #)",
        "with @.@(@) as @:",
        "assert @.@ == #, @",
        "@ = [@ for @ in @ if @.@]",
        'logger.$("$ $ $ %s", @)',
        "# $ $ $ $ $ $ $",
        "from @.@ import @, @",
        "@: dict[str, @] = field(default_factory=dict)",
        "yield @(@, @)",
        "return self.@(@, @)",
        "except (@, @) as error:",
        '"""$ $ $ $ $ $ $ $."""',
    ),
    "ts": (
        "export async function @(@: @, @?: @): Promise<@> {",
        "const { @, @ } = await @.@(@);",
        "if (!@ || @.@ === #) {",
        "return @.@((@) => @.@ > #);",
        "throw new @(`$ $ ${@} $ $`);",
        "const [@, set@] = useState<@>(#);",
        "import { @, @ } from '@/@/@';",
        "@.on('$', (@) => { @.@(@, #); });",
        '<@ className="$-$ $-$" @={@} on@={() => @(@)} />',
        "// $ $ $ $ $ $ $",
        "expect(@.@).toEqual(#);",
        "it('$ $ $ $ $', async () => {",
        "}, [@, @.@]);",
        "readonly @: @ | undefined;",
    ),
    "go": (
        "func (s *@) @(ctx context.Context, @ @) (*@, error) {",
        "@, err := s.@.@(ctx, @, #)",
        "if err != nil {",
        'return nil, fmt.Errorf("$ $ $: %w", err)',
        "for _, @ := range @.@ {",
        "@.@ = append(@.@, @{@: @, @: #})",
        'log.Printf("$ $ %v $ %d", @, len(@))',
        "case @.@:",
        "defer @.@()",
        '@ @ `json:"@,omitempty"`',
        "// @ $ $ $ $ $ $.",
        'require.Equal(t, #, @.@, "$ $ $")',
    ),
    "rs": (
        "pub fn @(&self, @: &@, @: Option<@>) -> Result<@, @> {",
        "let mut @ = @::@(@, #)?;",
        "match @.@() {",
        "Some(@) => @.@(&@),",
        'None => return Err(@::@(format!("$ $ {}", @))),',
        "@.iter().filter(|@| @.@ >= #).map(|@| @.@.clone()).collect::<Vec<@>>()",
        "#[derive(Debug, Clone, @)]",
        "pub @: HashMap<String, @>,",
        "/// $ $ $ $ $ $ $ $",
        "assert_eq!(@.@(#).unwrap(), @);",
        'tracing::$!(@ = %@, "$ $ $");',
        "impl<@: @> @ for @ {",
    ),
}
SUFFIX_OF = {"py": "py", "ts": "tsx", "go": "go", "rs": "rs"}
LOG_MESSAGE = "$ [@] @.@: $ $ $ $ @"
JSON_LINES = ('  "@": "$ $ $",', '  "@": #,', '  "@": ["@", "@", #],', '  "id": "%",', '  "@": {')
COMMANDS: tuple[tuple[str, str], ...] = (
    ("tests", "cd {cwd} && python -m pytest {path} -q 2>&1 | tail -60"),
    ("tests", "npm test -- {path} --runInBand"),
    ("log", "docker compose logs --tail=200 {word} | grep -v {word2}"),
    ("log", "journalctl -u {word} --since '1 hour ago' | tail -100"),
    ("diff", "git diff HEAD~1 -- {path}"),
    ("diff", "git show {hex} -- {path}"),
    ("history", "git log --oneline -40 -- {path}"),
    ("listing", "ls -la {cwd}/{word}"),
    ("files", "find . -name '*{word}*' -not -path './node_modules/*' | head -80"),
    ("matches", "rg -n '{name}' --glob '!{word}' {path}"),
    ("trace", "python -m {word}.{word2} --{word} {path}"),
    ("json", "curl -s http://localhost:8080/api/{word}/{word2} | jq ."),
    ("build", "make {word} 2>&1 | tail -50"),
    ("shown", "sed -n '1,200p' {path}"),
    ("shown", "cat {path} | head -150"),
)

CLAUDE_ERAS: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (0.11, "beside", ("2.0.71", "2.0.75", "2.0.76", "2.0.77")),
    (0.52, "progress", ("2.1.12", "2.1.23", "2.1.37", "2.1.49", "2.1.63", "2.1.71", "2.1.72")),
    (0.90, "attachment", ("2.1.92", "2.1.112", "2.1.114", "2.1.140", "2.1.143", "2.1.167")),
    (1.00, "latest", ("2.1.207", "2.1.217", "2.1.221", "2.1.232")),
)
EMPTY_THINKING = {"beside": 0.0, "progress": 0.05, "attachment": 0.36, "latest": 1.0}
FOREIGN_MODELS = ("deepseek-v4-pro", "glm-4.7")
MODELS = ("claude-opus-4-6", "claude-haiku-4-5-20251001", "claude-sonnet-4-6", "claude-opus-5")
CODEX_VERSIONS = (
    "0.77.0",
    "0.98.0",
    "0.104.0",
    "0.108.0",
    "0.126.0",
    "0.137.0",
    "0.144.2",
    "0.146.0",
)
LAST_REASONING_EVENTS = 3
FIRST_SCRIPTS = 4

ATTACHMENTS: dict[str, tuple[int, int]] = {  # type: (lines in the census, bytes of text)
    "hook_success": (11_517, 1_300),
    "total_tokens_reminder": (4_909, 90),
    "async_hook_response": (2_813, 700),
    "task_reminder": (1_971, 1_200),
    "hook_non_blocking_error": (1_152, 500),
    "skill_listing": (1_113, 8_000),
    "todo_reminder": (1_004, 900),
    "hook_additional_context": (672, 2_500),
    "queued_command": (578, 200),
    "deferred_tools_delta": (531, 3_000),
    "nested_memory": (448, 6_000),
    "file": (230, 8_000),
    "plan_mode": (219, 100),
    "edited_text_file": (202, 2_000),
    "command_permissions": (179, 60),
    "mcp_instructions_delta": (126, 3_000),
}
SYSTEM_LINES: dict[str, int] = {  # subtype: lines in the census
    "stop_hook_summary": 3_289,
    "turn_duration": 3_219,
    "api_error": 2_586,
    "away_summary": 535,
    "local_command": 513,
    "scheduled_task_fire": 91,
    "microcompact_boundary": 77,
}
TOOLS: dict[str, int] = {  # method of Toolbox: weight
    "bash": 38,
    "read": 27,
    "edit": 16,
    "grep": 8,
    "write": 2,
    "glob": 3,
    "todo": 3,
    "mcp": 2,
    "fetch": 1,
}


@dataclass(frozen=True)
class Summary:
    """What was written; `turns` counts distinct turns."""

    files: int
    bytes: int
    turns: int

    def __add__(self, other: Summary) -> Summary:
        return Summary(self.files + other.files, self.bytes + other.bytes, self.turns + other.turns)


@dataclass(frozen=True)
class Family:
    """One main session or rollout, with the files that hang on it."""

    source: str
    index: int
    project: int
    start: float
    turns: int
    max_bytes: int
    agent_bytes: tuple[int, ...] = ()
    is_forked: bool = False


@dataclass(frozen=True)
class Task:
    """A family and what every family shares."""

    directory: Path
    seed: int
    is_small: bool
    family: Family


def split(total: int, weights: Sequence[float]) -> list[int]:
    """Divide a whole number in proportion to the weights, exactly."""
    scale = total / (sum(weights) or 1.0)
    bounds = [round(scale * upto) for upto in itertools.accumulate(weights)]
    return [upper - lower for lower, upper in zip([0, *bounds], bounds, strict=False)]


def skewed(rng: random.Random, count: int, sigma: float) -> list[float]:
    return [rng.lognormvariate(0, sigma) for _ in range(count)]


def plan(total_bytes: int, files: int, seed: int, turns: int | None) -> list[Family]:
    """Decide how many turns and bytes each family gets."""
    rng = random.Random(f"{seed}:plan")
    files = min(files, turns) if turns is not None else files
    codex_files = round(files * CODEX_FILE_SHARE)
    mains = max(1, round((files - codex_files) * MAIN_FILE_SHARE))
    agents = max(0, files - codex_files - mains)
    wanted = turns if turns is not None else max(files, total_bytes // BYTES_PER_TURN)
    codex_turns = max(codex_files, round(wanted * CODEX_BYTE_SHARE)) if codex_files else 0
    codex_turns = min(codex_turns, wanted - mains - agents)
    codex_bytes = round(total_bytes * CODEX_BYTE_SHARE) if codex_files else 0
    claude_bytes = total_bytes - codex_bytes
    if turns is None:
        claude_bytes = round(claude_bytes * (1 - COPIED_BYTE_SHARE))
    main_turns = max(mains, wanted - codex_turns - agents)
    projects = max(1, files // FILES_PER_PROJECT)
    claude = plan_claude(rng, mains, agents, main_turns, claude_bytes, projects, turns is None)
    return claude + plan_codex(rng, codex_files, codex_turns, codex_bytes, projects)


def plan_claude(
    rng: random.Random,
    mains: int,
    agents: int,
    turns: int,
    max_bytes: int,
    projects: int,
    is_full: bool,
) -> list[Family]:
    forks = round(mains * FORK_SHARE) if is_full else 0
    empties = round(mains * EMPTY_MAIN_SHARE) if is_full else 0
    talking = max(1, mains - forks - empties)
    counts = [1 + extra for extra in split(max(0, turns - talking), skewed(rng, talking, 1.1))]
    agent_total = round(max_bytes * AGENT_BYTE_SHARE) if agents else 0
    shares = [0 if is_full and rng.random() < WORKER_SHARE else w for w in skewed(rng, agents, 1)]
    agent_bytes = split(agent_total, shares)
    weights = [n * w for n, w in zip(counts, skewed(rng, talking, 0.7), strict=True)]
    sizes = split(max_bytes - agent_total, weights)
    popularity = skewed(rng, talking, 1.6)
    children: list[list[int]] = [[] for _ in range(talking)]
    for size, parent in zip(agent_bytes, rng.choices(children, popularity, k=agents), strict=True):
        parent.append(size)
    forkable = [i for i in range(talking) if counts[i] > 1] or [0]
    forked = set(rng.sample(forkable, min(forks, len(forkable))))
    empties += forks - len(forked)
    families = [
        Family(
            "claude",
            i,
            rng.randrange(projects),
            start_time(rng),
            counts[i],
            sizes[i],
            tuple(children[i]),
            i in forked,
        )
        for i in range(talking)
    ]
    return families + [
        Family("claude", talking + i, rng.randrange(projects), start_time(rng), 0, 0)
        for i in range(min(empties, mains - talking))
    ]


def plan_codex(
    rng: random.Random, files: int, turns: int, max_bytes: int, projects: int
) -> list[Family]:
    counts = [1 + extra for extra in split(turns - files, skewed(rng, files, 1.1))]
    weights = [n * w for n, w in zip(counts, skewed(rng, files, 0.7), strict=True)]
    sizes = split(max_bytes, weights)
    return [
        Family("codex", i, rng.randrange(projects), start_time(rng), counts[i], sizes[i])
        for i in range(files)
    ]


def start_time(rng: random.Random) -> float:
    return NEWEST - DAY_S * rng.uniform(3, WINDOW_DAYS)


def pseudo_word(rng: random.Random) -> str:
    syllables = rng.choices((1, 2, 3), (4, 6, 1))[0]
    parts = [rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(syllables)]
    return "".join(parts) + rng.choice(SUFFIXES)


@functools.cache
def vocabulary() -> list[str]:
    """All words, most frequent first; the same for every seed, so that queries can name them."""
    rng = random.Random("vocabulary")
    words = dict.fromkeys(STOP_WORDS)
    common = TERMS + [pseudo_word(rng) for _ in range(3 * len(TERMS))]
    rng.shuffle(common)
    words.update(dict.fromkeys(common))
    while len(words) < VOCABULARY_SIZE:
        words[pseudo_word(rng)] = None
    return list(words)


def identifier(rng: random.Random, words: Sequence[str]) -> str:
    parts = rng.choices(words, k=rng.choices((1, 2, 3), (5, 5, 1))[0])
    style = rng.random()
    if style < 0.45:
        return "_".join(parts)
    capitals = "".join(part.capitalize() for part in parts)
    if style < 0.75:
        return parts[0] + capitals[len(parts[0]) :]
    return capitals if style < 0.93 else "_".join(parts).upper()


@dataclass(frozen=True)
class Lexicon:
    """Populations to draw from without weights: frequent entries are simply in them more often."""

    words: list[str]
    names: list[str]
    literals: list[str]


@functools.cache
def lexicon() -> Lexicon:
    rng = random.Random("lexicon")
    ranked = vocabulary()
    weights = list(itertools.accumulate((rank + 2.7) ** -1.1 for rank in range(len(ranked))))
    words = rng.choices(ranked, cum_weights=weights, k=1 << 18)
    content = [w for w in ranked[len(STOP_WORDS) :] if w.isascii()]
    stems = rng.choices(content, [1 / (rank + 20) for rank in range(len(content))], k=40_000)
    names = [identifier(rng, stems) for _ in range(20_000)]
    shares = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(names))))
    return Lexicon(words, rng.choices(names, cum_weights=shares, k=1 << 16), literals(rng, words))


def literals(rng: random.Random, words: list[str]) -> list[str]:
    numbers = [str(int(rng.lognormvariate(3, 2))) for _ in range(3_000)]
    small = [str(rng.randrange(10)) for _ in range(2_000)] + ["None", "True", "False"] * 300
    quoted = ['"' + rng.choice(words) + '"' for _ in range(3_000)]
    return numbers + small + quoted


@dataclass(frozen=True)
class Project:
    """What the sessions of one repository have in common."""

    cwd: str
    slug: str
    language: str
    names: list[str]
    paths: list[str]
    instructions: str


@functools.lru_cache(maxsize=256)
def project(seed: int, number: int) -> Project:
    rng = random.Random(f"{seed}:project:{number}")
    words = [w for w in rng.sample(vocabulary()[200:6_000], 60) if w.isascii()]
    cwd = f"/home/dev/{rng.choice(('src', 'work', 'projects'))}/{words[0]}-{rng.choice(TERMS)}"
    language = rng.choice(list(CODE))
    own = [identifier(rng, words + rng.sample(TERMS, 30)) for _ in range(120)]
    names = rng.choices(own, [1 / (rank + 3) for rank in range(len(own))], k=600)
    paths = [path_in(rng, words, language) for _ in range(60)]
    scribe = Scribe(rng, Project(cwd, "", language, names, paths, ""))
    slug = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    return Project(cwd, slug, language, names, paths, scribe.markdown(2_900))


def path_in(rng: random.Random, words: Sequence[str], language: str) -> str:
    folders = rng.choices([*words[:8], "src", "tests", "lib", "api", "core"], k=rng.randint(1, 4))
    suffix = SUFFIX_OF[language] if rng.random() < 0.8 else rng.choice(("md", "json", "yaml"))
    return "/".join(folders) + f"/{rng.choice(words)}_{rng.choice(TERMS)}.{suffix}"


@functools.cache
def template(text: str) -> tuple[str, str]:
    """A line with slots (@ name, # literal, $ word, % hex, & time) as a format and its slots."""
    return re.sub(r"[@#$%&]", "%s", text), "".join(re.findall(r"[@#$%&]", text))


class Scribe:
    """Text of one session: prose, code and tool output around the names of one project."""

    def __init__(self, rng: random.Random, home: Project) -> None:
        self.rng = rng
        self.home = home
        self.lexicon = lexicon()
        pool = self.lexicon
        self.names = rng.choices(home.names, k=400) + rng.choices(pool.names, k=80)
        self.local = self.names
        self.phrases = [" ".join(rng.choices(pool.words, k=rng.randint(1, 4))) for _ in range(50)]
        self.sources: deque[tuple[str, list[str]]] = deque(maxlen=12)
        self.is_cjk = rng.random() < 0.04
        self.outputs: dict[str, Callable[[int], str]] = {
            "tests": self.test_output,
            "log": self.log,
            "diff": self.diff,
            "history": self.history,
            "listing": self.listing,
            "files": self.files,
            "matches": self.matches,
            "trace": self.trace,
            "json": self.json,
            "build": self.build,
            "shown": self.shown,
        }

    def size(self, median: float, sigma: float, most: float = 60_000) -> int:
        return int(min(self.rng.lognormvariate(0, sigma) * median, most))

    def word(self) -> str:
        return self.rng.choice(self.lexicon.words)

    def name(self) -> str:
        return self.rng.choice(self.names)

    def path(self) -> str:
        return self.rng.choice(self.home.paths)

    def hex(self, digits: int = 12) -> str:
        return f"{self.rng.getrandbits(4 * digits):0{digits}x}"

    def slot(self, kind: str) -> str:
        if kind == "@":
            return self.rng.choice(self.local)
        if kind == "#":
            return self.rng.choice(self.lexicon.literals)
        if kind == "$":
            return self.rng.choice(self.lexicon.words)
        if kind == "%":
            return self.hex()
        moment = self.rng.randrange(3_600_000)
        return (
            f"2026-10-14T09:{moment // 60_000:02d}:{moment // 1000 % 60:02d}.{moment % 1000:03d}Z"
        )

    def line(self, text: str) -> str:
        form, kinds = template(text)
        return form % tuple([self.slot(kind) for kind in kinds])

    def settle(self) -> None:
        """Choose the names that the next file or output is about."""
        self.local = self.rng.choices(self.names, k=LOCAL_NAMES)

    def fill(self, size: int, make: Callable[[], str]) -> str:
        """As many lines as fit in about that many bytes, at least one."""
        lines = [make()]
        length = len(lines[0])
        while length < size:
            lines.append(make())
            length += len(lines[-1]) + 1
        return "\n".join(lines)

    def sentence(self) -> str:
        rng = self.rng
        words = rng.choices(self.lexicon.words, k=rng.randint(5, 20))
        words[0] = words[0].capitalize()
        for _ in range(rng.randint(1, 5)):
            words[rng.randrange(len(words))] = rng.choice(self.phrases)
        if rng.random() < 0.5:
            words[-1] = f"`{self.name()}`"
        if rng.random() < 0.15:
            words[len(words) // 2] = f"`{self.path()}`"
        return " ".join(words) + rng.choice("....:?!")

    def prose(self, size: int) -> str:
        text = [self.sentence()]
        length = len(text[0])
        while length < size:
            text.append(self.sentence())
            length += len(text[-1]) + 1
        return " ".join(text)

    def cjk(self, size: int) -> str:
        return "".join(self.rng.choices(HAN + "，。", k=max(8, size // 3)))

    def markdown(self, size: int) -> str:
        """An answer as models write it: paragraphs, lists, headings and some code."""
        parts: list[str] = []
        length = 0
        while length < size:
            part = self.markdown_part(min(size - length, 600))
            parts.append(part)
            length += len(part) + 2
        return "\n\n".join(parts)

    def markdown_part(self, size: int) -> str:
        pick = self.rng.random()
        if size < 150 or pick < 0.5:
            return self.prose(min(size, self.rng.randint(60, 400)))
        if pick < 0.72:
            return self.fill(size, lambda: f"- **{self.name()}**: {self.sentence()}")
        if pick < 0.82:
            return f"## {self.word().capitalize()} {self.word()}"
        if pick < 0.92:
            return f"```{self.home.language}\n{self.code(size)}\n```"
        return self.fill(
            size // 2, lambda: f"| `{self.path()}` | {self.word()} | ✓ {self.word()} |"
        )

    def source(self, count: int) -> list[str]:
        """Lines of code in blocks, indented as code is."""
        forms = CODE[self.home.language]
        rng = self.rng
        self.settle()
        lines: list[str] = []
        while len(lines) < count:
            lines += [self.line(forms[0]), "    " + self.line(forms[1])]
            for _ in range(rng.randint(2, 12)):
                lines.append("    " * rng.choice((1, 1, 2, 2, 3)) + self.line(rng.choice(forms)))
            lines.append("" if self.home.language == "py" else "}")
        return lines[:count]

    def code(self, size: int) -> str:
        return "\n".join(self.source(max(2, size // 55)))

    def open_source(self, is_new: bool) -> tuple[str, list[str]]:
        """A file of the working set, so that what is read comes back in edits and searches."""
        if self.sources and not is_new:
            return self.rng.choice(self.sources)
        entry = (f"{self.home.cwd}/{self.path()}", self.source(self.size(115, 0.85, 1_500) + 8))
        self.sources.append(entry)
        return entry

    def excerpt(self, size: int) -> tuple[str, int, list[str]]:
        path, lines = self.open_source(self.rng.random() < 0.34)
        count = min(len(lines), max(3, size // 55))
        start = self.rng.randint(0, len(lines) - count)
        return path, start, lines[start : start + count]

    def test_output(self, size: int) -> str:
        path = self.path()
        total = self.rng.randint(20, 400)

        def row() -> str:
            verdict = "PASSED" if self.rng.random() < 0.93 else "FAILED"
            case = f"test_{self.name()}_{self.word()}"
            return f"{path}::{case} {verdict} [{self.rng.randint(1, 99):3d}%]"

        failure = f"\n{self.trace(400)}" if self.rng.random() < 0.4 else ""
        rows = self.fill(size - len(failure), row)
        seconds = self.rng.uniform(0.1, 90)
        return f"{rows}{failure}\n==== {total} passed, 1 warning in {seconds:.2f}s ===="

    def trace(self, size: int) -> str:
        def frame() -> str:
            where = f'  File "{self.home.cwd}/{self.path()}", line {self.rng.randint(1, 900)}'
            return f"{where}, in {self.name()}\n    {self.line('@ = @.@(@, #)')}"

        frames = self.fill(size, frame)
        error = f"{self.name()}Error: {self.sentence()}"
        return f"Traceback (most recent call last):\n{frames}\n{error}"

    def log(self, size: int) -> str:
        messages = [self.line(LOG_MESSAGE) for _ in range(10)]

        def row() -> str:
            return self.line(f"& {self.rng.choice(messages)}=# id=%")

        return self.fill(size, row)

    def diff(self, size: int) -> str:
        path, start, lines = self.excerpt(size)
        head = f"diff --git a/{path} b/{path}\nindex {self.hex(9)}..{self.hex(9)} 100644"
        body = "\n".join(self.changed(lines))
        return f"{head}\n@@ -{start},{len(lines)} +{start},{len(lines) + 2} @@\n{body}"

    def changed(self, lines: Sequence[str]) -> list[str]:
        """Lines of a patch: context, removals and what replaces them."""
        patch: list[str] = []
        for line in lines:
            if self.rng.random() < 0.8:
                patch.append(" " + line)
                continue
            patch += ["-" + line, "+    " + self.line(self.rng.choice(CODE[self.home.language]))]
        return patch

    def history(self, size: int) -> str:
        return self.fill(size, lambda: f"{self.hex(9)} {self.word()}: {self.sentence()[:60]}")

    def listing(self, size: int) -> str:
        def row() -> str:
            day, length = self.rng.randint(1, 31), int(self.rng.lognormvariate(8, 2))
            entry = f"{self.name()}.{SUFFIX_OF[self.home.language]}"
            return f"-rw-r--r--  1 dev dev {length:8d} Oct {day:2d} 09:{day:02d} {entry}"

        return self.fill(size, row)

    def files(self, size: int) -> str:
        suffix = SUFFIX_OF[self.home.language]
        folders = [self.path().rpartition("/")[0] for _ in range(6)]
        return self.fill(size, lambda: f"./{self.rng.choice(folders)}/{self.name()}.{suffix}")

    def matches(self, size: int) -> str:
        path, _, lines = self.excerpt(size)

        def row() -> str:
            number = self.rng.randint(1, 900)
            return f"{path}:{number}:{self.rng.choice(lines)}"

        return self.fill(size, row)

    def json(self, size: int) -> str:
        rows = self.fill(size, lambda: self.line(self.rng.choice(JSON_LINES)))
        return "{\n" + rows + "\n}"

    def build(self, size: int) -> str:
        warnings = [self.line("$ $ `@` $ $ $ [-W@]") for _ in range(8)]

        def row() -> str:
            where = f"{self.path()}:{self.rng.randint(1, 900)}:{self.rng.randint(1, 80)}"
            return f"{where}: warning: {self.rng.choice(warnings)}"

        return self.fill(size, row)

    def shown(self, size: int) -> str:
        return "\n".join(self.excerpt(size)[2])

    def numbered(self, start: int, lines: Sequence[str]) -> str:
        return "\n".join(f"{start + i:6d}→{line}" for i, line in enumerate(lines, 1))

    def output(self, kind: str, size: int) -> str:
        self.settle()
        return self.outputs[kind](size)

    def command(self) -> tuple[str, str]:
        """A shell command, and the kind of output it has."""
        kind, form = self.rng.choice(COMMANDS)
        command = form.format(
            cwd=self.home.cwd,
            path=self.path(),
            word=self.rng.choice(TERMS),
            word2=self.word(),
            name=self.name(),
            hex=self.hex(9),
        )
        return kind, command

    def brief(self) -> str:
        return self.prose(self.size(110, 0.6, 600))

    def typed(self) -> str:
        """What a person types: mostly short, now and then with something pasted."""
        size = self.size(130, 1.1, 6_000)
        text = self.cjk(size) if self.is_cjk else self.prose(size)
        if self.rng.random() < 0.22:
            kind = self.rng.choice(("log", "trace", "diff", "json", "build"))
            text += "\n\n" + self.output(kind, self.size(2_500, 1.0, 40_000))
        return text


@dataclass(frozen=True)
class Call:
    """A tool call, its output, and the same output in the shape of `toolUseResult`."""

    name: str
    arguments: Record
    output: str
    details: object
    is_error: bool = False


class Toolbox:
    """Claude Code's tools, working on the files of one session."""

    def __init__(self, scribe: Scribe, era: str) -> None:
        self.scribe = scribe
        self.rng = scribe.rng
        self.era = era
        self.makers: list[Callable[[], Call]] = [
            self.bash,
            self.read,
            self.edit,
            self.grep,
            self.write,
            self.glob,
            self.todo,
            self.mcp,
            self.fetch,
        ]

    def call(self) -> Call:
        if self.rng.random() < 0.05:
            return self.failure()
        return self.rng.choices(self.makers, list(TOOLS.values()))[0]()

    def failure(self) -> Call:
        _, command = self.scribe.command()
        text = self.scribe.trace(self.scribe.size(300, 0.8, 5_000))
        arguments: Record = {"command": command, "description": self.scribe.sentence()}
        return Call("Bash", arguments, f"Exit code 1\n{text}", f"Error: Exit code 1\n{text}", True)

    def bash(self) -> Call:
        return self.shell(self.scribe.size(480, 1.4, 30_000))

    def shell(self, size: int) -> Call:
        kind, command = self.scribe.command()
        output = self.scribe.output(kind, size)
        arguments: Record = {"command": command, "description": self.scribe.sentence()[:40]}
        if self.rng.random() < 0.04:
            arguments["command"] = f"python - <<'EOF'\n{self.scribe.code(900)}\nEOF"
        details = {
            "stdout": output,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
        return Call("Bash", arguments, output, details)

    def read(self) -> Call:
        path, start, lines = self.scribe.excerpt(self.scribe.size(1_750, 1.15, 120_000))
        arguments: Record = {"file_path": path}
        if start:
            arguments |= {"offset": start, "limit": len(lines)}
        details = {
            "type": "text",
            "file": {
                "filePath": path,
                "content": "\n".join(lines),
                "numLines": len(lines),
                "startLine": start + 1,
                "totalLines": start + len(lines),
            },
        }
        return Call("Read", arguments, self.scribe.numbered(start, lines), details)

    def edit(self) -> Call:
        path, lines = self.scribe.open_source(False)
        count = min(len(lines), self.scribe.size(3, 0.8, 60) + 1)
        start = self.rng.randint(0, len(lines) - count)
        old = lines[start : start + count]
        new = [line[1:] for line in self.scribe.changed(old) if line[0] != "-"]
        arguments: Record = {
            "file_path": path,
            "old_string": "\n".join(old),
            "new_string": "\n".join(new),
        }
        details = {
            "filePath": path,
            "oldString": arguments["old_string"],
            "newString": arguments["new_string"],
            "originalFile": "\n".join(lines),
            "structuredPatch": [patch_hunk(start, old, new)],
            "userModified": False,
            "replaceAll": False,
        }
        lines[start : start + count] = new
        output = f"The file {path} has been updated successfully."
        if self.era in ("beside", "progress"):
            output += f" Here's the result of running `cat -n`:\n{self.scribe.numbered(start, new)}"
        return Call("Edit", arguments, output, details)

    def write(self) -> Call:
        path, lines = self.scribe.open_source(True)
        content = "\n".join(lines[:80])
        arguments: Record = {"file_path": path, "content": content}
        details: Record = {
            "type": "create",
            "filePath": path,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return Call("Write", arguments, f"File created successfully at: {path}", details)

    def grep(self) -> Call:
        output = self.scribe.matches(self.scribe.size(700, 1.1, 20_000))
        arguments: Record = {
            "pattern": self.scribe.name(),
            "path": self.scribe.home.cwd,
            "output_mode": "content",
            "-n": True,
        }
        details = {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": output,
            "numLines": output.count("\n") + 1,
        }
        return Call("Grep", arguments, output, details)

    def glob(self) -> Call:
        output = self.scribe.files(self.scribe.size(700, 1.0, 8_000))
        names = output.split("\n")
        details = {
            "filenames": names,
            "durationMs": self.rng.randint(2, 900),
            "numFiles": len(names),
            "truncated": False,
        }
        return Call("Glob", {"pattern": f"**/*{self.scribe.word()}*"}, output, details)

    def todo(self) -> Call:
        todos = [
            {
                "content": text,
                "status": self.rng.choice(("pending", "completed")),
                "activeForm": text,
            }
            for text in (self.scribe.sentence()[:80] for _ in range(self.rng.randint(3, 8)))
        ]
        output = (
            "Todos have been modified successfully. Ensure that you continue to use the todo list"
            " to track your progress. Please proceed with the current tasks if applicable"
        )
        return Call("TodoWrite", {"todos": todos}, output, {"oldTodos": [], "newTodos": todos})

    def mcp(self) -> Call:
        output = self.scribe.json(self.scribe.size(1_500, 1.2, 40_000))
        name = f"mcp__{self.rng.choice(TERMS)}__{self.rng.choice(TERMS)}"
        arguments: Record = {
            self.scribe.word(): self.scribe.name(),
            "query": self.scribe.sentence(),
        }
        return Call(name, arguments, output, [{"type": "text", "text": output}])

    def fetch(self) -> Call:
        output = self.scribe.markdown(self.scribe.size(2_500, 0.7, 20_000))
        url = f"https://docs.{self.rng.choice(TERMS)}.dev/{self.scribe.word()}/{self.scribe.word()}"
        details = {
            "bytes": 4 * len(output),
            "code": 200,
            "codeText": "OK",
            "result": output,
            "durationMs": 900,
            "url": url,
        }
        return Call("WebFetch", {"url": url, "prompt": self.scribe.sentence()}, output, details)


def patch_hunk(start: int, old: Sequence[str], new: Sequence[str]) -> Record:
    lines = ["-" + line for line in old] + ["+" + line for line in new]
    return {
        "oldStart": start + 1,
        "oldLines": len(old),
        "newStart": start + 1,
        "newLines": len(new),
        "lines": lines,
    }


class Clock:
    """A session's time, which never passes the newest moment of the corpus."""

    def __init__(self, rng: random.Random, now: float) -> None:
        self.rng = rng
        self.now = now

    def wait(self, least_s: float, most_s: float) -> None:
        self.now = min(self.now + self.rng.uniform(least_s, most_s), NEWEST)

    def stamp(self) -> str:
        text = datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")
        return text[:-6] + "Z"


BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def uuid4(rng: random.Random) -> str:
    h = f"{rng.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def token(rng: random.Random, prefix: str, length: int = 22) -> str:
    return prefix + "".join(rng.choices(BASE62, k=length))


def noise(rng: random.Random, size: int) -> str:
    """Base64 of about that many characters: signatures, images, encrypted reasoning."""
    return base64.b64encode(rng.randbytes(max(3, size * 3 // 4))).decode()


class Transcript:
    """The lines of one file, and the time of the last one."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self.modified = clock.now
        self.lines: list[bytes] = []
        self.size = 0
        self.turns = 0

    def add_line(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line) + 1

    def add(self, record: Record) -> None:
        self.add_line(msgspec.json.encode(record))

    def save(self) -> Summary:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"\n".join(self.lines) + b"\n")
        os.utime(self.path, (self.modified, self.modified))
        return Summary(1, self.size, self.turns)


@dataclass
class Setting:
    """What the files of one Claude Code family share."""

    rng: random.Random
    scribe: Scribe
    tools: Toolbox
    clock: Clock
    version: str
    era: str
    model: str
    branch: str
    plan_slug: str
    is_small: bool
    session_id: str
    folder: Path
    files: list[ClaudeFile] = field(default_factory=list)


class ClaudeFile(Transcript):
    """A main session or a sub-agent, written record by record."""

    def __init__(
        self, setting: Setting, path: Path, session_id: str, agent_id: str | None = None
    ) -> None:
        super().__init__(path, setting.clock)
        setting.files.append(self)
        self.setting = setting
        self.rng = setting.rng
        self.scribe = setting.scribe
        self.session_id = session_id
        self.agent_id = agent_id
        self.parent: str | None = None
        self.turn_ends: list[int] = []
        self.context_tokens = self.rng.randint(12_000, 30_000)
        self.title = self.scribe.sentence()[:60]

    @property
    def has_attachments(self) -> bool:
        return self.setting.era in ("attachment", "latest")

    def enveloped(self, kind: str, body: Record) -> Record:
        setting = self.setting
        record: Record = {
            "parentUuid": self.parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.scribe.home.cwd,
            "sessionId": self.session_id,
            "version": setting.version,
            "gitBranch": setting.branch,
        }
        if self.agent_id is not None:
            record["agentId"] = self.agent_id
        if setting.plan_slug:
            record["slug"] = setting.plan_slug
        if self.has_attachments:
            record["entrypoint"] = "cli"
        if setting.era == "latest":
            record["session_id"] = setting.session_id
        return (
            record
            | {"type": kind}
            | body
            | {"uuid": uuid4(self.rng), "timestamp": self.clock.stamp()}
        )

    def put(self, kind: str, body: Record) -> str:
        """Add a record with the envelope, as the next link of the chain."""
        record = self.enveloped(kind, body)
        self.add(record)
        self.modified = self.clock.now
        self.parent = str(record["uuid"])
        return self.parent

    def user(self, content: object, **extra: object) -> str:
        return self.put("user", {"message": {"role": "user", "content": content}, **extra})

    def message(self, blocks: Sequence[Record], is_last: bool) -> list[str]:
        """One API message: a line per block, each with the ids and the usage of the whole."""
        rng = self.rng
        base: Record = {
            "model": self.setting.model,
            "id": token(rng, "msg_01"),
            "type": "message",
            "role": "assistant",
        }
        request = token(rng, "req_011C")
        final = rng.randint(40, 2_000)
        has_partial_usage = rng.random() < 0.25
        uuids = []
        for block in blocks:
            is_final = block is blocks[-1]
            written = rng.randint(1, 8) if has_partial_usage and not is_final else final
            message = base | {
                "content": [block],
                "stop_reason": self.stop_reason(is_final, is_last),
                "stop_sequence": None,
                "usage": self.usage(written),
            }
            self.clock.wait(0.2, 4)
            body: Record = {"message": message}
            if self.setting.model not in FOREIGN_MODELS:
                body["requestId"] = request
            uuids.append(self.put("assistant", body))
        self.context_tokens = min(self.context_tokens + final + rng.randint(50, 3_000), 190_000)
        return uuids

    def stop_reason(self, is_final: bool, is_last: bool) -> str | None:
        if not is_final or self.rng.random() < 0.2:
            return None
        return "end_turn" if is_last else "tool_use"

    def usage(self, output_tokens: int) -> Record:
        if self.setting.model in FOREIGN_MODELS:
            return {"input_tokens": self.context_tokens, "output_tokens": output_tokens}
        created = self.context_tokens % 4_099
        usage: Record = {
            "input_tokens": 3,
            "cache_creation_input_tokens": created,
            "cache_read_input_tokens": self.context_tokens - created,
            "cache_creation": {
                "ephemeral_5m_input_tokens": created,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
        }
        if self.setting.era == "latest":
            usage |= {
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "inference_geo": "not_available",
                "iterations": [],
                "speed": "standard",
            }
        return usage

    def thinking(self) -> Record:
        is_empty = self.rng.random() < EMPTY_THINKING[self.setting.era]
        text = "" if is_empty else self.scribe.prose(self.scribe.size(420, 1.0, 12_000))
        signature = noise(self.rng, self.scribe.size(700, 0.7, 9_000))
        return {"type": "thinking", "thinking": text, "signature": signature}

    def use(self, call: Call) -> Record:
        block: Record = {
            "type": "tool_use",
            "id": token(self.rng, "toolu_01"),
            "name": call.name,
            "input": call.arguments,
        }
        if self.has_attachments:
            block["caller"] = {"type": "direct"}
        return block

    def step(self) -> None:
        """One message that calls tools, what the tools report, and their results."""
        rng = self.rng
        blocks: list[Record] = []
        opening = rng.random()
        if opening < 0.44:
            blocks.append(self.thinking())
        if 0.29 < opening < 0.82:
            blocks.append({"type": "text", "text": self.scribe.prose(self.scribe.size(140, 0.8))})
        calls = [
            self.setting.tools.call() for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 1, 2, 2, 4)))
        ]
        uses = [self.use(call) for call in calls]
        uuids = self.message(blocks + uses, is_last=False)
        for call, use, source in zip(calls, uses, uuids[len(blocks) :], strict=True):
            self.report(call, str(use["id"]))
            self.result(call, str(use["id"]), source)
            self.attach(str(use["id"]))

    def result(self, call: Call, use_id: str, source: str) -> None:
        self.clock.wait(0.1, 20)
        content: object = call.output
        details: object = call.details
        if self.rng.random() < 0.004 and not self.setting.is_small:
            content = [image(self.rng, self.scribe.size(120_000, 0.8, 900_000))]
            details = {"type": "image"}
        elif isinstance(details, list):
            content = details
        block: Record = {"tool_use_id": use_id, "type": "tool_result", "content": content}
        if call.is_error or call.name == "Bash":
            block["is_error"] = call.is_error
        extra: Record = {"sourceToolAssistantUUID": source}
        if self.agent_id is None or self.setting.era == "beside":
            extra["toolUseResult"] = details
        self.user([block], **extra)
        if call.name in ("Edit", "Write") and self.agent_id is None and self.rng.random() < 0.9:
            self.snapshot(is_update=True)

    def report(self, call: Call, use_id: str) -> None:
        """Progress lines, which only the versions of one era wrote."""
        if self.setting.era != "progress":
            return
        if self.rng.random() < 0.75:
            data: Record = {
                "type": "hook_progress",
                "hookEvent": "PreToolUse",
                "hookName": f"PreToolUse:{call.name}",
                "command": f"{self.scribe.home.cwd}/.claude/hooks/{self.scribe.word()}.sh",
            }
            self.progress(data, use_id)
        if call.name == "Bash" and self.rng.random() < 0.2:
            self.bash_progress(call, use_id)
        if call.name.startswith("mcp__"):
            for status in ("started", "progress", "progress", "completed"):
                server = call.name.split("__")[1]
                self.progress(
                    {"type": "mcp_progress", "status": status, "serverName": server}, use_id
                )

    def progress(self, data: Record, use_id: str) -> None:
        self.clock.wait(0.01, 0.4)
        own = token(self.rng, f"{str(data['type']).split('_')[0]}-progress-", 6)
        self.put("progress", {"data": data, "toolUseID": own, "parentToolUseID": use_id})

    def bash_progress(self, call: Call, use_id: str) -> None:
        tail = call.output[-self.rng.randint(0, 220) :]
        for second in range(1, 2 + int(self.rng.expovariate(1 / 24))):
            data: Record = {
                "type": "bash_progress",
                "output": tail,
                "fullOutput": tail,
                "elapsedTimeSeconds": second + 2,
                "totalLines": tail.count("\n") + second,
                "timeoutMs": 120_000,
            }
            self.progress(data, use_id)

    def attach(self, use_id: str) -> None:
        if not self.has_attachments:
            return
        weights = [lines for lines, _ in ATTACHMENTS.values()]
        for kind in self.rng.choices(
            list(ATTACHMENTS), weights, k=self.rng.choice((0, 0, 1, 1, 1))
        ):
            self.put("attachment", {"attachment": self.attachment(kind, use_id)})

    def attachment(self, kind: str, use_id: str) -> Record:
        scribe = self.scribe
        size = scribe.size(ATTACHMENTS[kind][1], 0.8, 40_000)
        head: Record = {"type": kind}
        if "hook" in kind:
            text = scribe.log(size)
            return head | {
                "hookName": "PostToolUse:Bash",
                "toolUseID": use_id,
                "hookEvent": "PostToolUse",
                "content": text,
                "stdout": text if kind == "hook_success" else "",
                "stderr": "",
                "exitCode": 0,
                "command": f"hooks/{scribe.word()}.sh",
                "durationMs": 44,
            }
        if kind == "queued_command":
            return head | {"prompt": scribe.prose(size), "commandMode": "prompt"}
        if kind in ("nested_memory", "file", "edited_text_file"):
            text = scribe.markdown(size)
            path = scribe.path()
            return head | {"filename": path, "content": text, "displayPath": path}
        return head | {"content": scribe.prose(size), "itemCount": 3}

    def snapshot(self, is_update: bool = False) -> None:
        stamp = self.clock.stamp()
        backups = {
            path: {"backupFileName": f"{self.scribe.hex(16)}@v2", "version": 2, "backupTime": stamp}
            for path in self.rng.choices(self.scribe.home.paths, k=self.rng.randint(0, 11))
        }
        message_id = uuid4(self.rng)
        self.add(
            {
                "type": "file-history-snapshot",
                "messageId": message_id,
                "snapshot": {
                    "messageId": message_id,
                    "trackedFileBackups": backups,
                    "timestamp": stamp,
                },
                "isSnapshotUpdate": is_update,
            }
        )

    def queue(self, operation: str, content: str | None = None) -> None:
        record: Record = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self.clock.stamp(),
            "sessionId": self.session_id,
        }
        self.add(record if content is None else record | {"content": content})

    def ask(self, prompt: str) -> None:
        """What a person typed, with what the program puts around it."""
        rng = self.rng
        if rng.random() < 0.75:
            self.queue("enqueue", prompt if rng.random() < 0.5 else None)
            self.queue("dequeue")
        if rng.random() < 0.65:
            self.queue("enqueue", self.notification())
            self.queue("remove")
        self.snapshot()
        if rng.random() < 0.1:
            self.slash_command()
        extra: Record = {"permissionMode": "default"} if rng.random() < 0.5 else {}
        if self.has_attachments:
            extra |= {"promptId": uuid4(rng), "origin": {"kind": "human"}}
        self.user(self.prompt_content(prompt), **extra)

    def notification(self) -> str:
        return (
            f"<task-notification>\n<task-id>{self.scribe.hex(7)}</task-id>\n<status>completed"
            f"</status>\n<summary>{self.scribe.prose(900)}</summary>\n</task-notification>"
        )

    def prompt_content(self, prompt: str) -> object:
        pick = self.rng.random()
        text: Record = {"type": "text", "text": prompt}
        if pick < 0.62:
            return prompt
        if pick < 0.65:
            opened = f"<ide_opened_file>The user opened the file {self.scribe.path()} in the IDE."
            return [{"type": "text", "text": opened + "</ide_opened_file>"}, text]
        if pick < 0.663:
            return [image(self.rng, self.scribe.size(160_000, 0.9, 1_500_000)), text]
        return [text]

    def slash_command(self) -> None:
        caveat = (
            "<local-command-caveat>Caveat: The messages below were generated by the user while"
            " running local commands. DO NOT respond to these messages.</local-command-caveat>"
        )
        name = self.rng.choice(("model", "clear", "context", "cost"))
        self.user(caveat, isMeta=True)
        self.user(
            f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
            "<command-args></command-args>"
        )
        self.user(f"<local-command-stdout>{self.scribe.sentence()}</local-command-stdout>")

    def answer(self, size: int) -> str:
        text = self.scribe.markdown(size)
        blocks: list[Record] = [{"type": "text", "text": text}]
        if self.rng.random() < 0.35 and not self.setting.is_small:
            blocks.insert(0, self.thinking())
        self.message(blocks, is_last=True)
        return text

    def close_turn(self, prompt: str) -> None:
        """The lines that a main session gets after each turn."""
        rng = self.rng
        if rng.random() < 0.05:
            self.user([{"type": "text", "text": "[Request interrupted by user]"}])
        for kind in rng.choices(
            list(SYSTEM_LINES), list(SYSTEM_LINES.values()), k=rng.choice((1, 2, 2))
        ):
            self.put("system", self.system_line(kind))
        if self.has_attachments:
            self.metadata(prompt)
        self.end_turn()

    def end_turn(self) -> None:
        self.turns += 1
        self.turn_ends.append(len(self.lines))
        self.clock.wait(20, 900)

    def system_line(self, kind: str) -> Record:
        line: Record = {"subtype": kind, "level": "info", "isMeta": False}
        if kind == "stop_hook_summary":
            return line | {
                "hookCount": 1,
                "hookInfos": [{"command": f"hooks/{self.scribe.word()}.sh"}],
                "hookErrors": [],
                "preventedContinuation": False,
                "stopReason": "",
                "hasOutput": False,
                "toolUseID": uuid4(self.rng),
            }
        if kind == "turn_duration":
            return line | {"durationMs": self.rng.randint(900, 900_000), "messageCount": 12}
        if kind == "api_error":
            error = {"status": 529, "headers": {"request-id": token(self.rng, "req_")}}
            return line | {
                "error": error | {"message": self.scribe.prose(500)},
                "retryInMs": 540.3,
                "retryAttempt": self.rng.randint(1, 9),
                "maxRetries": 10,
            }
        return line | {"content": self.scribe.prose(250)}

    def metadata(self, prompt: str) -> None:
        """Titles and modes, which are appended again and again."""
        rng, own = self.rng, {"sessionId": self.session_id}
        repeated: tuple[tuple[float, Record], ...] = (
            (2.7, {"type": "last-prompt", "lastPrompt": prompt[:200], "leafUuid": self.parent}),
            (1.5, {"type": "ai-title", "aiTitle": self.title}),
            (1.4, {"type": "permission-mode", "permissionMode": "acceptEdits"}),
            (0.6, {"type": "custom-title", "customTitle": self.title[:20]}),
            (0.5, {"type": "mode", "mode": "normal"}),
            (0.35, {"type": "bridge-session", "bridgeSessionId": uuid4(rng), "lastSequenceNum": 4}),
            (0.35, {"type": "agent-name", "agentName": self.title[:16]}),
        )
        for rate, record in repeated:
            for _ in range(int(rate + rng.random())):
                self.add(record | own)

    def compact(self) -> None:
        """A compaction: the boundary, and a summary in the place of a prompt."""
        last, self.parent = self.parent, None
        boundary: Record = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "logicalParentUuid": last,
            "compactMetadata": {"trigger": "auto", "preTokens": self.context_tokens},
        }
        self.put("system", boundary)
        text = (
            "This session is being continued from a previous conversation that ran out of"
            f" context. The conversation is summarized below:\n{self.scribe.markdown(7_000)}"
        )
        self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        self.context_tokens = 20_000

    def small_turn(self) -> None:
        """A turn of about 600 bytes of text and as few lines as a turn can have."""
        self.user(self.scribe.brief())
        if self.rng.random() < 0.3:
            call = self.setting.tools.shell(250)
            use = self.use(call)
            self.result(call, str(use["id"]), self.message([use], is_last=False)[0])
        self.answer(self.scribe.size(200, 0.5, 2_000))
        self.end_turn()


def image(rng: random.Random, size: int) -> Record:
    source = {"type": "base64", "media_type": "image/png", "data": noise(rng, size)}
    return {"type": "image", "source": source}


def open_claude(task: Task) -> Setting:
    family = task.family
    rng = random.Random(f"{task.seed}:claude:{family.index}")
    age = (family.start - NEWEST) / (DAY_S * WINDOW_DAYS) + 1
    era, versions = next((name, v) for upto, name, v in CLAUDE_ERAS if age <= upto)
    scribe = Scribe(rng, project(task.seed, family.project))
    return Setting(
        rng=rng,
        scribe=scribe,
        tools=Toolbox(scribe, era),
        clock=Clock(rng, family.start),
        version=rng.choice(versions),
        era=era,
        model=rng.choice(MODELS if rng.random() < 0.62 else FOREIGN_MODELS),
        branch=rng.choice(("main", "main", "master", f"{scribe.word()}/{scribe.word()}")),
        plan_slug=f"{scribe.word()}-{scribe.word()}-{scribe.word()}" if rng.random() < 0.7 else "",
        is_small=task.is_small,
        session_id=uuid4(rng),
        folder=task.directory / ".claude" / "projects" / scribe.home.slug,
    )


def write_claude(task: Task) -> Summary:
    """Write a main session, its sub-agents and workers, and its fork."""
    setting = open_claude(task)
    main = new_main(setting, setting.session_id)
    agents = [size for size in task.family.agent_bytes if size > 0 or task.is_small]
    if task.is_small:
        for file in [main] * task.family.turns + [new_agent(main, "") for _ in agents]:
            file.small_turn()
    elif task.family.turns:
        talk(main, task.family, agents)
    else:
        main.snapshot()
        main.metadata("")
    for _ in range(len(task.family.agent_bytes) - len(agents)):
        run_worker(main)
    if task.family.is_forked:
        fork(main)
    return total(file.save() for file in setting.files)


def new_main(setting: Setting, session_id: str) -> ClaudeFile:
    return ClaudeFile(setting, setting.folder / f"{session_id}.jsonl", session_id)


def talk(main: ClaudeFile, family: Family, agents: Sequence[int]) -> None:
    """All turns of a main session; its sub-agents are started on the way."""
    rng = main.rng
    ends = itertools.accumulate(split(family.max_bytes, skewed(rng, family.turns, 0.8)))
    spawned = split(len(agents), skewed(rng, family.turns, 1.0))
    waiting = iter(agents)
    if main.setting.era in ("beside", "progress") and rng.random() < 0.25:
        main.add({"type": "summary", "summary": main.title, "leafUuid": uuid4(rng)})
    compact_at = rng.randrange(2, 2 * family.turns) if family.turns > 2 else 0
    for number, (end, count) in enumerate(zip(ends, spawned, strict=True)):
        prompt = main.scribe.typed()
        if number and number == compact_at and rng.random() < 0.3:
            main.compact()
        main.ask(prompt)
        for size in itertools.islice(waiting, count):
            spawn(main, size)
        while main.size < end - 24_000:
            main.step()
        main.answer(main.scribe.size(1_100, 0.8, 12_000))
        main.close_turn(prompt)


def spawn(main: ClaudeFile, size: int) -> None:
    """A sub-agent in a file of its own, and what the main session repeats of it."""
    prompt = main.scribe.markdown(main.scribe.size(1_300, 0.6))
    agent = new_agent(main, "")
    description = main.scribe.sentence()[:40]
    arguments: Record = {"description": description, "prompt": prompt, "subagent_type": "Explore"}
    call = Call("Task", arguments, "", None)
    use = main.use(call)
    source = main.message([use], is_last=False)[0]
    text = run_agent(agent, prompt, size)
    repeat_agent(main, agent, prompt, str(use["id"]))
    content = [{"type": "text", "text": text}]
    details: Record = {
        "status": "completed",
        "prompt": prompt,
        "agentId": agent.agent_id,
        "content": content,
        "totalDurationMs": 80_000,
        "totalTokens": agent.context_tokens,
        "totalToolUseCount": 9,
    }
    block: Record = {"tool_use_id": use["id"], "type": "tool_result", "content": content}
    main.user([block], sourceToolAssistantUUID=source, toolUseResult=details)


def new_agent(main: ClaudeFile, worker: str) -> ClaudeFile:
    setting = main.setting
    is_beside = setting.era == "beside"
    agent_id = main.scribe.hex(7) if is_beside else f"a{worker}{main.scribe.hex(16)}"
    folder = setting.folder if is_beside else setting.folder / setting.session_id / "subagents"
    return ClaudeFile(setting, folder / f"agent-{agent_id}.jsonl", setting.session_id, agent_id)


def run_agent(agent: ClaudeFile, prompt: str, size: int) -> str:
    agent.user(prompt)
    if agent.setting.era == "progress" and agent.rng.random() < 0.2:
        unknown_skills(agent)
    while agent.size < size - 18_000:
        agent.step()
    text = agent.answer(agent.scribe.size(1_600, 0.7, 9_000))
    agent.turns += 1
    return text


def unknown_skills(agent: ClaudeFile) -> None:
    """A loop of a broken command, as one home of the census has it in 12 % of its user lines."""
    for _ in range(int(agent.rng.expovariate(1 / 30))):
        agent.user(
            "<local-command-caveat>Caveat: local commands</local-command-caveat>", isMeta=True
        )
        agent.user(f"Unknown skill: {agent.rng.choice(TERMS)}")


def repeat_agent(main: ClaudeFile, agent: ClaudeFile, prompt: str, use_id: str) -> None:
    if main.setting.era != "progress":
        return
    for line in agent.lines:
        if main.rng.random() > 0.18:
            continue
        record = msgspec.json.decode(line)
        if record["type"] == "progress":
            continue
        kept = ("type", "message", "uuid", "timestamp", "requestId")
        message = {key: record[key] for key in kept if key in record}
        data: Record = {
            "type": "agent_progress",
            "message": message,
            "normalizedMessages": [message] if main.rng.random() < 0.7 else [],
            "prompt": prompt,
            "agentId": agent.agent_id,
        }
        main.progress(data, use_id)


def run_worker(main: ClaudeFile) -> None:
    """A machine's own sub-agent: warm-up, compaction, next-prompt suggestion."""
    rng, scribe = main.rng, main.scribe
    if main.setting.era == "beside":
        agent = new_agent(main, "")
        agent.user("Warmup")
        agent.answer(300)
    elif rng.random() < 0.6:
        agent = new_agent(main, "compact-")
        if rng.random() < 0.1:
            copy_conversation(main, agent)
        agent.user(
            "Your task is to create a detailed summary of the conversation so far, paying close"
            " attention to the user's explicit requests and your previous actions."
        )
        agent.answer(scribe.size(6_000, 0.4, 12_000))
    else:
        agent = new_agent(main, "prompt_suggestion-")
        agent.user("[SUGGESTION MODE: Suggest what the user might naturally type next.]")
        agent.answer(60)
    agent.turns += 1


def copy_conversation(main: ClaudeFile, agent: ClaudeFile) -> None:
    """Repeat the parent's messages under new uuids, as compaction workers do."""
    for line in main.lines:
        record = msgspec.json.decode(line)
        if record["type"] not in ("user", "assistant"):
            continue
        record.pop("toolUseResult", None)
        own = {"isSidechain": True, "agentId": agent.agent_id, "parentUuid": agent.parent}
        agent.parent = uuid4(agent.rng)
        agent.add(record | own | {"uuid": agent.parent})


def fork(main: ClaudeFile) -> None:
    """Copy a session up to the end of a turn under a new session id, and go on from there."""
    rng, setting = main.rng, main.setting
    child = new_main(setting, uuid4(rng))
    old, new = main.session_id.encode(), child.session_id.encode()
    for line in main.lines[: rng.choice(main.turn_ends)]:
        child.add_line(line.replace(b'"sessionId":"' + old, b'"sessionId":"' + new))
    child.parent = main.parent
    for _ in range(rng.randint(1, 2)):
        prompt = child.scribe.typed()
        child.ask(prompt)
        for _ in range(rng.randint(2, 12)):
            child.step()
        child.answer(800)
        child.close_turn(prompt)


class Rollout(Transcript):
    """A Codex session, in which most messages stand twice."""

    def __init__(self, task: Task) -> None:
        family = task.family
        self.rng = random.Random(f"{task.seed}:codex:{family.index}")
        self.thread_id = uuid4(self.rng)
        path = rollout_path(task.directory, family.start, self.thread_id)
        super().__init__(path, Clock(self.rng, family.start))
        self.start = family.start
        self.scribe = Scribe(self.rng, project(task.seed, family.project))
        self.age = self.rng.randrange(len(CODEX_VERSIONS))
        self.branch = self.rng.choice(("main", "master", self.scribe.word()))
        self.turn_id = ""
        self.tokens = 0
        self.is_small = task.is_small
        self.has_scripts = self.age >= FIRST_SCRIPTS

    def put(self, kind: str, payload: Record) -> None:
        self.clock.wait(0.01, 0.5)
        self.add({"timestamp": self.clock.stamp(), "type": kind, "payload": payload})
        self.modified = self.clock.now

    def event(self, kind: str, **payload: object) -> None:
        self.put("event_msg", {"type": kind} | payload)

    def item(self, kind: str, **payload: object) -> None:
        self.put("response_item", {"type": kind} | payload)

    def say(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text} for text in texts])

    def meta(self) -> None:
        version = CODEX_VERSIONS[self.age]
        payload: Record = {
            "id": self.thread_id,
            "timestamp": self.clock.stamp(),
            "cwd": self.scribe.home.cwd,
            "originator": "codex_vscode",
            "cli_version": version,
            "source": "vscode",
            "model_provider": "openai",
        }
        if not self.is_small:
            payload["base_instructions"] = {"text": base_instructions(version)}
        git = {"commit_hash": self.scribe.hex(40), "branch": self.branch}
        self.put("session_meta", payload | {"git": git})

    def context(self) -> None:
        payload: Record = {
            "turn_id": self.turn_id,
            "cwd": self.scribe.home.cwd,
            "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write", "network_access": False},
            "model": "gpt-5.4-codex",
            "effort": "high",
            "summary": "auto",
        }
        if not self.is_small:
            payload["user_instructions"] = self.scribe.home.instructions
        self.put("turn_context", payload)

    def inject(self) -> None:
        """What Codex tells the model before the first prompt."""
        home = self.scribe.home
        self.say("developer", f"<permissions instructions>{base_instructions('sandbox')[:12_000]}")
        self.say(
            "user",
            f"# AGENTS.md instructions for {home.cwd}\n\n<INSTRUCTIONS>\n{home.instructions}",
            f"<environment_context>\n  <cwd>{home.cwd}</cwd>\n</environment_context>",
        )

    def count_tokens(self) -> None:
        last = {
            "input_tokens": self.rng.randint(9_000, 90_000),
            "cached_input_tokens": 8_000,
            "output_tokens": self.rng.randint(20, 900),
            "reasoning_output_tokens": 64,
            "total_tokens": 9_999,
        }
        self.tokens += last["input_tokens"]
        limits = {
            "primary": {"used_percent": 12.0, "window_minutes": 300, "resets_at": int(self.start)},
            "secondary": {"used_percent": 31.0, "window_minutes": 10_080, "resets_at": 1},
            "credits": None,
            "plan_type": "plus",
        }
        info = {
            "total_token_usage": last | {"input_tokens": self.tokens},
            "last_token_usage": last,
            "model_context_window": 258_400,
        }
        self.event("token_count", info=info, rate_limits=limits)

    def reason(self) -> None:
        summary = f"**{self.scribe.sentence()}**\n\n{self.scribe.prose(self.scribe.size(60, 0.6))}"
        has_summary = self.age <= LAST_REASONING_EVENTS
        if has_summary:
            self.event("agent_reasoning", text=summary)
        parts = [{"type": "summary_text", "text": summary}] if has_summary else []
        secret = noise(self.rng, self.scribe.size(1_500, 0.7, 20_000))
        self.item("reasoning", summary=parts, content=None, encrypted_content=secret)

    def speak(self, text: str) -> None:
        self.event("agent_message", message=text, phase="commentary", memory_citation=None)
        self.say("assistant", text)

    def execute(self) -> None:
        kind, command = self.scribe.command()
        call_id = token(self.rng, "call_", 24)
        if self.rng.random() < 0.12 and not self.is_small:
            command = f"python - <<'PY'\n{self.scribe.code(1_300)}\nPY"
        arguments = {"cmd": command, "workdir": self.scribe.home.cwd, "yield_time_ms": 1_000}
        self.item(
            "function_call",
            name="exec_command",
            call_id=call_id,
            arguments=msgspec.json.encode(arguments).decode(),
        )
        self.clock.wait(0.1, 30)
        body = self.scribe.output(
            kind, 200 if self.is_small else self.scribe.size(1_600, 1.2, 40_000)
        )
        output = (
            f"Chunk ID: {self.scribe.hex(6)}\nWall time: {self.rng.uniform(0, 9):.4f} seconds\n"
            f"Process exited with code 0\nOriginal token count: {len(body) // 4}\nOutput:\n{body}"
        )
        self.item("function_call_output", call_id=call_id, output=output)

    def patch(self) -> None:
        path, _, lines = self.scribe.excerpt(self.scribe.size(550, 0.8, 12_000))
        changes = "\n".join(self.scribe.changed(lines))
        text = f"*** Begin Patch\n*** Update File: {path}\n@@\n{changes}\n*** End Patch"
        call_id = token(self.rng, "call_", 24)
        self.item(
            "custom_tool_call", status="completed", call_id=call_id, name="apply_patch", input=text
        )
        done = f"Success. Updated the following files:\nM {path}\n"
        output = {"output": done, "metadata": {"exit_code": 0, "duration_seconds": 0.1}}
        if self.rng.random() < 0.3:
            change = {path: {"type": "update", "unified_diff": changes, "move_path": None}}
            self.event(
                "patch_apply_end",
                call_id=call_id,
                turn_id=self.turn_id,
                stdout=done,
                stderr="",
                success=True,
                changes=change,
                status="completed",
            )
        self.item(
            "custom_tool_call_output", call_id=call_id, output=msgspec.json.encode(output).decode()
        )

    def script(self) -> None:
        """A call of `exec`, whose output is a list of parts."""
        call_id = token(self.rng, "call_", 24)
        code = self.scribe.code(450)
        self.item("custom_tool_call", status="completed", call_id=call_id, name="exec", input=code)
        text = self.scribe.json(self.scribe.size(4_500, 1.0, 40_000))
        output = [{"type": "input_text", "text": text}]
        self.item("custom_tool_call_output", call_id=call_id, output=output)

    def step(self) -> None:
        if self.rng.random() < 0.7:
            self.reason()
        if self.rng.random() < 0.3:
            self.speak(self.scribe.prose(self.scribe.size(220, 0.6)))
        if self.rng.random() < 0.18:
            self.script() if self.has_scripts and self.rng.random() < 0.6 else self.patch()
        else:
            self.execute()
        self.count_tokens()
        if self.rng.random() < 0.34:
            self.context()

    def ask(self, prompt: str) -> None:
        self.turn_id = uuid4(self.rng)
        self.event("task_started", turn_id=self.turn_id, model_context_window=258_400)
        if not self.turns and not self.is_small:
            self.inject()
        self.context()
        if self.rng.random() < 0.3 and not self.is_small:
            tabs = "\n".join(f"- {self.scribe.path()}" for _ in range(4))
            head = f"# Context from my IDE setup:\n\n## Open tabs:\n{tabs}\n\n"
            prompt = f"{head}## My request for Codex:\n{prompt}"
        self.say("user", prompt)
        self.event("user_message", message=prompt, images=[], local_images=[], text_elements=[])

    def finish(self, size: int) -> None:
        text = self.scribe.markdown(size)
        self.speak(text)
        self.count_tokens()
        self.event("task_complete", turn_id=self.turn_id, last_agent_message=text)
        if self.rng.random() < 0.02:
            self.event("thread_rolled_back", num_turns=1)
        self.turns += 1
        self.clock.wait(20, 900)

    def small_turn(self) -> None:
        self.ask(self.scribe.brief())
        if self.rng.random() < 0.3:
            self.execute()
        self.finish(self.scribe.size(200, 0.5, 2_000))

    def compact(self, prompts: Sequence[str]) -> None:
        history = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            for text in prompts[-20:]
        ]
        self.put("compacted", {"message": "", "replacement_history": history})
        self.event("context_compacted")


def rollout_path(directory: Path, start: float, thread_id: str) -> Path:
    """Folder and name are in local time, the content in UTC."""
    local = datetime.fromtimestamp(start + LOCAL_OFFSET_S, UTC)
    folder = directory / ".codex" / "sessions" / f"{local:%Y}" / f"{local:%m}" / f"{local:%d}"
    return folder / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{thread_id}.jsonl"


@functools.cache
def base_instructions(version: str) -> str:
    rng = random.Random(f"instructions:{version}")
    words = rng.choices(lexicon().words, k=3_000)
    return "\n".join(" ".join(words[i : i + 14]) for i in range(0, len(words), 14))


def write_codex(task: Task) -> Summary:
    rollout = Rollout(task)
    rollout.meta()
    if task.is_small:
        for _ in range(task.family.turns):
            rollout.small_turn()
    else:
        work(rollout, task.family)
    return rollout.save()


def work(rollout: Rollout, family: Family) -> None:
    """All turns of a rollout, some of them after a resume or a compaction."""
    rng = rollout.rng
    prompts: list[str] = []
    is_resumed = rng.random() < 0.32
    for end in itertools.accumulate(split(family.max_bytes, skewed(rng, family.turns, 0.8))):
        for _ in range(rng.randint(1, 3) if prompts and is_resumed else 0):
            rollout.meta()
        if len(prompts) > 3 and rng.random() < 0.02:
            rollout.compact(prompts)
        prompts.append(rollout.scribe.typed())
        rollout.ask(prompts[-1])
        while rollout.size < end - 7_000:
            rollout.step()
        rollout.finish(rollout.scribe.size(900, 0.7, 9_000))


def write_family(task: Task) -> Summary:
    return write_codex(task) if task.family.source == "codex" else write_claude(task)


def generate(
    directory: Path,
    total_bytes: int,
    files: int,
    seed: int = 1,
    turns: int | None = None,
    processes: int | None = None,
) -> Summary:
    """Fill a directory with transcripts; with `turns`, that many small turns of any total size."""
    families = plan(total_bytes if turns is None else 0, files, seed, turns)
    families.sort(key=lambda family: family.max_bytes + family.turns, reverse=True)
    tasks = [Task(directory, seed, turns is not None, family) for family in families]
    lexicon()
    with multiprocessing.Pool(processes) as pool:
        return total(pool.imap_unordered(write_family, tasks, chunksize=4))


def total(summaries: Iterable[Summary]) -> Summary:
    return sum(summaries, Summary(0, 0, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="home directory to fill")
    parser.add_argument("--bytes", type=float, default=1e9, help="total size (default 1e9)")
    parser.add_argument("--files", type=int, default=5000, help="transcripts (default 5000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, help="this many small turns; --bytes is ignored")
    parser.add_argument("--processes", type=int, help="default: one per core")
    args = parser.parse_args()
    made = generate(
        args.directory, int(args.bytes), args.files, args.seed, args.turns, args.processes
    )
    print(f"{made.files} files, {made.bytes} bytes, {made.turns} turns")


if __name__ == "__main__":
    main()
