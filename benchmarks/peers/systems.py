"""The systems, each as a function of a row and its arguments that gives a call without arguments.

A call runs the program on arguments in the system's own form, made once (anew for each call where the program writes them), and waits for
its results. `Missing` says that a system is not installed, `Refuses` that it has no form of a row.
"""

from __future__ import annotations

import importlib
import io
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tierup
from benchmarks.peers.rows import Row

Call = Callable[[], Any]
Given = Sequence[Any]


class Missing(Exception):
    """A system is not installed."""


class Refuses(Exception):
    """A system has no form of a row, or does not take it."""


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise Missing(name) from e


def by_numpy(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """The undecorated function."""
    return row.numpy


def by_tierup(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """The decorated function, with as many threads."""
    return tierup.jit(row.numpy, threads=threads)


def by_numba(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """`numba.njit`, which compiles what it takes; loops that are not written as `prange` run on one thread."""
    made: Callable[..., Any] = _module("numba").njit(row.numpy)
    try:
        made(*given)
    except Exception as e:  # whatever a system has not got: the row says so
        raise Refuses(f"{type(e).__name__}: {str(e)[:200]}") from e
    return made


def by_jax(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """`jax.jit` of the function with jax.numpy in the place of NumPy."""
    jax = _module("jax")
    jax.config.update("jax_enable_x64", True)
    if row.in_place:
        raise Refuses("it writes its arguments")
    function = jax.jit(_rebased(row.numpy, importlib.import_module("jax.numpy"), {}))
    there = [jax.device_put(value) for value in given]
    try:
        jax.block_until_ready(function(*there))
    except Exception as e:  # whatever a system has not got: the row says so
        raise Refuses(f"{type(e).__name__}: {str(e)[:200]}") from e
    return lambda *_: jax.block_until_ready(function(*there))


def _rebased(function: Any, numpy: Any, known: dict[Any, Any]) -> Any:
    """The function, and those of ours that it calls, with another module under the name `np`."""
    if function not in known:
        scope: dict[str, Any] = {}
        known[function] = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
        for name, value in function.__globals__.items():
            ours = isinstance(value, types.FunctionType) and value.__module__.startswith("benchmarks.")
            scope[name] = numpy if name == "np" else _rebased(value, numpy, known) if ours and name in function.__code__.co_names else value
    return known[function]


def _torch(row: Row, threads: int) -> tuple[Any, Callable[..., Any]]:
    torch = _module("torch")
    if not row.torch:
        raise Refuses("it is a program of NumPy's")
    torch.set_num_threads(threads)
    return torch, getattr(importlib.import_module("benchmarks.peers.torch_rows"), row.torch)


def _tensors(torch: Any, given: Given) -> list[Any]:
    return [torch.from_numpy(value) if isinstance(value, np.ndarray) else value for value in given]


def _on_tensors(torch: Any, function: Callable[..., Any], given: Given) -> Callable[..., Any]:
    there = _tensors(torch, given)

    def call(*_: Any) -> Any:
        with torch.no_grad():
            return function(*there)

    return call


def by_eager(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """PyTorch as it is."""
    return _on_tensors(*_torch(row, threads), given)


def by_torchscript(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """`torch.jit.script`, by its own executor."""
    torch, function = _torch(row, threads)
    return _on_tensors(torch, torch.jit.script(function), given)


def by_tierup_of_torchscript(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """The same script by tierup."""
    torch, function = _torch(row, threads)
    return _on_tensors(torch, importlib.import_module("tierup.torch").from_torchscript(torch.jit.script(function), threads=threads), given)


def by_compile(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """`torch.compile` by inductor, with static sizes; it wants a C++ compiler."""
    torch, function = _torch(row, threads)
    call = _on_tensors(torch, torch.compile(function, dynamic=False), given)
    try:
        call()
    except Exception as e:  # whatever a system has not got: the row says so
        raise Refuses(f"{type(e).__name__}: {str(e)[:200]}") from e
    return call


def by_onnxruntime(row: Row, given: Given, threads: int) -> Callable[..., Any]:
    """The script exported to ONNX, by onnxruntime; weights are inputs, as they are for the others."""
    runtime, _ = _module("onnxruntime"), _module("onnx")
    torch, function = _torch(row, threads)
    numbers = {i: value for i, value in enumerate(given) if not isinstance(value, np.ndarray)}

    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]  # PyTorch is no dependency
        def forward(self, *tensors: Any) -> Any:
            rest = iter(tensors)
            return function(*(numbers[i] if i in numbers else next(rest) for i in range(len(given))))

    arrays = [value for value in given if isinstance(value, np.ndarray)]
    names = [f"x{i}" for i in range(len(arrays))]
    held = io.BytesIO()
    try:
        torch.onnx.export(Program(), tuple(map(torch.from_numpy, arrays)), held, input_names=names, dynamo=False)
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        session = runtime.InferenceSession(held.getvalue(), settings, providers=["CPUExecutionProvider"])
    except Exception as e:  # whatever a system has not got: the row says so
        raise Refuses(f"{type(e).__name__}: {str(e)[:200]}") from e
    feed = dict(zip(names, arrays, strict=True))
    return lambda *_: session.run(None, feed)


SYSTEMS: dict[str, Callable[[Row, Given, int], Callable[..., Any]]] = {
    "tierup": by_tierup,
    "tierup, TorchScript": by_tierup_of_torchscript,
    "NumPy": by_numpy,
    "Numba": by_numba,
    "JAX": by_jax,
    "onnxruntime": by_onnxruntime,
    "PyTorch": by_eager,
    "torch.compile": by_compile,
    "TorchScript": by_torchscript,
}
OURS = ("tierup", "tierup, TorchScript")
