"""Ops that no row of the op table knows, and PyTorch does: tier 0 calls them through it, on the same memory."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import NoneValue, Tensor, Value
from tierup.dialect.optable.core import EITHER, Aliasing, Infer, Kind, Op, declared
from tierup.dialect.optable.kernels.by_torch import MAY_HAND_ON, spelled


def schema_of(node: Any) -> Any:
    """The schema that a node was matched with, None where it has none."""
    import torch

    text = node.schema()
    return None if text == "(no schema)" else torch._C.parse_schema(text)


def name_of(node: Any, schema: Any) -> str:
    """As the op table spells it: aten.add.Tensor."""
    name = node.kind().replace("::", ".")
    return f"{name}.{schema.overload_name}" if schema is not None and schema.overload_name else name


def known(name: str, schema: Any, foreign: str) -> bool:
    """Whether an op that has no row is left to PyTorch; it has a row then."""
    if foreign != "torch" or asks_of_memory(name) or not _is_callable(name, schema):
        return False
    row = _row(name, schema)
    if row is not None:
        optable.add_foreign(row)
    return row is not None


def asks_of_memory(name: str) -> bool:
    """Whether what an op gives hangs on how a tensor lies in its storage: arrays lie elsewhere, and some in another order."""
    return ".".join(name.split(".")[:2]) in _OF_MEMORY


_OF_MEMORY = frozenset(
    f"aten.{n}"
    for n in ("as_strided", "as_strided_copy", "as_strided_scatter", "stride", "storage_offset", "sym_stride", "sym_storage_offset")
)


def code_of(value: Any) -> int | None:
    """The number that c10 has for a dtype, a layout or a memory format; None of another one."""
    return _codes().get(value)


@cache
def _codes() -> dict[Any, int]:
    import torch

    return {
        **{getattr(torch, d.numpy.name): d.code for d in dtypes.OF_TORCH}, torch.complex64: 9, torch.complex128: 10,
        torch.strided: 0, torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3,
    }  # fmt: skip


_WRITES_UNSAID = frozenset({"aten.batch_norm", "aten.instance_norm"})  # running statistics: no schema says so
# In place, these change the shape of a tensor, which no array can do under its other names.
_RESHAPING = frozenset(
    f"aten.{n}"
    for n in ("as_strided_", "detach_", "rename_", "requires_grad_", "resize_", "resize_as_", "set_", "squeeze_", "swapaxes_", "swapdims_",
              "t_", "transpose_", "unsqueeze_")
)  # fmt: skip


def refusal(name: str, schema: Any) -> str:
    """What to say of an op that is not known."""
    if asks_of_memory(name):
        return f"{name} asks how a tensor lies in memory"
    if schema is not None and _is_callable(name, schema):
        if ".".join(name.split(".")[:2]) in _RESHAPING:
            return f"{name} changes the shape of a tensor in place: use the op that does not"
        if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
            return f"{name} writes to something that it does not return: use the op that does not write"
    return f'no kernel for {name}; foreign="torch" leaves such ops to PyTorch'


def _is_callable(name: str, schema: Any) -> bool:
    """Whether PyTorch has an op of that name that Python can call."""
    import torch

    namespace, op, *overload = name.split(".")
    if schema is None or "..." in str(schema) or any(a.type.kind() in ("VarType", "AnyType") for a in schema.arguments):
        return False
    try:
        getattr(getattr(getattr(torch.ops, namespace), op), overload[0] if overload else "default")
    except (AttributeError, RuntimeError):
        return False
    return True


_DRAWN = frozenset({"rand_like", "randn_like", "randint_like", "multinomial", "new_empty_strided"})  # constants to a gradient, whatever of


@cache
def _flat() -> dict[str, tuple[int, ...]]:
    """The results of ops that never require a gradient, as PyTorch's table of derivatives has them: `aten.histc`'s; of `aten.linalg_lu` the
    first. All of those of which no operand has a derivative."""
    table = resources.files("torchgen").joinpath("packaged", "autograd", "derivatives.yaml").read_text(encoding="utf-8")
    found = {}
    for entry in re.split(r"^- name: ", table, flags=re.M)[1:]:
        head, _, body = entry.partition("\n")
        said = re.search(r"^  output_differentiability:\s*\[([^\]]*)\]", body, re.M)
        formulas = re.findall(r"^  [\w, ]+: (.*)$", re.sub(r"^  output_diff.*", "", body, flags=re.M), re.M)
        flat = [k for k, each in enumerate(said[1].split(",")) if each.strip() == "False"] if said is not None else []
        if formulas and all(f == "non_differentiable" for f in formulas):
            flat = [*range(head.rpartition("->")[2].count("Tensor"))]
        found["aten." + head.partition("(")[0]] = tuple(flat)
    return found


def _of_operand(infer: Infer, operands: Any) -> Value:
    """Of the sizes of the first operand, and of its dtype where None is asked for."""
    dtype = operands[0].dtype if isinstance(operands[1], NoneValue) else None
    return Tensor(dtype, operands[0].shape)


def _dropout(infer: Infer, operands: Any) -> tuple[Value, ...]:
    """What is left, and where it was kept."""
    return operands[0], Tensor(dtypes.bool_, operands[0].shape)


_RULES = {"aten.rand_like": _of_operand, "aten.randn_like": _of_operand, "aten.bernoulli": _of_operand, "aten.native_dropout": _dropout}


def _row(name: str, schema: Any) -> Op | None:
    """None for an op that writes to anything but a first operand that it returns, or views anything but its first operand: no part of
    tierup would see it."""
    base = ".".join(name.split(".")[:2])
    noted = [i for i, a in enumerate(schema.arguments) if a.alias_info is not None]
    writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
    if noted not in ([], [0]) or (writes and (base in _RESHAPING or not base.endswith("_") or len(schema.returns) != 1)):
        return None
    flat = _flat().get(name, ())
    return Op(
        name,
        Kind.OTHER,
        f"by_torch.{spelled(name)}",
        _RULES.get(name, declared),
        results=len(schema.returns),
        aliasing=Aliasing.SELF if writes else Aliasing.MAY_VIEW if noted or base in MAY_HAND_ON else Aliasing.FRESH,
        may_be_operand=EITHER,
        native=False,
        acts=base in _WRITES_UNSAID,
        random=base in _WRITES_UNSAID or _is_random(name),
        raises=True,
        differentiable=name.split(".")[1] not in _DRAWN and flat != tuple(range(len(schema.returns))),
        flat=flat,
        note="called through PyTorch",
    )


def _is_random(name: str) -> bool:
    import torch

    namespace, op, *overload = name.split(".")
    found = getattr(getattr(torch.ops, namespace), op)
    return torch.Tag.nondeterministic_seeded in getattr(found, overload[0] if overload else "default").tags
