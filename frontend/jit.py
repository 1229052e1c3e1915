"""`tierup.jit` and `tierup.load`: from Python source or MLIR to a function."""

from __future__ import annotations

import errno
import inspect
import linecache
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from tierup.dialect.base.shielded import loaded
from tierup.dialect.base.spelling import place_of
from tierup.dialect.base.stack import has_room
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend import tensor_arguments
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.gradient_spec import GradientSpec, function_of
from tierup.frontend.python.kept.graphs import Graphs
from tierup.frontend.tensor_arguments import TensorArguments
from tierup.runtime.account.times import START_UP, During
from tierup.runtime.arguments.binding import signature_of
from tierup.runtime.arguments.fitted import Fitted
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.arguments.trees import CallShape
from tierup.runtime.base import events
from tierup.runtime.base.errors import NoSourceWarning
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.base.once import warn
from tierup.runtime.code import plans
from tierup.runtime.functions.elsewhere import AnsweredElsewhere, Elsewhere, Left, NeedsOther, PlainPython
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.graphs.variant import Built
from tierup.runtime.programs import starts

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.frontend.graph import GraphResult
    from tierup.runtime.base.option_names import LoadOptions, OptionChanges

P = ParamSpec("P")
R = TypeVar("R")
_NOT_GIVEN = object()
_STACK = 500  # frames of Python's that making a graph may take
_MOST_GRAPHS, _MOST_OF_REGION = 64, 8  # that few calls came back to: then calls make graphs, and little else


if "TIERUP_TRACE" in os.environ:
    from tierup.runtime.account.tracing import trace  # here: few programs ask

    trace(os.environ["TIERUP_TRACE"])
if "TIERUP_REPORT" in os.environ:
    from tierup.runtime.functions.verdict.process import write_at_exit  # here: few processes ask for it

    write_at_exit()


class Decorator(Protocol):
    """What `jit` with options alone is."""

    def __call__(self, fn: Callable[P, R], /) -> Function[P, R]:
        """The function, with these options."""
        ...


@overload
def jit(fn: Callable[P, R], /, **options: Unpack[OptionChanges]) -> Function[P, R]: ...
@overload
def jit(**options: Unpack[OptionChanges]) -> Decorator: ...
def jit(fn: Any = _NOT_GIVEN, /, **options: Any) -> Any:
    """Make a function that runs at once and gets faster: `@tierup.jit`, `@tierup.jit(max_versions=4)` or `tierup.jit(fn)`.

    Decorating changes no value and no dtype. Options: see `tierup.options`. A method of an object, a classmethod, a staticmethod, a
    property and a functools.partial are made again around the function in them. Raises TypeError for what is no Python function and
    holds none; the first call raises UnsupportedSyntax for a construct that is not translated.
    """
    if fn is _NOT_GIVEN:
        return lambda function, /: jit(function, **options)
    if isinstance(fn, Function):
        fn = getattr(fn, "__tierup_function__", fn)  # one of a file has none
    if isinstance(fn, GradientSpec):
        return function_from(fn, options)
    if isinstance(fn, FunctionType):
        return function_from(fn, options)
    made = _around(fn, options)
    if made is None:
        remedy = "its methods" if isinstance(fn, type) else "a function of your own that calls it"
        raise TypeError(f"tierup.jit takes a Python function, not {type(fn).__name__}: decorate {remedy}")
    return made


def _around(fn: Any, options: Mapping[str, Any]) -> Any:
    """What holds a function, around what `jit` makes of that; None for anything else."""
    if isinstance(fn, MethodType):
        return MethodType(jit(fn.__func__, **options), fn.__self__)
    if isinstance(fn, (classmethod, staticmethod)):
        return type(fn)(jit(fn.__func__, **options))
    if isinstance(fn, property):
        get, set_, delete = (None if part is None else jit(part, **options) for part in (fn.fget, fn.fset, fn.fdel))
        return property(get, set_, delete, fn.__doc__)
    if isinstance(fn, cached_property):
        return cached_property(jit(fn.func, **options))
    if isinstance(fn, partial):
        return partial(jit(fn.func, **options), *fn.args, **fn.keywords)
    return None


def empty() -> Function:
    """A function before it is one: `fill` makes it that. What is pickled with it may hold it."""
    return Function.__new__(Function)


def fill(made: Function, parts: tuple[FunctionType | GradientSpec, Mapping[str, Any]]) -> None:
    """Make an empty function again of what it was in another process."""
    function_from(*parts, made=made)


def function_from(
    target: FunctionType | GradientSpec,
    options: Mapping[str, Any],
    refused: Callable[[UnsupportedSyntax], None] | None = None,
    made: Function | None = None,
) -> Function:
    """The function that runs a Python function's body, or its gradients. `made`: an empty one, to become it."""
    made = empty() if made is None else made
    function = function_of(target)
    _remember(function)
    place = place_of(function.__code__)
    graphs = 0
    most: dict[Any, int] = {}

    def graph(shape: CallShape, arguments: Mapping[str, object], numbers: frozenset[Access] = frozenset()) -> Built:
        of_gradients = isinstance(target, GradientSpec)
        how = {
            "python_answers": not (of_gradients or made.is_strict),
            "copies_views": of_gradients or tensor_arguments.are_given(),  # no tensor has strides below 0
        }
        may_keep = refused is None and arguments and not numbers and starts.usable(made.options)
        kept = Graphs(target, repr(how)) if may_keep else None
        before = None if kept is None else kept.find(shape, arguments)
        if before is not None:
            return before
        front_end = _front_end(target, whole=of_gradients or made.is_strict)
        try:
            now: Built = front_end.built(target, place, shape, arguments, numbers, most, **how)
            return now if kept is None else replace(now, keep=kept.to_keep(shape, now))
        except UnsupportedSyntax as e:
            error = made.graphs.structures.refuse(shape, arguments, e)
            if error is None:
                raise NeedsOther from e
            raise e.as_gradient() if isinstance(target, GradientSpec) else error from None

    def make(shape: CallShape, arguments: Mapping[str, object], numbers: frozenset[Access] = frozenset()) -> Built:
        nonlocal graphs
        if isinstance(target, GradientSpec) or made.is_strict:
            return graph(shape, arguments, numbers)
        if not has_room(_STACK):
            action = f"the Python function answered: its caller is too deep in calls of others for a graph, which takes {_STACK} frames"
            events.emit(Event(EventKind.POSTPONED, target.__name__, 0, Reason.NO_RESOURCES, action=action))
            raise AnsweredElsewhere(PlainPython(target, action), for_now=True)
        graphs += 1
        if graphs > (_MOST_GRAPHS if refused is None else _MOST_OF_REGION) and made.stats().hits < 2 * graphs:
            why = "its calls were of another structure each time, and each makes a graph"
            left = Left("calls of another structure each time", "", "pass arrays, or containers whose keys and lengths stay alike")
            raise AnsweredElsewhere(PlainPython(target, why, left=[left]))
        try:
            return graph(shape, arguments, numbers)
        except UnsupportedSyntax as e:
            if refused is None:
                raise AnsweredElsewhere(_in_part(target, e, options, made), of_a_kind=True) from None
            refused(e)
            raise AnsweredElsewhere(PlainPython(target, str(e))) from None

    Function.__init__(
        made,
        target.__name__,
        signature_of(function),
        make,
        lambda: graph(_front_end(target).shape_from_annotations(function), {}),
        options,
        function,
        python=None if isinstance(target, GradientSpec) else target,
        raises=target.function if isinstance(target, GradientSpec) else None,
    )
    made.__tierup_function__ = target  # what programs that call it build
    made.remade = empty, fill, target
    made.graphs.structures.whole_lists = not isinstance(target, GradientSpec)
    made.is_weighed = refused is None and not isinstance(target, GradientSpec)  # regions are weighed by who calls them
    made.leave_tensors_to(TensorArguments())
    return made


def _front_end(target: FunctionType | GradientSpec, *, whole: bool = True) -> Any:
    """The module that builds graphs, `frontend.python.build`. It is imported when there is a graph to build: a process that has what
    earlier ones kept needs neither it nor MLIR. Where something ran out that it takes, Python answers the call, unless `whole`."""
    try:
        return _builder()
    except Exception as e:
        if whole or not plans.is_passing(e):
            raise
        action = f"the Python function answered: what builds graphs cannot be imported now: {type(e).__name__}: {e}"
        events.emit(Event(EventKind.POSTPONED, target.__name__, 0, Reason.NO_RESOURCES, action=action))
        raise AnsweredElsewhere(PlainPython(function_of(target), action), for_now=True) from e


@cache
def _builder() -> ModuleType:
    with During(START_UP):
        made = loaded(lambda: import_module("tierup.frontend.python.build"))
    if getattr(made.__spec__, "_initializing", False):  # `__del__`, say, calls a function in the midst of it, in the thread that imports
        raise BlockingIOError(errno.EAGAIN, f"{made.__name__} is being imported")
    return made


def _remember(function: FunctionType) -> None:
    """Read the function's file now, when it is decorated: whoever edits it later has not changed what runs."""
    linecache.checkcache(function.__code__.co_filename)
    linecache.getlines(function.__code__.co_filename, function.__globals__)


def _in_part(function: FunctionType, error: UnsupportedSyntax, options: Mapping[str, Any], made: Function) -> Elsewhere:
    """What answers calls of a function that is not translated whole, as the first of them is known to be."""
    from tierup.frontend.python.building.source import definition  # here: start-up of programs that are translated whole
    from tierup.frontend.python.islands.driver import Driver

    try:
        source = definition(function)
    except UnsupportedSyntax as e:
        warn(f"{function.__name__} (at {e.filename}:{e.lineno}) runs as plain Python: {e.construct}; {e.remedy}", NoSourceWarning)
        return PlainPython(function, e.construct, left=[Left(e.construct, f"{e.filename}:{e.lineno}", e.remedy)])

    def changed() -> None:
        if driver is made.elsewhere:
            made.leave_to(driver)

    driver = Driver(source, lambda plain, refused: function_from(plain, options, refused), changed, made.weigh_parts)
    driver.leave(error)
    return driver


def load(path: str | Path, entry: str | None = None, **options: Unpack[LoadOptions]) -> Function:
    """The program in a file of MLIR, as a function of arrays and scalars.

    `entry` may be left out when the module has one public function, or one called main or forward. Raises ProgramError with
    file, line and column for what does not parse or verify.
    """
    from tierup.frontend.mlir.file import load as load_graph  # here: it imports MLIR, which `jit` may do without

    return from_graph(load_graph(path, entry), str(path), **options)


def fill_loaded(made: Function, parts: tuple[tuple[str, str, str], Mapping[str, Any]]) -> None:
    """As `fill`, of a program in MLIR: its text, entry and place."""
    from tierup.frontend.mlir.file import load_text  # here: as above

    (text, entry, place), options = parts
    _become(made, load_text(text, entry), place, options)


def from_graph(graph: GraphResult, place: str, **options: Any) -> Function:
    """A graph from MLIR as a function. `place` says in events where it came from."""
    function = empty()
    _become(function, graph, place, options)
    return function


def _become(function: Function, graph: GraphResult, place: str, options: Mapping[str, Any]) -> None:
    from tierup.frontend.graph import built  # here: as above
    from tierup.frontend.mlir.arguments import specialise, takes_only_leaves
    from tierup.frontend.mlir.file import load_text

    made = built(graph, graph.entry, place, packed=True)
    parameters = [inspect.Parameter(_identifier(name), inspect.Parameter.POSITIONAL_OR_KEYWORD) for name, _ in graph.leaves]
    fitted = Fitted(dict(zip((p.name for p in parameters), made.program.tier0.parameters, strict=True)))

    def current(*call: object) -> Built:
        nonlocal made
        if made.program.released:
            made = replace(made, program=made.program.renewed())
        return made

    def for_structure(shape: CallShape, *_: object) -> Built:
        return built(specialise(load_text(current().program.graph, graph.entry), shape), graph.entry, place, packed=True)

    build = current if takes_only_leaves(graph.leaves) else for_structure
    Function.__init__(function, graph.entry, inspect.Signature(parameters), build, current, options, fitted=fitted)
    function.remade = empty, fill_loaded, (made.program.graph, graph.entry, place)
    function.leave_tensors_to(TensorArguments())


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "arg_" + "".join(c if c.isalnum() else "_" for c in name)
