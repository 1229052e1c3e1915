"""What a guarded call costs: ns per call of the native entry, against NumPy and the pure-Python entry.

    python benchmarks/entry.py [--python]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir

from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table


def kernels() -> Any:
    """An engine with `muladd` (a * b + c over f32[n]) and `empty`."""
    i32, i64, pointer, f32 = ir.IntType(32), ir.IntType(64), ir.PointerType(), ir.FloatType()
    module = ir.Module("kernels")
    type_ = ir.FunctionType(i32, [pointer, pointer])
    ir.IRBuilder(ir.Function(module, type_, "empty").append_basic_block()).ret(i32(0))
    function = ir.Function(module, type_, "muladd")
    b = ir.IRBuilder(function.append_basic_block("entry"))

    def field(base: ir.Value, offset: int) -> ir.Value:
        return b.load(b.gep(base, [i64(offset)], source_etype=ir.IntType(8)), typ=pointer)

    arguments, results = function.args
    arrays = [field(arguments, 24 * i) for i in range(3)]
    out, n = field(results, 0), b.load(field(results, 8), typ=i64)
    entry, body, done = b.block, function.append_basic_block("body"), function.append_basic_block("done")
    b.branch(body)
    b.position_at_end(body)
    i = b.phi(i64)
    x, y, z = (b.load(b.gep(a, [i], source_etype=f32), typ=f32) for a in arrays)
    target = b.gep(out, [i], source_etype=f32)
    target.type = pointer
    b.store(b.fadd(b.fmul(x, y), z), target)
    following = b.add(i, i64(1))
    i.add_incoming(i64(0), entry)
    i.add_incoming(following, body)
    b.cbranch(b.icmp_signed("<", following, n), body, done)
    b.position_at_end(done)
    b.ret(i32(0))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine


def nanoseconds(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """The best of some runs; the arguments are spelled out, as a user's call has them."""
    names = [f"a{i}" for i in range(len(args))]
    source = f"def loop(f, n, {', '.join(names)}{',' if names else ''}):\n  for _ in range(n):\n    f({', '.join(names)})\n"
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    loop = namespace["loop"]
    n = 1000
    while True:
        start = time.perf_counter()
        loop(call, n, *args)
        if time.perf_counter() - start > 0.01:
            break
        n *= 2
    best = float("inf")
    for _ in range(15):
        start = time.perf_counter()
        loop(call, n, *args)
        best = min(best, time.perf_counter() - start)
    return best / n * 1e9


def table(entry: str, n_args: int, *versions: VersionRecord) -> DispatchTable:
    made = make_table(n_args, lambda *args: None, entry=entry)
    for v in versions:
        made.add(v)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="store_true", help="measure the pure-Python entry instead")
    entry = "python" if parser.parse_args().python else "native"
    engine = kernels()
    muladd, empty = engine.get_function_address("muladd"), engine.get_function_address("empty")
    n = symbol("s0")

    def array(*sizes: int | str) -> ArgumentSpec:
        return ArgumentSpec(ArgumentKind.ARRAY, "f32", sizes)

    def version(size: int | str = "s0") -> VersionRecord:
        result = ResultSpec(ResultKind.BUFFER, "f32", (n if isinstance(size, str) else size,))
        return VersionRecord((array(size),) * 3, (result,), muladd)

    a, b, c = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    numpy_ns = nanoseconds(lambda x, y, z: x * y + z, (a, b, c))
    call_ns = nanoseconds(lambda x, y, z: None, (a, b, c))
    empty_ns = nanoseconds(np.empty, (4,))
    print(f"{'an empty Python function':44} {call_ns:8.1f} ns")
    print(f"{'numpy.empty(4)':44} {empty_ns:8.1f} ns")
    print(f"{'numpy a * b + c (in a function)':44} {numpy_ns:8.1f} ns")

    def report(what: str, ns: float) -> None:
        print(f"{what:44} {ns:8.1f} ns   {ns / numpy_ns:6.3f} of numpy")

    report(f"{entry}: a * b + c", nanoseconds(table(entry, 3, version()).callable(), (a, b, c)))
    report(f"{entry}: a * b + c, static sizes", nanoseconds(table(entry, 3, version(4)).callable(), (a, b, c)))
    for count in (1, 2, 4, 8):
        guards = VersionRecord((array("s0"),) * count, (), empty, form=Form.NONE)
        report(f"{entry}: guards only, {count} arrays", nanoseconds(table(entry, count, guards).callable(), (a,) * count))
    report(f"{entry}: a miss that calls Python", nanoseconds(table(entry, 3, version(5)).callable(), (a, b, c)))
    one = nanoseconds(table(entry, 3, version(4)).callable(), (a, b, c))
    for many in (8, 16, 64, 256):
        versions = [version(8 + i) for i in range(many - 1)]
        ns = nanoseconds(table(entry, 3, *versions, version(4)).callable(), (a, b, c))
        report(f"{entry}: {many} versions, the last fits (+{ns - one:.0f})", ns)
    dynamic = [VersionRecord((array("s0"), array("s0"), array(100 + i)), (), empty, form=Form.NONE) for i in range(63)]
    fits = VersionRecord((array("s0"), array("s0"), array("s0")), (), empty, form=Form.NONE)
    report(f"{entry}: 64 symbolic versions, the last fits", nanoseconds(table(entry, 3, *dynamic, fits).callable(), (a, b, c)))


if __name__ == "__main__":
    main()
