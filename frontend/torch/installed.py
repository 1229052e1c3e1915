"""`install()`: the scripted and traced programs of the process run through tierup, and no line that calls them changes.

All calls from Python of a program of TorchScript, whoever made or loaded it, come to `__call__` of two classes of PyTorch's:
`ScriptFunction`, and `ScriptMethod`, which a module's `forward` is. Calls inside scripted code do not. What answers for a program is an
attribute of PyTorch's object for it, and lives as long. A method does not know its module, some of whose state is in Python alone: it is
the one that has the method in its `__dict__`.
"""

from __future__ import annotations

import gc
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tierup.dialect.base import forking
from tierup.dialect.optable.kernels import torch_tensors
from tierup.frontend.torch.torchscript import ANSWER, check, function_of, method_of
from tierup.runtime.account.last_plan import last_executed_plan
from tierup.runtime.base.options import Overrides
from tierup.runtime.executors.splits.split import Split

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges

_UNDECIDED = object()
_MANGLED = re.compile(r"___torch_mangle_\d+\.")


@dataclass(frozen=True)
class _Rules:
    """What is taken: these, or all where there are none, without `except_`; and how."""

    programs: tuple[Any, ...]
    except_: tuple[Any, ...]
    foreign: str
    gradients: str
    options: Mapping[str, Any]

    def take(self, program: Any) -> bool:
        taken = not self.programs or any(_is(program, p) for p in self.programs)
        return taken and not any(_is(program, p) for p in self.except_)


class _Thread(threading.local):
    inside = False  # a call that was taken: what it calls is PyTorch's
    last: weakref.ref[Any] | None = None  # what answered the last call; None: PyTorch


_thread = _Thread()
_changing = forking.lock()
_rules: _Rules | None = None
_patched: list[tuple[Any, str, Any]] = []  # owner, attribute, what was there before
_modules: weakref.WeakSet[Any] = weakref.WeakSet()  # all that are scripted or traced
_decided: weakref.WeakSet[Any] = weakref.WeakSet()  # functions and methods that have an ANSWER


def install(
    *programs: Any,
    except_: tuple[Any, ...] | list[Any] = (),
    foreign: str = "torch",
    gradients: str = "torch",
    **options: Unpack[OptionChanges],
) -> None:
    """From now on calls of scripted, traced and loaded modules and functions are answered as by `from_torchscript` with these options.

    `programs`: which, all where none is named; `except_`: all but these. Each is a module or function, a class that was scripted or
    traced, or the name of one, with its Python module or without. What a program calls inside is part of it, whatever it is. Installing
    again replaces what was said before. Raises TypeError or ValueError for options that are none.
    """
    global _rules
    check(foreign, gradients)
    Overrides(options)
    rules = _Rules(programs, tuple(except_), foreign, gradients, options)
    for listed in (*programs, *except_):
        if not isinstance(listed, (str, type)) and not _is_program(listed):
            raise TypeError(f"{listed!r} is no scripted module or function, no class and no name")
    with _changing:
        if rules == _rules:
            return
        uninstall()
        _rules = rules
        _patch()


def uninstall() -> None:
    """Calls are PyTorch's again, and nothing of it is patched. Without effect where nothing is installed."""
    global _rules
    with _changing:
        _rules = None
        while _patched:
            setattr(*_patched.pop())
        for program in list(_decided):
            del program.__dict__[ANSWER]
        _decided.clear()
        _modules.clear()


def _patch() -> None:
    import torch  # here: an optional package
    from torch.jit import _fuser

    modules = torch.jit._script.RecursiveScriptModule
    for cls in (torch.jit.ScriptFunction, torch._C.ScriptMethod):
        _put(cls, "__call__", _taking(cls.__call__))
    _put(modules, "__init__", _noting(modules.__init__))
    plan = _last_plan(torch.jit.last_executed_optimized_graph)
    for place in (torch.jit, _fuser):
        _put(place, "last_executed_optimized_graph", plan)
    for found in gc.get_objects():
        if issubclass(type(found), modules):
            _modules.add(found)


def _put(owner: Any, name: str, value: Any) -> None:
    _patched.append((owner, name, getattr(owner, name)))
    setattr(owner, name, value)


def _taking(original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    tracing = torch._C._get_tracing_state

    def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        answer = None if _thread.inside else self.__dict__.get(ANSWER, _UNDECIDED)
        if answer is _UNDECIDED:
            answer = _decide(self)
        if answer is None or tracing() is not None or torch_tensors.transformed():
            _thread.last = None
            return original(self, *args, **kwargs)
        _thread.inside, _thread.last = True, weakref.ref(answer)
        try:
            return answer(*args, **kwargs)
        finally:
            _thread.inside = False

    return __call__


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, cpp_module: Any) -> None:
        original(self, cpp_module)
        with _changing:
            _modules.add(self)

    return __init__


def _last_plan(original: Callable[[], Any]) -> Callable[[], Any]:
    def last_executed_optimized_graph() -> Any:
        """The plan, or the graph before there is one, of what ran last in this thread through tierup; where PyTorch ran last, its graph."""
        function, plan = None if _thread.last is None else _thread.last(), last_executed_plan()
        if function is None or plan is None:
            return original()
        if plan.version is None:
            return function.graph
        return plan.version.text("specialized") if isinstance(plan.version, Split) else plan.version.compiled.request.ir

    return last_executed_optimized_graph


def _decide(program: Any) -> Any:
    """What answers the calls of a function or method from now on."""
    import torch

    with _changing:
        rules = _rules
        if rules is None or ANSWER in program.__dict__:
            return program.__dict__.get(ANSWER)
        is_function = isinstance(program, torch.jit.ScriptFunction)
        owner = program if is_function else next((m for m in _modules if any(v is program for v in list(m.__dict__.values()))), None)
        answer: Any = None
        if owner is not None and rules.take(owner):
            how = (rules.foreign, rules.gradients, rules.options)
            answer = function_of(program, *how) if is_function else method_of(owner, program.name, *how)
        program.__dict__[ANSWER] = answer
        _decided.add(program)
        return answer


def _is_program(value: Any) -> bool:
    import torch

    return isinstance(value, (torch.jit.ScriptModule, torch.jit.ScriptFunction))


def _is(program: Any, listed: Any) -> bool:
    """Whether a program is the one that is listed, is of the class, or has the name."""
    import torch
    from torch._jit_internal import _qualified_name

    if not isinstance(listed, (str, type)):
        return program is listed or getattr(listed, "_actual_script_module", None) is program
    whole = str(program.qualified_name if isinstance(program, torch.jit.ScriptFunction) else program._c._type().qualified_name())
    whole = _MANGLED.sub("", whole)
    if isinstance(listed, type):
        return whole == _MANGLED.sub("", _qualified_name(listed))
    return listed in (whole.removeprefix("__torch__."), whole.rpartition(".")[2])
