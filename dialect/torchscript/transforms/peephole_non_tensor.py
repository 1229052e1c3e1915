"""tierup-peephole-non-tensor: numbers, booleans, None and what they are called.

    %0 = torch.aten.sub.int %n, %int2 : !torch.int, !torch.int -> !torch.int
    %1 = torch.aten.add.int %0, %int3 : !torch.int, !torch.int -> !torch.int
    %2 = torch.prim.If %c -> (!torch.bool) {
      torch.prim.If.yield %true : !torch.bool
    } else {
      torch.prim.If.yield %false : !torch.bool
    }

becomes

    %1 = torch.aten.add.int %n, %int1 : !torch.int, !torch.int -> !torch.int            and %c for %2

* a value of type None is the constant; `is None` and `is not None` where the type decides;
* a branch that gives (true, false) is its condition, (false, true) the opposite; one whose arms both give a T as an optional T gives
  a T; a branch that does nothing goes;
* `derefine` and `unchecked_cast` to the type that the value has; `Int` of an int, `Float` of a float; `not not`;
* `x == x` and its kin for ints, bools, strings and lists of ints, never for floats: NaN is not itself;
* ints times 1, plus or minus 0, floor-divided by 1, never `div`, which gives a float; floats times or divided by 1.0;
* additions of constants to an int become one. Ints wrap under torch's rules, and so does the sum of the constants; under NumPy's they
  do not, so a sum that is no int64 stays.

`ceil` of an int stays: it goes through a float, which loses digits from 2**53 on.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import promotion
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir.structure import blocks, is_used, last_of, maker
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.ops.scalars.numbers import wrap
from tierup.dialect.optable.core import Promotion
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import (
    LocalRewrites,
    Rule,
    bool_of,
    create,
    drop_unused,
    erase,
    float_of,
    int_of,
    number,
    rewrite,
    under_casts,
)


@register
class PeepholeNonTensor(LocalRewrites):
    def apply(self, func: ir.Operation) -> bool:
        changed = False
        while _nones(func) | _branches(func) | rewrite(func, _RULES):
            changed = True
        return changed


# --- None, and branches that say no more than their condition --------------------------------------------------------------


def _nones(op: ir.Operation) -> bool:
    """Uses of values of type None see the constant."""
    changed = False
    for block in blocks(op):
        for argument in block.arguments:
            changed |= _is_constant_none(argument, block.operations[0].operation)
        for inner in ops_of(block):
            if inner.name != "torch.constant.none":
                for result in inner.results:
                    changed |= _is_constant_none(result, inner)
            changed |= _nones(inner)
    return changed


def _is_constant_none(value: ir.Value, before: ir.Operation) -> bool:
    if str(value.type) != "!torch.none" or not is_used(value):
        return False
    value.replace_all_uses_with(number(before, None))
    return True


def _branches(op: ir.Operation) -> bool:
    changed = False
    for block in blocks(op):
        for inner in ops_of(block):
            changed |= _branches(inner)
            if inner.name == "torch.prim.If":
                changed |= _branch(inner)
    return changed


def _branch(op: ir.Operation) -> bool:
    changed = False
    lasts = [last_of(region.blocks[0]) for region in op.regions]
    for i, result in enumerate(op.results):
        then, otherwise = (last.operands[i] for last in lasts)
        answers = bool_of(then), bool_of(otherwise)
        if not is_used(result):
            continue
        if answers == (True, False):
            result.replace_all_uses_with(op.operands[0])
            changed = True
        elif answers == (False, True):
            result.replace_all_uses_with(create(op, "torch.aten.__not__", [op.operands[0]], result.type))
            changed = True
        else:
            changed |= _narrow(op, i, lasts)
    if not any(is_used(r) for r in op.results) and all(_does_nothing(b) for b in blocks(op)):
        erase(op)
        changed = True
    return changed


def _does_nothing(block: ir.Block) -> bool:
    *inner, _ = [view.operation for view in block.operations]
    return all(op.name.startswith("torch.constant.") for op in inner)


def _narrow(op: ir.Operation, i: int, lasts: list[ir.Operation]) -> bool:
    """An optional result is what both arms make it from, when that is one type."""
    result = op.results[i]
    made = [maker(last.operands[i], "torch.derefine") for last in lasts]
    if not str(result.type).startswith("!torch.optional<") or made[0] is None or made[1] is None:
        return False
    sources = [m.operands[0] for m in made if m is not None]
    if sources[0].type != sources[1].type or str(sources[0].type).startswith("!torch.optional<"):
        return False
    wide = result.type
    for last, source in zip(lasts, sources, strict=True):
        old = last.operands[i]
        last.operands[i] = source
        drop_unused([old])
    result.set_type(sources[0].type)
    widened = cast(result, wide, ir.InsertionPoint.after(op))
    result.replace_all_uses_except(widened, widened.owner.operation)
    return True


# --- ops ---------------------------------------------------------------------------------------------------------------------


def _definedness(value: ir.Value) -> bool | None:
    """Whether a value is None: True, False, or None when only the run knows."""
    while True:
        text = str(value.type)
        if text == "!torch.none":
            return True
        if not text.startswith(("!torch.optional<", "!torch.any")):
            return False
        op = maker(value, "torch.derefine")
        if op is None:
            return None
        value = op.operands[0]


def _is(op: ir.Operation) -> ir.Value | None:
    left, right = (_definedness(v) for v in op.operands)
    if left is None or right is None or not (left or right):
        return None  # whether two things are one object is not for types to say
    same = left and right
    return number(op, same if op.name == "torch.aten.__is__" else not same)


def _no_cast(op: ir.Operation) -> ir.Value | None:
    """The value under casts that has the type already."""
    value = op.operands[0]
    while value.type != op.results[0].type:
        inner = maker(value)
        if inner is None or inner.name not in ("torch.derefine", "torch.prim.unchecked_cast"):
            return None
        value = inner.operands[0]
    return value


def _same_kind(op: ir.Operation) -> ir.Value | None:
    value = under_casts(op.operands[0])
    return value if value.type == op.results[0].type else None


def _not_not(op: ir.Operation) -> ir.Value | None:
    inner = maker(op.operands[0], "torch.aten.__not__")
    return None if inner is None else inner.operands[0]


def _compares(answer: bool) -> Rule:
    def rule(op: ir.Operation) -> ir.Value | None:
        return number(op, answer) if op.operands[0] == op.operands[1] else None

    return rule


def _by_one(op: ir.Operation) -> ir.Value | None:
    left, right = op.operands
    if _is_one(right):
        return left
    return right if op.name.startswith("torch.aten.mul.") and _is_one(left) else None


def _is_one(value: ir.Value) -> bool:
    return int_of(value) == 1 or float_of(value) == 1.0


def _addend(op: ir.Operation | None) -> tuple[ir.Value, int] | None:
    """(x, c) for an op that gives x + c."""
    if op is None or op.name not in ("torch.aten.add.int", "torch.aten.sub.int"):
        return None
    left, right = op.operands
    c, other = int_of(right), int_of(left)
    if op.name == "torch.aten.sub.int":
        return None if c is None else (left, -c)
    return (left, c) if c is not None else (right, other) if other is not None else None


def _add(op: ir.Operation) -> ir.Value | None:
    outer = _addend(op)
    if outer is None:
        return None
    x, c = outer
    if c == 0:
        return x
    made = maker(x)
    inner = _addend(made)
    if inner is None or made is None or promotion(made) != promotion(op):
        return None
    total = inner[1] + c
    if promotion(op) is Promotion.TORCH:
        total = wrap(total)
    elif wrap(total) != total:
        return None
    return inner[0] if total == 0 else create(op, "torch.aten.add.int", [inner[0], number(op, total)], op.results[0].type, like=op)


_RULES: dict[str, Rule] = {
    "aten.__is__": _is, "aten.__isnot__": _is, "derefine": _no_cast, "prim.unchecked_cast": _no_cast,
    "aten.Int.Scalar": _same_kind, "aten.Float.Scalar": _same_kind, "aten.__not__": _not_not,
    "aten.add.int": _add, "aten.sub.int": _add,
    **dict.fromkeys(("aten.mul.int", "aten.floordiv.int", "aten.mul.float", "aten.div.float"), _by_one),
    **{f"aten.{name}": _compares(True) for name in ("eq.int", "eq.bool", "eq.str", "eq.int_list", "le.int", "ge.int")},
    **{f"aten.{name}": _compares(False) for name in ("ne.int", "ne.bool", "ne.str", "ne.int_list", "lt.int", "gt.int")},
}  # fmt: skip
