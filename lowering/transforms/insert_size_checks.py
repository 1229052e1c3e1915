"""tierup-insert-size-checks: sizes that the run computes are checked to fit the elements that they are for.

    %0 = torch.prim.ListConstruct %n, %int4
    %1 = torch.aten.reshape %x, %0 : !torch.vtensor<[12],f32>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
becomes
    %ok = ... %n >= 0, and 12 is %n * 4                      // by division: no product overflows
    torch.runtime.assert %ok, "the elements do not fill the shape"
    %safe = torch.prim.If %ok -> %n, else 0                  // the program goes on: nothing outside is read
    %0 = torch.prim.ListConstruct %safe, %int4

and so for views, reshapes, broadcasts, repeats and fresh tensors whose list has a number that is no constant, for eye, and for aranges of
ints, of which torch's are not to end before they start; and for the element of a tensor whose sizes only the run knows to be 1. What has
more than `MOST_ELEMENTS` is left to tier 0, which asks NumPy for the memory: native code notices neither that there is none nor that a
number of bytes overflows. A size of -1 that only the run knows fails the check: tier 0 answers. Where type inference knows all sizes, as
it does those made of arguments' sizes, it has said what must be equal, and the compiler checks that before anything else: ops marked
`tierup.tied` are left alone, and where one may be negative, `tierup.known`, only signs are looked at. Sizes that are certain
(`tierup.certain`) stay as they are where the check of another fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from operator import and_

from tierup.dialect.facts.inference.infer import promotion
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Promotion
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

KNOWN = "tierup.known"  # on ops of whose sizes the inference knows all, and of which one may be negative
TIED = "tierup.tied"  # on ops of whose sizes the inference knows all; and on those that have been looked at
CERTAIN = "tierup.certain"  # on other ops: which sizes the inference knows, and not to be negative. They stay where a check fails
_INFERRED = -1
MOST_ELEMENTS = 1 << 30  # of what native code makes of sizes that the run computes


@register
class InsertSizeChecks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            name = torch_name(op)
            if TIED in op.attributes or name not in _HANDLERS and name not in _OTHERS and name not in _ELEMENTS:
                continue
            op.attributes[TIED] = ir.UnitAttr.get(op.context)
            if name in _ELEMENTS:
                with op.location, ir.InsertionPoint(op):
                    _element(op)
                continue
            if name in _OTHERS:
                with op.location, ir.InsertionPoint(op):
                    _OTHERS[name][1](op)
                continue
            slot, check = _HANDLERS[name]
            made = b.defining_op(op.operands[slot])
            if made is None or made.name != "torch.prim.ListConstruct" or check is not _fresh and t.sizes_of(op.operands[0]) is None:
                continue
            sizes = list(made.operands)
            if any(t.known_int(size) is None for size in sizes):
                with op.location, ir.InsertionPoint(op):
                    op.operands[slot] = b.value("torch.prim.ListConstruct", check(op, sizes), made.results[0].type)


def sizes_given(op: ir.Operation) -> list[ir.Value]:
    """The operands that are a list of sizes, or numbers that sizes hang on."""
    name = torch_name(op)
    if name in _HANDLERS:
        return [op.operands[_HANDLERS[name][0]]]
    return list(op.operands)[_OTHERS[name][0]] if name in _OTHERS else []


def fills(op: ir.Operation) -> bool:
    """Whether the sizes that an op is given are for elements that there are."""
    return _HANDLERS.get(torch_name(op), (0, None))[1] in (_reshape, _unflatten)


def _reshape(op: ir.Operation, sizes: list[ir.Value]) -> list[ir.Value]:
    x = op.operands[0]
    known = t.sizes_of(x)
    assert known is not None
    counts = [t.size(x, i) for i, size in enumerate(known[0]) if size is None]
    static = t.integer(prod(size for size in known[0] if size is not None))
    return _filled(reduce(lambda n, m: n * m, counts, static), sizes)


def _unflatten(op: ir.Operation, sizes: list[ir.Value]) -> list[ir.Value]:
    known, axis = t.sizes_of(op.operands[0]), t.known_int(op.operands[1])
    if known is None or axis is None or not known[0]:
        return sizes
    return _filled(t.size(op.operands[0], axis % len(known[0])), sizes)


def _filled(count: t.Number, sizes: list[ir.Value]) -> list[ir.Value]:
    """`count` elements fill a shape, of which one size may be inferred. In divisions, 0 is taken for 1."""
    given = [size for size in sizes if t.known_int(size) != _INFERRED]
    infers = len(given) < len(sizes)
    holds = [t.Number(size) >= int(infers) for size in given if t.known_int(size) is None]
    rest = count
    for size in given:
        divisor = t.greatest(size, 1)
        holds.append((rest % divisor).equals(0))
        rest = rest // divisor
    if not infers:
        one = t.integer(1)
        holds.append(t.least(count, one).equals(reduce(t.least, [*given, one])))  # 0 or 1
        holds.append(rest <= one)  # a count of 0 leaves 0
    ok = _asserted(holds, "the elements do not fill the shape")
    return [size if t.known_int(size) is not None else _or_else(ok, size, t.integer(int(infers))) for size in sizes]


def _expand(op: ir.Operation, sizes: list[ir.Value]) -> list[ir.Value]:
    """Sizes that are not 1 stay."""
    x = op.operands[0]
    known = t.sizes_of(x)
    assert known is not None
    new = len(sizes) - len(known[0])
    holds, fallback = [], {}
    for i, size in enumerate(sizes):
        if t.known_int(size) is not None:
            continue
        if i < new or known[0][i - new] == 1:
            fallback[i] = t.integer(0)
            holds.append(t.Number(size) >= fallback[i])
        else:
            fallback[i] = t.size(x, i - new)
            holds.append(t.Number(size).equals(fallback[i]))
    holds.append(_is_small(op, [t.size(x, i - new) if t.known_int(size) == _INFERRED else size for i, size in enumerate(sizes)]))
    ok = _asserted(holds, "a size must match the existing size")
    certain = [i for i in _certain(op) if i < new or known[0][i - new] == 1]
    return [size if i not in fallback or i in certain else _or_else(ok, size, fallback[i]) for i, size in enumerate(sizes)]


def _fresh(op: ir.Operation, sizes: list[ir.Value]) -> list[ir.Value]:
    zero = t.integer(0)
    given = [size for size in sizes if t.known_int(size) is None]
    ok = _asserted([*(t.Number(size) >= zero for size in given), _is_small(op, sizes)], "a size is negative, or too large")
    return [_or_else(ok, size, zero) if size in given and i not in _certain(op) else size for i, size in enumerate(sizes)]


def _repeat(op: ir.Operation, counts: list[ir.Value]) -> list[ir.Value]:
    """How many times the tensor stands along each axis."""
    x = op.operands[0]
    known = t.sizes_of(x)
    assert known is not None
    zero = t.integer(0)
    given = [count for count in counts if t.known_int(count) is None]
    lengths = [t.size(x, i) for i in range(len(known[0]))]
    ok = _asserted([*(t.Number(n) >= zero for n in given), _is_small(op, [*counts, *lengths])], "a count is negative, or it is too large")
    return [_or_else(ok, n, zero) if n in given and i not in _certain(op) else n for i, n in enumerate(counts)]


def _eye(op: ir.Operation) -> None:
    """The number of rows, and that of columns where it has one of its own."""
    sizes = sizes_given(op)
    if all(t.known_int(size) is not None for size in sizes):
        return
    ok = _asserted([*(t.Number(n) >= 0 for n in sizes), _is_small(op, (sizes * 2)[:2])], "a size is negative, or too large")
    for i, size in enumerate(sizes):
        if i not in _certain(op):
            op.operands[i] = _or_else(ok, size, t.integer(0))


def _arange(op: ir.Operation) -> None:
    """NumPy's is empty where the end lies before the start; torch's raises. The difference of ints that overflows is negative."""
    bounds = [t.integer(0)][: 1 if op.name.endswith("arange") else 0] + sizes_given(op)
    step = t.known_int(op.operands[2]) or 0 if op.name.endswith("start_step") else 1
    if not step or any(v.type != t.int_type() for v in bounds) or None not in [t.known_int(v) for v in bounds]:
        return
    first, last = map(t.Number, bounds if step > 0 else reversed(bounds))
    ok, is_ahead = None, last >= first
    if KNOWN not in op.attributes:
        distance = last - first
        fits = (distance >= 0) & (distance <= MOST_ELEMENTS)
        ok = _asserted([~is_ahead | fits], "the bounds are too far apart")
    if promotion(op) is Promotion.TORCH:
        t.check(is_ahead, "upper bound and lower bound inconsistent with step sign")
    if ok is not None:
        slot = len(sizes_given(op)) - 1
        op.operands[slot] = _or_else(ok, op.operands[slot], bounds[0])


def _element(op: ir.Operation) -> None:
    x, result = op.operands[0], op.results[0]
    known = t.sizes_of(x)
    if known is None or None not in known[0] or str(result.type) not in t.NUMBERS:
        return
    sizes = [t.size(x, i) for i, size in enumerate(known[0]) if size is None]
    ok = _asserted([size.equals(1) for size in sizes], "it has not one element")

    def taken() -> ir.Value:
        made = b.op(op.name, [x], [result.type])
        made.attributes[TIED] = ir.UnitAttr.get()
        return made.results[0]

    safe = t.either(ok, taken, lambda: t.constant(t.NUMBERS[str(result.type)]()), result.type)
    result.replace_all_uses_with(safe)
    op.erase()


def _is_small(op: ir.Operation, sizes: list[ir.Value]) -> t.Number:
    """Whether the product is at most MOST_ELEMENTS, by divisions: it may overflow. What is less than 1 is taken for 1. A caller may have
    memory for what the inference knows, so that nothing is made smaller there."""
    if KNOWN in op.attributes:
        return t.constant(True)
    one = t.integer(1)
    rest = t.integer(MOST_ELEMENTS)
    for size in sizes:
        rest = rest // t.greatest(size, one)
    return rest >= one


def _certain(op: ir.Operation) -> list[int]:
    """The sizes that are what inference says, whatever the run finds of the others: what follows from it of the result holds then, too."""
    return list(ir.DenseI64ArrayAttr(op.attributes[CERTAIN])) if CERTAIN in op.attributes else []


def _asserted(conditions: list[t.Number], message: str) -> t.Number:
    """Whether all hold, which is asserted."""
    ok = reduce(and_, conditions)
    t.check(ok, message)
    return ok


def _or_else(ok: ir.Value, size: ir.Value, other: ir.Value) -> ir.Value:
    return t.either(ok, lambda: size, lambda: other)


_OTHERS: dict[str, tuple[slice, Callable[[ir.Operation], None]]] = {  # which operands are numbers that sizes hang on
    "aten.arange": (slice(1), _arange),
    **{f"aten.{name}": (slice(2), _arange) for name in ("arange.start", "arange.start_step")},
    "aten.eye": (slice(1), _eye),
    "aten.eye.m": (slice(2), _eye),
}
_ELEMENTS = ("aten.item", "aten.Int.Tensor", "aten.Float.Tensor", "aten.Bool.Tensor")
_Check = Callable[[ir.Operation, list[ir.Value]], list[ir.Value]]
_HANDLERS: dict[str, tuple[int, _Check]] = {
    **{f"aten.{name}": (1, _reshape) for name in ("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy")},
    **{f"aten.{name}": (1, _expand) for name in ("expand", "broadcast_to", "expand_copy")},
    "aten.unflatten.int": (2, _unflatten),
    **{f"aten.{name}": (0, _fresh) for name in ("zeros", "ones", "empty.memory_format", "full")},
    **{f"aten.{name}": (1, _repeat) for name in ("repeat", "tile")},
    **{f"aten.new_{name}": (1, _fresh) for name in ("zeros", "ones", "empty", "full")},
}
