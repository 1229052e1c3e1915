"""LLVM through llvmlite: parse, optimise, emit."""

from __future__ import annotations

from functools import cache

from llvmlite import binding as llvm
from llvmlite.binding import ffi

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass

forking.adopt(ffi.lib._lock._lock)  # held in every call of LLVM: a child of fork would wait for it for ever

# Innermost loops begin at a line of the cache (2**6 bytes): one of six instructions takes twice as long where it lies across two. LLVM has
# no such setting but of the process.
MOST_LINES = 2048  # of IR text; beyond them no statements are sought that make vectors together, which takes the square of their number
_ALIGNED = "-x86-experimental-pref-innermost-loop-alignment=6"

_lock = forking.lock()
_ready = False
_machines: dict[tuple[str, int], llvm.TargetMachine] = {}


@dataclass(frozen=True)
class Emitted:
    """`asm` and `ir` are empty unless asked for."""

    object: bytes
    ir: str
    asm: str


def initialise() -> None:
    """Make the host's target known to LLVM; cheap after the first time."""
    global _ready
    with _lock:
        if not _ready:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            llvm.initialize_native_asmparser()  # llvmlite's JIT parses the data layout with it
            if llvm.get_process_triple().startswith("x86_64"):
                llvm.set_option("tierup", _ALIGNED)
            _ready = True


@cache
def host() -> str:
    """The host as `triple:cpu:features`, sorted so that equal machines spell it alike. 0.7 ms, once."""
    initialise()
    features = ",".join(sorted(llvm.get_host_cpu_features().flatten().split(",")))
    return f"{llvm.get_process_triple()}:{llvm.get_host_cpu_name()}:{features}"


def machine(target: str, level: int) -> llvm.TargetMachine:
    """The target machine of a `triple:cpu:features` text, "" being the host. One per thread would be wasteful: it is not mutated."""
    initialise()
    with _lock:
        key = (target, level)
        if key not in _machines:
            triple, cpu, features = (target or host()).split(":", 2)
            _machines[key] = llvm.Target.from_triple(triple).create_target_machine(
                cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small"
            )
        return _machines[key]


def has_fma(target: str) -> bool:
    """Whether a target, written as `machine` takes it, has a fused multiply-add: on x86 a feature, elsewhere taken for granted."""
    triple, _, features = (target or host()).split(":", 2)
    return not triple.startswith(("x86_64", "i686", "i386")) or "+fma" in features.split(",")


def has_avx512(target: str) -> bool:
    """Whether a target, written as `machine` takes it, has AVX-512 with vectors of every length."""
    triple, _, features = (target or host()).split(":", 2)
    return triple.startswith("x86_64") and {"+avx512f", "+avx512vl", "+avx512dq", "+avx512bw"} <= set(features.split(","))


def emit(text: str, *, target: str, level: int, unroll: bool = False, want_ir: bool = False, want_asm: bool = False) -> Emitted:
    """A relocatable object from LLVM IR text. Level 1 compiles fast, 2 is full; `unroll`: with loops unrolled, which takes LLVM up to twice
    as long. Raises RuntimeError with LLVM's message."""
    tm = machine(target, level)
    context = llvm.create_context()  # nothing of a compile stays in the process-wide one
    try:
        module = llvm.parse_assembly(text, context)
        try:
            is_long = text.count("\n") > MOST_LINES
            return _emit(module, tm, level, unroll, want_ir, want_asm, slp=level >= 2 and not is_long)
        finally:
            module.close()  # before its context
    finally:
        context.close()


def _emit(module: llvm.ModuleRef, tm: llvm.TargetMachine, level: int, unroll: bool, want_ir: bool, want_asm: bool, *, slp: bool) -> Emitted:
    module.triple = tm.triple
    module.data_layout = str(tm.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = True  # elementwise loops are what programs are made of: at every level
    options.slp_vectorization = slp
    # half of LLVM's time for both: loops over arrays gain at most 9% by them, those that the program has several times that by the first
    options.loop_unrolling, options.loop_interleaving = unroll, False
    builder = llvm.create_pass_builder(tm, options)
    builder.getModulePassManager().run(module, builder)
    code = tm.emit_object(module)
    return Emitted(bytes(code), str(module) if want_ir else "", tm.emit_assembly(module) if want_asm else "")
