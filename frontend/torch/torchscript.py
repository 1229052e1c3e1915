"""`from_torchscript`: a scripted or traced function or module as a function of tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.records import cached_property
from tierup.dialect.language.context import thread_context
from tierup.dialect.optable.kernels import torch_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.graph import GraphResult, built
from tierup.frontend.torch import overloads
from tierup.frontend.torch.errors import LeftToPyTorch, UnsupportedProgram
from tierup.frontend.torch.function import TorchFunction
from tierup.frontend.torch.script.builder import OutOfSight
from tierup.frontend.torch.script.graph import GraphBuilder
from tierup.frontend.torch.script.inlining import inlined
from tierup.frontend.torch.script.module import Attributes, Question
from tierup.frontend.torch.script.results import finisher
from tierup.runtime.arguments.trees import FIXED, CallShape, Leaf, Node, Tree
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.graphs.variant import Built

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges

FOREIGN = ("torch", "error")
ANSWER = "_tierup_answer"  # attribute of a function or method: what answers its calls while `install` is in force; None: PyTorch


def from_torchscript(
    program: Any, *, method: str = "forward", foreign: str = "torch", gradients: str = "torch", **options: Unpack[OptionChanges]
) -> TorchFunction | overloads.Overloads:
    """A `torch.jit.script`ed or traced function or module as a function that starts in tier 0 and gets faster.

    Tensors in, tensors out, without copies; parameters and buffers are read from the module at every call. `method`: which of a
    module's; of one with several signatures a call takes the one that its arguments fit. `foreign`: an op that tierup has no kernel for is
    called through PyTorch, and a program that is not translated runs in it ("torch"), or both are refused when the graph is built
    ("error"). `gradients`: a call that wants a gradient which tierup cannot make runs the program as it is in PyTorch, under its autograd,
    and an event says so ("torch"), or raises `tierup.NotDifferentiable` ("error").
    `options`: as `tierup.options`. Raises TypeError for what is no program of TorchScript;
    UnsupportedProgram for a module with hooks of its own and, with an "error", at the first call, for what is not translated.
    """
    import torch  # here: an optional package, and a second to import

    check(foreign, gradients)
    if isinstance(program, torch.jit.ScriptModule):
        if method == "forward" and (program._forward_hooks or program._forward_pre_hooks):
            raise UnsupportedProgram(f"{program.original_name} has hooks, which are no part of its forward: script a module that calls it")
        return method_of(program, method, foreign, gradients, options)
    if isinstance(program, torch.jit.ScriptFunction):
        return function_of(program, foreign, gradients, options)
    what = type(program).__name__
    raise TypeError(f"from_torchscript takes what torch.jit.script or torch.jit.trace gives, not {what}: script it first")


def check(foreign: str, gradients: str) -> None:
    """Raises ValueError for what is no choice."""
    for name, value in {"foreign": foreign, "gradients": gradients}.items():
        if value not in FOREIGN:
            raise ValueError(f"{name} is {value!r}: choose from {', '.join(FOREIGN)}")


def method_of(module: Any, name: str, foreign: str, gradients: str, options: Mapping[str, Any]) -> TorchFunction | overloads.Overloads:
    """A method of a module, without the hooks of the module. Raises TypeError where there is none."""
    names = overloads.names_of(module._c, name)
    if not names:
        raise TypeError(f"the module {module.original_name} has no method {name!r}")
    methods = [module._c._get_method(n) for n in names]
    how = (foreign, gradients, options)
    made = [_made(module.original_name, m, module, getattr(module, n), *how) for m, n in zip(methods, names, strict=True)]
    return made[0] if len(made) == 1 else overloads.Overloads(made, [m.schema for m in methods])


def function_of(function: Any, foreign: str, gradients: str, options: Mapping[str, Any]) -> TorchFunction:
    """A scripted or traced function."""
    return _made(str(function.name), function, None, function, foreign, gradients, options)


def _made(
    name: str, found: Any, module: Any, original: Callable[..., Any], foreign: str, gradients: str, options: Mapping[str, Any]
) -> TorchFunction:
    import torch  # here: an optional package

    FIXED.update((torch.device, torch.dtype, torch.layout, torch.memory_format))
    graph = inlined(found.graph)
    return TorchFunction(_Script(name.replace(".", "_"), graph, module, found.schema, foreign, options, original, gradients == "torch"))


class _AsItIs:
    """A program in PyTorch without TorchScript's optimisations: some make other gradients than eager's (batch norm before dropout).
    It has an executor of its own: one that has optimised its program once does so for good."""

    def __init__(self, name: str, graph: Any, module: Any, signature: inspect.Signature) -> None:
        self._name, self._graph, self._signature = name, graph, signature
        self._self = () if module is None else (module,)

    @cached_property
    def _function(self) -> Any:
        import torch

        function = torch._C._create_function_from_graph(self._name, self._graph.copy())
        setattr(function, ANSWER, None)
        return function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        import torch

        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        with torch.jit.optimized_execution(False):
            return self._function(*self._self, *given.args, *given.kwargs.values())


class _Script:
    """A TorchScript graph, and how functions are made of it."""

    def __init__(
        self,
        name: str,
        graph: Any,
        module: Any,
        schema: Any,
        foreign: str,
        options: Mapping[str, Any],
        original: Callable[..., Any],
        falls_back: bool,
    ) -> None:
        self.original: Callable[..., Any] | None = original
        self.writes_last = False
        self.sizes: dict[Question, set[Any]] = {}
        self.name, self.graph, self.module, self.foreign, self.options = name, graph, module, foreign, options
        self.arguments = schema.arguments if module is None else schema.arguments[1:]
        self.names = _different([a.name for a in self.arguments])
        self.signature = inspect.Signature([_parameter(n, a) for n, a in zip(self.names, self.arguments, strict=True)])
        self.eager: Callable[..., Any] | None = _AsItIs(name, graph, module, self.signature) if falls_back else None
        self.finish = finisher(schema.returns[0].type) if len(schema.returns) == 1 else None

    def make(self) -> tuple[Function, Attributes]:
        """A function, and the attributes that it reads, which are known once it has been called."""
        attributes = Attributes(None if self.module is None else self.module._c, self.module, self.signature)
        attributes.sizes = self.sizes
        attributes.lengths = {n: a.N for n, a in zip(self.names, self.arguments, strict=True) if a.N is not None}
        left: dict[CallShape, LeftToPyTorch] = {}  # why PyTorch answers calls of these structures

        def build(shape: CallShape, *call: object) -> Built:
            context = thread_context()
            if shape in left:
                raise left[shape].saying(str(left[shape]))
            with context, _remembered(left, shape, self.eager is not None and self.foreign == "torch"):
                return built(self._graph(context, attributes, shape), self.name, f"TorchScript {self.name}")

        function = Function(self.name, self.signature, build, lambda: build(self.shape()), self.options)
        return function, attributes

    def _graph(self, context: Any, attributes: Attributes, shape: CallShape) -> GraphResult:
        """The graph for calls of a structure, built again where a list turns out to be none of which is known what is in it."""
        hidden: frozenset[str] = frozenset()
        while True:
            try:
                return GraphBuilder(context, self.name, self.graph, attributes, self.foreign, hidden).build(shape)
            except OutOfSight as e:
                hidden |= {e.name}

    def shape(self) -> CallShape:
        """Of a call not seen yet: tensors of any rank."""
        return CallShape(tuple((n, _uncalled(a)) for n, a in zip(self.names, self.arguments, strict=True)))


@contextmanager
def _remembered(left: dict[CallShape, LeftToPyTorch], shape: CallShape, all_: bool) -> Iterator[None]:
    """Keep why PyTorch answers calls of this structure. `all_`: also where the program is not translated, whatever of it failed, but for
    what the call itself has wrong, a RuntimeError."""
    try:
        yield
    except LeftToPyTorch as e:
        left[shape] = e
        raise
    except Exception as e:
        if not all_ or isinstance(e, RuntimeError):
            raise
        what = str(e) if isinstance(e, (UnsupportedProgram, torch_tensors.NoArray)) else f"{type(e).__name__}: {e}"
        left[shape] = LeftToPyTorch(what, Reason.NOT_TRANSLATED)
        raise left[shape] from e


def _different(names: list[str]) -> list[str]:
    """Traces give two arguments one name where the program calls them so at different places."""
    found: list[str] = []
    for name in names:
        tries = (name if i == 0 else f"{name}_{i}" for i in range(len(names) + 1))
        found.append(next(t for t in tries if t not in found))
    return found


def _parameter(name: str, argument: Any) -> inspect.Parameter:
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default)


_LEAVES = {"TensorType": "array", "IntType": "int", "FloatType": "float", "BoolType": "bool"}


def _uncalled(argument: Any) -> Tree:
    if argument.has_default_value() and argument.default_value is None:
        return Leaf("none")
    return _tree(argument.type)


def _tree(type_: Any) -> Tree:
    kind = type_.kind()
    if kind in _LEAVES:
        return Leaf(_LEAVES[kind])
    if kind == "OptionalType":
        return _tree(type_.getElementType())
    if kind == "TupleType":
        return Node("tuple", tuple(_tree(t) for t in type_.elements()))
    if kind == "StringType":
        return Leaf("str", value="")
    raise UnsupportedProgram(f"how many items an argument of type {type_.annotation_str} has is known from a call: call it first")


Make = Callable[[], tuple[Function, Attributes]]
