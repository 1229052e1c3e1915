"""What a compile for the GPU gives: PTX, the host program that launches its kernels, and what a caller must know of both.

Free of MLIR and LLVM; plain data throughout, so that a bundle of it is JSON (docs/cuda.md).
"""

from __future__ import annotations

from dataclasses import field

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim
from tierup.lowering.artifacts.host_steps import HostProgram
from tierup.lowering.base.abi import ArgumentSpec, ErrorSite, ExitSite, ResultSpec


@dataclass(frozen=True)
class CudaArtifact:
    """`host` is given the arguments (buffers, then numbers, as they come), a buffer for each result of kind BUFFER and ARGUMENT in their
    order, and last the status: one int32 on the device, 0 before; afterwards the number of the error site that failed, counted from 1.
    It returns results of kind SCALAR and ALLOCATED, in their order; the memory of the latter is then the caller's. `ties`: sizes that the
    caller must find equal before it runs anything; they are the last error sites, in order. `exits`: where it may end before, by the index
    of its step "exit", whose values are those of `live` that are handed over, those of lists in their place."""

    ptx: str
    target: str  # "sm_80": the PTX runs on it and on every later one
    host: HostProgram
    arguments: tuple[ArgumentSpec, ...]
    results: tuple[ResultSpec, ...]
    error_sites: tuple[ErrorSite, ...] = ()
    ties: tuple[tuple[Dim, Dim], ...] = ()
    exits: tuple[ExitSite, ...] = ()
    stages: dict[str, str] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    linked: tuple[str, ...] = ()  # functions of NVIDIA's libdevice that are part of the code
