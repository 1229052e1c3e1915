"""The six traced programs: recorded as TorchScript recorded them, they come out of its pipelines in the structure that its plans had, the
same guards, groups and fallbacks. Where the default pipelines give another structure, the test says why it is better.

`shape` spells a plan: see trace_harness.Stage.
"""

from __future__ import annotations

import numpy as np
import pytest
from trace_harness import HERE, Stage, Trace, argument_name, normal, wants_gradients

import tierup
from tierup.dialect.base import dtypes
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.mlir import ir

SECOND = ("pre-autodiff-2.x", "no-grad", "tierup-outline-fallbacks", "final")
FIRST = ("pre-autodiff-1.7", "final")

X = normal(4, 8)
ARGUMENTS = {
    "ew": [X, normal(4, 8, seed=1), normal(4, 8, seed=2)],
    "mm": [X, normal(8, 5, seed=1), normal(5, seed=2)],
    "loop": [X, 3],
    "branch": [np.abs(X), np.abs(normal(4, 8, seed=1))],
    "lists": [X, normal(4, 8, seed=1)],
}
OTHERS = {
    "ew": [normal(6, 8), normal(6, 8, seed=1), normal(8, seed=2)],
    "mm": [normal(6, 8), normal(8, 5, seed=1), normal(5, seed=2)],
    "loop": [normal(6, 8), 21],
    "branch": [-np.abs(normal(6, 8)), np.abs(normal(6, 8, seed=1))],
    "lists": [normal(6, 8), normal(6, 8, seed=1)],
}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def ew(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    y = x * w + b
    return y * 0.5 * (np.tanh((y + y * 0.044715 * y * y) * 0.7978845608) + 1) * sigmoid(x)


def loop(x: np.ndarray, n: int) -> np.ndarray:
    acc = x
    for _ in range(n):
        acc = np.tanh(acc + x) * 0.5
    return acc


def branch(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = x * y + y
    return 2 * (np.tanh(z) * x if z.sum() > 0 else sigmoid(z) - y)


def lists(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a = x + y + x
    return np.concatenate([np.maximum(a * y, 0) * 2, a])


ORACLES = {"ew": ew, "mm": lambda x, w, b: np.maximum(x @ w + b, 0), "loop": loop, "branch": branch, "lists": lists}


def recorded(name: str) -> Trace:
    before = ["tierup-functionalize"] if name == "lists" else []
    return Trace(name, ARGUMENTS[name], prepare=[*before, "profiling-insensitive", "instrument"])


def default(name: str) -> Stage:
    return Trace(name, ARGUMENTS[name], prepare=["profile"]).run("versioned")


def assert_right(name: str, stage: Stage, *, fallbacks: int | None = None) -> None:
    """As NumPy has it on what was recorded, without a fallback, and on other sizes and arms, which fall back."""
    got, called = stage.call(*ARGUMENTS[name])
    np.testing.assert_allclose(got, ORACLES[name](*ARGUMENTS[name]), rtol=1e-5, atol=1e-6)
    assert called == 0
    got, called = stage.call(*OTHERS[name])
    np.testing.assert_allclose(got, ORACLES[name](*OTHERS[name]), rtol=1e-5, atol=1e-6)
    assert fallbacks is None or called == fallbacks


def test_ew_one_check_of_three_values_one_group_one_fallback() -> None:
    stage = recorded("ew").run(*SECOND)
    assert stage.shape == "check/3 If{group[13]}{call}" and stage.others("tierup.fallback") == 1
    assert_right("ew", stage, fallbacks=1)


def test_mm_the_product_stays_outside_the_group() -> None:
    stage = recorded("mm").run(*SECOND)
    assert stage.shape == "mm check/2 If{group[2]}{call}" and stage.others("tierup.fallback") == 1
    assert_right("mm", stage, fallbacks=1)


def test_loop_unrolled_by_eight_with_a_check_in_each_body() -> None:
    stage = recorded("loop").run(*SECOND)
    # The first word is max(n, 0): theirs leaves a negative count to two loops that both do not run.
    assert stage.shape == "max floordiv mul sub Loop{check/2 If{group[24]}{call}} Loop{check/2 If{group[3]}{call}}"
    assert stage.others("tierup.fallback") == 2
    assert_right("loop", stage, fallbacks=21 // 8 + 21 % 8)


def test_branch_a_group_before_it_and_one_in_each_arm() -> None:
    stage = recorded("branch").run(*SECOND)
    # Theirs fuses the arm that ran alone: of the other it has recorded nothing. Ours infers its types from those of the values that come
    # in, which are checked there, so it is compiled before it is first taken.
    assert stage.shape == "check/2 If{group[2]}{call} sum gt Bool If{check/2 If{group[2]}{call}}{check/2 If{group[2]}{call}} mul"
    assert_right("branch", stage, fallbacks=2)
    negative = [-ARGUMENTS["branch"][0], ARGUMENTS["branch"][1]]
    got, called = stage.call(*negative)
    np.testing.assert_allclose(got, branch(*negative), rtol=1e-5, atol=1e-6)
    assert called == 0


def test_lists_one_group_with_the_concatenation_in_it() -> None:
    stage = recorded("lists").run(*SECOND)
    # Theirs leaves the in-place sum and what made its operand outside: add, add_, then mul, relu, mul and cat in a group. Ours has made a
    # value of the write, so both sums and the copy that stands for the write are in the group: one pass over memory instead of three.
    assert stage.shape == "check/2 If{group[8]}{call}" and stage.others("tierup.fallback") == 1
    assert_right("lists", stage, fallbacks=1)


@pytest.mark.parametrize("name", ORACLES)
def test_by_default_a_whole_program_is_one_group(name: str) -> None:
    """Better than theirs: products, loops and branches are in the group, so one check a call is all that is left, instead of one for each
    group, in each round of a loop; and a bias is folded into its product."""
    stage = default(name)
    inputs = {"loop": 1, "branch": 2, "lists": 2}.get(name, 3)
    assert stage.shape.startswith(f"check/{inputs} If{{group[") and stage.shape.endswith("]}{call}")
    assert stage.others("tierup.fallback") == 1
    assert_right(name, stage, fallbacks=1)


BAILOUTS = {
    # Each argument is guarded where it comes in; all that follows from them by shape rules is not guarded again.
    "ew": "bailout bailout bailout mul add mul mul mul mul add mul tanh add mul sigmoid mul",
    "mm": "bailout bailout bailout mm add relu",
    # What a loop carries is guarded in each round, and what it gives behind it: nothing says that a round keeps sizes.
    "loop": "Loop{bailout bailout add tanh mul} bailout",
    # No guard in the arm that never ran, and one behind the branch, since of that arm nothing is known.
    "branch": "bailout bailout mul add sum gt Bool If{tanh mul}{sigmoid sub} bailout mul",
}


@pytest.mark.parametrize("name", BAILOUTS)
def test_bailouts_of_the_first_generation(name: str) -> None:
    stage = recorded(name).run(*FIRST)
    assert stage.shape == BAILOUTS[name]
    assert stage.others("tierup.continuation") == BAILOUTS[name].count("bailout")
    assert_right(name, stage)


GROUPS = {
    "ew": "bailout bailout bailout group[13]",
    "mm": "bailout bailout bailout mm group[2]",
    "loop": "Loop{bailout bailout group[3]} bailout",
    "branch": "bailout bailout group[2] sum gt Bool If{group[2]}{sigmoid sub} bailout mul",
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_of_the_first_generation_need_no_check(name: str) -> None:
    stage = recorded(name).run("pre-autodiff-1.7", "no-grad-1.7-bailouts", "final")
    assert stage.shape == GROUPS[name] and stage.others("tierup.fallback") == 0
    assert_right(name, stage)


def test_grad_forward_a_check_of_requires_grad_a_differentiable_group_and_a_fallback() -> None:
    stage = Trace("grad", record=wants_gradients).run("pre-autodiff-2.x", "autodiff-2.x", "final")
    # The five ops, and the sizes and dtypes of two values, which are all that their gradients need of these.
    assert stage.shape == "check_requires_grad/3 If{differentiable[9]}{call}" and stage.others("tierup.fallback") == 1
    assert "requires_grad = [true, true, true]" in stage.text and "tierup.profile" not in stage.text


def test_grad_forward_of_the_first_generation_is_not_checked() -> None:
    stage = Trace("grad", record=wants_gradients).run("pre-autodiff-1.7", "autodiff-1.7", "final")
    assert stage.shape == "bailout bailout bailout differentiable[5]"


# Calls the backward graph with one gradient, and without those of temporaries and sizes.
CALL_WITHOUT = """
func.func @call(%g: !torch.vtensor, %x: !torch.vtensor, %w: !torch.vtensor, %s: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %t = "tierup.autograd_zero"() : () -> !torch.vtensor
  %n = torch.constant.none
  %o = torch.derefine %n : !torch.none to !torch.optional<list<int>>
  %0:3 = call @grad_backward(%g, %t, %t, %t, %t, %t, %t, %t, %x, %w, %s, %y, %o, %o, %o, %o, %o, %o, %o, %o) : (TENSORS, SIZES) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
  return %0#0, %0#1, %0#2 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}
""".replace("TENSORS", ", ".join(["!torch.vtensor"] * 12)).replace("SIZES", ", ".join(["!torch.optional<list<int>>"] * 8))  # noqa: E501


def present(op: ir.Operation) -> Profiled | None:
    """As the trace's first backward run: no gradient of a temporary, no size to sum to."""
    name = argument_name(op.operands[0])
    if name is None:
        return None
    if name.startswith(("t", "size")):
        return Profiled(defined=False)
    return Profiled(dtype=dtypes.BY_NAME["f32"], sizes=(4, 8), defined=True)


def test_grad_backward_versioned_by_what_is_there_then_one_group() -> None:
    stage = Trace("grad_backward", record=present).run(*SECOND)
    # Theirs asks of all tensors whether they are there; ours of those that a sum or a branch may find undefined. The others raise where
    # they are used. And theirs captures a value once for each op that reads it, ours once: five values to check instead of eight. Theirs
    # computes the product of y * y twice.
    asked = " ".join(["all_nonzero", "all_zero", *["__is__"] * 8, *["__and__"] * 9])
    assert stage.shape == asked + " If{check/5 If{group[11]}{call}}{call}" and stage.others("tierup.fallback") == 2
    x, w, b, g = (normal(4, 8, seed=i) for i in range(4))
    s = sigmoid(x * w + b)
    y = s * x
    got, called = Stage("call", stage.text.rstrip().removesuffix("}") + CALL_WITHOUT + "}").call(g, x, w, s, y)
    dz = 2 * y * g * x * s * (1 - s)  # of (s * x) ** 2 by x * w + b
    for have, want in zip(got, (2 * y * g * s + dz * w, dz, dz * x), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
    assert called == 0


def test_the_executor_compiles_each_program_whole() -> None:
    """One native function a program, entered through one guard: no op of the six runs in tier 0 any more."""
    for name in ORACLES:
        f = tierup.load(HERE / f"{name}.mlir")
        for _ in range(3):
            got = f(*ARGUMENTS[name])
        np.testing.assert_allclose(got, ORACLES[name](*ARGUMENTS[name]), rtol=1e-5, atol=1e-6)
        stats = f.stats()
        assert (stats.hits, stats.fallbacks, stats.versions) == (2, 0, 1) and "in tier 0:" not in str(f.explain()), name
