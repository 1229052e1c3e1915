"""tierup: tensor programs that start at once in an interpreter and become native code behind guards.

    @tierup.jit
    def step(x, w, b): return np.tanh(x @ w + b)

Every public name is here and is loaded when it is first used: importing tierup loads neither MLIR nor LLVM nor NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tierup import dask as dask
    from tierup import ray as ray
    from tierup import torch as torch
    from tierup.dialect.passes.core import Pass as Pass
    from tierup.dialect.passes.core import PassFailure as PassFailure
    from tierup.dialect.passes.pipelines.custom import custom_pass as custom_pass
    from tierup.dialect.passes.pipelines.custom import register_pass as register_pass
    from tierup.dialect.passes.pipelines.custom import unregister_pass as unregister_pass
    from tierup.frontend import ops as ops
    from tierup.frontend.errors import ProgramError as ProgramError
    from tierup.frontend.errors import UnsupportedSyntax as UnsupportedSyntax
    from tierup.frontend.gradients import grad as grad
    from tierup.frontend.gradients import value_and_grad as value_and_grad
    from tierup.frontend.jit import jit as jit
    from tierup.frontend.jit import load as load
    from tierup.frontend.stopping import no_grad as no_grad
    from tierup.frontend.stopping import stop_gradient as stop_gradient
    from tierup.frontend.vjp import vjp as vjp
    from tierup.lowering.artifacts.bundle import BundleError as BundleError
    from tierup.runtime.account.counters import counters as counters
    from tierup.runtime.account.last_plan import ExecutedPlan as ExecutedPlan
    from tierup.runtime.account.last_plan import last_executed_plan as last_executed_plan
    from tierup.runtime.account.tracing import spans as spans
    from tierup.runtime.account.tracing import trace as trace
    from tierup.runtime.arguments.call_profiles import merge_profiles as merge_profiles
    from tierup.runtime.base import events as events
    from tierup.runtime.base.errors import NoSourceWarning as NoSourceWarning
    from tierup.runtime.base.errors import NotDifferentiable as NotDifferentiable
    from tierup.runtime.base.errors import NotOptimized as NotOptimized
    from tierup.runtime.base.errors import PlanError as PlanError
    from tierup.runtime.base.errors import RecompileLimitWarning as RecompileLimitWarning
    from tierup.runtime.base.errors import SlowEntryWarning as SlowEntryWarning
    from tierup.runtime.base.options import assert_optimized as assert_optimized
    from tierup.runtime.base.options import options as options
    from tierup.runtime.compiling.scheduling.background import wait_for_compiles as wait_for_compiles
    from tierup.runtime.cuda.arrays.arrays import device_array as device_array
    from tierup.runtime.cuda.capture import capture as capture
    from tierup.runtime.cuda.errors import DriverError as DriverError
    from tierup.runtime.cuda.errors import NoDevice as NoDevice
    from tierup.runtime.faults import faults as testing  # noqa: F401 - it is public by this name
    from tierup.runtime.functions.portable.loading import load_plan as load_plan
    from tierup.runtime.functions.verdict.metrics import metrics as metrics
    from tierup.runtime.functions.verdict.process import report as report

__version__ = "0.1.0"

# public name -> where it is: "module:attribute", or a module
_EXPORTS = {
    "BundleError": "tierup.lowering.artifacts.bundle:BundleError",
    "DriverError": "tierup.runtime.cuda.errors:DriverError",
    "NoDevice": "tierup.runtime.cuda.errors:NoDevice",
    "PlanError": "tierup.runtime.base.errors:PlanError",
    "ExecutedPlan": "tierup.runtime.account.last_plan:ExecutedPlan",
    "NotDifferentiable": "tierup.runtime.base.errors:NotDifferentiable",
    "NotOptimized": "tierup.runtime.base.errors:NotOptimized",
    "Pass": "tierup.dialect.passes.core:Pass",
    "PassFailure": "tierup.dialect.passes.core:PassFailure",
    "RecompileLimitWarning": "tierup.runtime.base.errors:RecompileLimitWarning",
    "NoSourceWarning": "tierup.runtime.base.errors:NoSourceWarning",
    "SlowEntryWarning": "tierup.runtime.base.errors:SlowEntryWarning",
    "ProgramError": "tierup.frontend.errors:ProgramError",
    "UnsupportedSyntax": "tierup.frontend.errors:UnsupportedSyntax",
    "assert_optimized": "tierup.runtime.base.options:assert_optimized",
    "capture": "tierup.runtime.cuda.capture:capture",
    "counters": "tierup.runtime.account.counters:counters",
    "dask": "tierup.dask",
    "ray": "tierup.ray",
    "custom_pass": "tierup.dialect.passes.pipelines.custom:custom_pass",
    "device_array": "tierup.runtime.cuda.arrays.arrays:device_array",
    "events": "tierup.runtime.base.events",
    "grad": "tierup.frontend.gradients:grad",
    "jit": "tierup.frontend.jit:jit",
    "last_executed_plan": "tierup.runtime.account.last_plan:last_executed_plan",
    "load": "tierup.frontend.jit:load",
    "merge_profiles": "tierup.runtime.arguments.call_profiles:merge_profiles",
    "load_plan": "tierup.runtime.functions.portable.loading:load_plan",
    "metrics": "tierup.runtime.functions.verdict.metrics:metrics",
    "report": "tierup.runtime.functions.verdict.process:report",
    "spans": "tierup.runtime.account.tracing:spans",
    "trace": "tierup.runtime.account.tracing:trace",
    "no_grad": "tierup.frontend.stopping:no_grad",
    "ops": "tierup.frontend.ops",
    "options": "tierup.runtime.base.options:options",
    "register_pass": "tierup.dialect.passes.pipelines.custom:register_pass",
    "stop_gradient": "tierup.frontend.stopping:stop_gradient",
    "testing": "tierup.runtime.faults.faults",
    "torch": "tierup.torch",
    "unregister_pass": "tierup.dialect.passes.pipelines.custom:unregister_pass",
    "value_and_grad": "tierup.frontend.gradients:value_and_grad",
    "vjp": "tierup.frontend.vjp:vjp",
    "wait_for_compiles": "tierup.runtime.compiling.scheduling.background:wait_for_compiles",
}

# without "torch", "dask" and "ray": `from tierup import *` must not hide PyTorch, Dask and Ray
__all__ = ["__version__", *(name for name in _EXPORTS if name not in ("dask", "ray", "torch"))]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _EXPORTS[name].partition(":")
    if module == f"tierup.{name}":  # it may be what asks, with its import under way
        value = import_module(module)
    else:
        from tierup.dialect.base.shielded import loaded  # here: importing tierup loads nothing

        value = loaded(lambda: _started_and_loaded(module))
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value  # the next use does not come here
    return value


def _started_and_loaded(module: str) -> Any:
    """Where a module makes functions, the worker that will compile them is started first: it imports at the same time."""
    if module == "tierup.frontend.jit":
        from tierup.runtime.base import options
        from tierup.runtime.compiling.processes import early

        early.expect(options.current())
    return import_module(module)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
