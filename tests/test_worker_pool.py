"""Workers answer every task, and a task that kills its worker ends nothing else."""

import msgspec
import pytest

from ccgrep.worker_pool import run_in_workers

MODULE = "tests.helpers.worker_task"


def replies(tasks: list[str], workers: int) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {task: [] for task in tasks}
    for task, reply in run_in_workers(MODULE, tasks, workers):
        found[task].append(None if reply is None else msgspec.msgpack.decode(reply, type=str))
    return found


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_replies_of_each_task_come_in_order(workers: int) -> None:
    tasks = ["one", "two", "three"]
    assert replies(tasks, workers) == {task: [task, task.upper()] for task in tasks}


def test_no_tasks_start_no_workers() -> None:
    assert replies([], 2) == {}


@pytest.mark.parametrize("tasks", [["die"], ["die", "one"], ["one", "die", "two", "three"]])
def test_dead_worker_is_reported_and_replaced(tasks: list[str]) -> None:
    expected = {task: [task, None if task == "die" else task.upper()] for task in tasks}
    assert replies(tasks, 2) == expected
