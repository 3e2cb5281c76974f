"""How long work reports its progress: what it counts, how many are done, and of how many."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

OnStep = Callable[[str, int, int], None]
T = TypeVar("T")


def ignore_steps(_what: str, _done: int, _total: int) -> None:
    """Report to nobody."""


def count_steps(items: Iterable[T], what: str, total: int, on_step: OnStep) -> Iterator[T]:
    """Yield the items, and report each when the next one is taken."""
    for number, item in enumerate(items):
        on_step(what, number, total)
        yield item
