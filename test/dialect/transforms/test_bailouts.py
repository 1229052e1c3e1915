"""Bailouts and continuations: wherever an assumption fails, the program gives what it gives without assumptions. The undecorated functions are the oracle."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guard_harness import Guarded, text_of
from spine_harness import assert_same

from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import functions, parse
from tierup.runtime.base.errors import GuardFailed
from tierup.runtime.interpreter.translate import translate


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


# --- programs ------------------------------------------------------------------------------------------------------------


def straight(x, y):
    a = x + y
    b = x * y
    return (a - x - 1) + (b - x)


def arm(x, y):
    if x.sum() > 0:
        z = np.exp(x) - y
        w = z * 2
    else:
        w = x - 1
        z = np.tanh(w)
    return z + w * y


def counted(x, n):
    acc = x * 0.5
    for i in range(n):
        acc = np.tanh(acc + x) * i
    return acc - x


def while_loop(x, n):
    steps = 0
    while x.sum() < n:
        x = x * 2 + 1
        steps = steps + 1
    return x * steps


def nested(x, n, m):
    total = x * 0
    for i in range(n):
        y = x + i
        for j in range(m + i):
            y = y * 0.5 + j
            if y.sum() > i:
                total = total + y * j
            else:
                total = total - y
        total = total * 1.5 + i
    return total


def while_in_for_in_while(x, n):
    k = 0
    while k < n:
        for i in range(k + 1):
            inner = i
            while inner > 0:
                x = x * 0.5 + inner
                inner = inner - 1
            x = x - i
        k = k + 1
    return x + k


def breaks(x, n):
    for i in range(n):
        x = x * 1.25 + i
        if x.sum() > 20:
            break
        if i == 1:
            continue
        x = x - 0.5
    return x


def written(x, n):
    for i in range(n):
        x[i] = x[i] * 2 + i
        x += 1
    return x.sum()


def raises_late(x, i):
    y = np.exp(x) + 1
    return y[i] * x[0]


PROGRAMS: list[tuple[Callable[..., Any], list[Any]]] = [
    (straight, [f32(4), f32(4)]),
    (arm, [np.abs(f32(4)), f32(4)]),
    (arm, [-np.abs(f32(4)), f32(4)]),
    (counted, [f32(4), 3]),
    (counted, [f32(4), 0]),
    (counted, [f32(0), 2]),
    (counted, [np.float32(3) * np.ones((), np.float32), 2]),
    (while_loop, [np.abs(f32(3)), 40]),
    (while_loop, [np.abs(f32(3)), -1]),
    (nested, [f32(4), 2, 1]),
    (nested, [f32(4), 2, 0]),
    (nested, [f32(2, 3), 3, -1]),
    (while_in_for_in_while, [f32(4), 3]),
    (breaks, [np.abs(f32(4)), 9]),
    (written, [f32(4), 3]),
    (raises_late, [f32(4), 9]),
]
NAMES = [f"{f.__name__}{i}" for i, (f, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_lost_at_every_guard_and_every_evaluation(function: Callable[..., Any], arguments: list[Any]) -> None:
    text, entry = text_of(function, *arguments)
    examples = [arguments] if function is not raises_late else [[arguments[0], 1]]
    program = Guarded(text, entry, examples)
    assert program.guards > 0
    runs = program.assert_same_wherever_lost(arguments)
    assert runs > 0 or function in (counted, nested, while_loop)
    if function is not raises_late:
        try:
            want = function(*copy.deepcopy(arguments))
        except Exception as e:  # noqa: BLE001
            want = e
        got = program.outcome(arguments, lambda site, evaluation: site.endswith(":0"))
        first = got[0] if isinstance(got, tuple) else got
        if isinstance(want, np.generic):
            want = np.asarray(want)
        assert_same(first, want, "against the undecorated function", rounding=True)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=NAMES)
def test_other_arguments_leave_at_the_first_guard_that_they_do_not_fit(function: Callable[..., Any], arguments: list[Any]) -> None:
    text, entry = text_of(function, *arguments)
    program = Guarded(text, entry, [arguments] if function is not raises_late else [[arguments[0], 1]])
    x = arguments[0]
    for other in (f32(6), np.ones(5), f32(2, 1), np.arange(4)):
        changed = [other if isinstance(a, np.ndarray) and a.shape == x.shape else a for a in arguments]
        assert_same(program.outcome(changed, lambda site, evaluation: False), program.wanted(changed), f"{other.dtype}{other.shape}")


LISTS = """
func.func @main(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %number = torch.derefine %n : !torch.int to !torch.number
  %l = torch.prim.ListConstruct %x : (!torch.vtensor) -> !torch.list<vtensor>
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    %1 = torch.aten.mul.Scalar %x, %number : !torch.vtensor, !torch.number -> !torch.vtensor
    %2 = torch.aten.add.Scalar %1, %i, %number : !torch.vtensor, !torch.int, !torch.number -> !torch.vtensor
    %3 = torch.aten.append.t %l, %2 : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %4 = torch.aten.tanh %2 : !torch.vtensor -> !torch.vtensor
    %5 = torch.aten.append.t %3, %4 : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %6 = torch.aten.stack %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %7 = torch.aten.mul.Scalar %6, %number : !torch.vtensor, !torch.number -> !torch.vtensor
  %8 = torch.aten.exp %7 : !torch.vtensor -> !torch.vtensor
  return %8, %6 : !torch.vtensor, !torch.vtensor
}
"""


def test_a_list_that_grows_is_the_same_list_in_the_continuation() -> None:
    program = Guarded(LISTS, "main", [[f32(4), 2]])
    assert program.assert_same_wherever_lost([f32(4), 3]) > 10


def test_a_number_under_another_type_is_captured_once_as_itself() -> None:
    program = Guarded(LISTS, "main", [[f32(4), 2]], profile="all", guards="scalars")
    assert program.assert_same_wherever_lost([f32(4), 2]) > 5


CALLED = """
func.func @main(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @step(%x) : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func private @step(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %2 : !torch.vtensor
}
"""


def test_a_caller_learns_nothing_from_guards_whose_continuation_may_answer() -> None:
    module = parse_module(CALLED)
    parse("tierup-infer-types").run(module)
    assert "torch.aten.tanh %1 : !torch.vtensor<[4],f32>" in str(module)  # a guard that fails leaves the caller too
    module = parse_module(CALLED)
    parse("tierup-insert-bailouts,tierup-build-bailout-continuations,tierup-infer-types,tierup-verify-guarded").run(module)
    assert "torch.aten.tanh %0 : !torch.vtensor ->" in str(module)
    for x in (f32(4), f32(2, 3), np.ones(3)):
        np.testing.assert_array_equal(translate(module, "main")(x), np.tanh(np.exp(x)))


def test_symbols_are_one_size_in_all_guards_of_a_call() -> None:
    module = parse_module("""
      func.func @main(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor, %z: !torch.vtensor) -> !torch.vtensor {
        %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
        torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
        %0 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[s0,s1]>} : (!torch.vtensor) -> !torch.vtensor<[?,?],f32>
        %1 = "tierup.guard"(%z) {expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
        %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor
        return %2 : !torch.vtensor
      }""")
    parse("tierup-verify-guarded").run(module)
    tier0 = translate(module, "main")
    np.testing.assert_array_equal(tier0(f32(3), f32(3, 5), f32(5)), f32(3, 5) * f32(5))
    np.testing.assert_array_equal(tier0(f32(2), f32(2, 2), f32(2)), f32(2, 2) * f32(2))  # the next call binds anew
    for x, y, z in ((f32(3), f32(4, 5), f32(5)), (f32(3), f32(3, 5), f32(3)), (f32(3), f32(3, 1), f32(1))):
        with pytest.raises(GuardFailed, match="expected f32"):
            tier0(x, y, z)


def test_a_failed_assumption_is_what_leaves_and_a_won_one_is_not() -> None:
    text, entry = text_of(straight, f32(4), f32(4))
    program = Guarded(text, entry, [[f32(4), f32(4)]])
    passed = program.evaluations([f32(4), f32(4)])
    assert [e for _, e in passed] == [0] * len(passed)
    assert len(passed) == program.guards
    assert len(program.evaluations([f32(5), f32(5)])) == 1  # the first guard left


def test_continuations_are_graphs_and_can_be_profiled_again() -> None:
    text, entry = text_of(nested, f32(4), 2, 1)
    program = Guarded(text, entry, [[f32(4), 2, 1]])
    rest = [func for func in functions(program.module.operation) if "tierup.continuation" in func.attributes]
    assert len(rest) == program.guards
    for func in rest:
        for op in walk(func):
            assert op.name not in ("tierup.bailout", "tierup.guard", "tierup.profile")
    alone = parse_module("\n".join(str(func) for func in rest))
    parse("tierup-verify-graph,tierup-insert-profiling,tierup-verify-profiled").run(alone)


def test_one_continuation_alone_is_the_one_that_all_together_has() -> None:
    text, entry = text_of(counted, f32(4), 3)
    program = Guarded(text, entry, [[f32(4), 3]])
    everything = {str(func) for func in functions(program.module.operation)}
    for index in range(program.guards):
        module = parse_module(program.guarded)
        parse(f"tierup-insert-bailouts,tierup-build-bailout-continuations{{function={entry} index={index}}}").run(module)
        made = [str(func) for func in functions(module.operation) if "tierup.continuation" in func.attributes]
        assert len(made) == 1
        assert made[0] in everything


def test_a_continuation_gives_a_tuple_as_its_function_does() -> None:
    text = """func.func @f(%x: !torch.vtensor) -> !torch.tuple<vtensor, vtensor> {
      %0 = torch.aten.neg %x : !torch.vtensor -> !torch.vtensor
      %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
      %2 = torch.prim.TupleConstruct %0, %1 : !torch.vtensor, !torch.vtensor -> !torch.tuple<vtensor, vtensor>
      return %2 : !torch.tuple<vtensor, vtensor>
    }"""
    program = Guarded(text, "f", [[f32(4)]])
    assert program.assert_same_wherever_lost([f32(4)]) > 0
    ((first, _),) = program.outcome([f32(4)], lambda site, evaluation: True)
    np.testing.assert_array_equal(first, -f32(4))


def test_a_literal_and_a_view_of_it_share_memory_wherever_an_assumption_is_lost() -> None:
    text = """func.func @f(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
      %zero = torch.constant.int 0
      %literal = torch.vtensor.literal(dense<[1, 2, 3]> : tensor<3xsi64>) : !torch.vtensor<[3],si64>
      %all = torch.tensor_static_info_cast %literal : !torch.vtensor<[3],si64> to !torch.vtensor
      %none = torch.constant.none
      %one = torch.constant.int 1
      %part = torch.aten.slice.Tensor %all, %zero, %one, %none, %one : !torch.vtensor, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.vtensor
      %0 = torch.aten.neg %x : !torch.vtensor -> !torch.vtensor
      %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
      return %all, %part, %1 : !torch.vtensor, !torch.vtensor, !torch.vtensor
    }"""
    program = Guarded(text, "f", [[f32(4)]])
    lost = list(program.losing_each([f32(4)]))
    assert lost and all(np.shares_memory(whole, part) for _, (whole, part, _) in lost)


def test_a_bailout_without_a_continuation_leaves_as_a_guard_does() -> None:
    text, entry = text_of(straight, f32(4), f32(4))
    program = Guarded(text, entry, [[f32(4), f32(4)]])
    module = parse_module(program.guarded)
    parse("tierup-insert-bailouts").run(module)
    tier0 = translate(module, entry, fail=True)
    with pytest.raises(GuardFailed, match="expected f32"):
        tier0.call(f32(4), f32(4), fail=lambda site, evaluation: site == f"{entry}:1")
