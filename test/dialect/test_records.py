"""The quick dataclass does what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierup.dialect.base import records


def make(dataclass: Any, frozen: bool = True) -> tuple[type, type, type]:
    @dataclass(frozen=frozen)
    class Point:
        kind: ClassVar[str] = "point"
        x: float
        y: float = 0.0
        tags: list[str] = field(default_factory=list, compare=False)
        secret: int = field(default=7, repr=False, init=False)

        @cached_property
        def norm(self) -> float:
            return self.x * self.x + self.y * self.y

    @dataclass(frozen=frozen)
    class Named(Point):
        """A point with a name."""

        name: str = ""
        length: int = field(default=0, init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.name))

        def __repr__(self) -> str:
            return f"<{self.name}>"

    @dataclass(frozen=frozen)
    class Nothing:
        pass

    return Point, Named, Nothing


OURS, THEIRS = make(records.dataclass), make(dataclasses.dataclass)
# of a NaN, dataclasses ask from Python 3.13 on whether it equals itself; ours ask tuples, as ever
numbers = st.sampled_from([0.0, -0.0, 1.0, 2.5, *([float("nan")] if sys.version_info < (3, 13) else [])])


def both(use: Callable[[tuple[type, type, type]], object]) -> None:
    """Results, or the exceptions and their texts, are the same."""
    seen = []
    for classes in (OURS, THEIRS):
        try:
            seen.append(use(classes))
        except Exception as e:  # noqa: BLE001 - which one it is is what is compared
            seen.append((type(e), str(e)))
    assert seen[0] == seen[1] or repr(seen[0]) == repr(seen[1])


@given(numbers, numbers, numbers, numbers)
def test_equality_and_hash(a: float, b: float, c: float, d: float) -> None:
    both(lambda cs: cs[0](a, b) == cs[0](c, d))
    both(lambda cs: cs[1](a, b, [], "n") == cs[1](c, d, ["t"], "n"))
    both(lambda cs: (cs[0](a, b) == cs[1](a, b), cs[0](a, b) == 3, cs[2]() == cs[2]()))
    both(lambda cs: (hash(cs[0](a, b)) == hash((a, b, 7)), hash(cs[2]()) == hash(())))


@pytest.mark.parametrize(
    "use",
    [
        lambda cs: repr(cs[0](1.0, tags=["a"])),
        lambda cs: repr(cs[1](1.0, name="n")),
        lambda cs: cs[1](1.0, name="four").length,
        lambda cs: (cs[0](1.0).norm, cs[0](1.0).kind, cs[0](1.0).secret, cs[2]().__class__.__match_args__, cs[1].__match_args__),
        lambda cs: cs[0](1.0).tags is cs[0](1.0).tags,
        lambda cs: cs[0](),
        lambda cs: cs[0](1, 2, [], 4),
        lambda cs: cs[0](1, z=2),
        lambda cs: setattr(cs[0](1), "x", 2),
        lambda cs: setattr(cs[1](1), "name", 2),
        lambda cs: setattr(cs[0](1), "other", 2),
        lambda cs: delattr(cs[0](1), "x"),
        lambda cs: dataclasses.replace(cs[0](1), y=5).y,
        lambda cs: [f.name for f in dataclasses.fields(cs[1])],
        lambda cs: dataclasses.asdict(cs[0](1.0)),
        lambda cs: [(p.name, p.kind) for p in inspect.signature(cs[1]).parameters.values()],
        lambda cs: copy.deepcopy(cs[0](1, tags=["t"])).tags,
    ],
)
def test_everything_else(use: Callable[[Any], object]) -> None:
    both(use)


def test_one_that_is_not_frozen_can_be_written_and_not_hashed() -> None:
    for dataclass in (records.dataclass, dataclasses.dataclass):
        point = make(dataclass, frozen=False)[0](1.0)
        point.x = 3.0
        assert point.x == 3.0
        with pytest.raises(TypeError, match="unhashable"):
            hash(point)


@records.dataclass(frozen=True)
class Kept:
    a: int
    b: tuple[int, ...] = ()


@records.dataclass
class Loop:
    inner: object = None


def test_pickles_and_a_repr_that_meets_itself() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, (2, 3)))) == Kept(1, (2, 3))
    loop = Loop()
    loop.inner = loop
    assert repr(loop) == "Loop(inner=...)"


def test_what_is_not_offered_is_refused() -> None:
    with pytest.raises(TypeError, match="init-only"):
        records.dataclass(type("A", (), {"__annotations__": {"a": dataclasses.InitVar[int]}}))
    with pytest.raises(TypeError, match="keyword-only"):
        records.dataclass(type("A", (), {"__annotations__": {"a": int}, "a": field(kw_only=True)}))
    with pytest.raises(TypeError, match="'b' follows default argument 'a'"):
        records.dataclass(type("A", (), {"__annotations__": {"a": int, "b": int}, "a": 1}))
