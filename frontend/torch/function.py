"""A program of PyTorch as users call it: tensors in and out, on a `Function` of arrays."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tierup.dialect.base import forking
from tierup.dialect.optable.kernels import torch_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch.calls import untraced
from tierup.frontend.torch.errors import LeftToPyTorch, error_of_torch, through_torch
from tierup.runtime.base import events
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.functions.function import ENTRIES, Function
from tierup.runtime.functions.verdict import words

if TYPE_CHECKING:
    from tierup.frontend.torch.script.module import Attributes


class Source(Protocol):
    """What makes functions of one program. `eager`: the program in PyTorch, for calls that want a gradient that tierup cannot make; None:
    these raise NotDifferentiable."""

    name: str
    signature: inspect.Signature
    eager: Callable[..., Any] | None
    original: Callable[..., Any] | None  # the program in PyTorch, for calls that PyTorch watches operation by operation, if there is one
    writes_last: bool  # whether the graph writes its arguments when it is through: who shares memory with them is not seen to change
    finish: Callable[[Any], Any] | None  # makes the user's result of tuples, strings and tensors; None where these are it

    def make(self) -> tuple[Function, Attributes]:
        """A function of the program, and the state that it reads."""


class TorchFunction:
    """A program of PyTorch that starts in tier 0 and gets faster. All of `Function` is here too: `explain()`, `stats()`, `plan()`, ...

    Results are tensors; they share memory with arguments where the program says so, as in PyTorch.
    """

    takes_tensors_alone = True  # no arrays, as PyTorch's own functions do

    def __init__(self, source: Source) -> None:
        self._source = source
        self.__name__ = source.name
        self.__signature__ = source.signature
        self._defaults = _defaults(source.signature)
        self._choosing = forking.lock()
        self._chosen = self._make()  # read once a call: threads may have other settings of PyTorch's, and choose another
        self._left: Counter[Reason] = Counter()  # calls that the original program answered, before there was a graph to tell of it
        self._why: dict[Reason, str] = {}  # what was in the way of the last of them
        self._others: list[tuple[Function, Attributes]] = []  # for other values of the module's numbers

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The program's result; under autograd where something requires a gradient (calls/autograd.py). Raises TypeError for a
        tensor that no array can stand for, and what the program raises."""
        try:
            result = self._call(args, kwargs)
        except (TypeError, ValueError, ZeroDivisionError, IndexError) as e:
            as_torch = error_of_torch(e)
            if as_torch is e:
                raise
            raise as_torch from e
        return result if self._source.finish is None else self._source.finish(result)

    forward = __call__  # the name that a module's users may know it by

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if not kwargs and len(args) in self._defaults:  # the native entry takes all arguments, by position
            args += self._defaults[len(args)]
        function, attributes = self._chosen
        if not attributes.refresh() or attributes.asked and not attributes.suits(args, kwargs):
            function, attributes = self._choose(args, kwargs)
        try:
            if not torch_tensors.is_float32_default():
                raise LeftToPyTorch(f"{self.__name__} is called where torch.get_default_dtype() is not float32", Reason.DEFAULT_DTYPE)
            if attributes.left is not None:
                raise LeftToPyTorch(*attributes.left)
            return function(*args, **kwargs)
        except LeftToPyTorch as e:
            program = self._source.eager if e.reason in (Reason.NO_GRADIENT, Reason.NOT_TRANSLATED) else self._source.original
            if program is None:
                raise
            return self._leave_to_torch(e, program, args, kwargs)

    def _leave_to_torch(self, error: LeftToPyTorch, program: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The original program's result, for a call that there may be no graph of."""
        self._left[error.reason] += 1
        self._why[error.reason] = str(error)
        self._function.note_python()
        action = "ran the original program through PyTorch"
        if events.is_heard():
            count = self._left.total()
            events.emit(Event(EventKind.FALLBACK, self.__name__, count, error.reason, guard=str(error), action=action))
        return through_torch(program, args, kwargs)

    def _make(self) -> tuple[Function, Attributes]:
        untraced.leave_alone(TorchFunction.__call__, *ENTRIES)
        function, attributes = self._source.make()
        function.leave_tensors_to(_Calls(self, self._source, attributes))
        return function, attributes

    def _choose(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Function, Attributes]:
        """The function for the numbers that the module has now, and for arguments of which these require gradients: one of those there
        were, or a new one."""
        with self._choosing:
            known = [*self._others, self._chosen]
            found = next((i for i, (_, a) in enumerate(known) if a.refresh() and a.suits(args, kwargs)), None)
            chosen = self._make() if found is None else known.pop(found)
            self._others, self._chosen = known, chosen
        return chosen

    @property
    def _function(self) -> Function:
        return self._chosen[0]

    def __getattr__(self, name: str) -> Any:
        """What a `Function` has: of the one that was called last."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._function, name, self)
        if found is self:
            raise AttributeError(f"{self!r} has no {name}: parameters, state and modes are those of the program that it was made of")
        return found

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} is neither copied nor pickled: copy the program that it was made of, and make a function of the copy")

    def reset(self) -> None:
        """As `Function.reset`, for all that the module's numbers have been."""
        with self._choosing:
            self._left.clear()
            self._why.clear()
            for function, _ in (*self._others, self._chosen):
                function.reset()

    def explain(self, details: bool = False) -> str:
        """As `Function.explain`, of the graph that was called last, with how calls of the others went, and those whose inputs or parameters
        require a gradient."""
        joined = [v.executor.gradients.stats() for v in self._function.variants if v.executor.has_gradients]
        count = sum(s.hits + s.misses for s in joined)
        through = sum(v.executor.history.reasons.get((EventKind.FALLBACK.value, Reason.NO_GRADIENT), 0) for v in self._function.variants)
        through += self._left[Reason.NO_GRADIENT]
        line = f"under autograd: {count} calls by tierup's forward and backward programs, {through} by the original program in PyTorch"
        left = [(r, n) for r, n in self._left.items() if r is not Reason.NO_GRADIENT]
        others = [f"{n} calls by the original program: {r.value}: {self._why[r]}" for r, n in left]
        if left and not self._function.variants:
            remedy = "  Do: put what is named here in a function of its own, which PyTorch runs, so that the rest is native."
            return "\n".join(words.narrow([f"{self.__name__}: {others[0]}", *(f"  {said}" for said in others[1:]), remedy]))
        more = [function.stats() for function, _ in list(self._others)]
        if more:
            graphs = "1 graph more" if len(more) == 1 else f"{len(more)} graphs more"
            calls, hits = sum(s.calls for s in more), sum(s.hits for s in more)
            others.append(f"{graphs}, for other numbers of the module, or sizes, flags and ints of a call: {calls} calls, {hits} hits")
        added = [*([line] if count or through else []), *others]
        return "\n".join([str(self._function.explain(details)), *words.narrow([f"  {said}" for said in added])])

    def __repr__(self) -> str:
        return f"<tierup function {self.__name__} of PyTorch: {len(self._function.versions)} versions>"


def _defaults(signature: inspect.Signature) -> dict[int, tuple[Any, ...]]:
    """By how many arguments are given, by position: those left out, where all of them have defaults."""
    parameters = list(signature.parameters.values())
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        return {}
    missing = [tuple(p.default for p in parameters[i:]) for i in range(len(parameters))]
    return {i: values for i, values in enumerate(missing) if inspect.Parameter.empty not in values}


@dataclass(frozen=True)
class _Calls:
    """The calls of one function of a program that the native entry does not answer (`runtime.function.TensorCalls`)."""

    program: TorchFunction
    source: Source
    attributes: Attributes
    always = True  # results are tensors whatever came

    def concern(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        return True

    def answer(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], python: Callable[..., Any] | None = None) -> Any:
        """A call that has to be looked at: see `calling.py`. Python answers none."""
        from tierup.frontend.torch.calls import (
            calling,
            watched,  # here: they import PyTorch
        )

        proxy = watched.proxy_call(self.program, args, kwargs)
        if proxy is not None:
            return proxy
        return calling.call(function, args, kwargs, self.attributes, self.source.eager, self.source.original, self.source.writes_last)
