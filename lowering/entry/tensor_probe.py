"""How the native entry reads and makes PyTorch's tensors: addresses and offsets of this process, tried on known data before the first use.

What DLPack's exchange API (a table of C functions in a capsule of torch.Tensor) does not say stands in the C++ object behind a tensor:
which dispatch keys it has, whether a gradient is wanted. Where that is, is not promised by PyTorch. So it is looked for: the field that
holds, in tensors of all kinds, what PyTorch says of them. What is not found, or fails a call on known data, becomes a sentence, and calls
with tensors go through Python.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from tierup.dialect.base import dtypes, forking
from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.lowering.entry import layout
from tierup.lowering.entry.jit import code
from tierup.lowering.entry.records import Form, Inputs, ProbeFailed, SlowCause, VersionRecord

_FIELDS = range(16, 208, 8)  # of a TensorImpl
_ALLOCATE, _EXPORT = 16, 40  # in DLPackExchangeAPI, of version 1.3
_DLINFO_TLS_MODULE, _DLINFO_TLS_DATA = 9, 10  # dlinfo's requests (dlfcn.h)
# Functions of libc10 and libtorch_python by their C++ names, in which the types of their parameters stand.
_FUNCTIONS = {
    "wrap": "_Z16THPVariable_WrapRKN2at10TensorBaseE",
    "requires_grad": "_ZNK3c1010TensorImpl13requires_gradEv",
    "grad_enabled": "_ZN3c108GradMode10is_enabledEv",
    "tangent": "_ZNK3c1010TensorImpl8_fw_gradEmRKN2at10TensorBaseE",
}
_MODES = "_ZN3c104impl26raw_local_dispatch_key_setE"  # thread-local
_lock = forking.lock()


MakeTable = Callable[[Inputs, Callable[..., None]], Any]  # NativeTable, which imports this module


def unavailable(make_table: MakeTable) -> str | None:
    """Why tensors cannot be passed to native code directly, or None; then `address` is what tables need. Imports PyTorch."""
    with _lock:
        try:
            found = _found(make_table)
        except RuntimeError as e:  # the system allows no more threads now
            return str(e)
    return found if isinstance(found, str) else None


def address(make_table: MakeTable) -> int:
    """The address of the process's Tensors. Call `unavailable` first."""
    found = _found(make_table)
    assert not isinstance(found, str)  # the caller asked
    return ctypes.addressof(found)


@cache
def _found(make_table: MakeTable) -> layout.Tensors | str:
    """In a thread of its own: in the caller's grad mode may be off, or a dispatch mode in force."""
    found: list[layout.Tensors | str] = []
    prober = threading.Thread(target=lambda: found.append(_find(make_table)), name="tierup-tensors")
    prober.start()
    prober.join()
    return found[0] if found else "the probe was interrupted"


def _find(make_table: MakeTable) -> layout.Tensors | str:
    pointer = ctypes.c_void_p.from_address(code().tensors)
    try:
        made = _Finder().tensors
        pointer.value = ctypes.addressof(made)
        _check_call(made, make_table)
    except (ProbeFailed, AttributeError, OSError, ValueError, TypeError, RuntimeError) as failure:
        return f"{failure}" if isinstance(failure, ProbeFailed) else f"{type(failure).__name__}: {failure}"
    return made


class _Finder:
    """Fills a Tensors; raises ProbeFailed, or what a missing symbol raises. What it points to lives as long as the process."""

    def __init__(self) -> None:
        import torch  # here: who asks has tensors

        if sys.platform != "linux":
            raise ProbeFailed("thread-local variables are looked for as Linux has them")
        self.torch = torch
        self.library = ctypes.CDLL(torch._C.__file__)
        self.tensors = t = layout.Tensors()
        t.tensor_type, t.parameter_type = id(torch.Tensor), id(torch.nn.Parameter)
        for field, name in _FUNCTIONS.items():
            setattr(t, field, ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value)
        self._exchange_api()
        t.impl_at = self._impl_at()
        t.keys_at = self._keys_at()
        t.keys = self._keys(torch.zeros(2))
        with torch.inference_mode():
            t.inference_keys = self._keys(torch.zeros(2))
        self._modes()
        self._dtypes()
        t.undefined = self._undefined()

    def _exchange_api(self) -> None:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        api = get(self.torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        major = ctypes.c_uint32.from_address(api).value
        if major != 1:
            raise ProbeFailed(f"DLPack's exchange API has version {major}, not 1")
        self.tensors.allocate, self.tensors.export = (ctypes.c_void_p.from_address(api + at).value for at in (_ALLOCATE, _EXPORT))

    def _samples(self) -> list[Any]:
        """Tensors of many kinds."""
        torch = self.torch
        plain = torch.zeros(3)
        complex_ = torch.zeros(3, dtype=torch.complex64)
        with torch.inference_mode():
            inference = torch.zeros(3)
        return [
            plain, torch.zeros(2, 2, dtype=torch.int64), plain[1:],
            torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True) * 2,
            complex_.conj(), complex_.conj().imag, torch._efficientzerotensor(3), torch.empty(3, device="meta"),
            torch.eye(2).to_sparse(), inference,
        ]  # fmt: skip

    def _impl_at(self) -> int:
        samples = self._samples()
        for at in range(16, self.torch.Tensor.__basicsize__, 8):
            if all(_word(id(s) + at) == s._cdata for s in samples):
                return at
        raise ProbeFailed("where a tensor has its C++ object is not known")

    def _said(self, tensor: Any) -> int:
        return int(self.torch._C._dispatch_keys(tensor).raw_repr())

    def _keys_at(self) -> int:
        samples = self._samples()
        found = [at for at in _FIELDS if all(_word(s._cdata + at) == self._said(s) for s in samples)]
        if len(found) != 1:
            raise ProbeFailed("where a tensor has its dispatch keys is not known")
        return found[0]

    def _keys(self, tensor: Any) -> int:
        return _signed(_word(tensor._cdata + self.tensors.keys_at))

    def _modes(self) -> None:
        """The thread-local dispatch keys, of which PyTorch stores the difference to the default."""
        c10 = ctypes.CDLL("libc10.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        dlinfo = ctypes.CDLL(None).dlinfo
        dlinfo.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        module, block = ctypes.c_size_t(), ctypes.c_void_p()
        for request, to in ((_DLINFO_TLS_MODULE, module), (_DLINFO_TLS_DATA, block)):
            if dlinfo(c10._handle, request, ctypes.byref(to)) or not to.value:
                raise ProbeFailed("where libc10 has its thread-local variables is not known")
        here = ctypes.addressof(ctypes.c_char.in_dll(c10, _MODES))
        assert block.value is not None
        self._index = (ctypes.c_size_t * 2)(module.value, here - block.value)
        get = ctypes.CDLL(None)["__tls_get_addr"]
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        if get(self._index) != here:
            raise ProbeFailed("a thread-local variable of libc10 is not where it should be")
        if _word(here) or _word(here + 8):
            raise ProbeFailed("a dispatch mode is in force")
        t, torch = self.tensors, self.torch
        t.thread_local, t.modes_index = ctypes.cast(get, ctypes.c_void_p).value, ctypes.addressof(self._index)
        with torch.inference_mode():
            t.inference_modes[:] = [_signed(_word(here)), _signed(_word(here + 8))]
        with torch.autocast("cpu"):
            if not _word(here) and not _word(here + 8):
                raise ProbeFailed("autocast does not show among the thread's dispatch keys")
        _forever.append(self._index)

    def _dtypes(self) -> None:
        export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.tensors.export)
        view = (ctypes.c_int64 * (layout.DL_SIZE // 8))()
        found = []
        for dtype in (dtypes.f32, *dtypes.OF_TORCH, *dtypes.COMPLEX):  # the likeliest first
            sample = self.torch.zeros(2, dtype=getattr(self.torch, _NAMES.get(dtype.name, dtype.numpy.name)))
            if export(sample, view):
                raise ProbeFailed(f"DLPack does not export {dtype.name}")
            word = ctypes.c_uint32.from_address(ctypes.addressof(view) + layout.DL_DTYPE).value
            if (word >> 11) & 31 != dtype.itemsize:
                raise ProbeFailed(f"DLPack exports {dtype.name} with other bits")
            found.append(layout.TensorDType(word, id(dtype.numpy)))
        self._table = (layout.TensorDType * len(found))(*found)
        self.tensors.dtypes, self.tensors.n_made = ctypes.addressof(self._table), len(found)
        self.tensors.n_dtypes = len(found) - len(dtypes.COMPLEX)
        _forever.append(self._table)

    def _undefined(self) -> int:
        """What `tangent` points to for tensors that have none; that it is something else for one that has."""
        torch = self.torch
        tangent = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(self.tensors.tangent)

        def of(tensor: Any) -> int:
            return _word(tangent(tensor._cdata, 0, id(tensor) + self.tensors.impl_at))

        none = {of(torch.zeros(2)), of(torch.zeros(2, requires_grad=True)), of(torch.zeros(4)[1:])}
        with torch.autograd.forward_ad.dual_level():
            dual = torch._VF._make_dual(torch.zeros(2), torch.ones(2), level=0)  # `forward_ad.make_dual` compiles rules for a while first
            if len(none) != 1 or of(dual) in none:
                raise ProbeFailed("whether a tensor has a tangent is not known")
        return none.pop()


_NAMES = {"bf16": "bfloat16"}
_forever: list[object] = []


def _word(at: int) -> int:
    return ctypes.c_uint64.from_address(at).value


def _signed(word: int) -> int:
    return ctypes.c_int64(word).value


def _check_call(made: layout.Tensors, make_table: MakeTable) -> None:
    """The probe kernel doubles a float32 vector; tensors that guards are for must not reach it."""
    import torch  # here: as above

    missed: list[Any] = []
    table = make_table(Inputs(3), lambda *args: missed.append(args))
    kinds = ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0",)), ArgumentSpec(ArgumentKind.INT), ArgumentSpec(ArgumentKind.FLOAT)
    results = (
        ResultSpec(ResultKind.BUFFER, "f32", (symbol("s0"),)), ResultSpec(ResultKind.SCALAR, "int"), ResultSpec(ResultKind.SCALAR, "float")
    )  # fmt: skip
    table.add(VersionRecord(kinds, results, table.probe_kernel, form=Form.TUPLE))
    table.set_tensors(ctypes.addressof(made))
    call = table.callable()
    vector = torch.arange(5, dtype=torch.float32)
    count = sys.getrefcount(vector)
    for _ in range(3):
        vector += 1  # fresh memory may hold an old answer
        doubled, number, _ = call(vector, 1, 0.5)
        if type(doubled) is not torch.Tensor or doubled.tolist() != (vector * 2).tolist() or number != 2:
            raise ProbeFailed("a call with a tensor gave something else")
        doubled.resize_(7)
        del doubled
    if sys.getrefcount(vector) != count:
        raise ProbeFailed("a call with a tensor counted references wrong")
    wanted, other = vector.clone().requires_grad_(), torch.zeros(5, device="meta")
    call(wanted, 1, 0.5)
    call(other, 1, 0.5)
    with torch.autocast("cpu"):
        call(vector, 1, 0.5)
    if len(missed) != 3 or table.counts().slow[SlowCause.TENSORS] != 3:
        raise ProbeFailed("a tensor that Python must look at was taken")
    with torch.no_grad():
        call(wanted, 1, 0.5)
    if len(missed) != 3:
        raise ProbeFailed("a tensor was not taken where no gradient is wanted")
