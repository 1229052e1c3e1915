"""Misses that are answered alike each time: right results, right counts, and nothing kept when it no longer holds."""

from __future__ import annotations

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments import guards
from tierup.runtime.base.events import EventKind
from tierup.runtime.executors.misses import layout_key

pytestmark = pytest.mark.filterwarnings("ignore::tierup.RecompileLimitWarning")
ONE = {"fusion_strategy": [("static", 1)], "level": 0}


def scale(x):
    return x * 2 + 1


def power(x, n: int):
    return x * n


def write(x, y):
    x += y


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def used_up(function=scale, arguments=None, **options):
    f, arguments = tierup.jit(function, **{**ONE, **options}), arguments or (ones(4),)
    for _ in range(3):
        f(*arguments)
    assert len(f.versions) == 1
    return f


def misses(f):
    return [e for e in f._executors[0].history.events if e.kind is EventKind.MISS]


def test_a_repeated_miss_is_explained_once_and_counted_each_time(monkeypatch):
    f, explained = used_up(), []
    monkeypatch.setattr(guards, "explain", lambda *a, explain=guards.explain: explained.append(a) or explain(*a))
    for _ in range(10):
        np.testing.assert_array_equal(f(ones(5)), scale(ones(5)))
    assert len(explained) == 1 and f.stats().misses == 10
    (event,) = misses(f)
    assert (event.times, event.call, event.expected, event.actual) == (10, 4, "4", "5") and "10 times in a row" in str(event)
    assert "miss: 10 calls: a size differs" in f.explain()


def test_listeners_are_told_of_each_with_its_number_and_line():
    f, seen = used_up(), []
    f(ones(5))
    with tierup.events.subscribe(seen.append):
        for _ in range(3):
            f(ones(5))
        f(ones(4))
        f(ones(5))
    assert [(e.call, e.times, e.actual) for e in seen] == [(5, 1, "5"), (6, 1, "5"), (7, 1, "5"), (9, 1, "5")]
    assert len({e.caller for e in seen}) == 2 and all(e.caller.startswith(__file__) for e in seen)


def test_different_misses_in_turn_are_events_of_their_own():
    f = used_up()
    for n in (5, 6, 5, 6):
        f(ones(n))
    assert [(e.actual, e.times) for e in misses(f)] == [("5", 1), ("6", 1), ("5", 1), ("6", 1)]


def test_looks_tell_apart_what_guards_tell_apart():
    x = ones(4, 4)
    read_only = ones(4, 4)
    read_only.flags.writeable = False
    misaligned = np.frombuffer(bytearray(65), np.uint8)[1:].view(np.float32).reshape(4, 4)
    looks = [(x,), (x.T[:3],), (x[:3],), (x.astype("f8"),), (x.astype(">f4"),), (x[0],), (read_only,), (misaligned,), (1,), (True,), (2,), (1.0,), (None,)]
    assert len({layout_key(flat) for flat in looks}) == len(looks)
    assert layout_key((ones(4, 4),)) == layout_key((x,)) and layout_key((1.0,)) == layout_key((2.0,)), "values of floats are never speculated on"


def test_wider_options_make_a_version_of_a_known_miss():
    f = used_up()
    for _ in range(3):
        f(ones(5))
    with tierup.options(fusion_strategy=[("static", 9)]):
        pass  # a function's own options win: nothing changes
    g = tierup.jit(scale, level=0)
    with tierup.options(fusion_strategy=[("static", 1)]):
        for n in (4, 4, 5, 5, 5):
            g(ones(n))
    before = g.stats()
    with tierup.options(fusion_strategy=[("static", 9)]):
        g(ones(5)), g(ones(5))
    after = g.stats()
    assert (after.compiles - before.compiles, after.hits - before.hits) == (1, 2)


def test_a_version_that_comes_later_takes_a_known_miss():
    f = used_up(power, (ones(4), 3))
    for n in (1, 2, 3):
        for _ in range(3):
            np.testing.assert_array_equal(f(ones(5), n), power(ones(5), n))
    before = f.stats()
    f.reset()
    for _ in range(3):
        f(ones(5), 2)
    assert before.misses == 9 and f.stats().hits == 2


def test_a_program_that_writes_is_looked_at_each_time():
    f = used_up(write, (ones(4), ones(4)))
    both = ones(8)
    for _ in range(2):
        f(both[:4], both[2:6])  # they overlap
    f(ones(5), ones(5)), f(ones(5), ones(5))
    s = f.stats()
    x = ones(4)
    f(x, ones(4))
    assert s.misses == 4 and f.stats().hits == s.hits + 1 and (x == 2).all()
    assert [e.reason for e in misses(f)] == [Reason.OVERLAP] * 2 + [Reason.WRONG_SIZE] * 2


def test_an_error_of_a_known_miss_is_the_programs_with_its_line():
    def halve(x, i):
        return x[i]

    f = tierup.jit(halve, **ONE)
    for n in (4, 4, 4):
        f(ones(n), np.array(1))
    for index in (1, 9, 1, 9):
        if index == 1:
            f(ones(5), np.array(index))
        else:
            with pytest.raises(IndexError, match=r"test_misses\.py:\d+"):
                f(ones(5), np.array(index))


def test_shapes_that_never_come_back_keep_nothing():
    f = used_up(weigh=False)
    for n in range(5, 305):
        f(ones(n))
    (kind,) = f._executors[0]._kinds.values()
    assert len(kind.life.misses._known) <= 64 and len(misses(f)) == 64 and f.stats().misses == 300


def test_keywords_and_arrays_of_other_kinds_find_the_long_way():
    f = used_up()
    np.testing.assert_array_equal(f(x=ones(5)), scale(ones(5)))
    np.testing.assert_array_equal(f(ones(5).view(np.memmap)), scale(ones(5)))
    assert f(2.0) == 5.0
