"""What a TorchScript program reads of its modules: tensors, handed over at every call, and numbers, which are part of a graph.

Tensors are read anew before each call: a parameter that was replaced, moved or resized is seen. A number or string that has
changed (`module.eval()` changes `training`) asks for another graph.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from tierup.dialect.kernels import script_objects, torch_tensors
from tierup.frontend.torch.errors import AsksForGradients
from tierup.runtime.arguments.hidden import Access, HiddenInput
from tierup.runtime.arguments.trees import Leaf

Layout = tuple[int, tuple[int, ...], tuple[int, ...], Any]


def _holder() -> None:
    """A function for its globals: hidden inputs are read from a function's, which the native entry can do."""


class Attributes:
    """The attributes of a module and of its submodules that a graph has read so far. `root`: None for a function."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.without_gradient: str | None = None  # why the program's gradients are to be PyTorch's
        self.without_gradient_of: dict[str, str] = {}  # the same where these inputs require one
        self._namespace: dict[str, Any] = {}  # arrays
        self._holder = FunctionType(_holder.__code__, self._namespace)
        self._given: dict[str, Any] = {}  # the tensors, for the native entry
        self._given_holder = FunctionType(_holder.__code__, self._given)
        self._names: dict[int, str] = {id(root): ""}  # the path of each module
        self._kept: list[Any] = [root]  # what `_names` knows by id
        self._tensors: dict[str, tuple[Any, str, Any, Layout]] = {}  # name of the input -> owner, attribute, the tensor, where it lies
        self._dotted: dict[str, str] = {}  # name of the input -> path of the attribute
        self._values: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._numbers: dict[int, int] = {}  # of modules, by their ids
        self._process: dict[str, bool] = {}  # what the process said
        self._gradients: list[tuple[Any, str, bool]] = []  # owner, attribute, whether it requires a gradient
        self.asks_gradients = False  # whether the graph was made for arguments that require none
        self.call = threading.local()  # `tensors`: those of the call that a graph is made for, by the ids of their arrays

    def child(self, owner: Any, name: str) -> Any:
        found = owner.getattr(name)
        self._kept.append(found)
        self._names[id(found)] = f"{self._names[id(owner)]}{name}."
        return found

    def tensor(self, owner: Any, name: str) -> str:
        """The name of the input that stands for a tensor attribute."""
        dotted = self._names[id(owner)] + name
        path = _identifier(dotted)
        while self._dotted.setdefault(path, dotted) != dotted:  # a.b and a_b
            path += "_"
        if path not in self._tensors:
            self._put(path, owner, name, owner.getattr(name))
        return path

    def value(self, owner: Any, name: str) -> Any:
        """An attribute that is no tensor, which then is part of the graph; or a tensor where it may be None."""
        found = owner.getattr(name)
        self._values[id(owner), name] = owner, type(found) if self.is_tensor(found) else found
        return found

    def number(self, owner: Any) -> int:
        """What names a module in a graph that sets its attributes."""
        if id(owner) not in self._numbers:
            self._numbers[id(owner)] = script_objects.number(owner, self)
        return self._numbers[id(owner)]

    def process(self, name: str) -> bool:
        """A setting of PyTorch's, such as `is_grad_enabled`, which then is part of the graph."""
        return self._process.setdefault(name, _setting(name))

    def requires_grad(self, attribute: tuple[Any, str]) -> bool:
        """Whether a tensor attribute, by owner and name, requires a gradient, which then is part of the graph."""
        owner, name = attribute
        found = bool(owner.getattr(name).requires_grad)
        self._gradients.append((owner, name, found))
        return found

    def ask_for_arguments(self, name: str) -> None:
        """Note that the graph is for arguments that require no gradient. Raises AsksForGradients where one does."""
        self.asks_gradients = True
        self.refuse_gradients(name, getattr(self.call, "tensors", {}))

    @staticmethod
    def refuse_gradients(name: str, arguments: Any) -> None:
        """Raises AsksForGradients for arguments of which one requires a gradient."""
        if torch_tensors.requires_grad(arguments):
            raise AsksForGradients(f"{name} asks whether a tensor requires a gradient, and an argument does: pass x.detach()")

    @staticmethod
    def is_tensor(value: Any) -> bool:
        return torch_tensors.is_tensor(value)

    def constant(self, tensor: Any) -> str:
        """The name of the input that stands for a tensor in the graph."""
        name = f"constant{len(self._namespace)}"
        self._namespace[name] = torch_tensors.array(tensor)
        self._kept.append(tensor)
        return name

    def input(self, name: str) -> HiddenInput:
        direct = Access("global", name, (), self._given_holder) if name in self._tensors else None
        return HiddenInput(Access("global", name, (), self._holder), Leaf("array", self._namespace[name].ndim), direct)

    def _put(self, path: str, owner: Any, name: str, tensor: Any) -> None:
        array = torch_tensors.array(tensor)
        self._tensors[path] = owner, name, tensor, _layout(tensor)
        self._namespace[path], self._given[path] = array, tensor

    def refresh(self) -> bool:
        """Look at all attributes again; whether the numbers and strings are still those of the graph. What the tensors hold is the native
        entry's to look at, or `renew`'s."""
        for path, (owner, name, tensor, _) in self._tensors.items():
            now = owner.getattr(name)
            if now is not tensor:
                self._put(path, owner, name, now)
        for name, said in self._process.items():
            if _setting(name) != said:
                return False
        for owner, name, said in self._gradients:
            if owner.getattr(name).requires_grad != said:
                return False
        for (_, name), (owner, value) in self._values.items():
            now = owner.getattr(name)
            if now is not value and not self._still(now, value):
                return False
        return True

    def renew(self) -> None:
        """Make the arrays anew of tensors that lie elsewhere or otherwise now."""
        for path, (owner, name, tensor, layout) in self._tensors.items():
            if _layout(tensor) != layout:
                self._put(path, owner, name, tensor)

    def tensors(self) -> dict[int, Any]:
        """The tensors of which arrays are handed over now, by the arrays' ids."""
        return {id(self._namespace[path]): tensor for path, (_, _, tensor, _) in self._tensors.items()}

    def why_not(self, names: Sequence[str], tensors: Sequence[Any]) -> str | None:
        """Why PyTorch is to make the gradients of a call with these inputs, of which tensors are given; None where tierup does."""
        of = self.without_gradient_of
        here = [of[n] for n, t in zip(names, tensors, strict=True) if n in of and t is not None and t.requires_grad] if of else []
        return self.without_gradient or (here[0] if here else None)

    def _still(self, now: Any, value: Any) -> bool:
        if self.is_tensor(now):
            return isinstance(now, value) if isinstance(value, type) else False
        return type(now) is type(value) and bool(now == value)

    def values(self) -> dict[str, Any]:
        """The numbers and strings that are part of the graph, by path."""
        return {self._names[id(owner)] + name: value for (_, name), (owner, value) in self._values.items()}


def _setting(name: str) -> bool:
    import torch  # here: an optional package

    if name == "is_autocast_enabled":  # of the CPU: the programs here run on no other
        name = "is_autocast_cpu_enabled"
    return torch.is_autocast_enabled("cpu") if name == "is_autocast_cpu_enabled" else bool(getattr(torch, name)())


def _layout(tensor: Any) -> Layout:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _identifier(path: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in path)
