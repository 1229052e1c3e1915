"""What a TorchScript program reads of its modules: tensors, handed over at every call, and numbers, which are part of a graph.

Tensors are read anew before each call, those in lists, tuples and dicts as well: a parameter that was replaced, moved or resized is seen.
Another graph is asked for by a number or string that has changed (`module.eval()` changes `training`), another count of items, and another
submodule.

Calls in other threads look at what a graph has read so far while it is being read: what is noted is so under a lock, for two threads may
build graphs, and what calls go through only grows.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn

from tierup.dialect.base import dtypes, forking
from tierup.dialect.base.dtypes import DType
from tierup.dialect.optable.kernels import script, script_objects, torch_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch.errors import LeftToPyTorch, UnsupportedProgram
from tierup.runtime.arguments.hidden import Access, HiddenInput
from tierup.runtime.arguments.trees import Leaf

Layout = tuple[int, tuple[int, ...], tuple[int, ...], Any]


@dataclass(frozen=True)
class Held:
    """Stands for a tensor in an attribute, or for one that is an optional attribute: its place, such as `layer.weights[0]`."""

    path: str


def _holder() -> None:
    """A function for its globals: hidden inputs are read from a function's, which the native entry can do."""


@dataclass(frozen=True)
class Question:
    """What a graph asks of a call's arguments: whether one ("": any), or what is at a place in it, requires a gradient; with `other`
    whether the two are one object; with `dtype` which it has; with `counts` whether a number, or the size of the dim that `place` says, is
    above 0; with `size` which number it is, or which sizes it has."""

    name: str
    place: tuple[Any, ...] = ()
    other: str | None = None
    dtype: bool = False
    counts: bool = False
    size: bool = False


_MOST_SIZES, _MOST_CASES = 4, 16  # of one argument, and with what the graph is for besides: then one is made for all others


class Attributes:
    """The attributes of a module and of its submodules that a graph has read so far. `root`: None for a function. `module`: the scripted
    module of which it is the inside, where there is one. `signature`: of calls, of which the graph may ask what requires a gradient."""

    def __init__(self, root: Any, module: Any = None, signature: inspect.Signature | None = None) -> None:
        self.root, self._signature = root, signature
        parameters = {} if signature is None else signature.parameters
        self._positions = {name: i for i, name in enumerate(parameters)}
        self._left_out = {name: None if p.default is p.empty else p.default for name, p in parameters.items()}
        self._modules: dict[int, Any] = {id(root): module}  # of each inside
        self._children: list[tuple[Any, str, Any]] = []  # a module's submodules, a name, which it is
        self.without_gradient: str | None = None  # why the program's gradients are to be PyTorch's
        self.without_gradient_of: dict[str, str] = {}  # the same where these inputs require one
        self._namespace: dict[str, Any] = {}  # arrays
        self._holder = FunctionType(_holder.__code__, self._namespace)
        self._given: dict[str, Any] = {}  # the tensors, for the native entry
        self._given_holder = FunctionType(_holder.__code__, self._given)
        self._names: dict[int, str] = {id(root): ""}  # the path of each module
        self._kept: list[Any] = [root]  # what `_names` knows by id
        self._tensors: dict[str, tuple[Any, Layout]] = {}  # name of the input -> the tensor, where it lies
        self._noting = forking.lock()
        # What every call goes through, without the lock: an entry comes after what it speaks of.
        self._plain: list[tuple[str, Any, str]] = []  # name of the input, owner, attribute: those that are one tensor
        self._containers: list[tuple[str, Any, str, Any, list[str]]] = []  # path, owner, attribute, what is in it, the inputs
        self._opened: set[str] = set()  # the paths of these
        self._dotted: dict[str, str] = {}  # name of the input -> path of the attribute
        self._numbers: dict[int, int] = {}  # of modules, by their ids
        self._process: dict[str, bool] = {}  # what the process said; never changed: another takes its place
        self._heard: dict[tuple[str, str, int], bool] = {}  # of warnings (text, file, line): whether giving one does anything
        self._surely: list[tuple[str, str, int]] = []  # those that each call gives
        self._filters: list[Any] = []  # of `warnings`, when that was so
        self._gradients: list[tuple[Any, str, tuple[Any, ...], bool]] = []  # owner, attribute, where in it, whether it requires a gradient
        self.left: tuple[str, Reason] | None = None  # why PyTorch runs the program as it is, whatever it is called with
        self.is_set = False  # whether a program sets attributes, at once
        self.asked: dict[Question, Any] = {}
        self.sizes: dict[Question, set[Any]] = {}  # those that graphs of the program were made for
        self.lengths: dict[str, int] = {}  # of arguments that are lists of so many items, for which a number may stand
        self._dtypes: dict[str, Any] = {}  # of tensor attributes, by the names of the inputs: those that graphs have asked for
        self.call = threading.local()  # of the call that a graph is made for: `tensors`, by the ids of their arrays; `given`, its arguments

    def child(self, owner: Any, name: str) -> Any:
        """The submodule of this name, which `owner` has. `refresh` looks at it again. Raises UnsupportedProgram for another object."""
        found = owner.getattr(name)
        if not torch_tensors.is_script_module(found):
            raise UnsupportedProgram(f"{name!r} of the module is an object of a class: such objects are not supported")
        self._kept.append(found)
        self._names[id(found)] = f"{self._names[id(owner)]}{name}."
        module = self._modules.get(id(owner))
        if module is not None:
            self._modules[id(found)] = inner = module._modules[name]
            self._children.append((module._modules, name, inner))
        return found

    def tensor(self, owner: Any, name: str) -> str:
        """The name of the input that stands for a tensor attribute."""
        path = self._input_named(self._names[id(owner)] + name)
        with self._noting:
            if path not in self._tensors:
                self._put(path, owner.getattr(name))
                self._plain.append((path, owner, name))
        return path

    def value(self, owner: Any, name: str) -> Any:
        """An attribute, with `Held` for each tensor that it is or that is in it. All else of it is part of the graph."""
        dotted = self._names[id(owner)] + name
        tensors: list[tuple[str, Any]] = []
        found = _opened(owner.getattr(name), dotted, tensors)
        inputs = [self._input_named(path) for path, _ in tensors]
        with self._noting:
            for path, (_, tensor) in zip(inputs, tensors, strict=True):
                self._put(path, tensor)
            if dotted not in self._opened:
                self._opened.add(dotted)
                self._containers.append((dotted, owner, name, _identity(found), inputs))
        return found

    def input_of(self, held: Held) -> str:
        """The name of the input that stands for a tensor in an attribute."""
        return self._input_named(held.path)

    def _input_named(self, dotted: str) -> str:
        path = _identifier(dotted)
        while self._dotted.setdefault(path, dotted) != dotted:  # a.b and a_b
            path += "_"
        return path

    def number(self, owner: Any) -> int:
        """What names a module in a graph that sets its attributes."""
        with self._noting:
            if id(owner) not in self._numbers:
                self._numbers[id(owner)] = script_objects.number(owner, self)
            return self._numbers[id(owner)]

    def process(self, name: str) -> bool:
        """A setting of PyTorch's, such as `is_grad_enabled`, which then is part of the graph."""
        with self._noting:
            if name not in self._process:
                self._process = {**self._process, name: _setting(name)}
            return self._process[name]

    def is_heard(self, message: str, file: str, line: int, surely: bool) -> bool:
        """Whether a warning that the program gives does anything, which then is part of the graph: one that was given, and is given once
        under the filters of `warnings`, does not. `surely`: each call gives it."""
        with self._noting:
            self._filters = [*warnings.filters]
            self._heard = {**self._heard, (message, file, line): script.is_heard(message, file, line)}
            if surely:
                self._surely.append((message, file, line))
        return self._heard[message, file, line]

    def note_warnings(self) -> None:
        """PyTorch ran the program to its end, and gave its warnings."""
        for warning in self._surely:
            script.note_warning(*warning)

    def requires_grad(self, owner: Any, name: str, place: tuple[Any, ...] = ()) -> bool:
        """Whether a tensor attribute, or one at a place in it, requires a gradient, which then is part of the graph."""
        found = torch_tensors.requires_grad(_at(owner.getattr(name), place))
        self._gradients.append((owner, name, place, found))
        return found

    def leave(self, why: str, reason: Reason = Reason.NO_GRADIENT) -> NoReturn:
        """Let PyTorch run the program as it is from now on. Raises LeftToPyTorch."""
        self.left = why, reason
        raise LeftToPyTorch(why, reason)

    def argument_requires_grad(self, name: str, place: tuple[Any, ...] = ()) -> bool:
        """Whether an argument of the call that a graph is made for, or what is at a place in it, requires a gradient, which then is part of
        the graph; "": any argument. False for a graph that is made for no call."""
        return bool(self._ask(Question(name, place)))

    def arguments_are_one(self, name: str, other: str) -> bool:
        """Whether two arguments of that call are one object, which then is part of the graph."""
        return bool(self._ask(Question(name, other=other)))

    def argument_counts(self, name: str, place: tuple[int, ...]) -> bool:
        """Whether an argument of that call, a number, or the size of a dim of it is above 0, which then is part of the graph."""
        return bool(self._ask(Question(name, place, counts=True)))

    def argument_size(self, name: str) -> Any:
        """The sizes of an argument of that call, or the int or bool that it is, which then is part of the graph. None for anything else,
        for a graph that is made for no call, and once there are graphs for several."""
        question = Question(name, size=True)
        if question in self.asked:
            return self.asked[question]
        answer = self._answer(question, *getattr(self.call, "given", ((), {})))
        with self._noting:
            known = self.sizes.setdefault(question, set())
            case = tuple(found for asked, found in self.asked.items() if asked.size), answer
            many = len(known) >= _MOST_CASES or len({answer, *(other for _, other in known)}) > _MOST_SIZES
            if answer is None or case not in known and many:
                return None
            known.add(case)
        return self._ask(question)

    def argument_dtype(self, name: str) -> DType | None:
        """The dtype of an argument of that call, which then is part of the graph. None for what is no tensor, and where the graph is made
        for no call."""
        question = Question(name, dtype=True)
        args, kwargs = getattr(self.call, "given", ((), {}))
        if self._answer(question, args, kwargs) is None:
            return None
        self._ask(question)
        return dtypes.from_numpy(torch_tensors.array(self._argument(name, args, kwargs)).dtype)

    def dtype(self, name: str) -> DType | None:
        """The dtype of the tensor that an input stands for, which then is part of the graph."""
        if name in self._given:  # else it is a constant
            with self._noting:
                self._dtypes = {**self._dtypes, name: self._given[name].dtype}
        return dtypes.from_numpy(self._namespace[name].dtype)

    def rank(self, name: str) -> int:
        """The rank of the tensor that an input stands for, as the input has it."""
        return int(self._namespace[name].ndim)

    def suits(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether arguments are those that the graph was made for, as far as it asked: what requires gradients, is one, has a dtype."""
        return all(self._answer(question, args, kwargs) == answer for question, answer in self.asked.items())

    def _ask(self, question: Question) -> Any:
        answer = self._answer(question, *getattr(self.call, "given", ((), {})))
        with self._noting:
            self.asked = {**self.asked, question: answer}  # calls go through it without the lock
        return answer

    def _answer(self, question: Question, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if not question.name or self._signature is None:
            return torch_tensors.requires_grad((args, dict(kwargs)))
        found = self._argument(question.name, args, kwargs)
        if question.size:
            return found if type(found) in (bool, int) else tuple(found.shape) if torch_tensors.is_tensor(found) else None
        if question.counts:
            found = getattr(found, "shape", (0,))[question.place[0]] if question.place else found
            return isinstance(found, (int, float)) and found > 0
        if question.dtype:
            return getattr(found, "dtype", None)
        if question.other is not None:
            return found is not None and found is self._argument(question.other, args, kwargs)
        return torch_tensors.requires_grad(_at(found, question.place))

    def _argument(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An argument of a call, or its default. Who calls it wrongly is told so elsewhere."""
        position = self._positions[name]
        return args[position] if position < len(args) else kwargs.get(name, self._left_out[name])

    def constant(self, tensor: Any) -> str:
        """The name of the input that stands for a tensor in the graph."""
        with self._noting:
            name = f"constant{len(self._namespace)}"
            self._namespace[name] = torch_tensors.array(tensor)
            self._kept.append(tensor)
        return name

    def input(self, name: str) -> HiddenInput:
        """How a call finds the array that the input of this name stands for."""
        direct = Access("global", name, (), self._given_holder) if name in self._tensors else None
        return HiddenInput(Access("global", name, (), self._holder), Leaf("array", self._namespace[name].ndim), direct)

    def _put(self, path: str, tensor: Any) -> None:
        with self._noting:
            array = torch_tensors.array(tensor)
            self._tensors[path] = tensor, _layout(tensor)
            self._namespace[path], self._given[path] = array, tensor

    @contextmanager
    def replaced(self, others: Mapping[int, Any], found: set[int]) -> Iterator[None]:
        """For a while the module holds other tensors in the place of some, by their ids; which there were is added to `found`."""
        changed = [(owner, name, now) for _, owner, name in self._plain if id(now := owner.getattr(name)) in others]
        found.update(id(now) for *_, now in changed)
        try:
            for owner, name, now in changed:
                owner.setattr(name, others[id(now)])
            yield
        finally:
            for owner, name, now in changed:
                owner.setattr(name, now)

    def refresh(self) -> bool:
        """Look at all attributes again; whether the numbers and strings are still those of the graph. What the tensors hold is the native
        entry's to look at, or `renew`'s."""
        given = self._given
        for path, owner, name in self._plain:
            now = owner.getattr(name)
            if now is not given[path]:
                self._put(path, now)
        for name, said in self._process.items():
            if _setting(name) != said:
                return False
        if self._heard:
            are_same = self._filters == warnings.filters  # what is not heard under the same filters stays so
            for warning, said in self._heard.items():
                if not (are_same and not said) and script.is_heard(*warning) != said:
                    return False
        for owner, name, place, said in self._gradients:
            if torch_tensors.requires_grad(_at(owner.getattr(name), place)) != said:
                return False
        for path, dtype in self._dtypes.items():
            if given[path].dtype is not dtype:
                return False
        for modules, name, module in self._children:
            if modules[name] is not module:
                return False
        for dotted, owner, name, identity, inputs in self._containers:
            tensors: list[tuple[str, Any]] = []
            if _identity(_opened(owner.getattr(name), dotted, tensors)) != identity:
                return False
            for path, (_, now) in zip(inputs, tensors, strict=True):
                if now is not given[path]:
                    self._put(path, now)
        return True

    def renew(self) -> None:
        """Make the arrays anew of tensors that lie elsewhere or otherwise now."""
        with self._noting:
            for path, (tensor, layout) in self._tensors.items():
                if _layout(tensor) != layout:
                    self._put(path, tensor)

    def tensors(self) -> dict[int, Any]:
        """The tensors of which arrays are handed over now, by the arrays' ids."""
        with self._noting:
            return {id(self._namespace[path]): tensor for path, (tensor, _) in self._tensors.items()}

    def why_not(self, names: Sequence[str], tensors: Sequence[Any]) -> str | None:
        """Why PyTorch is to make the gradients of a call with these inputs, of which tensors are given; None where tierup does."""
        of = self.without_gradient_of
        here = [of[n] for n, t in zip(names, tensors, strict=True) if n in of and t is not None and t.requires_grad] if of else []
        return self.without_gradient or (here[0] if here else None)


def _opened(value: Any, path: str, tensors: list[tuple[str, Any]]) -> Any:
    """A value in which each tensor is `Held`; paths and tensors go to the list, in order."""
    if isinstance(value, (list, tuple)):
        items = [_opened(v, f"{path}[{i}]", tensors) for i, v in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {k: _opened(v, f"{path}[{k!r}]", tensors) for k, v in value.items()}
    if torch_tensors.is_tensor(value):
        tensors.append((path, value))
        return Held(path)
    return value


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    """What is at a place, or what it is in where that is known at run time only, or nothing is there."""
    for step in place:
        if not isinstance(value, (list, tuple, dict)) or step is None:
            return value
        try:
            value = value[step]
        except (IndexError, KeyError):
            return None  # the program raises
    return value


def _identity(value: Any) -> Any:
    """What is equal for equal values: 1 is no 1.0 and no True, 0.0 no -0.0, a NaN itself; dicts have an order."""
    if isinstance(value, dict):
        return dict, [(_identity(k), _identity(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [_identity(v) for v in value]
    return type(value), repr(value) if isinstance(value, float) else value


def _setting(name: str) -> bool:
    import torch  # here: an optional package

    if name == "is_autocast_enabled":  # of the CPU: the programs here run on no other
        name = "is_autocast_cpu_enabled"
    return torch.is_autocast_enabled("cpu") if name == "is_autocast_cpu_enabled" else bool(getattr(torch, name)())


def _layout(tensor: Any) -> Layout:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _identifier(path: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in path)
