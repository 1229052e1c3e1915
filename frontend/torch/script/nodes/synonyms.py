"""PyTorch's second names of ops, and ops that are some of ours with operands filled in.

    aten::multiply(%x, %y)   is   aten::mul(%x, %y)
    aten::mT(%x)             is   aten::transpose(%x, -2, -1)
    aten::linalg_norm(%x)    is   aten::linalg_vector_norm(%x, 2)

Traces, TorchScript and some of PyTorch's decompositions keep the name that the program used.
"""

from __future__ import annotations

from typing import Any

from tierup.dialect import optable
from tierup.dialect.facts.values import Tensor
from tierup.dialect.rewriting.core import ints_of, under_casts
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known

_NAMES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne", "subtract": "sub", "true_divide": "div",
    "moveaxis": "movedim", "swapaxes": "transpose", "swapdims": "transpose", "row_stack": "vstack",
    "special_digamma": "digamma", "special_erf": "erf", "special_erfc": "erfc", "special_erfinv": "erfinv", "special_exp2": "exp2",
    "special_expit": "sigmoid", "special_gammaln": "lgamma", "special_log1p": "log1p", "special_log_softmax": "log_softmax",
    "special_logit": "logit", "special_logsumexp": "logsumexp", "special_round": "round", "special_sinc": "sinc",
    "special_softmax": "softmax", "special_xlogy": "xlogy",
}  # fmt: skip
_OVERLOADS = {  # where the second name's overload is called otherwise
    "transpose": "int", "log_softmax": "int", "softmax": "int", "xlogy": "Tensor", "round": "decimals",
}  # fmt: skip
_SAME = ("real", "resolve_conj", "resolve_neg")  # of real numbers the operand itself


def canonical(name: str) -> str:
    """The first name of an op, where the table has it: aten.multiply_.Tensor is aten.mul_.Tensor."""
    if not name.startswith("aten."):
        return name
    op, _, overload = name.removeprefix("aten.").partition(".")
    plain = op.removesuffix("_")
    if plain not in _NAMES:
        return name
    overload = overload or _OVERLOADS.get(_NAMES[plain], "")
    found = f"aten.{_NAMES[plain]}{op[len(plain) :]}{f'.{overload}' if overload else ''}"
    return found if found in optable.table() else name


def _same(builder: Builder, node: Any) -> None:
    builder.bind(node, builder.operands(node)[:1])


def _transposed(builder: Builder, node: Any) -> None:
    (x,) = builder.operands(node)
    em = builder.em
    builder.bind(node, builder.emit("aten.transpose.int", [x, em.int(-2), em.int(-1)], [em.types.tensor]))


def _view_as(builder: Builder, node: Any) -> None:
    x, like = builder.operands(node)
    em = builder.em
    sizes = builder.emit("aten.size", [like], [em.types.int_list])
    builder.bind(node, builder.emit("aten.view", [x, *sizes], [em.types.tensor]))


def _flat(builder: Builder, node: Any) -> None:
    (x,) = builder.operands(node)
    em = builder.em
    rows = builder.emit("aten.contiguous", [x, em.int(0)], [em.types.tensor])
    whole = em.create("torch.prim.ListConstruct", [em.int(-1)], [em.types.int_list]).results[0]
    builder.bind(node, builder.emit("aten.view", [*rows, whole], [em.types.tensor]))


def _squeeze(builder: Builder, node: Any) -> None:
    """One dim after the other, such that none moves before its turn: from behind, or from the front where they count from behind."""
    operands = builder.operands(node)
    dims = ints_of(under_casts(operands[1])) if len(operands) == 2 and "int[]" in node.schema() else None
    if dims is None or any(d < 0 for d in dims) != all(d < 0 for d in dims):
        builder.op(node)
        return
    x = operands[0]
    for dim in sorted(set(dims), reverse=all(d >= 0 for d in dims)):
        (x,) = builder.emit("aten.squeeze.dim", [x, builder.em.int(dim)], [builder.em.types.tensor])
    builder.bind(node, [x])


def _all_close(builder: Builder, node: Any) -> None:
    em = builder.em
    (close,) = builder.emit("aten.isclose", builder.operands(node), [em.types.tensor])
    (every,) = builder.emit("aten.all", [close], [em.types.tensor])
    builder.bind(node, builder.emit("aten.Bool.Tensor", [every], [em.types.bool]))


def _leaky(builder: Builder, node: Any) -> None:
    """The leaky rectifier whose slope is drawn in training alone: otherwise it is the mean of the bounds."""
    x, *bounds = builder.operands(node)
    lower, upper, training = (known(builder, v) for v in bounds[:3])
    if training is not False or not all(isinstance(n, (int, float)) for n in (lower, upper)):
        builder.op(node)
        return
    slope = builder.em.constant((float(lower) + float(upper)) / 2)
    builder.bind(node, builder.emit("aten.leaky_relu", [x, slope], [builder.em.types.tensor]))


def _norm(builder: Builder, node: Any) -> None:
    """Of a matrix the root of all squares, where no other is asked for, or one of a number; that of a vector of any order."""
    x, order, dim, *rest = builder.operands(node)
    asked, dims, fact = known(builder, order), known(builder, dim), builder.fact(x)
    count = fact.rank if dims is None and isinstance(fact, Tensor) else len(dims) if isinstance(dims, list) else None
    is_all = asked is None and dims is not UNKNOWN or asked == "fro" and count == 2
    if not is_all and not (isinstance(asked, (int, float)) and count in (1, 2)):
        builder.op(node)
        return
    em, name = builder.em, "aten.linalg_vector_norm" if is_all or count == 1 else "aten.linalg_matrix_norm"
    if dims is None and name == "aten.linalg_matrix_norm":
        dim = em.create("torch.prim.ListConstruct", [em.int(-2), em.int(-1)], [em.types.int_list]).results[0]
    builder.bind(node, builder.emit(name, [x, em.int(2) if is_all else order, dim, *rest], [em.types.tensor]))


def _rank(builder: Builder, node: Any) -> None:
    """No tensors are no numbers."""
    x, absolute, relative, *rest = builder.operands(node)
    given = [known(builder, v) for v in (absolute, relative)]
    if given != [None, None]:
        builder.op(node)
        return
    name = "aten.linalg_matrix_rank.atol_rtol_float"
    builder.bind(node, builder.emit(name, [x, absolute, relative, *rest], [builder.em.types.tensor]))


HANDLERS = {
    "aten::allclose": _all_close,
    "aten::linalg_matrix_norm": _norm,
    "aten::linalg_matrix_rank": _rank,
    "aten::linalg_norm": _norm,
    "aten::rrelu": _leaky,
    **{f"aten::{name}": _same for name in _SAME},
    **{f"aten::{name}": _transposed for name in ("mT", "mH", "adjoint")},
    "aten::view_as": _view_as,
    "aten::ravel": _flat,
    "aten::squeeze": _squeeze,
}
