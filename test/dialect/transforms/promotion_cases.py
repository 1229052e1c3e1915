"""Many ops under NumPy's rules in one program, run by tier 0 before and after `tierup-explicit-promotion`."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from single_op import Operands, difference, flat

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Opaque, Str, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import OF_RULES, Infer, Promotion
from tierup.dialect.optable.operands import lifted
from tierup.dialect.passes import registry
from tierup.runtime.interpreter.translate import translate

Case = tuple[Any, ...]  # the operands of one op


def abstract(value: Any) -> Value:
    if isinstance(value, str):
        return Str(value)
    return lifted(value)


def runs(op: str, operands: Case) -> bool:
    """Whether NumPy has a result for operands of these types that a program can hold."""
    row = optable.lookup(op)
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY
    try:
        found = row.infer(ctx, [abstract(v) for v in operands])
    except OF_RULES:
        return False
    return all(not isinstance(v, Opaque) and getattr(v, "dtype", None) is not None for v in flat(found))


def _type(x: np.ndarray) -> str:
    return f"!torch.vtensor<[{','.join(map(str, x.shape))}],{dtypes.from_numpy(x.dtype).mlir}>"


def as_text(op: str, cases: list[Case], results: int) -> tuple[str, list[np.ndarray]]:
    """A program of an op under NumPy's rules for each of the cases, and what to call it with."""
    made = Operands([], [])
    returned = []
    for i, operands in enumerate(cases):
        named = [made.name(v) for v in operands]
        outs = ", ".join(["!torch.vtensor"] * results)
        names, types = ", ".join(n for n, _ in named), ", ".join(t for _, t in named)
        spelled, attributes = torch_types.spelled(thread_context(), op, {"tierup.promotion": ir.Attribute.parse('"numpy"', thread_context())})
        marks = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        made.lines.append(f'  %r{i}:{results} = "{spelled}"({names}) {{{marks}}} : ({types}) -> ({outs})')
        returned += [f"%r{i}#{j}" for j in range(results)]
    types = ", ".join(["!torch.vtensor"] * len(returned))
    signature = ", ".join(f"%x{i}: {_type(a)}" for i, a in enumerate(made.arrays))
    arrays = [f"  %a{i} = torch.tensor_static_info_cast %x{i} : {_type(a)} to !torch.vtensor" for i, a in enumerate(made.arrays)]
    body = re.sub(r"\$t\d+", "!torch.vtensor", "\n".join([*arrays, *made.lines]))
    return f"func.func @main({signature}) -> ({types}) {{\n{body}\n  return {', '.join(returned)} : {types}\n}}", made.arrays


@dataclass
class Outcome:
    """kept: the cases that stayed under NumPy's rules. wrong: what is different after the rewrite."""

    kept: list[Case]
    wrong: list[str]


def described(operands: Case) -> str:
    return ", ".join(f"{dtypes.from_numpy(v.dtype)}{list(v.shape)}" if isinstance(v, np.ndarray) else str(v) for v in operands)


def differences(op: str, cases: list[Case], results: int = 1) -> Outcome:
    """Rewrite a program of all the cases that NumPy has a result for, and compare what tier 0 gives, dtype, shape and value."""
    cases = [c for c in cases if runs(op, c)]
    outcome = Outcome([], [])
    if not cases:
        return outcome
    text, arrays = as_text(op, cases, results)
    module = parse_module(text)
    pipeline = "builtin.module(func.func(tierup-infer-types,tierup-explicit-promotion,tierup-infer-types))"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = flat(translate(module, "main")(*[a.copy() for a in arrays]))
        registry.parse(pipeline).run(module)
        after = flat(translate(module, "main")(*[a.copy() for a in arrays]))
    outcome.kept = _kept(module, op, cases)
    row = optable.lookup(op)
    for i, (expected, actual) in enumerate(zip(before, after, strict=True)):
        operands = cases[i // results]
        length = max((v.size for v in operands if isinstance(v, np.ndarray)), default=1)
        why = difference(np.asarray(actual), np.asarray(expected), row.tolerance.ulp, row.tolerance.per_element, length)
        if why:
            outcome.wrong.append(f"{op}({described(operands)}): {why}")
    return outcome


def _kept(module: ir.Module, op: str, cases: list[Case]) -> list[Case]:
    """The cases whose op still has the attribute: the function's result types are the cases' in order."""
    func = module.body.operations[0].operation
    kept = [o for o in walk(func) if PROMOTION in o.attributes]
    owners = [v.owner for v in list(func.regions[0].blocks[0].operations)[-1].operation.operands]
    count = max(len(owners) // len(cases), 1)
    return [cases[i // count] for i, owner in enumerate(owners) if i % count == 0 and any(owner == k for k in kept)]
