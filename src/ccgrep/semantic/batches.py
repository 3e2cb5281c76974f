"""Which texts are computed together, and how are the batches shared among cores?

Batches have texts of similar length, since the short ones are padded to the longest, and are
small, since what fits into a core's cache is computed faster than what does not. Cores each
take a batch: one batch computed by all of them has them wait for each other at every step,
on a computer that is busy otherwise for most of the time.
"""

from collections.abc import Callable, Sequence


def by_length(lengths: Sequence[int], pieces: int) -> list[list[int]]:
    """Batches of texts, by number, with at most so many word pieces; the longest texts first."""
    order = sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True)
    batches = []
    while order:
        size = max(1, pieces // max(1, lengths[order[0]]))
        batches.append(order[:size])
        order = order[size:]
    return batches


def run(
    work: Callable[[list[int]], None],
    batches: Sequence[list[int]],
    threads: int,
    begin: Callable[[], None] | None = None,
) -> None:
    """Does `work` for each batch, in threads that each `begin` once; here if one is enough."""
    if min(threads, len(batches)) <= 1:
        if begin:
            begin()
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not for a query

    pool = ThreadPoolExecutor(threads, initializer=begin)
    try:
        for _ in pool.map(work, batches):
            pass  # raises what a batch has raised
    finally:
        pool.shutdown(cancel_futures=True)
