"""How long a version lives under both entries: as long as it is in a table, or a call is in it, and no longer."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from entry_bench import Slow
from entry_kernels import INT, array, scalar, version

from tierup.lowering.entry.records import RELEASE_WORK
from tierup.lowering.entry.tables import reaper as entry_reaper
from tierup.runtime.dispatching.dispatch import make_table


class Code:
    """Stands for machine code."""


def table_with_code(entry: str) -> tuple[Any, weakref.ref[Code]]:
    table, code = make_table(2, Slow(), entry=entry), Code()
    # a kernel that runs until its first argument is set, without the GIL
    table.add(version("watch", [array(1, dtype="i64"), scalar("int")], INT, keepalive=code, work=RELEASE_WORK))
    return table, weakref.ref(code)


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


@pytest.mark.parametrize("how", ["remove", "clear", "drop"])
def test_a_call_in_another_thread_keeps_its_version_until_it_is_over(how: str, entry: str) -> None:
    table, code = table_with_code(entry)
    flag, results = np.zeros(1, np.int64), []
    thread = threading.Thread(target=lambda call: results.append(call(flag, 1 << 62)), args=(table.callable(),))
    thread.start()
    assert wait_until(lambda: table.counts().hits == 1)
    try:
        if how == "remove":
            table.remove(table.versions[0])
        elif how == "clear":
            table.clear()
        if how == "drop":
            del table
        else:
            assert table(flag, 1) == "slow"
        gc.collect()
        assert not thread.join(0.02) and code() is not None
    finally:
        flag[0] = 1
    thread.join()
    assert results and 0 < results[0] < 1 << 62
    del thread
    gc.collect()
    # nothing is done to the table any more: it lets go by itself
    assert wait_until(lambda: code() is None)
    assert wait_until(lambda: entry_reaper._thread is None), "the thread that waited has ended"
    if how != "drop":
        assert table.counts().hits == 1


@pytest.mark.parametrize("how", ["remove", "drop"])
def test_an_idle_table_lets_go_at_once(how: str, entry: str) -> None:
    table, code = table_with_code(entry)
    assert table(np.ones(1, np.int64), 5) == 5
    if how == "remove":
        table.remove(table.versions[0])
    else:
        del table
        gc.collect()
    assert code() is None


def test_two_tables_may_wait_at_once() -> None:
    flag = np.zeros(1, np.int64)
    made = [table_with_code("native") for _ in range(2)]
    threads = [threading.Thread(target=table.callable(), args=(flag, 1 << 62)) for table, _ in made]
    for thread in threads:
        thread.start()
    for table, _ in made:
        assert wait_until(lambda table=table: table.counts().hits == 1)
        table.clear()
    assert all(code() is not None for _, code in made)
    flag[0] = 1
    for thread in threads:
        thread.join()
    assert wait_until(lambda: all(code() is None for _, code in made))
