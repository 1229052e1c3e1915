"""Programs compiled for the GPU, for tests of what runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tierup
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import Request
from tierup.lowering.cuda.compile import compile as compile_cuda


def request_of(function: Callable[..., Any], *calls: tuple[Any, ...], **options: Any) -> Request:
    """The request of the version that calls with these arguments end with."""
    jitted = tierup.jit(function, **options)
    for arguments in calls:
        jitted(*arguments)
        jitted(*arguments)
    return max(jitted.versions, key=lambda v: v.call).compiled.request


def artifact_of(function: Callable[..., Any], *calls: tuple[Any, ...], target: str = "sm_80") -> CudaArtifact:
    return compile_cuda(request_of(function, *calls), target)
