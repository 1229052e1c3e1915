"""The dispatcher's machine code: made once per process, or loaded from the object cache, and linked to CPython and NumPy."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from importlib import import_module
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding as llvm

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.lowering.entry import kept
from tierup.lowering.entry import last as entry_last
from tierup.lowering.entry.generated import python as entry_python
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

_LIBRARY = (
    "memcpy", "malloc", "free", "calloc", "_setjmp", "longjmp", "clock_gettime", "pthread_getspecific", "pthread_setspecific",
    "malloc_usable_size", "madvise", "sched_yield", "sem_init", "sem_wait", "sem_post", "sigfillset", "pthread_sigmask", "pthread_create",
    "pthread_join",
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


def symbols() -> dict[str, int]:
    """Every external symbol of the dispatcher's object and its address in this process."""
    python = ctypes.pythonapi
    found: dict[str, int] = {}
    for name in (*entry_python.PYTHON_FUNCTIONS, *_LIBRARY):
        found[name] = _address(ctypes.cast(getattr(python, name), ctypes.c_void_p).value)
    for name in (*entry_python.PYTHON_OBJECTS, *entry_python.PYTHON_EXCEPTIONS):
        found[name] = ctypes.addressof(ctypes.c_char.in_dll(python, name))
    found[entry_last.KEY], found[entry_last.FRAME_KEY] = ctypes.addressof(entry_last.key()), ctypes.addressof(entry_last.frame_key())
    found[kept.KEY] = ctypes.addressof(kept.state())
    table = _numpy_api()
    for name, index in _NUMPY_API.items():
        found[name] = _address(table[index])
    if found["PyArray_Type"] != id(np.ndarray):
        raise RuntimeError("NumPy's C API table is not laid out as expected")
    return found


def _address(value: int | None) -> int:
    if not value:
        raise RuntimeError("a symbol of the C API has no address")
    return value


def _compile(text: str, triple: str) -> bytes:
    """LLVM IR to a relocatable object. For any CPU of this architecture: guards gain nothing from vector units."""
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


def code() -> Code:
    """The dispatcher, made or fetched on the first call in a process. Raises what LLVM or a missing symbol raises."""
    global _code
    with _lock:
        if _code is None:
            _code = _load()
    return _code


def _load() -> Code:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    image = _image(triple)
    linked = linking.link(image, symbols(), _EXPORTS)
    linked.keep()  # types, functions and arrays (their destructor) may call the code until the interpreter is gone
    perf_map.loaded("tierup:dispatcher", image, "dispatch", linked["dispatch"])
    return Code(*(linked[name] for name in _EXPORTS))


def _image(triple: str) -> bytes:
    """The dispatcher's object, from the cache on disk where it is there: making it takes longer than all else before a first result."""
    key = None
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
    beside = (keys.tree("lowering/base", "abi"), keys.tree("lowering/externals"), keys.tree("dialect/base", "dtypes"))
    Part = keys.Part
    return (
        Part("tierup", keys.contents(keys.tree("lowering/entry"), *beside)),
        Part("Python", sys.version),
        Part("ABI", f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}"),
        Part("NumPy", np.__version__),
        Part("LLVM", llvmlite.__version__),
        Part("CPU", llvm.get_host_cpu_name()),
    )
