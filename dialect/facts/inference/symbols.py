"""Symbolic sizes in the IR: torch's own `torch.symbolic_int` and `torch.bind_symbolic_shape`, the one form there is.

    %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tierup.dialect.facts.dims import Expr, Symbol, symbol
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Tie

_MAX = (1 << 63) - 1


def bind(block: ir.Block, shapes: Mapping[ir.Value, Sequence[int | str]]) -> None:
    """Declare the symbols of these values' shapes at the start of `block` (after its arguments) and bind each shape."""
    context = block.owner.context
    with ir.Location.unknown(context), ir.InsertionPoint.at_block_begin(block):
        declared: dict[str, ir.Value] = {}
        for value, shape in shapes.items():
            names = list(dict.fromkeys(d for d in shape if isinstance(d, str)))
            if not names:
                continue
            for name in names:
                if name not in declared:
                    declared[name] = ir.Operation.create(
                        "torch.symbolic_int",
                        results=[ir.Type.parse("!torch.int")],
                        attributes={"symbol_name": ir.StringAttr.get(name), "min_val": i64(2), "max_val": i64(_MAX)},
                    ).results[0]
            exprs = [ir.AffineSymbolExpr.get(names.index(d)) if isinstance(d, str) else ir.AffineConstantExpr.get(d) for d in shape]
            ir.Operation.create(
                "torch.bind_symbolic_shape",
                operands=[value, *(declared[n] for n in names)],
                attributes={"shape_expressions": ir.AffineMapAttr.get(ir.AffineMap.get(0, len(names), exprs))},
            )


def erase(block: ir.Block) -> None:
    """Take the declarations of a block away again: lowering has read them."""
    for name in ("torch.bind_symbolic_shape", "torch.symbolic_int"):
        for op in [view.operation for view in block.operations]:
            if op.name == name:
                op.erase()


def bound_shapes(block: ir.Block) -> dict[ir.Value, Shape]:
    """The shapes that `torch.bind_symbolic_shape` ops of a block state, where each size is a symbol or a constant."""
    shapes: dict[ir.Value, Shape] = {}
    for view in block.operations:
        op = view.operation
        if op.name != "torch.bind_symbolic_shape":
            continue
        symbols = [_declared(v) for v in list(op.operands)[1:]]
        dims = []
        for expr in ir.AffineMapAttr(op.attributes["shape_expressions"]).value.results:
            dims.append(_dim(expr, symbols))
        if all(d is not None for d in dims):
            shapes[op.operands[0]] = tuple(d for d in dims if d is not None)
    return shapes


def _declared(value: ir.Value) -> Symbol:
    op = value.owner
    return Symbol(ir.StringAttr(op.attributes["symbol_name"]).value, max(ir.IntegerAttr(op.attributes["min_val"]).value, 0))


def _dim(expr: ir.AffineExpr, symbols: list[Symbol]) -> int | Expr | None:
    if isinstance(expr, ir.AffineConstantExpr):
        return int(ir.AffineConstantExpr(expr).value)
    if isinstance(expr, ir.AffineSymbolExpr):
        found = symbols[ir.AffineSymbolExpr(expr).position]
        return symbol(found.name, found.low)
    return None


def argument_values(func: ir.Operation) -> list[Value]:
    """What a function's signature and symbol bindings say of its arguments. An unbound `?` is a size known at run time only."""
    block = func.regions[0].blocks[0]
    bound = bound_shapes(block)
    values: list[Value] = []
    for i, argument in enumerate(block.arguments):
        value = torch_types.value_of(argument.type)
        if isinstance(value, Tensor) and value.shape is None:
            sizes, dtype = torch_types.parse_tensor(str(argument.type))
            if argument in bound:
                value = Tensor(dtype, bound[argument])
            elif sizes is not None:
                value = Tensor(dtype, tuple(symbol(f"a{i}_{d}", 0) if size is None else size for d, size in enumerate(sizes)))
        values.append(value)
    return values


def unify(block: ir.Block, ties: Callable[[], Sequence[Tie]]) -> bool:
    """Bind symbols that `ties` says must be equal to one symbol, or to the number that one must be, until nothing is left to tie.

    `ties` is asked again after every change. False when a tie is no equation of two symbols, or of a symbol of this block's
    bindings and a number; what was unified until then stays.
    """
    while True:
        open_ties = [tie for tie in ties() if tie.left != tie.right]
        if not open_ties:
            return True
        shapes = bound_shapes(block)
        bound = {d for shape in shapes.values() for d in shape if not isinstance(d, int)}
        for tie in open_ties:
            old, new = (tie.left, tie.right) if tie.left in bound else (tie.right, tie.left)
            if old in bound and (isinstance(new, int) or new in bound):
                break
        else:
            return False
        changed = {value: tuple(new if d == old else d for d in shape) for value, shape in shapes.items()}
        rebind(block, changed)
        for value, shape in changed.items():
            dtype = torch_types.parse_tensor(str(value.type))[1]
            value.set_type(torch_types.tensor_type(Tensor(dtype, shape), context=value.context))


def rebind(block: ir.Block, shapes: Mapping[ir.Value, Shape]) -> None:
    """Bind these shapes, of sizes that are numbers or symbols, instead of all that the block binds."""
    for name in ("torch.bind_symbolic_shape", "torch.symbolic_int"):
        for op in ops_of(block):
            if op.name == name:
                op.erase()
    bind(block, {value: [d if isinstance(d, int) else str(d) for d in shape] for value, shape in shapes.items()})
