"""Groups under a check of symbolic sizes: which sizes take the fast side, and that both sides give what tier 0 gives. NumPy is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guard_harness import text_of

from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import functions, parse
from tierup.runtime.interpreter.translate import translate

STEPS = (
    "tierup-specialize-types{numbers=false},tierup-infer-types{keep-branches=true},tierup-fuse-groups{min-group-size=1},"
    "tierup-insert-symbolic-checks{OPTIONS},tierup-verify-guarded,tierup-insert-checks,tierup-verify-guarded,"
    "tierup-clear-specializations,tierup-verify-guarded,tierup-outline-fallbacks"
)


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


class Checked:
    """A function specialised for `example`, with symbolic checks."""

    def __init__(self, function: Callable[..., Any], example: list[np.ndarray], options: str = "") -> None:
        text, entry = text_of(function, *example)
        module = parse_module(text)
        parse("inline{default-pipeline=},tierup-functionalize,tierup-insert-profiling").run(module)
        (func,) = functions(module.operation)
        profiles = [op for op in walk(func) if op.name == "tierup.profile"]
        for op, value in zip(profiles, example, strict=True):
            op.attributes["profiled"] = profiled_attr(Profiled.of(value), module.context)
        parse(STEPS.replace("OPTIONS", options)).run(module)
        assert '"tierup.check"' not in str(module)  # the static pass leaves what is checked
        self.text = str(module)
        for op in [op for func in functions(module.operation) for op in walk(func) if op.name == "tierup.check_shapes"]:
            with module.context:
                ops.profile(op.results[0], 0, loc=op.location, ip=ir.InsertionPoint.after(op))
        self.tier0 = translate(module, entry, record=True)
        self.function = function

    def fast(self, *arguments: np.ndarray) -> list[bool]:
        """Whether the checks held; that the result is NumPy's is checked."""
        answers: list[bool] = []
        got = self.tier0.call(*arguments, record=lambda slot, value: answers.append(value) if slot == 0 else None)
        want = self.function(*arguments)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
        return answers


def mix(x, y):
    return np.tanh(x * y) + x


def test_other_sizes_take_the_fast_side_and_others_than_it_was_made_for_do_not() -> None:
    program = Checked(mix, [f32(4, 5), f32(4, 5)])
    for rows, columns in ((4, 5), (9, 5), (4, 7), (2, 2), (3, 11)):
        assert program.fast(f32(rows, columns), f32(rows, columns)) == [True]
    for x, y in (
        (f32(1, 5), f32(1, 5)),  # a size of 1 is not one of 2 or more
        (f32(0, 5), f32(0, 5)),
        (f32(4, 5), f32(1, 5)),  # what was equal, and must be, is not
        (f32(5), f32(5)),
        (f32(2, 4, 5), f32(2, 4, 5)),
        (np.ones((4, 5)), np.ones((4, 5))),
        (f32(4, 5).astype(np.float16), f32(4, 5)),
    ):
        assert program.fast(x, y) == [False]


def test_a_size_of_1_that_grows_takes_the_fallback() -> None:
    program = Checked(mix, [f32(4, 5), f32(1, 5)])
    assert program.fast(f32(6, 3), f32(1, 3)) == [True]
    assert program.fast(f32(6, 3), f32(6, 3)) == [False]
    assert program.fast(f32(1, 3), f32(1, 3)) == [False]


def test_sizes_that_were_equal_by_chance_may_differ() -> None:
    program = Checked(mix, [f32(5, 5), f32(5, 5)])
    assert program.fast(f32(5, 6), f32(5, 6)) == [True]


def test_shapes_that_fit_no_run_raise_on_the_slow_side() -> None:
    program = Checked(mix, [f32(4, 5), f32(4, 5)])
    with pytest.raises(ValueError, match="broadcast"):
        program.fast(f32(4, 5), f32(3, 5))


@pytest.mark.parametrize("options", ["", "contiguous"])
def test_stride_classes(options: str) -> None:
    program = Checked(mix, [f32(4, 5), f32(4, 5)], options)
    transposed, sliced = f32(5, 4).T, f32(4, 10)[:, ::2]
    for x, y in ((transposed, f32(4, 5)), (f32(4, 5), sliced)):
        assert program.fast(x, y) == [not options]
    assert program.fast(f32(4, 5), f32(4, 5)) == [True]
