"""One op, native against tier 0: a module with the one op is made from sample operands, compiled and called."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernel_harness import Failed, call, fill, spec_of

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.ir import torch_types
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.lowering.base.abi import ArgumentSpec, Request
from tierup.lowering.compiling.compile import compile


@dataclass
class Operands:
    """SSA text for operands: arrays become arguments, everything else constants."""

    arrays: list[np.ndarray]
    lines: list[str]
    count: int = 0

    def name(self, value: Any) -> tuple[str, str]:
        """(value, type) of an operand."""
        if isinstance(value, np.ndarray):
            self.arrays.append(value)
            return f"%a{len(self.arrays) - 1}", f"$t{len(self.arrays) - 1}"
        self.count += 1
        name = f"%c{self.count}"
        if value is None:
            return self._line(name, "torch.constant.none", "!torch.none", typed=False)
        if isinstance(value, bool):
            return self._line(name, f"torch.constant.bool {str(value).lower()}", "!torch.bool", typed=False)
        if isinstance(value, int):
            return self._line(name, f"torch.constant.int {value}", "!torch.int", typed=False)
        if isinstance(value, float):
            bits = np.float64(value).view(np.uint64)
            text = f"0x{bits:016X}" if not math.isfinite(value) else repr(value) if "." in repr(value) else f"{value:.17e}"
            return self._line(name, f"torch.constant.float {text}", "!torch.float", typed=False)
        if isinstance(value, str):
            return self._line(name, f'torch.constant.str "{value}"', "!torch.str", typed=False)
        if isinstance(value, (list, tuple)):
            items = [self.name(v) for v in value]
            kinds = {t for _, t in items}
            if any(isinstance(v, np.ndarray) for v in value):
                items = [(n, "!torch.vtensor" if t.startswith("$") else t) for n, t in items]
                element = "optional<vtensor>" if any(v is None for v in value) else "vtensor"
                if element.startswith("opt"):
                    items = [self._derefined(n, t) for n, t in items]
            else:
                element = next(iter(kinds)).removeprefix("!torch.") if len(kinds) == 1 else "int" if not kinds else "float"
            names, types = ", ".join(n for n, _ in items), ", ".join(t for _, t in items)
            return self._line(name, f"torch.prim.ListConstruct {names} : ({types}) -> !torch.list<{element}>", f"!torch.list<{element}>", typed=False)
        raise TypeError(f"no operand for {value!r}")

    def _derefined(self, name: str, type_: str) -> tuple[str, str]:
        self.count += 1
        made = f"%c{self.count}"
        return self._line(made, f"torch.derefine {name} : {type_} to !torch.optional<vtensor>", "!torch.optional<vtensor>", typed=False)

    def _line(self, name: str, text: str, type_: str, *, typed: bool) -> tuple[str, str]:
        self.lines.append(f"  {name} = {text}" + (f" : {type_}" if typed else ""))
        return name, type_


def program(
    op: str, operands: tuple[Any, ...], results: int | str = 1, *, symbolic: bool = False, numpy: bool = False, backwards: bool = False
) -> tuple[Request, list[np.ndarray]]:
    """The request for one op. `results`: how many tensors, "list:N" for a list of N that is unpacked, or "int", "float", "bool". `backwards`:
    each tensor comes flat, from the last element to the first, which makes a loop over as many as the op's lowering says."""
    made = Operands([], [])
    named = [made.name(v) for v in operands]
    names, types = ", ".join(n for n, _ in named), ", ".join(t for _, t in named)
    spelled, attributes = torch_types.spelled(thread_context(), op, {"tierup.promotion": ir.Attribute.parse('"numpy"', thread_context())} if numpy else {})
    attribute = " {" + ", ".join(f"{k} = {v}" for k, v in attributes.items()) + "}"
    if isinstance(results, str) and results.startswith("list:"):
        count = int(results[5:])
        outs = ["!torch.vtensor"] * count
        made.lines.append(f'  %l = "torch.{op}"({names}) : ({types}) -> !torch.list<vtensor>')
        made.lines.append(f"  %r:{count} = torch.prim.ListUnpack %l : !torch.list<vtensor> -> {', '.join(outs)}")
    else:
        outs = [f"!torch.{results}"] if isinstance(results, str) else ["!torch.vtensor"] * results
        made.lines.append(f'  %r:{len(outs)} = "{spelled}"({names}){attribute} : ({types}) -> ({", ".join(outs)})')
    specs = [spec_of(a, [f"s{d}" if d >= 2 else d for d in a.shape] if symbolic else None) for a in made.arrays]
    returned = ", ".join(f"%r#{i}" for i in range(len(outs)))
    if backwards and not isinstance(results, str):
        made.lines += ["  %last = torch.constant.int -1", "  %first = torch.constant.int 0",
                       "  %flat = torch.prim.ListConstruct %last : (!torch.int) -> !torch.list<int>",
                       "  %dims = torch.prim.ListConstruct %first : (!torch.int) -> !torch.list<int>"]  # fmt: skip
        for i in range(len(outs)):
            made.lines.append(f"  %x{i} = torch.aten.reshape %r#{i}, %flat : !torch.vtensor, !torch.list<int> -> !torch.vtensor")
            made.lines.append(f"  %y{i} = torch.aten.flip %x{i}, %dims : !torch.vtensor, !torch.list<int> -> !torch.vtensor")
        returned = ", ".join(f"%y{i}" for i in range(len(outs)))
    body = "\n".join(made.lines)
    signature = ", ".join(f"%a{i}: !torch.vtensor" for i in range(len(specs)))
    text = f"func.func @main({signature}) -> ({', '.join(outs)}) {{\n{body}\n  return {returned} : {', '.join(outs)}\n}}"
    text = re.sub(r"\$t\d+", "!torch.vtensor", text)
    with thread_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        fill(module.body.operations[0].operation, specs)
        return Request(str(module), "main", tuple(specs), level=1), made.arrays


def tier0(op: str, operands: tuple[Any, ...], *, numpy: bool = False) -> Any:
    row = optable.lookup(op)
    path = (row.numpy or row.kernel) if numpy else row.kernel
    return kernels.resolve(path)(*operands)


def native(
    op: str, operands: tuple[Any, ...], results: int | str = 1, *, symbolic: bool = False, numpy: bool = False, backwards: bool = False
) -> tuple[Any, ...]:
    """What the op's native code returns. Raises Unsupported, CompileError, Failed."""
    request, arrays = program(op, operands, results, symbolic=symbolic, numpy=numpy, backwards=backwards)
    return call(compile(request), arrays)


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def difference(actual: Any, expected: Any, ulp: float, per_element: float = 0.0, length: int = 1) -> str:
    """Empty when results agree within `ulp` units in the last place of the expected value (or of the largest, when summed)."""
    if not isinstance(expected, np.ndarray):
        return "" if actual == expected or (expected != expected and actual != actual) else f"{actual!r}, not {expected!r}"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}"
    dtype = dtypes.from_numpy(expected.dtype)
    bound = ulp + per_element * math.sqrt(max(length, 1))
    if dtype is None or not dtype.is_float:
        return "" if np.array_equal(actual, expected) else f"{actual.ravel()[:8]}, not {expected.ravel()[:8]}"
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(e)):
        return f"NaN where there is none: {a.ravel()[:8]}, not {e.ravel()[:8]}"
    bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[dtype.name]
    least = {"f16": -24, "bf16": -133, "f32": -149, "f64": -1074}[dtype.name]
    infinite = np.isinf(e) | np.isinf(a)
    if not np.array_equal(a[infinite & ~np.isnan(e)], e[infinite & ~np.isnan(e)]):
        return f"infinite where it should not be: {a.ravel()[:8]}, not {e.ravel()[:8]}"
    finite = np.isfinite(e)
    size = np.abs(e[finite])
    if per_element:
        size = np.maximum(size, np.max(size, initial=0.0) * 0.1)
    exponent = np.maximum(np.frexp(size)[1] - 1 - bits, least)
    wrong = np.abs(a[finite] - e[finite]) > bound * np.ldexp(1.0, exponent)
    zeros = (e == 0) & (a == 0) & (np.signbit(a) != np.signbit(e))
    if wrong.any():
        return f"{a[finite][wrong][:5]}, not {e[finite][wrong][:5]}"
    return f"signs of zeros differ: {a.ravel()[:8]}, not {e.ravel()[:8]}" if zeros.any() else ""


__all__ = ["ArgumentSpec", "Failed", "difference", "flat", "native", "program", "tier0"]
