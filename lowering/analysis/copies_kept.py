"""Copies that canonicalisation must not take away: of `w = x.copy() if n > 1 else x` it would make `x` on both paths.

A value is as good as its copy but where a result is the one on some paths and memory of another's on others (`tierup.result_aliases`),
or where the value is read-only and a copy is not (np.broadcast_to, np.diagonal). There what an op makes is hidden while others fold,
from what hands it on to the result, once for all results:

    %0 = torch.aten.clone %x, %none                    %0 = torch.aten.clone %x, %none
    torch.prim.If.yield %0                      ->     %1 = "tierup.hidden"(%0)
                                                       torch.prim.If.yield %1

So are the tensors that the op reads: one that folds into an operand has then a hidden value in its place. Afterwards the hidden value
is there again, or a copy of it where no op makes it any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.analysis.points_to import IDENTITIES
from tierup.dialect.ir.structure import last_of, maker, take_place
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.functional.views import PERHAPS_READ_ONLY
from tierup.lowering.analysis.own_memory import is_made
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

HIDDEN, KEPT, CLOSED = "tierup.hidden", "tierup.kept", "torch.operator"
_OWN = "own"  # the unit attribute of a value that has memory of its own
_ALIASES = "tierup.result_aliases"
_SETTLED = ("fresh", "argument:", "view:")  # what no path decides

Use = tuple[ir.Operation, int]  # an op, and which of its operands


def hide(func: ir.Operation) -> None:
    """Hide what ops make for results whose memory the path decides, or whether they are read-only; then also what lives on elsewhere."""
    stated = b.strings(func.attributes[_ALIASES]) if _ALIASES in func.attributes else []
    last = last_of(func.regions[0].blocks[0])
    unclear = list(ir.DenseI64ArrayAttr(func.attributes[PERHAPS_READ_ONLY])) if PERHAPS_READ_ONLY in func.attributes else []
    unsettled = {i for i, alias in enumerate(stated) if not alias.startswith(_SETTLED) or i in unclear}
    unsettled.update(int(j) for alias in stated for part in alias.split(";") if "result:" in part for j in part.split(":")[1].split(","))
    uses = [(last, i) for i in sorted(unsettled)]
    if unsettled:  # what lives on at a bailout may be such a result in the end
        uses += [(op, i) for op in b.walk(func) if op.name == "tierup.bailout" for i in range(len(op.operands))]
    found = [made for use in uses if is_tensor(use[0].operands[use[1]].type) for made in _made(use, set())]
    hidden: dict[ir.Value, ir.Value] = {}  # results that share what an op made still share it: it is hidden once for all of them
    for user, k in found:
        value = user.operands[k]
        if maker(value, HIDDEN) is not None:
            continue  # two results came by this use
        if value not in hidden:
            _hide_what_is_read(value.owner.operation)
            hidden[value] = _hidden(value, ir.InsertionPoint.after(value.owner.operation), value.owner.operation.location, _OWN)
        user.operands[k] = hidden[value]


def _hide_what_is_read(op: ir.Operation) -> None:
    lists = [maker(v, "torch.prim.ListConstruct") for v in op.operands]
    for reader in (op, *(made for made in lists if made is not None)):
        for i, read in enumerate(reader.operands):
            if is_tensor(read.type):
                reader.operands[i] = _hidden(read, ir.InsertionPoint(reader), reader.location)


def _hidden(value: ir.Value, at: ir.InsertionPoint, where: ir.Location, *marks: str) -> ir.Value:
    with where, at:
        return b.value(HIDDEN, [value], value.type, **{mark: ir.UnitAttr.get() for mark in marks})


def restore(op: ir.Operation) -> None:
    """Put in the place of a hidden value what was hidden, with memory of its own if it had that. What it reads is hidden meanwhile."""
    value = op.operands[0]
    if _OWN in op.attributes and not is_made(value):
        with op.location, ir.InsertionPoint(op):
            value = b.value("torch.aten.clone", [value, t.none()], value.type)
    take_place(op, [value])


def spell(op: ir.Operation, name: str) -> None:
    """Write an op as one of the torch dialect, or as the `torch.operator` of that name, which nothing folds; or leave it, if it is that."""
    if op.name == name:
        return
    attributes = {key: op.attributes[key] for key in op.attributes if key != "name"}
    if name == CLOSED:
        attributes["name"] = ir.StringAttr.get(torch_name(op), op.context)
    types, where = [r.type for r in op.results], ir.InsertionPoint(op)
    take_place(op, ir.Operation.create(name, types, list(op.operands), attributes, loc=op.location, ip=where).results)


def _made(use: Use, seen: set[ir.Value]) -> Iterator[Use]:
    """The uses by which what an op has made reaches this use: through views, branches and loops. `seen`: what was looked through."""
    user, k = use
    value = user.operands[k]
    if isinstance(value.owner, ir.Block) or value in seen:
        return
    if is_made(value):
        yield use
        return
    seen.add(value)
    op, number = value.owner.operation, ir.OpResult(value).result_number
    row = row_of(op)
    if op.name == "torch.prim.If":
        for region in op.regions:
            yield from _made((last_of(region.blocks[0]), number), seen)
    elif op.name == "torch.prim.Loop":
        yield from _made((op, 2 + number), seen)
        yield from _made((last_of(op.regions[0].blocks[0]), 1 + number), seen)
    elif op.name in (*IDENTITIES, HIDDEN) or (row is not None and row.aliasing in (Aliasing.VIEW, Aliasing.MAY_VIEW)):
        yield from _made((op, 0), seen)
