"""What a type checker is to find in programs that use tierup: each ignored error must be one (`warn_unused_ignores`)."""

from collections.abc import Callable
from typing import Any, assert_type

import tierup

Array = list[float]  # in place of NumPy's, which has nothing to do with it


@tierup.jit
def scaled(x: Array, by: float = 2.0, *, mode: str = "up") -> Array:
    return x


@tierup.jit(max_versions=4, speculate="bailout")
def shifted(x: Array) -> Array:
    return x


class Model:
    @tierup.jit
    def step(self, x: Array, dt: float = 0.1) -> Array:
        return x


def right(x: Array, model: Model) -> None:
    assert_type(scaled(x), Array)
    assert_type(scaled(x, 3.0, mode="down"), Array)
    assert_type(shifted(x=x), Array)
    assert_type(model.step(x, dt=0.5), Array)
    assert_type(Model.step(model, x), Array)
    assert_type(tierup.jit(scaled)(x), Array)
    assert_type(tierup.grad(scaled)(x, by=1.0), Any)
    assert_type(tierup.value_and_grad(shifted, level=1)(x), tuple[Any, Any])
    print(scaled.stats().hits, shifted.explain(), model.step.stats().calls)
    anything: Callable[..., Any] = tierup.load("program.mlir", strict=True)
    anything(x, 1)
    with tierup.options(compile="background", fusion_strategy=[("static", 2)]):
        pass


def wrong(x: Array, model: Model) -> None:
    scaled("oops", nosuch=3)  # type: ignore[arg-type, call-arg]
    scaled()  # type: ignore[call-arg]
    scaled(x, "2.0")  # type: ignore[arg-type]
    shifted(x, 1.0)  # type: ignore[call-arg]
    model.step()  # type: ignore[call-arg]
    model.step(x, d=1.0)  # type: ignore[call-arg]
    number: int = scaled(x)  # type: ignore[assignment]
    tierup.jit(max_version=4)  # type: ignore[call-overload]
    tierup.jit(speculate="guess")  # type: ignore[call-overload]
    tierup.grad(scaled)(x, nosuch=1)  # type: ignore[call-arg]
    tierup.load("program.mlir", strict="yes")  # type: ignore[arg-type]
    with tierup.options(levels=2):  # type: ignore[call-arg]
        print(number)
