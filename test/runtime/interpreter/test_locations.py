"""Exceptions leave with their own type and the user's line."""

from __future__ import annotations

import gc
import linecache
import traceback

import numpy as np
import pytest
from interpreter_programs import load, main, program

from tierup.runtime.base.errors import Origin, locate, origin_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SELECT = "%y = torch.aten.select.int %x, %c0, %n : !t, !i, !i -> !t"


def test_line_of_the_users_file_is_quoted(tmp_path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def f(x, i):\n    y = x[i]\n    return y\n")
    f = main("(%x: !t, %n: !i) -> !t", f'{SELECT} loc("{file}":2:8)\n return %y : !t')
    with pytest.raises(IndexError, match=r"\nat model.py:2: y = x\[i\]$") as caught:
        f(X, 7)
    assert type(caught.value) is IndexError
    origin = origin_of(caught.value)
    assert origin is not None and (origin.file, origin.line, origin.column, origin.op) == (str(file), 2, 8, "torch.aten.select.int")


def test_line_is_given_without_text_when_the_file_cannot_be_read() -> None:
    f = main("(%x: !t, %n: !i) -> !t", f'{SELECT} loc("gone.py":12:4)\n return %y : !t')
    with pytest.raises(IndexError, match=r"\nat gone.py:12: torch.aten.select.int$"):
        f(X, 7)


@pytest.mark.parametrize("location", [
    'loc("y"("deep.py":3:1))', 'loc(fused["a.py":1:1, "b.py":2:2])', 'loc(callsite("deep.py":3:1 at "top.py":9:9))',
])  # fmt: skip
def test_named_fused_and_call_site_locations_have_a_line(location: str) -> None:
    f = main("(%x: !t, %n: !i) -> !t", f"{SELECT} {location}\n return %y : !t")
    with pytest.raises(IndexError, match=r"\nat (deep.py:3|a.py:1)"):
        f(X, 7)


def test_unknown_location_names_the_op() -> None:
    f = main("(%x: !t, %n: !i) -> !t", f"{SELECT} loc(unknown)\n return %y : !t")
    with pytest.raises(IndexError, match=r"\nat torch.aten.select.int$"):
        f(X, 7)


def test_innermost_function_gives_the_line() -> None:
    f = program("""
      func.func @main(%x: !t, %n: !i) -> !t {
        %y = func.call @row(%x, %n) : (!t, !i) -> !t loc("outer.py":1:1)
        return %y : !t
      }
      func.func private @row(%x: !t, %n: !i) -> !t {
        %c0 = torch.constant.int 0
        %y = torch.aten.select.int %x, %c0, %n : !t, !i, !i -> !t loc("inner.py":2:1)
        return %y : !t
      }""")
    with pytest.raises(IndexError, match="at inner.py:2"):
        f(X, 7)


def test_line_in_a_loop_and_in_a_branch() -> None:
    f = main("(%x: !t, %n: !i, %c: !b) -> !n", """
      torch.prim.Loop %n, %true, init() {
      ^bb0(%i: !i):
        torch.prim.If %c -> () {
          %y = torch.aten.select.int %x, %c0, %i : !t, !i, !i -> !t loc("then.py":5:1)
          torch.prim.If.yield
        } else {
          %y = torch.aten.select.int %x, %c1, %i : !t, !i, !i -> !t loc("else.py":6:1)
          torch.prim.If.yield
        }
        torch.prim.Loop.condition %true, iter()
      } : (!i, !b) -> ()
      return %none : !n""")
    assert f(X, 2, True) is None
    with pytest.raises(IndexError, match="at then.py:5"):
        f(X, 3, True)
    assert f(X, 3, False) is None
    with pytest.raises(IndexError, match="at else.py:6"):
        f(X, 4, False)


def test_zero_division_of_scalars_is_located() -> None:
    f = main("(%n: !i) -> !i", '%r = torch.aten.floordiv.int %c1, %n : !i, !i -> !i loc("d.py":1:1)\n return %r : !i')
    assert f(1) == 1
    with pytest.raises(ZeroDivisionError, match=r"\nat d.py:1"):
        f(0)


@pytest.mark.parametrize(("cls", "expected"), [
    ('"builtins.ValueError"', ValueError), ('"KeyError"', KeyError), ('"my.Error"', RuntimeError), ('"print"', RuntimeError), ('"builtins.SystemExit"', RuntimeError),
])  # fmt: skip
def test_raise_exception_raises_the_builtin_it_names(cls: str, expected: type[Exception]) -> None:
    f = main("(%c: !b) -> !i", f"""
      %r = torch.prim.If %c -> (!i) {{
        %message = torch.constant.str "no good"
        %cls = torch.constant.str {cls}
        torch.prim.RaiseException %message, %cls : !s, !s loc("r.py":3:1)
        %u = torch.prim.Uninitialized : !i
        torch.prim.If.yield %u : !i
      }} else {{
        torch.prim.If.yield %c1 : !i
      }}
      return %r : !i""")
    assert f(False) == 1
    with pytest.raises(expected, match=r"no good'?\nat r.py:3") as caught:
        f(True)
    assert type(caught.value) is expected


def test_raise_exception_without_a_class_is_a_runtime_error() -> None:
    f = main("() -> !n", """
      %message = torch.constant.str "stop"
      torch.prim.RaiseException %message, %none : !s, !n
      return %none : !n""")
    with pytest.raises(RuntimeError, match="stop"):
        f()


def test_runtime_assert_speaks_when_it_fails() -> None:
    f = main("(%c: !b) -> !n", 'torch.runtime.assert %c, "sizes must agree" loc("a.py":8:1)\n return %none : !n')
    assert f(True) is None
    with pytest.raises(AssertionError, match=r"sizes must agree\nat a.py:8"):
        f(False)


def test_generated_line_is_in_the_traceback() -> None:
    f = main("(%x: !t, %n: !i) -> !t", f"{SELECT}\n return %y : !t")
    with pytest.raises(IndexError) as caught:
        f(X, 7)
    text = "".join(traceback.format_exception(caught.value))
    assert "<tierup main" in text and "select(arg0, 0, arg1)" in text


def test_traceback_text_goes_with_the_program() -> None:
    f = main("(%x: !t) -> !t", "return %x : !t")
    f(X)
    name = f.function.__code__.co_filename
    assert name in linecache.cache
    del f
    gc.collect()
    assert name not in linecache.cache


def test_message_is_located_once_and_by_the_innermost() -> None:
    error = ValueError("bad", 3)
    locate(error, Origin("op", "no file", 1))
    locate(error, Origin("op", "b.py", 2))
    assert error.args == ("bad", 3) and error.__notes__ == ["at no file:1: op"]


def test_exception_without_arguments_keeps_none() -> None:
    error = ValueError()
    locate(error, Origin("op"))
    assert error.args == () and str(error) == "" and error.__notes__ == ["at op"]


def test_line_of_a_program_in_mlir_is_quoted_from_its_file() -> None:
    f = load("embedding_bag")
    with pytest.raises(IndexError, match=r"\nat embedding_bag.mlir:\d+: %picked = torch.aten.embedding %table, %indices"):
        f(np.zeros((2, 3), np.float32), np.array([[2]]))


@pytest.mark.parametrize("end", ["\\0A", "\\0D", "\\0C\\0A", "\\00"])
def test_name_of_a_file_is_no_source_code(tmp_path, monkeypatch, end: str) -> None:
    """The comment that says where a line comes from ends with the line, whatever the name holds."""
    monkeypatch.chdir(tmp_path)
    f = main("(%x: !t, %n: !i) -> !t", f"{SELECT} loc(\"x{end}    open('made', 'w')#\":3:1)\n return %y : !t")
    np.testing.assert_array_equal(f(X, 0), X[0])
    assert not (tmp_path / "made").exists()
