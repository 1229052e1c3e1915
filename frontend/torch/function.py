"""A program of PyTorch as users call it: tensors in and out, on a `Function` of arrays."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol

from tierup.dialect.kernels import torch_tensors
from tierup.runtime.function import Function

if TYPE_CHECKING:
    from tierup.frontend.torch.script_module import Attributes


class Source(Protocol):
    """What makes functions of one program."""

    name: str
    signature: inspect.Signature

    def make(self) -> tuple[Function, Attributes]: ...


class TorchFunction:
    """A program of PyTorch that starts in tier 0 and gets faster. All of `Function` is here too: `explain()`, `stats()`, `plan()`, ...

    Results are tensors; they share memory with arguments where the program says so, as in PyTorch.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.__name__ = source.name
        self.__signature__ = source.signature
        self._function, self._attributes = source.make()
        self._others: list[tuple[Function, Attributes]] = []  # for other values of the module's numbers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The program's result. Raises TypeError for a tensor that no array can stand for, and what the program raises."""
        if not self._attributes.refresh():
            self._choose()
        arrays = [torch_tensors.to_arrays(a) for a in args]
        named = {k: torch_tensors.to_arrays(v) for k, v in kwargs.items()}
        return torch_tensors.to_tensors(self._function(*arrays, **named))

    def _choose(self) -> None:
        """The function for the numbers that the module has now: one of those there were, or a new one."""
        self._others.append((self._function, self._attributes))
        for i, (function, attributes) in enumerate(self._others):
            if attributes.refresh():
                del self._others[i]
                self._function, self._attributes = function, attributes
                return
        self._function, self._attributes = self._source.make()

    def __getattr__(self, name: str) -> Any:
        """What a `Function` has: of the one that was called last."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return f"<tierup function {self.__name__} of PyTorch: {len(self._function.versions)} versions>"
