"""The stages of lowering to the GPU as named pipelines; the first ones are the CPU's, but that results are row-major.

    prepare-gpu-kernel   what the kernels take, return and check
    lower-torch          torch dialect -> linalg on tensors
    lower-tensors        linalg on tensors: fused, canonical
    lower-gpu-buffers    arguments, results and what lies between are buffers on the device
    lower-gpu-kernels    every op on buffers is a launch; kernels stand apart from the host program
    lower-gpu-nvvm       kernels in the LLVM and NVVM dialects, the host program in scalars
    lower-nvvm           the last five, in this order
"""

from __future__ import annotations

from tierup.dialect.passes.registry import NamedPipeline
from tierup.lowering.compiling import pipelines
from tierup.lowering.compiling.pipelines import ORDER, TENSORS, TORCH

BUFFERS = NamedPipeline(
    "lower-gpu-buffers",
    "bufferise: memory of the device becomes explicit",
    (
        "tierup-outline-exits{words=false}",
        "func.func(tierup-narrow-products,tierup-reuse-products,tierup-separate-results)",
        "eliminate-empty-tensors",
        "one-shot-bufferize{allow-return-allocs-from-loops=1}",
        "canonicalize",
        "func.func(tierup-asserts-to-status)",
        "canonicalize",
        "cse",
        "func.func(tierup-forward-results,tierup-products-to-library,tierup-products-to-tiles,tierup-relax-reductions)",
        "func.func(tierup-fuse-rows{stack-bytes=32768 lone-row=4096 heap=false},tierup-collapse-loops)",
    ),
    leaves="buffers",
)

KERNELS = NamedPipeline(
    "lower-gpu-kernels",
    "a kernel for every op on buffers",
    (
        "func.func(tierup-rows-to-blocks,tierup-reductions-to-blocks,tierup-transposes-to-tiles)",
        "func.func(tierup-pointwise-to-threads,tierup-scans-to-blocks,tierup-loops-to-threads)",
        "tierup-math-to-libdevice",
        "func.func(tierup-expand-math,tierup-legalize-bf16,affine-loop-unroll{unroll-factor=16 unroll-up-to-factor=1})",
        "lower-affine",
        "canonicalize",
        "cse",
        "func.func(gpu-launch-sink-index-computations)",
        "gpu-kernel-outlining",
        "tierup-merge-kernels",
        "canonicalize",
        "cse",
    ),
    leaves="kernels",
)

NVVM = NamedPipeline(
    "lower-gpu-nvvm",
    "kernels in the LLVM and NVVM dialects",
    (
        "tierup-annotate-kernels,tierup-math-to-intrinsics",
        "expand-strided-metadata",
        "lower-affine",
        "gpu.module(strip-debuginfo,convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvgpu-to-nvvm,convert-vector-to-llvm,"
        "convert-arith-to-llvm,convert-index-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts)",
        "canonicalize",
        "cse",
        "tierup-trim-kernels",
    ),
    leaves="nvvm",
)

_STEPS = (s.replace("tierup-verify-native", "tierup-verify-native{on-device=true}") for s in pipelines.PREPARE.steps if s != ORDER)
PREPARE = NamedPipeline("prepare-gpu-kernel", pipelines.PREPARE.summary, tuple(_STEPS), leaves="torch", fault="torch")
LOWERING = (TORCH, TENSORS, BUFFERS, KERNELS, NVVM)
STAGES = (PREPARE, *LOWERING)

CUDA = NamedPipeline("lower-nvvm", "from a prepared kernel to NVVM", tuple(s for stage in LOWERING for s in stage.steps))

PIPELINES = (PREPARE, BUFFERS, KERNELS, NVVM, CUDA)
