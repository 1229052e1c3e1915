"""Arguments of programs in MLIR of every type that the torch dialect has and tier 0 can hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tierup
from tierup.runtime.functions.function import Function
from tierup.tools.run.__main__ import main

T = "!torch.vtensor"
Load = Callable[..., Function]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """The function of a signature, a body and a result's type."""
    folder, count = tmp_path_factory.mktemp("programs"), iter(range(10**6))

    def make(signature: str, body: str, result: str, **options: Any) -> Function:
        path = Path(folder) / f"program{next(count)}.mlir"
        path.write_text(f"func.func @main({signature}) -> {result} {{\n{body}\n}}\n")
        return tierup.load(path, **options)

    return make


OPTIONAL = (f"%x: {T}, %n: !torch.optional<int>", f"""
  %none = torch.constant.none
  %one = torch.constant.int 1
  %given = torch.aten.__isnot__ %n, %none : !torch.optional<int>, !torch.none -> !torch.bool
  %y = torch.prim.If %given -> ({T}) {{
    %i = torch.prim.unchecked_cast %n : !torch.optional<int> -> !torch.int
    %sum = torch.aten.add.Scalar %x, %i, %one : {T}, !torch.int, !torch.int -> {T}
    torch.prim.If.yield %sum : {T}
  }} else {{
    torch.prim.If.yield %x : {T}
  }}
  %r = torch.aten.tanh %y : {T} -> {T}
  return %r : {T}""", T)  # fmt: skip
DIMS = (f"%x: {T}, %dims: !torch.list<int>", f"""
  %false = torch.constant.bool false
  %none = torch.constant.none
  %y = torch.aten.sum.dim_IntList %x, %dims, %false, %none : {T}, !torch.list<int>, !torch.bool, !torch.none -> {T}
  return %y : {T}""", T)  # fmt: skip
PAIR = ("%pair: !torch.tuple<vtensor, float>", f"""
  %x, %s = torch.prim.TupleUnpack %pair : !torch.tuple<vtensor, float> -> {T}, !torch.float
  %y = torch.aten.mul.Scalar %x, %s : {T}, !torch.float -> {T}
  return %y : {T}""", T)  # fmt: skip
CAT = ("%l: !torch.list<vtensor>", f"""
  %zero = torch.constant.int 0
  %y = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> {T}
  return %y : {T}""", T)  # fmt: skip
NUMBER = (f"%x: {T}, %n: !torch.number", f"""
  %y = torch.aten.mul.Scalar %x, %n : {T}, !torch.number -> {T}
  return %y : {T}""", T)  # fmt: skip
STRING = (f"%x: {T}, %mode: !torch.str", f"""
  %two = torch.constant.float 2.0
  %y = torch.aten.div.Scalar_mode %x, %two, %mode : {T}, !torch.float, !torch.str -> {T}
  return %y : {T}""", T)  # fmt: skip
INDICES = (f"%x: {T}, %l: !torch.list<optional<vtensor>>", f"""
  %y = torch.aten.index.Tensor %x, %l : {T}, !torch.list<optional<vtensor>> -> {T}
  return %y : {T}""", T)  # fmt: skip
IGNORED = (f"%x: {T}, %n: !torch.none, %d: !torch.Device, %a: !torch.any", f"""
  %y = torch.aten.neg %x : {T} -> {T}
  return %y : {T}""", T)  # fmt: skip

X = np.arange(-3.0, 3.0).reshape(2, 3)
CALLS = [
    (OPTIONAL, (X, None), np.tanh(X)), (OPTIONAL, (X, 3), np.tanh(X + 3)), (OPTIONAL, (X, np.int64(2)), np.tanh(X + 2)),
    (DIMS, (X, [1]), X.sum(1)), (DIMS, (X, (0, 1)), X.sum()), (DIMS, (X, []), X.sum()),
    (PAIR, ((X, 2.0),), X * 2), (CAT, ([X, X * 2],), np.concatenate([X, X * 2])), (CAT, ((X,),), X),
    (NUMBER, (X, 2), X * 2), (NUMBER, (X, 2.5), X * 2.5), (STRING, (X, "floor"), np.floor(X / 2)), (STRING, (X, "trunc"), np.trunc(X / 2)),
    (INDICES, (X, [None, np.array([1, 0])]), X[:, [1, 0]]), (INDICES, (X, [np.array([1])]), X[[1]]),
    (IGNORED, (X, None, "cpu", [1, ("a", X)]), -X),
]  # fmt: skip
OPTIONS = ({}, {"executor": "specializing"}, {"speculate": "bailout"}, {"bailout_depth": 0})


@pytest.mark.parametrize(("parts", "arguments", "expected"), CALLS, ids=[str(i) for i in range(len(CALLS))])
def test_every_kind_of_argument_reaches_native_code(
    parts: tuple[str, str, str], arguments: tuple[Any, ...], expected: np.ndarray, program: Load, request: pytest.FixtureRequest
) -> None:
    options = OPTIONS[int(request.node.callspec.id) % len(OPTIONS)]
    f = program(*parts, **options)
    for _ in range(3):
        np.testing.assert_allclose(f(*arguments), expected, rtol=1e-12)
    assert (f.stats().hits > 0) is ("bailout_depth" not in options)


def test_each_structure_has_a_program_of_its_own(program: Load) -> None:
    f = program(*OPTIONAL)
    for n in (None, 3, None, 4, None, 5):
        np.testing.assert_allclose(f(X, n), np.tanh(X if n is None else X + n), rtol=1e-12)
    assert f.stats().hits == 4 and f.stats().calls == 6  # noqa: PT018 - one count says nothing without the other
    assert f(arg0=X, arg1=None).shape == X.shape


@pytest.mark.parametrize(("parts", "arguments", "message"), [
    (OPTIONAL, (X, "a"), "argument arg1: expected an int, got str"),
    (OPTIONAL, (X,), "missing 1 required positional argument: 'arg1'"),
    (DIMS, (X, 3), "argument arg1: expected a list of int, got int"),
    (DIMS, (X, X), "argument arg1: expected a list of int, got ndarray"),
    (DIMS, (X, [1.5]), r"argument arg1\[0\]: expected an int, got float"),
    (PAIR, ((X,),), "argument arg0: expected 2 items, got 1"),
    (STRING, (X, None), "argument arg1: expected a str, got NoneType"),
    (IGNORED, (X, 1, "cpu", 0), "argument arg1: expected None, got int"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(parts: tuple[str, str, str], arguments: tuple[Any, ...], message: str, program: Load) -> None:
    f = program(*parts)
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            f(*arguments)


def _values(type_: str) -> st.SearchStrategy[Any]:
    return {
        "int": st.integers(-(2**63), 2**63 - 1), "float": st.floats(allow_nan=False), "bool": st.booleans(), "str": st.text(max_size=3),
        "number": st.integers(0, 9) | st.floats(0, 1), "none": st.none(), "vtensor": st.integers(0, 3).map(np.ones),
    }[type_]  # fmt: skip


_SCALARS = st.sampled_from(["int", "float", "bool", "str", "number", "none", "vtensor"]).map(lambda t: (t, _values(t)))
_TYPES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda t: (f"optional<{t[0]}>", st.none() | t[1])),
        inner.map(lambda t: (f"list<{t[0]}>", st.lists(t[1], max_size=3))),
        st.lists(inner, min_size=1, max_size=3).map(lambda ts: (f"tuple<{', '.join(t[0] for t in ts)}>", st.tuples(*(t[1] for t in ts)))),
    ),
    max_leaves=4,
)


@given(_TYPES, st.data())
@settings(max_examples=15)
def test_a_program_gives_back_what_it_takes(program: Load, type_: tuple[str, st.SearchStrategy[Any]], data: st.DataObject) -> None:
    text = f"!torch.{type_[0]}"
    f = program(f"%a: {text}", f"return %a : {text}", text)
    for value in (data.draw(type_[1]), data.draw(type_[1])):
        for _ in range(2):
            np.testing.assert_equal(f(value), value)
            assert type(f(value)) is type(value)


def test_a_program_may_give_none(program: Load) -> None:
    one = program("%x: !torch.none", "return %x : !torch.none", "!torch.none")
    two = program("%x: !torch.none, %y: !torch.int", "return %x, %y : !torch.none, !torch.int", "(!torch.none, !torch.int)")
    for _ in range(3):
        assert one(None) is None
        assert two(None, 3) == (None, 3)


def test_a_program_that_calls_its_entry_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.mlir"
    path.write_text(f"""
func.func @main(%x: {T}, %n: !torch.optional<int>) -> {T} {{
  %y = torch.aten.neg %x : {T} -> {T}
  return %y : {T}
}}
func.func @other(%x: {T}) -> {T} {{
  %none = torch.constant.none
  %n = torch.derefine %none : !torch.none to !torch.optional<int>
  %y = func.call @main(%x, %n) : ({T}, !torch.optional<int>) -> {T}
  return %y : {T}
}}
""")
    for entry in ("main", "other"):
        f = tierup.load(path, entry=entry)
        for _ in range(3):
            np.testing.assert_array_equal(f(X, 1) if entry == "main" else f(X), -X)


@pytest.mark.parametrize(("parts", "arguments", "out"), [
    (OPTIONAL, ["f64[2]=0", "none"], "result 0: f64[2]\n[0. 0.]\n"),
    (DIMS, ["f32[2,3]=iota", "[1]"], "result 0: f32[2]\n[ 3. 12.]\n"),
    (PAIR, ["(f32[2]=iota, 2.0)"], "result 0: f32[2]\n[0. 2.]\n"),
    (CAT, ["[f32[2]=iota,f32[1]=7]"], "result 0: f32[3]\n[0. 1. 7.]\n"),
    (INDICES, ["i64[2,2]=iota", "[none,i64[1]=1]"], "result 0: i64[2,1]\n[[1]\n [3]]\n"),
    (STRING, ["f32[2]=3", "'floor'"], "result 0: f32[2]\n[1. 1.]\n"),
    (IGNORED, ["f32[1]=1", "none", "'cpu'", "[(1,'a,b'),(none,)]"], "result 0: f32[1]\n[-1.]\n"),
])  # fmt: skip
def test_the_command_line_takes_them_too(
    parts: tuple[str, str, str], arguments: list[str], out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(f"func.func @main({parts[0]}) -> {parts[2]} {{\n{parts[1]}\n}}\n")
    assert main([str(path), *(f"--arg={a}" for a in arguments)]) == 0
    assert capsys.readouterr().out == out
