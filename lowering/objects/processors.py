"""Which processor code is for, and whether this is one: levels of x86-64, features of code, and what the system says of its CPU.

    target_of("x86-64-v3")    "x86_64-unknown-linux-gnu:x86-64-v3:+avx,+avx2,...", as `lowering/base/llvm.py` takes it
    features_of(target)       ("avx", "avx2", ...): what code for it may use beyond what all x86-64 have
    lacking(features)         those that this machine has not

Levels: System V ABI, AMD64 supplement, 3.1.1. A level's features are spelled out, since code is written by them, not by a CPU's name. Of a
machine's own features those count from which LLVM makes code of programs; one of which nothing is known here is not used in code that
goes to other machines (`portable`).

Free of MLIR and LLVM.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache

X86_64 = "x86_64"
_TRIPLE = f"{X86_64}-unknown-linux-gnu"
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
LEVELS = {
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
_CALLED = {  # by the system, where it calls a feature otherwise than LLVM
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "crc32": "sse4_2", "bmi": "bmi1", "lzcnt": "abm", "pclmul": "pclmulqdq",
    "sha": "sha_ni", "sahf": "lahf_lm", "avxvnni": "avx_vnni", "avx512bf16": "avx512_bf16", "avx512bitalg": "avx512_bitalg",
    "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni", "avx512vpopcntdq": "avx512_vpopcntdq",
}  # fmt: skip
_USED = frozenset(_CALLED) | {
    *LEVELS["x86-64-v4"], "adx", "aes", "avx512ifma", "avx512vbmi", "fma4", "gfni", "sse4a", "tbm", "vaes", "vpclmulqdq", "xop",
}  # fmt: skip
_OF_ALL = {"64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"}
_NOT_USED = {  # instructions of systems, and of those who ask for them by name
    "amx-bf16", "amx-complex", "amx-fp16", "amx-int8", "amx-tile", "cldemote", "clflushopt", "clwb", "clzero", "enqcmd", "evex512",
    "fsgsbase", "hreset", "invpcid", "kl", "lwp", "movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi", "prfchw", "ptwrite",
    "rdpid", "rdpru", "rdrnd", "rdseed", "rtm", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "waitpkg", "wbnoinvd", "widekl",
    "xsavec", "xsaveopt", "xsaves",
}  # fmt: skip


def target_of(level: str) -> str:
    """A level as a target. Raises ValueError for what is none."""
    if level not in LEVELS:
        raise ValueError(f"no target {level!r}: choose from {', '.join(LEVELS)}, or leave it out for this CPU")
    return f"{_TRIPLE}:{level}:{_spelled(LEVELS[level])}"


def features_of(target: str) -> tuple[str, ...]:
    """What code for a target may use that not all CPUs of its kind have."""
    return tuple(sorted(_enabled(target) & _USED))


def portable(target: str) -> str:
    """A target, without features of which nothing is known here."""
    triple = target.split(":", 1)[0]
    if not triple.startswith(X86_64) or _enabled(target) <= _USED | _OF_ALL | _NOT_USED:
        return target
    return f"{triple}:x86-64:{_spelled(features_of(target))}"


def lacking(features: Iterable[str]) -> tuple[str, ...]:
    """Those that this machine does not say it has."""
    there = flags()
    return tuple(name for name in features if _CALLED.get(name, name) not in there)


def here() -> str:
    """The kind of processor and system, as plans call it: only Linux's x86-64 has a name here."""
    return X86_64 if platform.machine() == X86_64 and platform.system() == "Linux" else f"{platform.machine()} {platform.system()}"


@cache
def flags() -> frozenset[str]:
    """What the system says of its CPUs; nothing where it cannot be asked."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return frozenset(next((line.partition(":")[2] for line in file if line.startswith("flags")), "").split())
    except OSError:
        return frozenset()


def _enabled(target: str) -> set[str]:
    return {name[1:] for name in target.split(":", 2)[2].split(",") if name.startswith("+")}


def _spelled(features: Iterable[str]) -> str:
    return ",".join(f"+{name}" for name in sorted(features))
