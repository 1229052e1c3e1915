"""The dispatcher's machine code: made once per process, or loaded from the object cache or a plan, and linked to CPython and NumPy.

LLVM is loaded where code is made, or where the cache is asked for it.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.lowering.entry import kept
from tierup.lowering.entry import last as entry_last
from tierup.lowering.externals import polling, sharing
from tierup.lowering.objects import keys, linking, perf_map, store

# NumPy's C API is a table of pointers; the indices are part of its stable ABI (numpy/__multiarray_api.h).
_NUMPY_API = {
    "PyArray_Type": 2,
    "PyGenericArrType_Type": 10,
    "PyArray_CopyInto": 50,
    "PyArray_FromScalar": 61,
    "PyArray_Return": 76,
    "PyArray_NewFromDescr": 94,
    "PyArray_SetBaseObject": 282,
}
_EXPORTS = (
    "dispatch", "forward", "probe_kernel", "tensors", polling.POLL, polling.END, "kernel_malloc", "kernel_free", "give_back",
    sharing.SHARE, "pool_leaves", "pool_comes_back",
)  # fmt: skip


@dataclass(frozen=True)
class Code:
    """Addresses of the dispatcher's functions, and of its pointer to a `layout.Tensors`. They stay valid until the process ends."""

    dispatch: int
    forward: int
    probe_kernel: int
    tensors: int
    poll: int
    poll_end: int
    malloc: int
    free: int
    give_back: int
    share: int
    pool_leaves: int
    pool_comes_back: int


def _numpy_api() -> Any:
    """NumPy's table of function pointers."""
    umath: Any = import_module("numpy._core._multiarray_umath")  # NumPy 2's; else the probe has its reason

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def symbols(wanted: Iterable[str]) -> dict[str, int]:
    """The addresses in this process of what the dispatcher's object calls and reads: the C library's, Python's, NumPy's and ours. Raises
    AttributeError for a name that is nowhere, RuntimeError."""
    table = _numpy_api()
    if _address(table[_NUMPY_API["PyArray_Type"]]) != id(np.ndarray):
        raise RuntimeError("NumPy's C API table is not laid out as expected")
    ours: dict[str, Callable[[], Any]] = {entry_last.KEY: entry_last.key, entry_last.FRAME_KEY: entry_last.frame_key, kept.KEY: kept.state}
    found: dict[str, int] = {}
    for name in wanted:
        if name in ours:
            found[name] = ctypes.addressof(ours[name]())
        elif name in _NUMPY_API:
            found[name] = _address(table[_NUMPY_API[name]])
        else:
            found[name] = _address(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    return found


def _address(value: int | None) -> int:
    if not value:
        raise RuntimeError("a symbol of the C API has no address")
    return value


def _compile(text: str, triple: str) -> bytes:
    """LLVM IR to a relocatable object. For any CPU of this architecture: guards gain nothing from vector units."""
    from llvmlite import binding as llvm  # here: see above

    machine = llvm.Target.from_triple(triple).create_target_machine(opt=2, reloc="pic", codemodel="small")
    module = llvm.parse_assembly(text)
    module.verify()
    # LLVM's O2 pipeline takes ten times as long for code of the same speed: loops here run over a handful of arguments and dims
    passes = llvm.create_new_module_pass_manager()
    for add in (passes.add_always_inliner_pass, passes.add_sroa_pass, passes.add_simplify_cfg_pass,
                passes.add_instruction_combine_pass, passes.add_simplify_cfg_pass):  # fmt: skip
        add()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
    return bytes(machine.emit_object(module))


_lock = forking.lock()
_code: Code | None = None
_brought: dict[str, bytes] = {}  # dispatchers that plans have, by `fits`


def bring(fits: str, image: bytes) -> None:
    """Have this object linked when the dispatcher is first asked for, where it is for a process like this one."""
    if fits == made_for():
        _brought[fits] = image


def made_for() -> str:
    """A digest of all that an object of the dispatcher's relies on when it is linked."""
    return keys.name_of(*(part.text for part in relies_on()), sys.platform, platform.machine())


def code() -> Code:
    """The dispatcher, made or fetched on the first call in a process. Raises what LLVM or a missing symbol raises."""
    global _code
    with _lock:
        if _code is None:
            _code = _load()
    return _code


def _load() -> Code:
    image = object_image()
    linked = linking.link(image, symbols(linking.undefined(image)), _EXPORTS)
    linked.keep()  # types, functions and arrays (their destructor) may call the code until the interpreter is gone
    perf_map.loaded("tierup:dispatcher", image, "dispatch", linked["dispatch"])
    return Code(*(linked[name] for name in _EXPORTS))


def object_image() -> bytes:
    """The dispatcher's object, from a plan or the cache on disk where it is there: making it takes longer than all else before a first
    result."""
    if _brought and (image := _brought.get(made_for())) is not None:
        return image
    from llvmlite import binding as llvm  # here: see above

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, key = llvm.get_process_triple(), None
    if store.usable():
        key = keys.Key("dispatcher", "checks guards and calls versions", (*depends_on(), keys.Part("triple", triple)))
    kept = store.read(key.name) if key else None
    if kept is not None:
        return kept
    from tierup.lowering.entry.generated.dispatch import build_module  # here: a process that finds the object needs none of it

    image = _compile(str(build_module(triple)), triple)
    if key:
        store.write(key.name, image, key.description())
    return image


def depends_on() -> tuple[keys.Part, ...]:
    """What the dispatcher's code is made from: its generator, layouts of this interpreter and NumPy, and the compiler."""
    import llvmlite  # here: see above
    from llvmlite.binding import get_host_cpu_name

    return (*relies_on(), keys.Part("LLVM", llvmlite.__version__), keys.Part("CPU", get_host_cpu_name()))


def called_by() -> str:
    """A digest of our sources that say how code is called."""
    beside = (keys.tree("lowering/base", "abi"), keys.tree("lowering/externals"), keys.tree("dialect/base", "dtypes"))
    return keys.contents(keys.tree("lowering/entry"), *beside)


def relies_on() -> tuple[keys.Part, ...]:
    """What the dispatcher's code fits: how code is called, and the layouts of this interpreter and NumPy."""
    Part = keys.Part
    return (
        Part("tierup", called_by()),
        Part("Python", sys.version),
        Part("ABI", f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}"),
        Part("NumPy", np.__version__),
    )
