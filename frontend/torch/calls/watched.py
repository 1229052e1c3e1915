"""Calls that PyTorch watches operation by operation: torch.jit.trace, torch.fx, autocast, dispatch modes. A function of tierup's is one
operation of which they would see nothing, and its result would look like a constant to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import Proxy


def proxy_call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """In `torch.fx.symbolic_trace`, where arguments are proxies: one call of the function in the graph. None where no argument is one."""
    found = next((a for a in (*args, *kwargs.values()) if isinstance(a, Proxy)), None)
    return None if found is None else found.tracer.create_proxy("call_function", function, tuple(args), dict(kwargs))


def by_whom() -> str | None:
    """Who watches this thread, in words; None when nobody does. `torch.func`'s transforms are another matter (`transforms.py`)."""
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace"
    if torch.is_autocast_enabled("cpu"):
        return "autocast"
    if torch._C._len_torch_dispatch_stack():
        return f"the dispatch mode {type(torch.utils._python_dispatch._get_current_dispatch_mode()).__name__}"
    return None


def in_graph(call: Callable[..., Any], function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Inside `make_fx`: what `call` gives, computed outside of the trace, and one call of `function` in the graph. None elsewhere.

    As PyTorch does for operators of a higher order (torch.fx.experimental.proxy_tensor).
    """
    if not torch._C._len_torch_dispatch_stack():
        return None
    from torch.fx.experimental import proxy_tensor  # here: half a second to import, and whoever traces has it

    mode = proxy_tensor.get_proxy_mode()
    if mode is None:
        return None
    tracer: Any = mode.tracer
    given = torch.utils._pytree.tree_map(tracer.unwrap_proxy, (tuple(args), dict(kwargs)))
    with proxy_tensor.disable_proxy_modes_tracing():
        found = call(*args, **kwargs)
    proxy = tracer.create_proxy("call_function", function, *given, name=function.__name__)
    return proxy_tensor.track_tensor_tree(found, proxy, constant=None, tracer=tracer)
