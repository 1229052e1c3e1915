"""Generated code for calls with PyTorch's tensors: the versions of the table on what `tensors.py` makes of them, and tensors as results."""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.base.abi import INTERRUPTED
from tierup.lowering.entry.generated.guards import find
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, Emitter, function
from tierup.lowering.entry.generated.python import the, type_of
from tierup.lowering.entry.generated.results import assemble, discard, finishing, preparing
from tierup.lowering.entry.generated.running import note, run, slow
from tierup.lowering.entry.generated.tensors import ARRAY_SIZE, allocated_tensor, fresh_tensor, is_tensor, no_modes, read_tensor
from tierup.lowering.entry.layout import Chain, RowStruct, Table, offset
from tierup.lowering.entry.records import SlowCause

_prepare = preparing("prepare_tensors", fresh_tensor, None)
_finish = finishing("finish_tensors", allocated_tensor, decays=False)


@function(PTR, PTR, PTR, I64, PTR, I64, PTR)
def call_tensors(f: Emitter, table: ir.Value, flat: ir.Value, n: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """ptr call_tensors(table, flat, n, args, nargsf, kwnames): as `call_flat`, where some of the n flat arguments are tensors."""

    def python(cause: SlowCause) -> ir.Value:
        return f.call(slow, table, I64(cause), args, nargsf, kwnames)

    tensors = f.get(table, Table, "tensors")
    f.return_if(f.b.not_(f.call(no_modes, tensors)), lambda: python(SlowCause.TENSORS))
    arrays, seen = f.stack(f.b.mul(n, I64(ARRAY_SIZE))), f.stack(f.b.mul(n, I64(8)))
    n_own = f.get(table, Table, "n_own")
    with f.loop(n) as i:
        obj, array = f.load(f.item(flat, i), 0, PTR), f.item(arrays, i, ARRAY_SIZE)
        f.store(obj, f.item(seen, i))
        with f.b.if_else(f.call(is_tensor, tensors, obj)) as (tensor, other):
            with tensor:
                f.return_if(f.b.not_(f.call(read_tensor, tensors, obj, array)), lambda: python(SlowCause.TENSORS))
                f.store(array, f.item(seen, i))
            with other:  # an array beside tensors is Python's to refuse; one that the function reads from outside is not
                mixed = f.b.and_(f.equal(type_of(f, obj), the(f, "PyArray_Type")), f.less(i, n_own))
                f.return_if(mixed, lambda: python(SlowCause.TENSORS))
    chain = f.get(table, Table, "chain")
    frame = f.stack(f.get(chain, Chain, "frame"))
    version = f.call(find, chain, seen, frame)
    f.return_if(f.is_null(version), lambda: python(SlowCause.MISS))
    f.return_if(f.equal(f.get(version, RowStruct, "takes_tensors"), I64(0)), lambda: python(SlowCause.TENSORS))
    f.add_to(1, version, offset(RowStruct, "hits"))
    f.add_to(1, version, offset(RowStruct, "in_flight"))

    def give_up() -> ir.Value:
        f.call(discard, version, frame)
        f.add_to(-1, version, offset(RowStruct, "in_flight"))
        return NULL

    f.return_if(f.b.not_(f.call(_prepare, version, flat, frame)), give_up)
    status, _ = run(f, version, frame)
    with f.when(f.differ(status, I32(0)), likely=False):  # nothing was written: Python runs, and counts, the call again, on arrays
        f.return_if(f.equal(status, I32(INTERRUPTED)), give_up)  # an exception is set
        f.add_to(-1, version, offset(RowStruct, "hits"))
        give_up()
        f.b.ret(python(SlowCause.FAILED))
    f.return_if(f.b.not_(f.call(_finish, version, frame)), give_up)
    user = f.call(assemble, version, flat, frame)
    note(f, f.get(version, RowStruct, "serial"))
    f.add_to(-1, version, offset(RowStruct, "in_flight"))
    f.b.ret(user)
