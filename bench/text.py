"""Generates the text of a session: words, prose, code and the output of commands.

The text must compress like that of real turns, about 3.6 times with zstd -3. So names, phrases and
whole lines recur. Sizes are approximate.
"""

import functools
import random
import re
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

_VOCABULARY_SIZE = 30_000
_NEW_SOURCES = 0.34
_NEW_ROWS = 0.8

_STOP_WORDS = """the to and a of in is it that for on with this be as are not from or we an by if
can at so have but was you should now will which when all has then use only there each into out no
any one also its been more they does what how need new before after because where same let me here
them than must just some still would did our your their may first other two both while make get see
find check look run add fix change move keep remove read write want like work works""".split()
TERMS = """test file function error path class module config server client request response session
token user data type value index cache query table column schema migration build deploy docker
branch commit merge diff patch parser stream buffer thread async queue worker handler route endpoint
auth login header payload json regex string array struct template render state hook event callback
timeout retry socket proxy upload batch chunk offset limit cursor page filter sort transaction lock
release version package binary plugin shell script command flag environment secret search""".split()
_ONSETS = "b bl br c ch cl cr d dr f fl g gr h j k kr l m n p pl pr qu r s sk st t tr v w z".split()
_VOWELS = ("a e i o u " * 12 + "ai ea io ou " * 4 + "é ü").split()
_CODAS = ["", "", "", "n", "r", "s", "l", "t", "m", "x", "nd", "rk", "st"]
_SUFFIXES = ["", "", "", "", "ing", "ed", "s", "er", "able", "ation", "ly", "ity"]
_HAN = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对，。"

# Placeholders: @ name, $ word, ^ path, ¶ sentence, which recur in the rows of an output, and
# ~ number, ¤ hex, § time, which differ from row to row.
_ANY = re.compile("[@$^¶~¤§]")
_STABLE = re.compile("[@$^¶]")
_VARYING = re.compile("[~¤§]")

_CODE = """def @(self, @: @, @: @ = ~) -> @:
@ = @.@(@, @=~)
if @ is None or @.@ != "$":
return @.@[@]
for @, @ in @.items():
raise @(f"$ $ {@}: $ $")
@[@] = @(@.@, ~)
with @.@(@) as @:
assert @.@ == ~, @
@ = [@ for @ in @ if @.@]
logger.$("$ $ $ %s", @)
# $ $ $ $ $ $ $
from @.@ import @, @
@: dict[str, @] = field(default_factory=dict)
return self.@(@, @)
except (@, @) as error:
const { @, @ } = await @.@(@);
if (!@ || @.@ === "$") {
throw new @(`$ $ $ ` + @);
<@ className="$-$ $-$" @={@} on@={() => @(@)} />
expect(@.@).toEqual(~);""".split("\n")
_ROWS = {
    "tests": "^::test_@_$ PASSED [~%]",
    "log": "§ $ [@] @.@: $ $ $ $ @=~ id=¤",
    "history": "¤ $: $ $ $ $ `@` $ $",
    "files": "./$/@/@_$.py",
    "trace": '  File "/home/dev/^", line ~, in @\n    @ = @.@(@, "$")',
    "json": '  "@": {"@": "$ $ $", "@": ~, "id": "¤"},',
    "build": "^:~:~: warning: $ $ `@` $ $ $ [-W@]",
}
_COMMANDS = (
    ("tests", "cd /home/dev/$ && python -m pytest ^ -q 2>&1 | tail -60"),
    ("log", "docker compose logs --tail=200 $ | grep -v $"),
    ("diff", "git diff HEAD -- ^"),
    ("history", "git log --oneline -40 -- ^"),
    ("files", "find . -name '*$*' -not -path './node_modules/*' | head -80"),
    ("matches", "rg -n '@' --glob '!$' ^"),
    ("trace", "python -m $.$ --$ ^"),
    ("json", "curl -s http://localhost:8080/api/$/$ | jq ."),
    ("build", "make $ 2>&1 | tail -50"),
    ("shown", "sed -n '1,200p' ^"),
)


def _pseudo_word(rng: random.Random) -> str:
    syllables = rng.choices((1, 2, 3), (4, 6, 1))[0]
    parts = [
        rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(syllables)
    ]
    return "".join(parts) + rng.choice(_SUFFIXES)


@functools.cache
def vocabulary() -> list[str]:
    """Return all words, most frequent first: the same for every seed, so queries can use them."""
    rng = random.Random("vocabulary")
    common = TERMS + [_pseudo_word(rng) for _ in range(3 * len(TERMS))]
    rng.shuffle(common)
    words = dict.fromkeys(_STOP_WORDS + common)
    while len(words) < _VOCABULARY_SIZE:
        words[_pseudo_word(rng)] = None
    return list(words)


def _identifier(rng: random.Random, words: Sequence[str]) -> str:
    parts = rng.choices(words, k=rng.choice((1, 1, 2, 2, 3)))
    if rng.random() < 0.5:
        return "_".join(parts)
    capitals = "".join(part.capitalize() for part in parts)
    return capitals if rng.random() < 0.5 else parts[0] + capitals[len(parts[0]) :]


@functools.cache
def lexicon() -> list[str]:
    """Return words to draw from without weights, because frequent ones occur more often in it."""
    ranked = vocabulary()
    weights = [(rank + 2.7) ** -1.1 for rank in range(len(ranked))]
    return random.Random("lexicon").choices(ranked, weights, k=1 << 18)


class TextWriter:
    """Writes the text of one session: prose, code and tool output about one project."""

    def __init__(self, rng: random.Random, project: str) -> None:
        self.rng = rng
        home = random.Random(project)
        stems = [w for w in home.sample(vocabulary()[200:6_000], 60) if w.isascii()] + TERMS[:40]
        self.cwd = f"/home/dev/{stems[0]}-{home.choice(TERMS)}"
        self.paths = ["/".join(home.choices(stems, k=3)) + ".py" for _ in range(60)]
        own = [_identifier(home, stems) for _ in range(120)]
        self.words = lexicon()
        self.names = rng.choices(own, [1 / (rank + 3) for rank in range(len(own))], k=400)
        self.names += [_identifier(rng, vocabulary()[100:9_000]) for _ in range(80)]
        self.local = self.names
        self.phrases = [" ".join(rng.choices(self.words, k=rng.randint(1, 4))) for _ in range(50)]
        self.sources: deque[tuple[str, list[str]]] = deque(maxlen=12)
        self.is_cjk = rng.random() < 0.04
        self.slots: dict[str, Callable[[], str]] = {
            "@": lambda: rng.choice(self.local),
            "$": self.word,
            "^": self.path,
            "¶": self.sentence,
            "~": lambda: str(int(rng.lognormvariate(2, 2))),
            "¤": self.hex,
            "§": lambda: f"2026-10-14T09:12:{rng.uniform(10, 59):.3f}Z",
        }

    def size(self, median: float, sigma: float, most: float = 60_000) -> int:
        return int(min(self.rng.lognormvariate(0, sigma) * median, most))

    def word(self) -> str:
        return self.rng.choice(self.words)

    def path(self) -> str:
        return self.rng.choice(self.paths)

    def uuid(self) -> str:
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def hex(self, digits: int = 12) -> str:
        return f"{self.rng.getrandbits(4 * digits):0{digits}x}"

    def fill_slot(self, match: re.Match[str]) -> str:
        return self.slots[match[0]]()

    def line(self, form: str) -> str:
        return _ANY.sub(self.fill_slot, form)

    def record(self, form: str) -> dict[str, object]:
        """Fill a JSON form and decode it."""
        return msgspec.json.decode(self.line(form), type=dict[str, object])

    def choose_names(self) -> None:
        """Choose the names that the next file or output is about."""
        self.local = self.rng.choices(self.names, k=20)

    def fill(self, size: int, make: Callable[[], str], joint: str = "\n") -> str:
        """Join as many parts as fit in about this many bytes, at least one."""
        parts = [make()]
        length = len(parts[0])
        while length < size:
            parts.append(make())
            length += len(parts[-1]) + len(joint)
        return joint.join(parts)

    def sentence(self) -> str:
        rng = self.rng
        words = rng.choices(self.words, k=rng.randint(5, 20))
        words[0] = words[0].capitalize()
        for _ in range(rng.randint(1, 5)):
            words[rng.randrange(len(words))] = rng.choice(self.phrases)
        if rng.random() < 0.5:
            words[-1] = f"`{self.rng.choice(self.names)}`"
        if rng.random() < 0.15:
            words[len(words) // 2] = f"`{self.path()}`"
        return " ".join(words) + rng.choice("....:?!")

    def prose(self, size: int) -> str:
        return self.fill(size, self.sentence, " ")

    def markdown(self, size: int) -> str:
        """Write an answer like those of models: paragraphs, lists and some code."""

        def part() -> str:
            most, pick = min(size, 600), self.rng.random()
            if most < 150 or pick < 0.6:
                return self.prose(min(most, self.rng.randint(60, 400)))
            if pick < 0.9:
                return self.fill(most, lambda: f"- **{self.word()}**: {self.sentence()}")
            return f"```python\n{self.code(most)}\n```"

        return self.fill(size, part, "\n\n")

    def source(self, count: int) -> list[str]:
        """Write indented blocks of code."""
        self.choose_names()
        lines: list[str] = []
        while len(lines) < count:
            lines += [self.line(_CODE[0]), "    " + self.line(_CODE[1])]
            for form in self.rng.choices(_CODE, k=self.rng.randint(2, 12)):
                lines.append("    " * self.rng.choice((1, 1, 2, 2, 3)) + self.line(form))
            lines.append("")
        return lines[:count]

    def code(self, size: int) -> str:
        return "\n".join(self.source(max(2, size // 55)))

    def open_source(self, is_new: bool) -> tuple[str, list[str]]:
        """Return a file of the working set, so lines recur in reads, edits and searches."""
        if self.sources and not is_new:
            return self.rng.choice(self.sources)
        entry = (f"{self.cwd}/{self.path()}", self.source(self.size(135, 0.85, 1_500) + 8))
        self.sources.append(entry)
        return entry

    def excerpt(self, size: int) -> tuple[str, int, list[str]]:
        path, lines = self.open_source(self.rng.random() < _NEW_SOURCES)
        count = min(len(lines), max(3, size // 55))
        start = self.rng.randint(0, len(lines) - count)
        return path, start, lines[start : start + count]

    def patch(self, lines: Sequence[str]) -> list[str]:
        """Return a patch of lines: context, removals and replacements."""
        patch: list[str] = []
        for line in lines:
            if self.rng.random() < 0.8:
                patch.append(" " + line)
            else:
                patch += ["-" + line, "+    " + self.line(self.rng.choice(_CODE))]
        return patch

    def output(self, kind: str, size: int) -> str:
        """Write the output of a kind of command."""
        self.choose_names()
        if kind in _ROWS:
            return self.rows(_ROWS[kind], size)
        path, _, lines = self.excerpt(size)
        if kind == "matches":
            return self.fill(size, lambda: self.line(f"{path}:~:") + self.rng.choice(lines))
        return "\n".join(self.patch(lines) if kind == "diff" else lines)

    def rows(self, form: str, size: int) -> str:
        known = [_STABLE.sub(self.fill_slot, form)]

        def row() -> str:
            if self.rng.random() < _NEW_ROWS:
                known.append(_STABLE.sub(self.fill_slot, form))
            return _VARYING.sub(self.fill_slot, self.rng.choice(known))

        return self.fill(size, row)

    def command(self) -> tuple[str, str]:
        """Return a kind of output, and a shell command that prints it."""
        kind, form = self.rng.choice(_COMMANDS)
        return kind, self.line(form)

    def prompt(self) -> str:
        """Write a prompt like those of people: mostly short, sometimes with pasted text."""
        size = self.size(130, 1.1, 6_000)
        text = "".join(self.rng.choices(_HAN, k=size // 3 + 8)) if self.is_cjk else self.prose(size)
        if self.rng.random() < 0.22:
            kind = self.rng.choice(("log", "trace", "diff", "json", "build"))
            text += "\n\n" + self.output(kind, self.size(2_500, 1.0, 40_000))
        return text
