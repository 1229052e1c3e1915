"""Writes to tensors: through views, in arms and loops, to arguments; and what shares memory with what."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_programs import main, program


def x23() -> np.ndarray:
    return np.arange(6, dtype=np.float32).reshape(2, 3)


def test_write_to_an_argument_reaches_the_caller() -> None:
    f = main("(%x: !m, %y: !m) -> !m", """
      %u = torch.aten.add_.Tensor %x, %y, %c2 : !m, !m, !i -> !m
      return %u : !m""")
    x = x23()
    assert f(x, x23()) is x
    np.testing.assert_array_equal(x, 3 * x23())


def test_write_through_a_row_reaches_the_whole() -> None:
    f = main("(%x: !m) -> !m", """
      %row = torch.aten.select.int %x, %c0, %c1 : !m, !i, !i -> !m
      %u = torch.aten.mul_.Scalar %row, %c3 : !m, !i -> !m
      return %row : !m""")
    x = x23()
    row = f(x)
    assert x.tolist() == [[0, 1, 2], [9, 12, 15]]
    assert np.shares_memory(row, x)


def test_write_through_a_chain_of_views() -> None:
    f = main("(%x: !m) -> !n", """
      %t = torch.aten.transpose.int %x, %c0, %c1 : !m, !i, !i -> !m
      %s = torch.aten.slice.Tensor %t, %c0, %c1, %c3, %c1 : !m, !i, !i, !i, !i -> !m
      %w = torch.aten.unsqueeze %s, %c0 : !m, !i -> !m
      %u = torch.aten.zero_ %w : !m -> !m
      return %none : !n""")
    x = x23() + 1
    f(x)
    assert x.tolist() == [[1, 0, 0], [4, 0, 0]]


def test_read_sees_an_earlier_write_and_not_a_later_one() -> None:
    f = main("(%x: !m) -> (!m, !m)", """
      %a = torch.aten.add.Tensor %x, %x, %c1 : !m, !m, !i -> !m
      %u = torch.aten.fill_.Scalar %x, %c1 : !m, !i -> !m
      %b = torch.aten.add.Tensor %x, %x, %c1 : !m, !m, !i -> !m
      return %a, %b : !m, !m""")
    a, b = f(x23())
    np.testing.assert_array_equal(a, 2 * x23())
    np.testing.assert_array_equal(b, np.full((2, 3), 2, np.float32))


def test_copy_to_value_tensor_is_a_snapshot() -> None:
    f = main("(%x: !m) -> (!t, !m)", """
      %before = torch.copy.to_vtensor %x : !t
      %u = torch.aten.zero_ %x : !m -> !m
      return %before, %x : !t, !m""")
    x = x23()
    before, after = f(x)
    np.testing.assert_array_equal(before, x23())
    assert after is x and not x.any() and not np.shares_memory(before, x)


def test_copy_to_mutable_tensor_protects_the_value() -> None:
    f = main("(%x: !t) -> !m", """
      %m = torch.copy.to_tensor %x : !m
      %u = torch.aten.add_.Scalar %m, %c1, %c1 : !m, !i, !i -> !m
      return %m : !m""")
    x = x23()
    np.testing.assert_array_equal(f(x), x23() + 1)
    np.testing.assert_array_equal(x, x23())


def test_overwrite_tensor_contents_writes_in_place() -> None:
    f = main("(%x: !m, %v: !t) -> !n", """
      torch.overwrite.tensor.contents %v overwrites %x : !t, !m
      return %none : !n""")
    x = x23()
    f(x, x23() * 5)
    np.testing.assert_array_equal(x, x23() * 5)
    with pytest.raises(ValueError, match=r"cannot overwrite a tensor of shape \(2, 3\) with one of shape \(3, 2\)"):
        f(x, x23().T.copy())
    with pytest.raises(TypeError):
        f(x, x23().astype(np.float64))


def test_write_in_a_branch_happens_only_there() -> None:
    f = main("(%x: !m, %c: !b) -> !n", """
      torch.prim.If %c -> () {
        %u = torch.aten.zero_ %x : !m -> !m
        torch.prim.If.yield
      } else {
        torch.prim.If.yield
      }
      return %none : !n""")
    x = x23()
    f(x, False)
    np.testing.assert_array_equal(x, x23())
    f(x, True)
    assert not x.any()


def test_loop_writes_row_by_row() -> None:
    f = main("(%x: !m) -> !m", """
      %n = torch.aten.size.int %x, %c0 : !m, !i -> !i
      torch.prim.Loop %n, %true, init() {
      ^bb0(%i: !i):
        %row = torch.aten.select.int %x, %c0, %i : !m, !i, !i -> !m
        %u = torch.aten.add_.Scalar %row, %i, %c1 : !m, !i, !i -> !m
        torch.prim.Loop.condition %true, iter()
      } : (!i, !b) -> ()
      return %x : !m""")
    x = np.zeros((4, 2), np.float32)
    f(x)
    assert x.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_callee_writes_its_callers_tensor() -> None:
    f = program("""
      func.func @main(%x: !m) -> !m {
        %c0 = torch.constant.int 0
        %row = torch.aten.select.int %x, %c0, %c0 : !m, !i, !i -> !m
        func.call @clear(%row) : (!m) -> ()
        return %x : !m
      }
      func.func private @clear(%x: !m) {
        %u = torch.aten.zero_ %x : !m -> !m
        return
      }""")
    x = x23() + 1
    f(x)
    assert x.tolist() == [[0, 0, 0], [4, 5, 6]]


def test_overlapping_arguments_are_refused_as_by_pytorch_where_both_fill_memory() -> None:
    f = main("(%x: !m, %y: !m) -> !n", """
      %u = torch.aten.add_.Tensor %x, %y, %c1 : !m, !m, !i -> !m
      return %none : !n""")
    memory = np.arange(6, dtype=np.float32)
    expected = memory.copy()
    with pytest.raises(ValueError, match="single memory location"):
        f(memory[1:], memory[:-1])
    np.testing.assert_array_equal(memory, expected)
    expected[2::2] += memory[:-2:2].copy()
    f(memory[2::2], memory[:-2:2])
    np.testing.assert_array_equal(memory, expected)


def test_returned_view_of_an_argument_shares_its_memory() -> None:
    f = main("(%x: !t) -> (!t, !t)", """
      %a = torch.aten.transpose.int %x, %c0, %c1 : !t, !i, !i -> !t
      return %a, %a : !t, !t""")
    x = x23()
    a, b = f(x)
    assert a is b and np.shares_memory(a, x)
    a[0, 0] = 100
    assert x[0, 0] == 100


READ_ONLY = """
      %row = torch.aten.select.int %x, %c0, %c0 : !m, !i, !i -> !m
      torch.prim.If %c -> () {
        %u = torch.aten.add_.Tensor %row, %y, %c1 : !m, !m, !i -> !m loc("net.py":4:1)
        torch.prim.If.yield
      } else {
        torch.prim.If.yield
      }
      return %none : !n"""


def test_read_only_argument_is_refused_where_it_is_written_and_only_then() -> None:
    f = main('(%x: !m {tierup.name = "x"}, %y: !m, %c: !b) -> !n', READ_ONLY)
    x, y = x23(), np.ones(3, np.float32)
    x.flags.writeable = y.flags.writeable = False
    assert f(x, y, False) is None
    with pytest.raises(ValueError, match=r"^assignment destination is read-only\nthe program writes argument x\nat net.py:4"):
        f(x, y, True)
    x = x23()
    f(x, y, True)  # y is only read
    assert x[0].tolist() == [1, 2, 3]


def test_foreign_byte_order_cannot_be_written_but_can_be_read() -> None:
    f = main('(%x: !m {tierup.name = "x"}, %y: !m, %c: !b) -> !n', READ_ONLY)
    big, y = x23().astype(">f4"), np.ones(3, ">f4")
    assert f(big, y, False) is None
    with pytest.raises(ValueError, match=r"argument x is not in native byte order, so it cannot be written, .*\nat net.py:4"):
        f(big, y, True)
    x = x23()
    f(x, y, True)
    assert x[0].tolist() == [1, 2, 3]


def test_read_only_is_told_through_a_call() -> None:
    f = program("""
      func.func @main(%a: !m {tierup.name = "a"}, %x: !m {tierup.name = "x"}) {
        func.call @clear(%x) : (!m) -> ()
        return
      }
      func.func private @clear(%p: !m) {
        %u = torch.aten.zero_ %p : !m -> !m
        return
      }""")
    x = x23()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="is read-only\nthe program writes argument x"):
        f(x, x)


def test_only_the_arguments_that_can_be_written_are_marked() -> None:
    f = main("(%x: !m, %y: !m, %z: !t, %c: !b) -> !m", """
      %r = torch.prim.If %c -> (!m) {
        torch.prim.If.yield %x : !m
      } else {
        %y2 = torch.aten.transpose.int %y, %c0, %c1 : !m, !i, !i -> !m
        torch.prim.If.yield %y2 : !m
      }
      %w = torch.copy.to_tensor %z : !m
      %u = torch.aten.zero_ %w : !m -> !m
      %v = torch.aten.zero_ %r : !m -> !m
      return %w : !m""")
    assert [p.written for p in f.parameters] == [True, True, False, False]


def test_argument_that_a_loop_or_a_list_hands_to_a_write_is_marked() -> None:
    f = main("(%x: !m, %y: !m, %z: !m) -> !n", """
      %fresh = torch.aten.add.Tensor %z, %z, %c1 : !m, !m, !i -> !m
      %r = torch.prim.Loop %c2, %true, init(%fresh) {
      ^bb0(%i: !i, %a: !m):
        %u = torch.aten.zero_ %a : !m -> !m
        torch.prim.Loop.condition %true, iter(%x : !m)
      } : (!i, !b, !m) -> !m
      %l = torch.prim.ListConstruct : () -> !lm
      %k = torch.prim.If %true -> (!lm) {
        torch.prim.If.yield %l : !lm
      } else {
        torch.prim.If.yield %l : !lm
      }
      %m = torch.aten.append.t %k, %y : !lm, !m -> !lm
      %e = torch.prim.ListUnpack %l : !lm -> !m
      %v = torch.aten.zero_ %e : !m -> !m
      return %none : !n""")
    assert [p.written for p in f.parameters] == [True, True, False]
    x, y, z = x23(), x23(), x23()
    f(x, y, z)
    assert not x.any() and not y.any() and z.any()
