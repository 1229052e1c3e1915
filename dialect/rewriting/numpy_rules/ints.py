"""Ints under NumPy's rules, which are Python's, have any size: native code leaves to tier 0 what 64 bits do not hold.

    %0 = torch.aten.mul.int %a, %b {tierup.promotion = "numpy"} : ...

becomes, unless the bounds of its operands prove that the product fits,

    %ok = torch.operator "tierup.mul_fits"(%a, %b) : ...
    torch.runtime.assert %ok, "an int of more than 64 bits"
    %0 = torch.aten.mul.int %a, %b {tierup.saturates} : ...

Where the check fails native code goes on to the next exit, with the nearest int that 64 bits hold: so bounds of the operands say of the
result what they would say of ints of any size (`analysis/ints/positions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from tierup.dialect.base.exceptions import INT_TOO_LARGE, SIZE_TOO_LARGE
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir.attributes import PROMOTION, SATURATES, constant
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.numpy_rules.int_ranges import ALL, MOST, Ranges
from tierup.dialect.rewriting.site import Site

FORM = "ints"
_BOOL = "!torch.bool"
SATURATING = ("aten.add.int", "aten.sub.int", "aten.mul.int")
_FROM_FLOATS = ("aten.Int.float", "aten.Int.Tensor", "aten.ceil.float")


def drop_proven(func: ir.Operation, ops: list[ir.Operation], inference: Inference) -> None:
    """Put those of the ops under torch's rules whose results are proven to fit: there both rules are one."""
    ops = [op for op in ops if (row := row_of(op)) is not None and row.numpy_form == FORM]
    if not ops:
        return
    for ranges in (Ranges(inference, most=ALL[1]), Ranges(inference, most=MOST)):
        proven = [op for op in ops if ranges.fits(op)]
        for op in proven:
            del op.attributes[PROMOTION]
        ops = [op for op in ops if op not in proven]
    if proven:
        _assert_sizes(ranges.sizes)


def _assert_sizes(sizes: list[ir.Value]) -> None:
    for size in dict.fromkeys(sizes):
        op = size.owner.operation
        after = ir.InsertionPoint.after(op)
        most = constant(MOST, after)
        fits = ir.Operation.create("torch.aten.le.int", [ir.Type.parse(_BOOL, op.context)], [size, most], loc=op.location, ip=after)
        message = {"message": ir.StringAttr.get(SIZE_TOO_LARGE, op.context)}
        ir.Operation.create("torch.runtime.assert", [], list(fits.results), message, loc=op.location, ip=after)


def checked(site: Site) -> list[ir.Value]:
    """The op under torch's rules, after a check that its result fits."""
    both: Callable[[ir.Value, ir.Value], ir.Value] = lambda a, b: site.one("aten.__and__.bool", a, b, type_=_BOOL)
    conditions = _conditions(site)
    if conditions:
        site.check(reduce(both, conditions), INT_TOO_LARGE)
    results = site.again()
    if site.name in SATURATING:
        results[0].owner.operation.attributes[SATURATES] = ir.UnitAttr.get(site.op.context)
    return results


def _conditions(site: Site) -> list[ir.Value]:
    """What must hold for the result to fit."""
    ask: Callable[..., ir.Value] = lambda name, *operands: site.one(name, *operands, type_=_BOOL)
    operands = site.operands
    if site.name in _FROM_FLOATS:
        number = operands[0]
        if site.is_tensor(0):
            dtype = site.dtype_of(number)
            if not dtype.is_float:
                return [] if dtype.range[1] <= ALL[1] else [ask("aten.Bool.Tensor", site.one("aten.le.Scalar", number, ALL[1]))]
            number = site.one("aten.Float.Tensor", number, type_="!torch.float")
        return [ask("aten.ge.float", number, float(ALL[0])), ask("aten.lt.float", number, -float(ALL[0]))]
    if site.name == "aten.neg.int":
        return [ask("aten.ne.int", operands[0], ALL[0])]
    if site.name == "aten.floordiv.int":
        return [ask("aten.__or__.bool", ask("aten.ne.int", operands[0], ALL[0]), ask("aten.ne.int", operands[1], -1))]
    if site.name == "aten.__range_length":
        low, high, _ = operands
        return [ask("tierup.sub_fits", high, low), ask("tierup.sub_fits", low, high)]
    return [ask(f"tierup.{site.name.split('.')[1].strip('_')}_fits", *operands)]
