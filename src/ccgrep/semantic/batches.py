"""Form batches of texts and run them in threads.

A batch holds texts of similar length, because short ones are padded to the longest. It is small,
because what fits into a core's cache is faster. Each thread computes its own batches: threads that
share one wait for each other at every step, most of the time on a busy machine.
"""

from collections.abc import Callable, Sequence


def batch_by_length(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Return batches of text numbers with at most `max_tokens` each, the longest texts first."""
    order = sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True)
    batches = []
    while order:
        size = max(1, max_tokens // max(1, lengths[order[0]]))
        batches.append(order[:size])
        order = order[size:]
    return batches


def run_batches(
    work: Callable[[list[int]], None],
    batches: Sequence[list[int]],
    threads: int,
    initialize: Callable[[], None] | None = None,
) -> None:
    """Call `work` for each batch. Each thread calls `initialize` first."""
    if min(threads, len(batches)) <= 1:
        if initialize:
            initialize()
        for batch in batches:
            work(batch)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not for a query

    pool = ThreadPoolExecutor(threads, initializer=initialize)
    try:
        for _ in pool.map(work, batches):
            pass  # raises what a batch has raised
    finally:
        pool.shutdown(cancel_futures=True)
