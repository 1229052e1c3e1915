"""Kernels' LLVM IR on the host, thread by thread: what stands between it and a device is LLVM's last stage, and the device.

    with emulated(api):
        ...      # kernels that are compiled inside run when the stand-in of the driver launches them

The IR is what PTX is emitted from; LLVM compiles it for the host. Each thread of a block is a fiber (the C library's ucontext), which
is left at barriers and shuffles and gone on with when the others have come there too: a barrier that some threads do not reach, and a
shuffle without the whole warp, are errors. Threads run one after the other, and blocks too. It is no test of a kernel on a device: that
threads disturb each other between two barriers it does not see, and of speed it says nothing.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from fake_driver import FakeDriver, Launched
from llvmlite import binding as llvm

from tierup.lowering.cuda.assembling import ptx as ptx_module
from tierup.lowering.cuda.targets import Target

WARP = 32
_STACK, _CONTEXT = 1 << 16, 1 << 13  # bytes of a fiber; a ucontext_t takes less than that on all machines
_LINK, _STACK_AT, _STACK_SIZE = 8, 16, 32  # where ucontext_t has uc_link, uc_stack.ss_sp and .ss_size (glibc; x86-64, aarch64)
_AXES, _REGISTERS = "xyz", ("tid", "ctaid", "ntid", "nctaid")
_DONE, _BARRIER, _SHUFFLES = 0, 1, ("bfly", "down", "up", "idx")  # the numbers of shuffles begin at 2
_C = {
    "i1": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "half": ctypes.c_int16,
    "bfloat": ctypes.c_int16, "float": ctypes.c_float, "double": ctypes.c_double, "ptr": ctypes.c_void_p,
}  # fmt: skip
_DECLARED = re.compile(r"^declare (?:[^@]* )?(?P<result>\S+) @llvm\.nvvm\.(?P<name>[\w.]+)\((?P<parameters>[^)]*)\).*$", re.M)
_KERNEL = re.compile(r"^define ptx_kernel void @(?P<name>[\w$.]+)\((?P<parameters>[^{]*?)\) ?(?:local_unnamed_addr )?(?:#\d+ )?\{", re.M)
# what libdevice is made of; instructions that the device approximates are exact here, but for one rounding (so are those of f64 that
# give the upper half of a number, to begin Newton's iteration with)
_MATH = {
    "add.rn.d": "%r = fadd double %p0, %p1\n  ret double %r",
    "mul.rn.d": "%r = fmul double %p0, %p1\n  ret double %r",
    "mul.rn.f": "%r = fmul float %p0, %p1\n  ret float %r",
    "add.rz.f": "%a = fpext float %p0 to double\n  %b = fpext float %p1 to double\n  %s = fadd double %a, %b\n"
                "  %r = call float @emu_towards_zero(double %s)\n  ret float %r",
    "fma.rz.f": "%a = fpext float %p0 to double\n  %b = fpext float %p1 to double\n  %c = fpext float %p2 to double\n"
                "  %m = fmul double %a, %b\n  %s = fadd double %m, %c\n  %r = call float @emu_towards_zero(double %s)\n  ret float %r",
    "d2i.hi": "%b = bitcast double %p0 to i64\n  %h = lshr i64 %b, 32\n  %r = trunc i64 %h to i32\n  ret i32 %r",
    "d2i.lo": "%b = bitcast double %p0 to i64\n  %r = trunc i64 %b to i32\n  ret i32 %r",
    "lohi.i2d": "%l = zext i32 %p0 to i64\n  %h = zext i32 %p1 to i64\n  %s = shl i64 %h, 32\n  %b = or i64 %l, %s\n"
                "  %r = bitcast i64 %b to double\n  ret double %r",
    "d2i.rn": "%n = call double @llvm.rint.f64(double %p0)\n  %r = call i32 @llvm.fptosi.sat.i32.f64(double %n)\n  ret i32 %r",
    "f2i.rn": "%n = call float @llvm.rint.f32(float %p0)\n  %r = call i32 @llvm.fptosi.sat.i32.f32(float %n)\n  ret i32 %r",
    "round.f": "%r = call float @llvm.rint.f32(float %p0)\n  ret float %r",
    "fabs.f32": "%r = call float @llvm.fabs.f32(float %p0)\n  ret float %r",
    "fabs.f64": "%r = call double @llvm.fabs.f64(double %p0)\n  ret double %r",
    "rcp.approx.ftz.d": "%r = fdiv double 1.0, %p0\n  ret double %r",
    "rsqrt.approx.d": "%s = call double @llvm.sqrt.f64(double %p0)\n  %r = fdiv double 1.0, %s\n  ret double %r",
    **dict.fromkeys(("div.approx.f", "div.approx.ftz.f", "div.rn.f"), "%r = fdiv float %p0, %p1\n  ret float %r"),
    **dict.fromkeys(("ex2.approx.f32", "ex2.approx.ftz.f32"), "%r = call float @llvm.exp2.f32(float %p0)\n  ret float %r"),
    **dict.fromkeys(("lg2.approx.f", "lg2.approx.ftz.f"), "%r = call float @llvm.log2.f32(float %p0)\n  ret float %r"),
    **dict.fromkeys(
        ("rsqrt.approx.f", "rsqrt.approx.ftz.f"),
        "%s = call float @llvm.sqrt.f32(float %p0)\n  %r = fdiv float 1.0, %s\n  ret float %r",
    ),
}  # fmt: skip
_ASSEMBLY = re.compile(r'asm (?:sideeffect )?"(?P<text>[^"]*)", "[^"]*"\(')
_STATE = """
@emu_registers = global [12 x i32] zeroinitializer
@emu_lane = global i32 0
@emu_reason = global i32 0
@emu_value = global i32 0
@emu_offset = global i32 0
@emu_self = global ptr null
@emu_main = global ptr null
@emu_parameters = global ptr null
declare i32 @swapcontext(ptr, ptr)
define float @emu_rcp(float %x) {
  %r = fdiv float 1.0, %x
  ret float %r
}
define {i32, i32} @emu_mad32(i32 %x, i32 %y, i32 %z) {
  %a = zext i32 %x to i64
  %b = zext i32 %y to i64
  %c = zext i32 %z to i64
  %p = mul i64 %a, %b
  %s = add i64 %p, %c
  %low = trunc i64 %s to i32
  %shifted = lshr i64 %s, 32
  %high = trunc i64 %shifted to i32
  %one = insertvalue {i32, i32} poison, i32 %low, 0
  %both = insertvalue {i32, i32} %one, i32 %high, 1
  ret {i32, i32} %both
}
define {i64, i64} @emu_mad64(i64 %x, i64 %y, i64 %z) {
  %a = zext i64 %x to i128
  %b = zext i64 %y to i128
  %c = zext i64 %z to i128
  %p = mul i128 %a, %b
  %s = add i128 %p, %c
  %both = call {i64, i64} @emu_halves(i128 %s)
  ret {i64, i64} %both
}
define {i64, i64} @emu_mul64(i64 %x, i64 %y) {
  %both = call {i64, i64} @emu_mad64(i64 %x, i64 %y, i64 0)
  ret {i64, i64} %both
}
define {i64, i64} @emu_add128(i64 %xl, i64 %xh, i64 %yl, i64 %yh) {
  %x = call i128 @emu_whole(i64 %xl, i64 %xh)
  %y = call i128 @emu_whole(i64 %yl, i64 %yh)
  %s = add i128 %x, %y
  %both = call {i64, i64} @emu_halves(i128 %s)
  ret {i64, i64} %both
}
define {i64, i64} @emu_sub128(i64 %xl, i64 %xh, i64 %yl, i64 %yh) {
  %x = call i128 @emu_whole(i64 %xl, i64 %xh)
  %y = call i128 @emu_whole(i64 %yl, i64 %yh)
  %s = sub i128 %x, %y
  %both = call {i64, i64} @emu_halves(i128 %s)
  ret {i64, i64} %both
}
define i128 @emu_whole(i64 %low, i64 %high) {
  %l = zext i64 %low to i128
  %h = zext i64 %high to i128
  %s = shl i128 %h, 64
  %r = or i128 %l, %s
  ret i128 %r
}
define {i64, i64} @emu_halves(i128 %x) {
  %low = trunc i128 %x to i64
  %shifted = lshr i128 %x, 64
  %high = trunc i128 %shifted to i64
  %one = insertvalue {i64, i64} poison, i64 %low, 0
  %both = insertvalue {i64, i64} %one, i64 %high, 1
  ret {i64, i64} %both
}
define float @emu_towards_zero(double %exact) {
  %near = fptrunc double %exact to float
  %back = fpext float %near to double
  %far = call double @llvm.fabs.f64(double %back)
  %size = call double @llvm.fabs.f64(double %exact)
  %beyond = fcmp ogt double %far, %size
  %bits = bitcast float %near to i32
  %less = sub i32 %bits, 1
  %chosen = select i1 %beyond, i32 %less, i32 %bits
  %r = bitcast i32 %chosen to float
  ret float %r
}
define void @emu_leave(i32 %reason) {
  store i32 %reason, ptr @emu_reason
  %self = load ptr, ptr @emu_self
  %main = load ptr, ptr @emu_main
  %left = call i32 @swapcontext(ptr %self, ptr %main)
  ret void
}
"""
_libc = ctypes.PyDLL(None)


@contextmanager
def emulated(api: FakeDriver) -> Iterator[None]:
    """What is emitted as PTX meanwhile runs when `api` is asked to launch it."""
    emit = ptx_module.emit

    def emit_and_keep(text: str, target: Target, **options: Any) -> ptx_module.Emitted:
        made = emit(text, target, **(options | {"want_ir": True}))
        module = EmulatedModule(made.ir)
        for name in module.kernels:
            api.code[name, made.ptx] = module.launch
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ptx_module, "emit", emit_and_keep)
        yield


class EmulatedModule:
    """LLVM IR of kernels, compiled for this machine. Raises NotImplementedError for an intrinsic that it does not know."""

    def __init__(self, text: str) -> None:
        self.kernels = {m["name"]: [p.split()[0] for p in _split(m["parameters"])] for m in _KERNEL.finditer(text)}
        declared = list(_DECLARED.finditer(text))
        self._waits = any(not m["name"].startswith("read.") for m in declared)
        text = re.sub(r"^(target (triple|datalayout) = |attributes #).*$", "", text, flags=re.M)
        text = _DECLARED.sub("", text)
        text = re.sub(r"( #\d+)+(?=[ ,\n]|$)", "", text).replace("ptx_kernel ", "").replace("@llvm.nvvm.", "@emu.")
        text = _ASSEMBLY.sub(_function_for, text)
        text += _STATE + "".join(map(_intrinsic, declared)) + "".join(_entry(name, types) for name, types in self.kernels.items())
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()  # fma and half, which else are calls
        machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=0)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
        self._engine.finalize_object()
        self._registers = (ctypes.c_int32 * 12).from_address(self._address("emu_registers"))
        self._lane, self._reason, self._value, self._offset = (
            ctypes.c_int32.from_address(self._address(f"emu_{name}")) for name in ("lane", "reason", "value", "offset")
        )
        self._self, self._main, self._parameters = (
            ctypes.c_void_p.from_address(self._address(f"emu_{name}")) for name in ("self", "main", "parameters")
        )

    def _address(self, name: str) -> int:
        return self._engine.get_global_value_address(name)

    def launch(self, launched: Launched) -> None:
        """Run a kernel. Raises AssertionError where threads do not meet as they must."""
        held = [ctypes.create_string_buffer(value, 8) for value in launched.values]
        pointers = (ctypes.c_void_p * max(len(held), 1))(*map(ctypes.addressof, held))
        self._parameters.value = ctypes.addressof(pointers)
        self._registers[6:12] = [*launched.block, *launched.grid]
        enter = self._engine.get_function_address(f"emu_enter_{launched.kernel}")
        threads = list(_positions(launched.block))
        fibers = _Fibers(len(threads) if self._waits else 1)
        self._main.value = fibers.main
        for block in _positions(launched.grid):
            self._registers[3:6] = block
            if self._waits:
                self._run_block(fibers, enter, threads)
            else:
                for place in threads:
                    fibers.start(0, enter)
                    assert self._resume(fibers, 0, place) == _DONE

    def _run_block(self, fibers: _Fibers, enter: int, threads: Sequence[tuple[int, ...]]) -> None:
        for number in range(len(threads)):
            fibers.start(number, enter)
        live = list(range(len(threads)))
        while live:
            at_barrier: list[int] = []
            for start in range(0, len(threads), WARP):
                at_barrier += self._run_warp(fibers, [n for n in live if start <= n < start + WARP], threads)
            assert not at_barrier or len(at_barrier) == len(live), "some threads of a block are through, and others wait at a barrier"
            live = at_barrier

    def _run_warp(self, fibers: _Fibers, lanes: list[int], threads: Sequence[tuple[int, ...]]) -> list[int]:
        """Run a warp's threads to a barrier or to their ends; those at a barrier."""
        values: dict[int, int] = {}
        while True:
            reasons, offered, offsets = {}, {}, {}
            for number in lanes:
                self._value.value = values.get(number, 0)
                reasons[number] = self._resume(fibers, number, threads[number])
                offered[number], offsets[number] = self._value.value, self._offset.value
            kinds = set(reasons.values())
            if kinds <= {_DONE, _BARRIER}:
                assert len(kinds) < 2, "some threads of a warp are through, and others wait at a barrier"
                return [n for n in lanes if reasons[n] == _BARRIER]
            assert len(kinds) == 1, "a shuffle that some threads of the warp do not reach"
            kind = _SHUFFLES[kinds.pop() - 2]
            values = {n: offered.get(_partner(kind, n, offsets[n]), offered[n]) for n in lanes}

    def _resume(self, fibers: _Fibers, number: int, place: tuple[int, ...]) -> int:
        self._registers[0:3] = place
        self._lane.value = number % WARP
        self._self.value = fibers.context(number)
        _libc.swapcontext(ctypes.c_void_p(fibers.main), ctypes.c_void_p(fibers.context(number)))
        return self._reason.value


def _partner(kind: str, number: int, offset: int) -> int:
    """Whose value a thread gets; -1, which is nobody, beyond the warp."""
    start, lane = number - number % WARP, number % WARP
    other = {"bfly": lane ^ offset, "down": lane + offset, "up": lane - offset, "idx": offset}[kind]
    return start + other if 0 <= other < WARP else -1


class _Fibers:
    """Stacks and contexts."""

    def __init__(self, count: int) -> None:
        self._memory = ctypes.create_string_buffer((count + 1) * _CONTEXT + count * _STACK + 64)
        self._base = -(-ctypes.addressof(self._memory) // 64) * 64
        self._stacks = self._base + (count + 1) * _CONTEXT
        self.main = self._base + count * _CONTEXT

    def context(self, number: int) -> int:
        return self._base + number * _CONTEXT

    def start(self, number: int, enter: int) -> None:
        """The fiber begins anew when it is resumed."""
        context = self.context(number)
        _libc.getcontext(ctypes.c_void_p(context))
        for at, value in ((_LINK, 0), (_STACK_AT, self._stacks + number * _STACK), (_STACK_SIZE, _STACK)):
            ctypes.c_uint64.from_address(context + at).value = value
        _libc.makecontext(ctypes.c_void_p(context), ctypes.c_void_p(enter), 0)


def _function_for(assembly: re.Match[str]) -> str:
    """The name of the function that does what a piece of PTX in libdevice does: arithmetic with carries, mostly."""
    text = assembly["text"]
    known = {"rcp.approx": "rcp", "sub.cc": "sub128", "add.cc.u32      r0": "add128", "clo": "mad64", "mul.lo": "mul64", "mad.lo.cc.u32   $0": "mad32"}
    for part, function in known.items():
        if part in text:
            return f"@emu_{function}("
    raise NotImplementedError(f"the emulator does not know {text}")


def _intrinsic(declared: re.Match[str]) -> str:
    """The definition of an intrinsic, as LLVM IR."""
    name, result, types = declared["name"], declared["result"], [p.split()[0] for p in _split(declared["parameters"])]
    register = re.fullmatch(r"read\.ptx\.sreg\.(\w+)\.([xyz])", name)
    if register is not None and register[1] in _REGISTERS:
        at = 3 * _REGISTERS.index(register[1]) + _AXES.index(register[2])
        body = f"%p = getelementptr i32, ptr @emu_registers, i64 {at}\n  %r = load i32, ptr %p\n  ret i32 %r"
    elif name == "read.ptx.sreg.laneid":
        body = "%r = load i32, ptr @emu_lane\n  ret i32 %r"
    elif name in ("barrier0", "barrier.cta.sync.aligned.all"):
        body = f"call void @emu_leave(i32 {_BARRIER})\n  ret void"
    elif shuffle := re.fullmatch(r"shfl\.sync\.(\w+)\.([if])32", name):
        body = f"""%bits = bitcast {types[1]} %p1 to i32
  store i32 %bits, ptr @emu_value
  store i32 %p2, ptr @emu_offset
  call void @emu_leave(i32 {2 + _SHUFFLES.index(shuffle[1])})
  %got = load i32, ptr @emu_value
  %r = bitcast i32 %got to {result}
  ret {result} %r"""
    elif name in _MATH:
        body = _MATH[name]
    else:
        raise NotImplementedError(f"the emulator does not know llvm.nvvm.{name}")
    parameters = ", ".join(f"{t} %p{i}" for i, t in enumerate(types))
    return f"define {result} @emu.{name}({parameters}) {{\n  {body}\n}}\n"


def _entry(kernel: str, types: Sequence[str]) -> str:
    """The function that a fiber begins in: it loads the parameters, as the driver is given them, and calls the kernel."""
    lines = ["%table = load ptr, ptr @emu_parameters"]
    for i, type_ in enumerate(types):
        lines += [f"%s{i} = getelementptr ptr, ptr %table, i64 {i}", f"%a{i} = load ptr, ptr %s{i}", f"%v{i} = load {type_}, ptr %a{i}"]
    given = ", ".join(f"{t} %v{i}" for i, t in enumerate(types))
    lines += [f"call void @{kernel}({given})", f"call void @emu_leave(i32 {_DONE})", "ret void"]
    return f"define void @emu_enter_{kernel}() {{\n  " + "\n  ".join(lines) + "\n}\n"


def _positions(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All (x, y, z), x first."""
    for z in range(sizes[2]):
        for y in range(sizes[1]):
            for x in range(sizes[0]):
                yield x, y, z


def _split(parameters: str) -> list[str]:
    """A parameter list at its commas, but for those in parentheses."""
    return [p.strip() for p in re.split(r",(?![^(]*\))", parameters) if p.strip()]
