"""A rule of differentiation against central differences in float64: programs of one op, differentiated once and twice, run by tier 0.

    check(case("aten.mul.Tensor", array(2, 3), array(3)))

An array is an argument; numbers, None, strings and lists of numbers are constants; a list of arrays, maybe with None, is a list of
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tierup.dialect import optable
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.core import Backward
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function
from tierup.dialect.passes.autodiff.reverse import reverse
from tierup.runtime.interpreter.translate import translate

T = "!torch.vtensor"


@dataclass(frozen=True)
class Case:
    """One op on operands. `of`: which of its results is differentiated; `numpy`: under NumPy's dtype rules; `order`: how often it is
    differentiated; `step`: how far differences move a value; `torch_order`: how often PyTorch can, and has a convention that is kept (0: it
    refuses); `torch_rtol`: how far from the derivative PyTorch may be, where it computes with a rounded constant; `parts`: how many tensors are in
    the list that it gives, 0 if it gives none (`of` is then one of them, or None for all); `coarse`: of operands of several dtypes parts are
    computed in the narrower one, as in PyTorch."""

    op: str
    operands: tuple[Any, ...]
    of: int | None = 0
    numpy: bool = False
    order: int = 2
    step: float = 1e-6
    coarse: bool = False
    torch_order: int = 2
    torch_rtol: float = 1e-12
    parts: int = 0

    def __str__(self) -> str:
        shown = ["x".join(map(str, v.shape)) or "0d" if isinstance(v, np.ndarray) else str(type(v).__name__) for v in self.operands]
        return f"{self.op}({', '.join(shown)})"

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arguments, in order."""
        found: list[np.ndarray] = []
        for v in self.operands:
            found += [v] if isinstance(v, np.ndarray) else [w for w in v if isinstance(w, np.ndarray)] if isinstance(v, list) else []
        return found


def case(op: str, *operands: Any, **settings: Any) -> Case:
    return Case(op, operands, **settings)


def array(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Float64 numbers between two bounds, none of them twice."""
    size = int(np.prod(shape))
    numbers = np.random.default_rng(seed + size).permutation(size) if size else np.zeros(0)
    return (low + (high - low) * (numbers + 0.37) / max(size, 1)).reshape(shape)


def program(*cases: Case, typed: bool = False) -> str:
    """A function @f of the arrays of cases that gives the results of their ops. `typed`: its arguments say dtype and sizes."""
    context = thread_context()
    with context, ir.Location.unknown(context):
        types = [str(T) if not typed else f"!torch.vtensor<[{','.join(map(str, a.shape))}],{_mlir(a.dtype)}>" for c in cases for a in c.arrays]
        signature = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
        module = ir.Module.parse(f"func.func @f({signature}) -> {T} {{\n  %x = \"test.x\"() : () -> {T}\n  return %x : {T}\n}}")
        func = module.body.operations[0]
        block = func.regions[0].blocks[0]
        stand_in, last = (view.operation for view in block.operations)
        arguments = iter(block.arguments)
        e = Emitter(ir.InsertionPoint(stand_in), ir.Location.file("program.py", 7, 1), Inference())
        returned: list[ir.Value] = []
        for given in cases:
            operands = [_operand(e, v, arguments) for v in given.operands]
            row = optable.lookup(given.op)
            assert row is not None
            results = e.several(given.op, *operands, types=["!torch.list<vtensor>"] if given.parts else [T] * max(row.results, 1))
            if given.numpy:
                results[0].owner.attributes[PROMOTION] = ir.StringAttr.get("numpy")
            if given.parts:
                results = list(e.create("torch.prim.ListUnpack", [e.tensor_type] * given.parts, results).results)
            returned += results if given.of is None else [results[given.of]]
        ir.Operation.create("func.return", operands=returned, ip=ir.InsertionPoint(last))
        last.erase()
        func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned]))
        stand_in.erase()
        return str(module.operation.get_asm(enable_debug_info=True))


def _operand(e: Emitter, value: Any, arguments: Iterator[ir.Value]) -> Any:
    if isinstance(value, np.ndarray):
        return next(arguments)
    if isinstance(value, str):
        text = {"value": ir.StringAttr.get(value)}
        return e.create("torch.constant.str", [ir.Type.parse("!torch.str", e.context)], [], text).results[0]
    return [_operand(e, v, arguments) for v in value] if isinstance(value, list) else value


def _mlir(dtype: np.dtype) -> str:
    return {"f": f"f{dtype.itemsize * 8}", "i": f"si{dtype.itemsize * 8}", "b": "i1"}[dtype.kind]


def differentiated(text: str, wrt: Sequence[int], results: Sequence[int] = (0,)) -> str:
    """The program that gives, of cotangents behind its arguments, only the gradients."""
    module = parse_module(text)
    gradient_of_function(module, "f", wrt, results=results, cotangents=True, keep_results=False)
    return str(module.operation.get_asm(enable_debug_info=True))


def runner(text: str) -> Callable[..., list[np.ndarray]]:
    """The program in tier 0; it gives a list."""
    call = translate(parse_module(text), "f").call

    def run(*arguments: Any) -> list[np.ndarray]:
        found = call(*arguments)
        return list(found) if isinstance(found, tuple) else [found]

    return run


def check(given: Case, *, typed: bool = False, orders: int = 2) -> None:
    """Gradients of the case agree with central differences; so do gradients of these, when its `order` says so, and `orders`."""
    arrays = given.arrays
    text = program(given, typed=typed)
    wrt = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    for order in range(1, min(orders, given.order) + 1):
        forward = runner(text)
        values = forward(*arrays)
        cotangents = [array(*v.shape, low=-1, high=1.5, seed=order + k).astype(v.dtype) for k, v in enumerate(values)]
        backward = differentiated(text, wrt, range(len(values)))
        gradients = runner(backward)(*arrays, *cotangents)
        for i, gradient in zip(wrt, gradients, strict=True):
            assert gradient.shape == arrays[i].shape and gradient.dtype == arrays[i].dtype, f"{given}, order {order}, argument {i}"
            wanted = differences(forward, arrays, i, cotangents, given.step)
            np.testing.assert_allclose(gradient, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{given}, order {order}, argument {i}")
        text, arrays = backward, [*arrays, *cotangents]
        wrt = [*wrt, *range(len(arrays) - len(cotangents), len(arrays))]


def differences(f: Callable[..., list[np.ndarray]], arrays: list[np.ndarray], i: int, cotangents: list[np.ndarray], step: float) -> np.ndarray:
    """The gradient of argument i of the results times cotangents, by central differences."""
    gradient = np.zeros_like(arrays[i])
    for at in np.ndindex(arrays[i].shape):
        sides = []
        for sign in (1, -1):
            moved = arrays[i].copy()
            moved[at] += sign * step
            sides.append(f(*arrays[:i], moved, *arrays[i + 1 :]))
        gradient[at] = sum(np.sum((a - b) * c) for a, b, c in zip(*sides, cotangents, strict=True)) / (2 * step)
    return gradient


def captures_read(given: Case, monkeypatch: pytest.MonkeyPatch, text: str | None = None) -> tuple[set[str], set[str]]:
    """What the rule of the case's op says that it captures, and what it read; in `text`, where that is another program of the op."""
    seen: list[Backward] = []

    class Watched(Backward):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            seen.append(self)

    monkeypatch.setattr(reverse, "Backward", Watched)
    differentiated(text or program(given), [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"])
    mine = [g for g in seen if g.rule.op == given.op]  # none of an op that another one stands for (tierup-expose-statistics)
    return {name for g in mine for name in g.rule.captures}, {name for g in mine for name in g.read}


def check_dtypes(given: Case) -> None:
    """With float32 for some of its float arguments, and for all, the gradient of each has its dtype, and as many digits as the op's result:
    it is that of the same numbers in float64."""
    arrays = given.arrays
    wrt = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    text = program(given)
    backward = runner(differentiated(text, wrt))
    for narrow in {*((i,) for i in wrt), tuple(wrt)}:
        mixed = [a.astype(np.float32) if i in narrow else a for i, a in enumerate(arrays)]
        value = runner(text)(*mixed)[0]
        cotangent = array(*value.shape, low=-1, high=1.5, seed=1).astype(np.float32)
        found = backward(*mixed, cotangent.astype(value.dtype))
        wide = [m.astype(a.dtype) for m, a in zip(mixed, arrays, strict=True)]
        wanted = backward(*wide, cotangent.astype(np.float64))
        for i, got, want in zip(wrt, found, wanted, strict=True):
            where = f"{given}, float32 at {narrow}, argument {i}"
            assert got.shape == want.shape and got.dtype == mixed[i].dtype, f"{where} gets {got.dtype}"
            close = 1e-3 if value.dtype == np.float32 or given.coarse else 1e-6 if got.dtype == np.float32 else 1e-11
            np.testing.assert_allclose(got, want, rtol=close, atol=close / 10, err_msg=where)
