"""How often recall adds something: `python bench/recall.py` with CCGREP_DIR set to a store.

Prompts of a project are compared with its earlier turns, and with the turns of a project of another
person, where nothing can be relevant. Projects are split into two halves: one to choose a
threshold, and one that is held out. Nobody judged the additions. Two proxies tell how useful they
are: whether the quoted turn used a file that the new turn uses too, beside a random earlier turn;
and whether the best turn of the whole store is one of the same person.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from typing import NamedTuple

from ccgrep.config import make_config
from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import TextReader
from ccgrep.hashing import blake2b
from ccgrep.search.index_opener import open_index
from ccgrep.search.relevance import THRESHOLD, RatedTurn, is_template, rate_turns, weigh_words
from ccgrep.search.request import Filters, Place
from ccgrep.search.searcher import Searcher

_OWNER = re.compile(r"(?:/[^/]+/|[A-Za-z]:\\(?:Users\\)?)[^/\\]+")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\]+|/root")
_MIN_SESSIONS, _MIN_TURNS, _PER_PROJECT = 3, 10, 40


class Prompt(NamedTuple):
    project: str
    started: int
    place: Place
    text: str


def owner(project: str) -> str:
    """Return whose project it is, by the start of its path."""
    found = _OWNER.match(project)
    return found[0].rpartition("/")[2].lower() if found else project


def is_held_out(project: str) -> bool:
    return blake2b(project.encode(), digest_size=1).digest()[0] % 2 == 1


def read_prompts(reader: TextReader) -> dict[str, list[Prompt]]:
    """Return the prompts of the projects that have a history."""
    projects: dict[str, list[Prompt]] = defaultdict(list)
    for hit in reader.search(reader.term("kind", KINDS.index("main"))):
        place, stored = reader.stored_at(hit.address)
        if stored is not None and stored.project and not _HOME.fullmatch(stored.project):
            prompt = Prompt(stored.project, hit.started, Place(*place), stored.prompt)
            projects[stored.project].append(prompt)
    return {
        project: prompts
        for project, prompts in sorted(projects.items())
        if len(prompts) >= _MIN_TURNS
        and len({prompt.place.session for prompt in prompts}) >= _MIN_SESSIONS
    }


class Measurement:
    """Relevance of the best turn for prompts of this project and of others."""

    def __init__(self, searcher: Searcher, reader: TextReader, seed: int) -> None:
        self._searcher, self._reader = searcher, reader
        self._random = random.Random(seed)
        self.projects = read_prompts(reader)
        self.own: dict[bool, list[float]] = {True: [], False: []}
        self.other: dict[bool, list[float]] = {True: [], False: []}
        self.same_file: list[bool] = []
        self.same_file_by_chance: list[bool] = []
        self.same_project: list[bool] = []

    def run(self) -> None:
        for project, prompts in self.projects.items():
            typed = [p for p in prompts if p.text.strip() and not p.text.startswith("/")]
            for prompt in self._random.sample(typed, min(len(typed), _PER_PROJECT)):
                self._measure(prompt, prompts, is_held_out(project))

    def _measure(self, prompt: Prompt, prompts: list[Prompt], half: bool) -> None:
        earlier = Filters(
            here=prompt.project,
            until=prompt.started - 1,
            subagents="exclude",
            documents="exclude",
            except_ids=frozenset([prompt.place.session]),
        )
        best = self._best(prompt, earlier)
        self.own[half].append(best.relevance if best else 0.0)
        if best and best.relevance >= THRESHOLD and half:
            self._compare_files(prompt, prompts, best.place)
        if half:
            anywhere = self._best(prompt, earlier._replace(here=None))
            if anywhere and anywhere.relevance >= THRESHOLD:
                is_same = owner(anywhere.stored.project) == owner(prompt.project)
                self.same_project.append(is_same)
        others = [p for p in self.projects if owner(p) != owner(prompt.project)]
        foreign = earlier._replace(here=self._random.choice(others), until=None)
        best = self._best(prompt, foreign)
        self.other[half].append(best.relevance if best else 0.0)

    def _best(self, prompt: Prompt, filters: Filters) -> RatedTurn | None:
        rated = rate_turns(self._reader, weigh_words(self._reader, prompt.text), filters)
        return rated[0] if rated and not is_template(self._reader, prompt.text, rated) else None

    def _compare_files(self, prompt: Prompt, prompts: list[Prompt], place: Place) -> None:
        used = self._files(prompt.place)
        past = [
            files
            for one in self._random.sample(prompts, min(len(prompts), 20))
            if one.started < prompt.started
            and one.place.session != prompt.place.session
            and (files := self._files(one.place))
        ]
        if used and past and (quoted := self._files(place)):
            self.same_file.append(bool(used & quoted))
            self.same_file_by_chance.append(bool(used & past[0]))

    def _files(self, place: Place) -> set[str]:
        turn = self._searcher.turn(place)
        inputs = [call.input for call in turn.calls()] if turn is not None else []
        return {str(i["file_path"]) for i in inputs if isinstance(i, dict) and "file_path" in i}


def share(values: list[float], threshold: float) -> str:
    passing = sum(value >= threshold for value in values)
    return f"{100 * passing / max(len(values), 1):.1f} % of {len(values)}"


def percent(values: list[bool]) -> str:
    return f"{100 * sum(values) / max(len(values), 1):.0f} % of {len(values)}"


def time_hook(project: str, runs: int = 20) -> list[float]:
    """Return how many milliseconds the hook takes, from starting Python to its end."""
    event = (
        f'{{"hook_event_name":"UserPromptSubmit","cwd":"{project}",'
        '"prompt":"why does the simulator crash when it loads the trace of a vector program"}'
    )
    times = []
    for _ in range(runs):
        started = time.monotonic()
        command = [sys.executable, "-m", "ccgrep", "__recall"]
        subprocess.run(command, input=event.encode(), check=True, capture_output=True)
        times.append((time.monotonic() - started) * 1000)
    return sorted(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    config = make_config(os.environ)
    index = open_index(config.store_dir, is_latest_enough=True)
    if index is None or not isinstance(index.texts, TextReader):
        sys.exit("there is no store: set CCGREP_DIR")
    one = Measurement(Searcher(config, index), index.texts, arguments.seed)
    one.run()
    chosen = sorted(one.other[False], reverse=True)[len(one.other[False]) // 50]
    print(f"the first half: 2 % of the irrelevant prompts reach {chosen:.1f}")
    print("threshold  irrelevant additions     additions in the own project   (held-out half)")
    for threshold in (8.0, 14.0, THRESHOLD, 30.0):
        rates = share(one.other[True], threshold), share(one.own[True], threshold)
        print(f"{threshold:9.1f}  {rates[0]:<23}  {rates[1]}")
    print(f"the quoted turn used a same file: {percent(one.same_file)}")
    print(f"a random earlier turn did:        {percent(one.same_file_by_chance)}")
    print(f"the best turn of the store is the same person's: {percent(one.same_project)}")
    times = time_hook(next(p for p in one.projects if p.startswith("/")))
    median = statistics.median(times)
    print(f"the hook: median {median:.0f} ms, slowest {times[-1]:.0f} ms of {len(times)}")


if __name__ == "__main__":
    main()
