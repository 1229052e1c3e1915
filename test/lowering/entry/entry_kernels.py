"""Small kernels of the ABI, in LLVM IR written by hand: what the entries are tested with, independent of the real lowering."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding as llvm

from tierup.dialect.facts.dims import Dim, symbol
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.lowering.entry.records import Form, VersionRecord

# %A = { data, dims, strides }, %R = { data, dims }
TEXT = """
%A = type { ptr, ptr, ptr }
%R = type { ptr, ptr }
declare ptr @malloc(i64)

; (a, b, c: f32[n]) -> f32[n] = a * b + c
define i32 @muladd(ptr %args, ptr %results) {
  %a = load ptr, ptr %args
  %pb = getelementptr %A, ptr %args, i64 1
  %b = load ptr, ptr %pb
  %pc = getelementptr %A, ptr %args, i64 2
  %c = load ptr, ptr %pc
  %out = load ptr, ptr %results
  %pdims = getelementptr %R, ptr %results, i64 0, i32 1
  %dims = load ptr, ptr %pdims
  %n = load i64, ptr %dims
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %body
body:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %ea = getelementptr float, ptr %a, i64 %i
  %eb = getelementptr float, ptr %b, i64 %i
  %ec = getelementptr float, ptr %c, i64 %i
  %eo = getelementptr float, ptr %out, i64 %i
  %va = load float, ptr %ea
  %vb = load float, ptr %eb
  %vc = load float, ptr %ec
  %m = fmul float %va, %vb
  %s = fadd float %m, %vc
  store float %s, ptr %eo
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret i32 0
}

; (x: f32[m, n] strided) -> f32[m, n], a copy by the argument's strides
define i32 @copy2(ptr %args, ptr %results) {
  %x = load ptr, ptr %args
  %pdims = getelementptr %A, ptr %args, i64 0, i32 1
  %dims = load ptr, ptr %pdims
  %m = load i64, ptr %dims
  %pn = getelementptr i64, ptr %dims, i64 1
  %n = load i64, ptr %pn
  %pstrides = getelementptr %A, ptr %args, i64 0, i32 2
  %strides = load ptr, ptr %pstrides
  %sm = load i64, ptr %strides
  %psn = getelementptr i64, ptr %strides, i64 1
  %sn = load i64, ptr %psn
  %out = load ptr, ptr %results
  %total = mul i64 %m, %n
  %empty = icmp eq i64 %total, 0
  br i1 %empty, label %done, label %body
body:
  %k = phi i64 [ 0, %0 ], [ %next, %body ]
  %i = sdiv i64 %k, %n
  %j = srem i64 %k, %n
  %oi = mul i64 %i, %sm
  %oj = mul i64 %j, %sn
  %o = add i64 %oi, %oj
  %from = getelementptr i8, ptr %x, i64 %o
  %v = load float, ptr %from
  %to = getelementptr float, ptr %out, i64 %k
  store float %v, ptr %to
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %total
  br i1 %more, label %body, label %done
done:
  ret i32 0
}

; (x: f32[]) -> f32[] = 2 * x
define i32 @double0(ptr %args, ptr %results) {
  %x = load ptr, ptr %args
  %v = load float, ptr %x
  %d = fadd float %v, %v
  %out = load ptr, ptr %results
  store float %d, ptr %out
  ret i32 0
}

; (x: f32[n], status: int) -> allocated f32[k], the positive elements; returns the status
define i32 @positive(ptr %args, ptr %results) {
  %x = load ptr, ptr %args
  %pdims = getelementptr %A, ptr %args, i64 0, i32 1
  %dims = load ptr, ptr %pdims
  %n = load i64, ptr %dims
  %ps = getelementptr %A, ptr %args, i64 1
  %status = load i64, ptr %ps
  %bytes = mul i64 %n, 4
  %some = add i64 %bytes, 1
  %out = call ptr @malloc(i64 %some)
  store ptr %out, ptr %results
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %body
body:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %k = phi i64 [ 0, %0 ], [ %k2, %body ]
  %from = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %from
  %to = getelementptr float, ptr %out, i64 %k
  store float %v, ptr %to
  %keep = fcmp ogt float %v, 0.0
  %one = zext i1 %keep to i64
  %k2 = add i64 %k, %one
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  %count = phi i64 [ 0, %0 ], [ %k2, %body ]
  %pr = getelementptr %R, ptr %results, i64 0, i32 1
  %rd = load ptr, ptr %pr
  store i64 %count, ptr %rd
  %s = trunc i64 %status to i32
  ret i32 %s
}

; () -> allocated [0, 3]: no memory at all
define i32 @nothing(ptr %args, ptr %results) {
  %pr = getelementptr %R, ptr %results, i64 0, i32 1
  %rd = load ptr, ptr %pr
  store i64 0, ptr %rd
  %pd = getelementptr i64, ptr %rd, i64 1
  store i64 3, ptr %pd
  ret i32 0
}

; (n: int, x: float, b: bool) -> (n + 1, -x, not b)
define i32 @scalars(ptr %args, ptr %results) {
  %n = load i64, ptr %args
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %results
  %px = getelementptr %A, ptr %args, i64 1
  %x = load double, ptr %px
  %neg = fneg double %x
  %r1 = getelementptr %R, ptr %results, i64 1
  store double %neg, ptr %r1
  %pb = getelementptr %A, ptr %args, i64 2
  %b = load i64, ptr %pb
  %not = xor i64 %b, 1
  %r2 = getelementptr %R, ptr %results, i64 2
  store i64 %not, ptr %r2
  ret i32 0
}

; (x: f32[m], status: int) -> 7, and f32[m] + 1 in the second slot; returns the status
define i32 @increment(ptr %args, ptr %results) {
  store i64 7, ptr %results
  %x = load ptr, ptr %args
  %psx = getelementptr %A, ptr %args, i64 0, i32 2
  %strides = load ptr, ptr %psx
  %step = load i64, ptr %strides
  %ps = getelementptr %A, ptr %args, i64 1
  %status = load i64, ptr %ps
  %r1 = getelementptr %R, ptr %results, i64 1
  %out = load ptr, ptr %r1
  %pdims = getelementptr %R, ptr %results, i64 1, i32 1
  %dims = load ptr, ptr %pdims
  %n = load i64, ptr %dims
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %body
body:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %o = mul i64 %i, %step
  %from = getelementptr i8, ptr %x, i64 %o
  %v = load float, ptr %from
  %w = fadd float %v, 1.0
  %to = getelementptr float, ptr %out, i64 %i
  store float %w, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  %s = trunc i64 %status to i32
  ret i32 %s
}

; () -> allocated [-1]: a kernel with a defect
define i32 @broken(ptr %args, ptr %results) {
  %out = call ptr @malloc(i64 64)
  store ptr %out, ptr %results
  %pr = getelementptr %R, ptr %results, i64 0, i32 1
  %rd = load ptr, ptr %pr
  store i64 -1, ptr %rd
  ret i32 0
}

; (flag: i64[1], n: int) -> how many of n steps were left when the flag was seen set
define i32 @watch(ptr %args, ptr %results) {
  %flag = load ptr, ptr %args
  %pn = getelementptr %A, ptr %args, i64 1
  %n = load i64, ptr %pn
  br label %body
body:
  %left = phi i64 [ %n, %0 ], [ %next, %again ]
  %f = load volatile i64, ptr %flag
  %set = icmp ne i64 %f, 0
  %over = icmp eq i64 %left, 0
  %stop = or i1 %set, %over
  br i1 %stop, label %done, label %again
again:
  %next = sub i64 %left, 1
  br label %body
done:
  store i64 %left, ptr %results
  ret i32 0
}

; nothing to compute
define i32 @done(ptr %args, ptr %results) {
  ret i32 0
}

; () -> 42
define i32 @answer(ptr %args, ptr %results) {
  store i64 42, ptr %results
  ret i32 0
}
"""


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(TEXT), machine)
    engine.finalize_object()
    return engine


def kernel(name: str) -> int:
    """The address of a kernel of TEXT."""
    return int(_engine().get_function_address(name))


def array(*sizes: int | str, dtype: str = "f32", strided: bool = False) -> ArgumentSpec:
    return ArgumentSpec(ArgumentKind.ARRAY, dtype, sizes, Layout.STRIDED if strided else Layout.CONTIGUOUS)


def scalar(kind: str, value: Any = None) -> ArgumentSpec:
    return ArgumentSpec(ArgumentKind(kind), value=value)


def buffer(*sizes: Dim | str, dtype: str = "f32") -> ResultSpec:
    return ResultSpec(ResultKind.BUFFER, dtype, tuple(symbol(s) if isinstance(s, str) else s for s in sizes))


INT = ResultSpec(ResultKind.SCALAR, "int")


def version(name: str, arguments: list[ArgumentSpec], *results: ResultSpec, form: Form = Form.SINGLE, **more: Any) -> VersionRecord:
    return VersionRecord(tuple(arguments), results, kernel(name), form=form, **more)


def muladd(n: int | str = "s0", **more: Any) -> VersionRecord:
    return version("muladd", [array(n)] * 3, buffer(n), **more)
