"""Views: the gradient is seen the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.gradients.core import Backward, Gradients, NoGradient, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp(
    "aten.view(self, size)", "aten.reshape(self, size)", "aten._unsafe_view(self, size)", "aten._reshape_alias(self, size, stride)",
    "aten.view_copy(self, size)", "aten.flatten.using_ints(self, start_dim, end_dim)", "aten.unflatten.int(self, dim, sizes)",
    "aten.reshape_as(self, other)", "aten.squeeze(self)", "aten.squeeze.dim(self, dim)", "aten.squeeze_copy(self)",
    "aten.squeeze_copy.dim(self, dim)", "aten.atleast_1d(self)", "aten.atleast_2d(self)",
)  # fmt: skip
def reshape(g: Backward) -> Gradients:
    return g.call("aten.reshape", g.grad, g.operand_size(0))


@RULES.vjp(
    "aten.expand(self, size, implicit)", "aten.broadcast_to(self, size)", "aten.expand_copy(self, size, implicit)",
    "aten.expand_as(self, other)",
)  # fmt: skip
def expand(g: Backward) -> Gradients:
    return g.sum_to(g.grad, 0)


@RULES.vjp("aten.unsqueeze(self, dim)", "aten.unsqueeze_copy(self, dim)", captures=("dim",))
def unsqueeze(g: Backward) -> Gradients:
    return g.call("aten.squeeze.dim", g.grad, g.number(1))


@RULES.vjp("aten.t(self)", "aten.t_copy(self)")
def t(g: Backward) -> Gradients:
    return g.call("aten.t", g.grad)


@RULES.vjp("aten.transpose.int(self, dim0, dim1)", "aten.transpose_copy.int(self, dim0, dim1)", captures=("dim0", "dim1"))
def transpose(g: Backward) -> Gradients:
    return g.call("aten.transpose.int", g.grad, g.number(1), g.number(2))


@RULES.vjp("aten.movedim.int(self, source, destination)", captures=("source", "destination"))
def movedim(g: Backward) -> Gradients:
    return g.call("aten.movedim.int", g.grad, g.number(2), g.number(1))


@RULES.vjp("aten.numpy_T(self)")
def reversed_dims(g: Backward) -> Gradients:
    return g.call("aten.numpy_T", g.grad)


@RULES.vjp("aten.permute(self, dims)", "aten.permute_copy(self, dims)")
def permute(g: Backward) -> Gradients:
    dims = g.ints(1)
    if dims is None:
        raise NoGradient("its dims are not given")
    order = [d % max(len(dims), 1) for d in dims]
    return g.call("aten.permute", g.grad, [order.index(i) for i in range(len(order))] if order else g.value([]))


@RULES.vjp(
    "aten.slice.Tensor(self, dim, start, end, step)", "aten.slice_copy.Tensor(self, dim, start, end, step)",
    captures=("dim", "start", "end", "step"),
)  # fmt: skip
def slice_(g: Backward) -> Gradients:
    step = g.constant(4) if g.numpy else 1
    if step < 0:
        return _slice_backwards(g, -int(step))
    return g.call("aten.slice_scatter", g.zeros(0), g.grad, *g.operands[1:5])


def _slice_backwards(g: Backward, step: int) -> ir.Value:
    """NumPy's x[start:end:-step] goes forwards in x turned around, where what is at i is at -1 - i."""
    dim = g.number(1)
    bounds: list[Operand] = []
    for i in (2, 3):
        at = g.number(i) if g.given(i) else None
        bounds.append(g.call("aten.sub.int", -1, at, type_="!torch.int") if isinstance(at, ir.Value) else None if at is None else -1 - at)
    return g.call("aten.flip", g.call("aten.slice_scatter", g.zeros(0), g.grad, dim, *bounds, step), [dim])


@RULES.vjp("aten.select.int(self, dim, index)", "aten.select_copy.int(self, dim, index)", captures=("dim", "index"))
def select(g: Backward) -> Gradients:
    return g.call("aten.select_scatter", g.zeros(0), g.grad, *g.operands[1:3])


@RULES.vjp("aten.broadcast_tensors(tensors)")
def broadcast_tensors(g: Backward) -> Gradients:
    return ([None if grad is None else _like(g, grad, tensor) for grad, tensor in zip(_listed(g), g.items(0), strict=False)],)


def _like(g: Backward, gradient: ir.Value, tensor: ir.Value) -> ir.Value:
    if g.same_shape(gradient, tensor):
        return gradient
    return g.call("aten._grad_sum_to_size", gradient, g.size(tensor))


@RULES.vjp("aten.meshgrid(tensors)")
def meshgrid(g: Backward) -> Gradients:
    return _meshed(g, "ij")


@RULES.vjp("aten.meshgrid.indexing(tensors, indexing)")
def meshgrid_indexing(g: Backward) -> Gradients:
    return _meshed(g, g.text(1))


def _meshed(g: Backward, indexing: str) -> Gradients:
    """Each tensor lies along one dim, and is repeated along the others; "xy" exchanges the first two dims."""
    tensors = g.items(0)
    along = list(range(len(tensors)))
    if indexing == "xy":
        along[:2] = along[:2][::-1]
    found: list[ir.Value | None] = []
    for i, grad in enumerate(_listed(g)):
        others = [d for d in range(len(tensors)) if d != along[i]]
        if grad is not None and others:
            grad = g.call("aten.sum.dim_IntList", grad, others, False, None)
        found.append(None if grad is None else g.call("aten.reshape", grad, g.size(tensors[i])))
    return (found,)


def _listed(g: Backward) -> Sequence[ir.Value | None]:
    """The gradients of the tensors of a list. Raises NoGradient when it is a value itself, as that of a list that grows is."""
    found = g.grads[0]
    if found is None or isinstance(found, ir.Value):
        raise NoGradient("the list of its results is used as a whole: unpack it")
    return found
