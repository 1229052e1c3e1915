"""tierup-lower-ops: ops of the torch dialect on tensors and on numbers become loops, slices, contractions and arith.

    %a = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?,4],ui8>, !torch.vtensor<[4],f16> -> !torch.vtensor<[?,4],f16>
    %b = torch.aten.sum.dim_IntList %0, [1], false, none : !torch.vtensor<[?,4],f16> -> !torch.vtensor<[?],f16>
    %c = torch.aten.addmm %bias, %x, %y, %one, %one
    %d = torch.aten.conv2d %x, %w, %bias, %stride, %padding, %dilation, %groups
    %e = torch.aten.max_pool2d %x, %kernel, %stride, %padding, %dilation, %ceil
    %f = torch.aten.select.int %0, %dim, %i
    %g = torch.aten.cat [%x, %y], %dim
    %h = torch.aten.index_select %0, %dim, %1
    %i = torch.aten.new_full %0, %sizes, %number, ... -> !torch.vtensor<[?,4],bf16>
    %j = torch.aten.floordiv.int %0, %1
    %k = torch.aten.size.int %x, %dim
becomes
    linalg.generic { extended to f32, multiplied, rounded to f16 } on builtin tensors
    linalg.generic, parallel over rows and reducing columns, that adds in f32; another that rounds to f16
    linalg.matmul of %x and %y into zeros, then a loop that adds %bias
    for each sample: a loop that lays out what windows see as columns, and linalg.matmul of %w and these; a loop that adds %bias
    a loop over the result, unrolled over the window
    tensor.extract_slice of one position
    tensor.insert_slice of each part
    linalg.generic over the result that reads %0 at clamped positions
    linalg.generic that writes one constant
    arith.divsi and a correction, on i64
    tensor.dim

torch-mlir lowers most of these ops too, but not for all dtypes, and not always to torch's values (unsigned division, float16 rounded at
every step, softshrink, gelu's constant, ...). Here each element type means what tier 0 means by it, with tier 0's accumulators,
identities, NaN and order of extremes. Dynamic sizes are taken to be equal where they meet, and at least 2 where they meet a static one: the
`specialized` contract says so. Each op is as few loops as its formula has; fusing them is for the passes on linalg.

Views are values here: those that the caller gets as views of its arguments have left the function before. That every position was in range
to begin with is insert_bounds_checks' to assert; nothing outside is ever read or written. A scatter is a loop in index order over a copy:
the last of several writes to one place counts, as in tier 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.ops import pointwise, scalars, tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import Context, NotHandled, candidate, load_casts, native, to_torch
from tierup.lowering.ops.tensors import Tensor

# The tables that are imported when an op comes up that the ones before do not have
_TABLES = (
    "reductions.sums", "reductions.extremes", "reductions.statistics", "reductions.normalisation", "reductions.scans",
    "reductions.ordering",
    "products.contractions", "linear_algebra",
    "windows.convolution", "windows.correlation", "windows.pooling", "windows.adaptive",
    "movement.views", "movement.joining", "movement.patterns",
    "indexing.gathers", "indexing.scatters", "indexing.searching", "indexing.folds",
    "factories",
)  # fmt: skip
_IN_NO_TABLE = ("torch.constant.", "torch.runtime.", *(f"torch.prim.{name}" for name in ("If", "Loop", "ListConstruct", "Uninitialized")))


@register
class LowerOps(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in b.walk_unfused(function):
            if not op.name.startswith("torch.") or op.name.startswith(_IN_NO_TABLE) or PROMOTION in op.attributes:
                continue
            name = torch_name(op)
            lowering = _pointwise if pointwise.handles(name) else _in_tables(name)
            replacements = None if lowering is None else _lowered(op, lowering)
            if replacements is not None:  # else tierup-verify-lowered names it
                take_place(op, replacements)


@cache
def _in_tables(name: str) -> Lowering | None:
    if name in scalars.LOWERINGS:
        return scalars.LOWERINGS[name]
    tables = (import_module(f"tierup.lowering.ops.{table}").LOWERINGS for table in _TABLES)
    return next((table[name] for table in tables if name in table), None)


def _lowered(op: ir.Operation, lowering: Lowering) -> list[ir.Value] | None:
    """What comes in the place of an op's results; None where it is not handled. Tensors get the sizes that inference found: it may know one
    that arithmetic on sizes only gives in the run."""
    try:
        with op.location, ir.InsertionPoint(op):
            call = Call(op)
            made = lowering(call)
            replacements = []
            for i, value in enumerate(made if isinstance(made, list) else [made]):
                type_ = op.results[i].type
                native_ = value.cast(native(type_)) if isinstance(value, Scalar) else value.with_sizes(call.sizes(i)).value
                replacements.append(to_torch(native_, type_))
            return replacements
    except NotHandled:
        b.discard_before(op)
        return None


def _pointwise(c: Call) -> Tensor:
    name, operands = torch_name(c.op), list(enumerate(c.op.operands))
    read = {i: c.tensor(i) for i, v in operands if torch_types.is_tensor(v.type) and pointwise.reads(name, i)}
    recipe = pointwise.recipe(name, tuple(candidate(v) for _, v in operands))
    parameters = {i: c.parameter(i) for i, v in operands if not torch_types.is_tensor(v.type)}
    sizes, dtype = c.sizes(), c.dtype()
    rank = len(sizes)
    if any(x.rank > rank for x in read.values()):
        raise NotHandled  # no broadcast gives this rank: the types are wrong, and a map of them would crash MLIR's verifier
    lengths = [size if size is not None else _length(axis - rank, read.values()) for axis, size in enumerate(sizes)]
    rank_0 = [i for i, x in read.items() if not x.rank]

    def body(elements: list[Scalar], _: list[Scalar]) -> list[Scalar]:
        return [recipe(Context(dict(zip(read, elements, strict=True)), parameters, dtype, rank_0))]

    reads = [(x, b.broadcast_map(x.sizes, rank)) for x in read.values()]
    return tensors.looped(reads, [tensors.empty(lengths, dtype)], ir.AffineMap.get_identity(rank), ["parallel"] * rank, body)[0]


def _length(axis: int, operands: Iterable[Tensor]) -> Scalar:
    """A size that the run knows, of an operand that has it. `axis` counts from the end."""
    for x in operands:
        if x.rank >= -axis and x.sizes[axis] is None:
            return x.size(x.rank + axis)
    raise NotHandled  # the result's type knows less than its operands': inference has more to say first
