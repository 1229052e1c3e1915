"""Indexing: what was taken from a place adds its gradient there; what was put there takes the place's.

Indices may be repeated. Where elements are taken, all of them add up. Where they are put and several go to one place, NumPy keeps the
last one, which then has the gradient; torch leaves open which one it is, and PyTorch gives all of them the gradient: so do these rules,
each for programs of its kind.
"""

from __future__ import annotations

from tierup.dialect import dtypes
from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.ir.rewriting import items_of, under_casts
from tierup.dialect.mlir import ir
from tierup.dialect.optable.reduced import replaced

RULES = Rules()

_INT64 = dtypes.i64.code

# --- lists of indices and masks ----------------------------------------------------------------------------------------


@RULES.vjp("aten.index.Tensor(self, indices)", "aten.index.Tensor_hacked_twin(self, indices)", captures=("indices",))
def index(g: Backward) -> Gradients:
    return _put(g, g.zeros(0), g.operands[1], g.grad, adds=True)


@RULES.vjp(
    "aten.index_put(self, indices, values, accumulate)", "aten.index_put.hacked_twin(self, indices, values, accumulate)",
    "aten._unsafe_index_put.hacked_twin(self, indices, values, accumulate)",
    captures=("indices", "accumulate"),
)  # fmt: skip
def index_put(g: Backward) -> Gradients:
    where = g.operands[1]
    adds = g.number(3)
    taken = _taken(g, g.grad, where)
    if isinstance(adds, ir.Value):
        of_self = g.choose(adds, lambda: g.grad, lambda: _without(g, where))
        of_values = g.choose(adds, lambda: taken, lambda: _kept(g, where, taken))
    else:
        of_self = g.grad if adds else _without(g, where)
        of_values = taken if adds else _kept(g, where, taken)
    return of_self, None, g.sum_to(of_values, 2)


def _taken(g: Backward, x: ir.Value, where: ir.Value) -> ir.Value:
    return g.alike("aten.index.Tensor" if _has_optional(where) else "aten.index.Tensor_hacked_twin", x, where)


def _put(g: Backward, x: ir.Value, where: ir.Value, values: ir.Value, *, adds: bool = False) -> ir.Value:
    return g.alike("aten.index_put" if _has_optional(where) else "aten.index_put.hacked_twin", x, where, values, adds)


def _has_optional(where: ir.Value) -> bool:
    return "optional" in str(where.type)


def _without(g: Backward, where: ir.Value) -> ir.Value:
    """The gradient, zero where elements were put."""
    return _put(g, g.grad, where, g.zeros(2))


def _kept(g: Backward, where: ir.Value, taken: ir.Value) -> ir.Value:
    """The gradient of what was put, zero for what something else was put over."""
    if not g.numpy or _are_masks(g, where):
        return taken
    count = g.call("aten.numel", taken, type_="!torch.int")
    numbers = g.call("aten.reshape", g.call("aten.arange", count, _INT64, None, None, None), g.size(taken))
    places = g.call("aten.zeros", g.operand_size(0), _INT64, None, None, None)
    last = _taken(g, _put(g, places, where, numbers), where)
    return g.where(g.compare("eq", last, numbers), taken, 0.0)


def _are_masks(g: Backward, where: ir.Value) -> bool:
    """Whether no index is known to be other than a mask: these name each place once."""
    items = items_of(under_casts(where))
    return items is not None and all(g.tensor(v).dtype is dtypes.bool_ for v in items)


# --- one index for a whole dim -----------------------------------------------------------------------------------------


@RULES.vjp("aten.index_select(self, dim, index)", captures=("dim", "index"))
def index_select(g: Backward) -> Gradients:
    """As if the dim were the first one, and the index a vector."""
    where, dim, grad = g.operands[2], int(g.constant(1)), g.grad
    flat = g.call("aten.reshape", where, [-1])
    if g.numpy:  # an index of any rank stands where the dim was
        grad = g.call("aten.reshape", grad, replaced(g, g.operand_size(0), dim, [g.call("aten.numel", where, type_="!torch.int")]))
    zeros = g.zeros(0)
    if g.rank(0) is None or g.rank(0) == 0:
        zeros, grad = g.call("aten.atleast_1d", zeros), g.call("aten.atleast_1d", grad)
    if dim == 0:
        added = _put(g, zeros, g.value([flat]), grad, adds=True)
    else:
        turned = [g.call("aten.transpose.int", v, 0, dim) for v in (zeros, grad)]
        added = g.call("aten.transpose.int", _put(g, turned[0], g.value([flat]), turned[1], adds=True), 0, dim)
    return g.call("aten.reshape", added, g.operand_size(0)) if g.rank(0) is None or g.rank(0) == 0 else added


@RULES.vjp(
    "aten.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)",
    captures=("indices", "padding_idx", "scale_grad_by_freq"),
)
def embedding(g: Backward) -> Gradients:
    """Rows at `padding_idx` have no gradient; scaled, a row's is divided by how often it was taken. NumPy has neither."""
    where, grad = g.operands[1], g.grad
    padding, scaled = (-1, False) if g.numpy else (g.constant(2), g.constant(3))
    if scaled:
        counts = g.call("aten.zeros", [g.size_of(g.like(0), 0)], g.dtype(grad), None, None, None)
        ones = g.call("aten.ones", g.size(where), g.dtype(grad), None, None, None)
        often = _taken(g, _put(g, counts, g.value([where]), ones, adds=True), g.value([where]))
        grad = g.div(grad, g.call("aten.unsqueeze", often, -1))
    if padding >= 0:
        grad = g.where(g.call("aten.unsqueeze", g.compare("eq", where, padding), -1), 0.0, grad)
    return _put(g, g.zeros(0), g.value([where]), grad, adds=True)


# --- one index per element ---------------------------------------------------------------------------------------------


@RULES.vjp("aten.gather(self, dim, index, sparse_grad)", captures=("dim", "index"))
def gather(g: Backward) -> Gradients:
    where = g.operands[2]
    if not g.numpy:
        return g.call("aten.scatter_add", g.zeros(0), g.number(1), where, g.grad)
    dim = int(g.constant(1))
    size = g.size_of(g.like(0), dim)  # np.take_along_axis: negative indices, and all dims but one broadcast
    where = g.call("aten.to.dtype", where, _INT64, False, False, None)
    where = g.where(g.compare("lt", where, 0), g.add(where, size), where)
    where = g.expand(where, g.size(g.grad))
    whole = g.call("aten.zeros", replaced(g, g.size(g.grad), dim, [size]), g.dtype(g.grad), None, None, None)
    return g.sum_to(g.call("aten.scatter_add", whole, dim, where, g.grad), 0)


@RULES.vjp("aten.scatter.src(self, dim, index, src)", captures=("dim", "index"))
def scatter(g: Backward) -> Gradients:
    where = g.operands[1:3]
    return g.call("aten.scatter.value", g.grad, *where, 0.0), None, None, _source(g, where)


@RULES.vjp("aten.scatter.value(self, dim, index, value)", captures=("dim", "index"))
def scatter_value(g: Backward) -> Gradients:
    return g.call("aten.scatter.value", g.grad, *g.operands[1:3], 0.0)


@RULES.vjp("aten.scatter_add(self, dim, index, src)", captures=("dim", "index"))
def scatter_add(g: Backward) -> Gradients:
    return g.grad, None, None, _source(g, g.operands[1:3])


def _source(g: Backward, where: list[ir.Value]) -> ir.Value:
    """The gradient of a source of which the first elements in each dim are read, as many as there are indices."""
    taken, rank = g.call("aten.gather", g.grad, *where, False), g.rank(3)
    if g.same_shape(taken, g.like(3)):
        return taken
    if rank is None:  # refused by the run where the source is larger than the index, as PyTorch does
        return g.call("aten.reshape", taken, g.operand_size(3))
    behind = [g.call("aten.sub.int", g.size_of(g.like(3), d), g.size_of(where[1], d), type_="!torch.int") for d in range(rank)]
    return g.call("aten.constant_pad_nd", taken, [v for more in reversed(behind) for v in (0, more)] or g.value([]), 0.0)


# --- masks -------------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.masked_select(self, mask)", captures=("mask",))
def masked_select(g: Backward) -> Gradients:
    """Where one of the two broadcast, the places are those of both."""
    mask, places = g.operands[1], g.zeros(0)
    if not g.same_shape(mask, places):
        places = g.where(mask, places, 0.0)
        mask = g.expand(mask, g.size(places))
        places = g.zeros_like(places)
    return g.sum_to(_put(g, places, g.value([mask]), g.grad), 0)


@RULES.vjp("aten.masked_scatter(self, mask, source)", captures=("mask",))
def masked_scatter(g: Backward) -> Gradients:
    """Of the source as many elements are read as the mask has places."""
    mask = g.operands[1]
    taken = g.call("aten.masked_select", g.grad, mask)
    flat = g.call("aten.zeros", [g.call("aten.numel", g.like(2), type_="!torch.int")], g.dtype(g.grad), None, None, None)
    flat = g.call("aten.slice_scatter", flat, taken, 0, 0, g.size_of(taken, 0), 1)
    return g.sum_to(g.where(mask, 0.0, g.grad), 0), None, g.cast_to(g.call("aten.reshape", flat, g.operand_size(2)), 2)
