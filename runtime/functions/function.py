"""What users call: a function that binds arguments, finds the program for their structure, and says what it did.

The front ends make these (`tierup.jit`, `tierup.load`) by giving a `build` that turns a call's structure into a graph; this
module knows nothing of Python source or MLIR files.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Protocol, Self, overload

import numpy as np

from tierup.dialect.base.exceptions import UNANSWERED, unanswered
from tierup.dialect.base.spelling import place_of
from tierup.dialect.optable.words import numpys_names
from tierup.runtime.account.counters import Counters
from tierup.runtime.account.stats import Stats
from tierup.runtime.account.times import OVERHEAD, PYTHON, During, Times
from tierup.runtime.arguments.binding import Binding
from tierup.runtime.arguments.fitted import Fitted
from tierup.runtime.arguments.lists.changed import Lists
from tierup.runtime.arguments.trees import CallShape, Leaf, Output, OutputTree, explain_recursion, unflatten
from tierup.runtime.base import options as options_module
from tierup.runtime.base.errors import NotDifferentiable, UnsupportedArgument
from tierup.runtime.base.once import Owner
from tierup.runtime.compiling.processes import early
from tierup.runtime.dispatching.direct import DirectTable, convention
from tierup.runtime.executors.executor import Executor
from tierup.runtime.faults import faults
from tierup.runtime.functions.elsewhere import MOST_UNSUPPORTED, AnsweredElsewhere, Left, NeedsOther, PlainPython
from tierup.runtime.functions.graphs.graphs import Graphs, GraphsByShape
from tierup.runtime.functions.graphs.shortcuts import Match
from tierup.runtime.functions.graphs.variant import Build, Built, Variant
from tierup.runtime.functions.kinds import Kinds
from tierup.runtime.functions.portable.portable import Portable
from tierup.runtime.functions.weighing import FIRST, Weighed, answer_due
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from os import PathLike

    from typing_extensions import ParamSpec, TypeVar  # with defaults: `Function` alone takes anything, and gives anything

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any, covariant=True)
    Q = ParamSpec("Q")
    S = TypeVar("S")
    T = TypeVar("T")
else:
    from typing import ParamSpec, TypeVar

    P, R = ParamSpec("P"), TypeVar("R", covariant=True)

_NONE: tuple[GraphsByShape, Variant | None, Match | None] = {}, None, None
_MOST_TABLES = 8  # of one function: they are tried one after the other, 20 to 50 ns each


def _of_wrapped(name: str) -> property:
    """An attribute of the Python function behind a function, for reading and for setting. AttributeError where there is none."""

    def change(self: Any, value: Any) -> None:
        setattr(self.__wrapped__, name, value)
        if self._in_parts is not None and isinstance(self._in_parts.call, FunctionType):
            setattr(self._in_parts.call, name, value)

    return property(lambda self: getattr(self.__wrapped__, name), change)


def _shown(name: str) -> property:
    """An attribute of the Python function behind a function, by which `inspect` and libraries know its calls. AttributeError where
    there is none."""
    return property(lambda self: getattr(self.__wrapped__, name))


def _take_code(self: Any, code: CodeType) -> None:
    """`__code__` is set, as by an editor that reloads: it is read again."""
    self.__wrapped__.__code__ = code
    self.reset()


class TensorCalls(Protocol):
    """Answers calls with PyTorch's tensors, of which a function of arrays knows nothing. `always`: all calls, and results are tensors."""

    always: bool

    def concern(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call is one of these."""
        ...

    def answer(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], python: Callable[..., Any] | None = None) -> Any:
        """The result of such a call; `python` answers in the place of a program, if Python does. Raises TypeError for arguments that it
        does not take, else what the function raises."""


class Function(Weighed, Portable, Generic[P, R]):
    """A program that starts in tier 0 and gets faster. Made by `tierup.jit` and `tierup.load`."""

    __slots__ = ("__tierup_function__",)  # what programs that call it build: not in __dict__, which functools.wraps gives a wrapper

    __defaults__ = _of_wrapped("__defaults__")
    __kwdefaults__ = _of_wrapped("__kwdefaults__")
    __annotations__ = _of_wrapped("__annotations__")
    __code__, __globals__, __closure__ = _shown("__code__").setter(_take_code), _shown("__globals__"), _shown("__closure__")
    __builtins__, __type_params__ = _shown("__builtins__"), _shown("__type_params__")

    is_expected_to_compile = True  # soon: what compiles may be started now
    is_one_plan = True  # a call is one program's, which `runtime.cuda.capture` may be able to repeat

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        build: Build,
        uncalled: Callable[[], Built],
        overrides: Mapping[str, Any],
        wrapped: Callable[..., Any] | None = None,
        fitted: Fitted | None = None,
        python: Callable[..., Any] | None = None,
        raises: Callable[..., Any] | None = None,
    ) -> None:
        """`build` makes the graph for a call's structure, arguments, and numbers from outside to be read at every call; `uncalled` the one
        to show before there was a call. `fitted` makes bound
        arguments what the graph takes, or raises TypeError; None where the graph is made for what comes. `python` answers calls with
        arguments that no program takes; `raises` raises what Python alone makes, where there is no such function."""
        self.elsewhere = None
        if wrapped is not None:
            self.__wrapped__ = wrapped
            functools.update_wrapper(self, wrapped)
            self.__tierup_function__: Any = wrapped
        self.__name__ = name
        self.times = Times(name, _place_of(wrapped))
        self._binding = Binding(name, signature, wrapped)
        self.fitted = fitted
        self._tensors: TensorCalls | None = None
        self._python, self._raises = python, raises
        self.unsupported_calls = 0  # answered by `python`, since no program takes their arguments
        self.build = build
        self._uncalled = uncalled
        self._overrides = options_module.Overrides(overrides)
        self.graphs = Graphs()
        # by the ranks of arguments: a shorter way to a graph, while these are the graphs; where there is none, its match is None
        self._plain: dict[tuple[int, ...], tuple[GraphsByShape, Variant, Match | None]] = {}
        self._kinds = Kinds()
        self._tables: dict[object, DirectTable] = {}  # in the order in which they are tried
        self._counted_before = Counters()  # by executors that were let go
        self._stats_before = Stats()  # of graphs that were dropped
        self._new_owner()
        self._expect_weighing()
        self._expect_direct_calls()
        if self.is_expected_to_compile:
            early.expect(self._overrides.base())

    def _new_owner(self) -> None:
        numpys = getattr(self, "__wrapped__", None) is not None
        self.once = Owner(functools.partial(_calls_of, weakref.ref(self)), numpys_names if numpys else str)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of a call. Raises TypeError for arguments that do not fit, and what the program raises."""
        if faults.active:
            return faults.run(self._slow, args, kwargs)  # type: ignore[no-any-return]  # it is what the function gives
        return self._slow(*args, **kwargs)  # type: ignore[no-any-return]  # as above

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Function[Concatenate[S, Q], T], instance: S, owner: type | None = None) -> Function[Q, T]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def _slow(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call that the direct table did not answer."""
        self.times.entries += 1
        with During(OVERHEAD, self.times):
            return self._answered(args, kwargs)

    def _answered(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        for elsewhere in (self.elsewhere, self._in_parts):
            if elsewhere is not None and self._is_left(elsewhere):
                return self.in_python(elsewhere.call, args, kwargs)
        if self._first is None and self.is_weighed and self.is_due():
            return self.weigh(args, kwargs)
        other = self._kinds.elsewhere(args, kwargs)
        if other is not None and self._is_left(other):
            return self.in_python(other.call, args, kwargs)
        variant: Variant | None = None
        try:
            if self._tensors is not None and self._tensors.concern(args, kwargs):
                return self._tensors.answer(self, args, kwargs)
            variant, flat = self.find(args, kwargs)
            results = variant.executor.call(flat) if not variant.lists.all else self._with_lists(variant, flat, args, kwargs)
        except UNANSWERED as e:
            if variant is None:
                raise
            python = self.python_for(e, variant.built.program)
        except AnsweredElsewhere as e:
            if e.of_a_kind and self.graphs.by_shape:
                self._kinds.leave_to(e.elsewhere, args, kwargs)
            elif not e.for_now:
                self.leave_to(e.elsewhere)
            python = e.elsewhere.call
        except (UnsupportedArgument, RecursionError) as e:
            began = isinstance(e, RecursionError) and variant is not None
            if isinstance(e, RecursionError):
                explain_recursion(args, kwargs)
            if self._python is None or self.is_strict or began:
                raise
            self.unsupported_calls += 1
            python = self._python
            if self.unsupported_calls >= MOST_UNSUPPORTED and not self.graphs.by_shape:
                of = "the arguments of its calls" if isinstance(e, UnsupportedArgument) else "calls from so deep in others"
                left = Left(f"calls of it: {e}", "", "pass arrays and numbers")
                self.leave_to(PlainPython(python, f"no program takes {of}", left=[left]))
        else:
            return variant.finish(results)
        return self.in_python(python, args, kwargs)  # here: what it raises has nothing to do with the above

    def _with_lists(self, variant: Variant, flat: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The flat results of a call whose lists may change, and these lists."""
        lists = self.lists_of(variant.lists, args, kwargs)
        try:
            results = variant.executor.call(flat)
        except UNANSWERED:
            raise  # Python answers the call from its start
        except BaseException:
            variant.lists.put_back(lists, flat)
            raise
        variant.lists.put_back(lists, flat)
        return (*results, *lists)

    def lists_of(self, lists: Lists, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[list[Any]]:
        """Those of a call. Raises what `Lists.find` does."""
        arguments = self._binding.bind(args, kwargs)
        return lists.find(arguments if self.fitted is None else self.fitted(arguments))

    def in_python(self, python: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a Python function gives in a program's place. PyTorch's tensors mean there what they mean in programs."""
        with During(PYTHON):
            if self._tensors is not None and self.concerns_tensors(args, kwargs):
                return self._tensors.answer(self, args, kwargs, python)
            return python(*args, **kwargs)

    def concerns_tensors(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call has PyTorch's tensors."""
        return self._tensors is not None and "torch" in sys.modules and self._tensors.concern(args, kwargs)

    def python_for(self, error: Exception, program: Program) -> Callable[..., Any]:
        """The Python function, where it can take over a call that a program began. Else raises the error."""
        python = self._python
        if python is not None and isinstance(error, MemoryError):  # too little room for a list, which is no error of the program's
            self.graphs.enlarge(self, program, error)
            return python
        if python is None and self._raises is not None:
            python = functools.partial(_raised, self._raises, error)
        if python is None or program.writes_arrays:
            raise unanswered(error)
        return functools.partial(_only_raises, python, error) if self.is_strict else python

    @property
    def is_strict(self) -> bool:
        """Whether what is not native is an error now."""
        return self.options.strict

    def find(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Variant, tuple[Any, ...]]:
        """The graph that serves a call, made where there is none, and the flat leaves that it takes, hidden inputs last."""
        there, plain, match = _NONE if kwargs else self._plain.get(_ranks(args), _NONE)
        if plain is not None and match is not None and there is self.graphs.by_shape:
            matched = match(*args)
            if matched is not None:
                return plain, matched
        arguments = self._binding.bind(args, kwargs)
        if self.fitted is not None:
            return self._serving(self.fitted(arguments))
        return self._serving(arguments, None if kwargs or not self._binding.is_positional else args)

    def graph_for(self, arguments: Mapping[str, Any]) -> tuple[Variant, tuple[Any, ...]]:
        """As `find`, for arguments by the names of all parameters."""
        return self._serving(dict(arguments) if self.fitted is None else self.fitted(arguments))

    def _serving(self, arguments: Mapping[str, object], args: tuple[Any, ...] | None = None) -> tuple[Variant, tuple[Any, ...]]:
        """`args`: the arguments, where all were given by position."""
        graphs = self.graphs.by_shape
        shape, leaves = self.graphs.structures.of(arguments)
        known = graphs.get(shape, ())
        for variant in known:
            hidden = variant.hidden_values(arguments) if variant.holds(arguments) else None
            if hidden is not None:
                if args is not None and len(args) == len(shape.parameters):
                    self._shorten(_ranks(args), graphs, variant, shape)
                return variant, (*leaves, *hidden)
        try:
            found = self.graphs.new(self, shape, known, leaves, arguments)
        except NeedsOther:
            return self._serving(arguments)
        self._warm_as_expected(shape)
        return found

    def _shorten(self, ranks: tuple[int, ...], graphs: GraphsByShape, variant: Variant, shape: CallShape) -> None:
        there, last, _ = self._plain.get(ranks, _NONE)
        if there is not graphs or last is not variant:
            self._plain[ranks] = graphs, variant, variant.shortcut(shape)

    def executor_for(self, shape: CallShape, built: Built, arguments: Mapping[str, object], lists: Lists) -> Executor:
        """Who runs a new graph. `lists`: those of a call that it changes or gives back."""
        leave = functools.partial(_leave_to_python, weakref.ref(self))
        table = self._direct_table(shape, built, arguments, lists)
        return Executor(built.program, self._overrides, table, owner=self.once, leave_to_python=leave, keep=built.keep)

    def let_go(self, executors: Sequence[Executor]) -> None:
        """Their graphs are dropped: what they counted stays counted."""
        self._plain = {}
        self._leave_unused_tables()
        for executor in executors:
            self._stats_before += replace(executor.stats_with_gradients(), versions=0)
            executor.reset()
            self._counted_before += executor.counters()

    # --- the direct tables ------------------------------------------------------------------------------------------

    def _direct_table(self, shape: CallShape, built: Built, arguments: Mapping[str, object], lists: Lists) -> DirectTable | None:
        """The table that takes calls of this shape without Python."""
        always = self._tensors is not None and self._tensors.always
        flat = all(isinstance(tree, Leaf) and not tree.is_static for _, tree in shape.parameters)
        if self._overrides.current().entry != "native" or always and not flat:
            return None
        made_for = convention(shape, *self._binding.known, built.output, built.hidden, built.constants, arguments, lists)
        if made_for is None or made_for.key not in self._tables and len(self._tables) >= _MOST_TABLES:
            return None
        table = self._tables.get(made_for.key)
        if table is None:
            answer, unanswered, link = (functools.partial(do, weakref.ref(self)) for do in (_answer, _unanswered, _link))
            find = functools.partial(_lists_of, weakref.ref(self))
            table = DirectTable(made_for, answer, built.output, _finish, unanswered, link, self.times, find)
            self._tables[made_for.key] = table
            if always and not table.take_tensors(always=True):
                del self._tables[made_for.key]
                self._link_tables()
                return None
            if flat:  # the entry is loaded in the first call, not in the second, which compiles
                table.open()
        return table

    def _link_tables(self) -> None:
        """Let calls try the tables that are open, one after the other."""
        with self._linking:
            there = [table.native for table in list(self._tables.values()) if table.native is not None]
            for i, table in enumerate(there):
                table.follow(there[i + 1] if i + 1 < len(there) else None)
            first = there[0] if there else None
            if first is not self._first:
                self._first = first
                if self.elsewhere is None and self._round is None:
                    self._answer_directly(table=first)
                self._weigh_after(self._weighed_at)

    def _leave_unused_tables(self) -> None:
        used = [variant.executor.direct for variant in self.variants]
        self._tables = {key: table for key, table in self._tables.items() if table in used}
        self._link_tables()

    def leave_tensors_to(self, calls: TensorCalls) -> None:
        """Whose calls with PyTorch's tensors are, except those that the native entry answers. Before the first call."""
        self._tensors = calls

    def take_tensors(self) -> None:
        """Let calls with PyTorch's tensors reach native code as those with arrays do, where that is possible."""
        for table in self._tables.values():
            table.take_tensors()

    def reset(self) -> None:
        """Forget versions, profiles and graphs; counters start again. The Python function's code is read again."""
        with self.graphs.lock:
            self._binding = self._binding.renewed()
            for executor in self._executors:
                executor.reset()
                self._counted_before += executor.counters()
            self._counted_before += sum((part._counted for part in self._parts), Counters())
            self.graphs.clear()
            self._plain = {}
            self._kinds = Kinds()
            self.unsupported_calls = 0
            self._stats_before = Stats()
            self.times.clear()
            self._new_owner()
            with self._linking:
                self._first = self.elsewhere = self._in_parts = self._round = None
                self._turns_of_python = 0
                self._weigh_after(FIRST)
                self._answer_directly()
            self._leave_unused_tables()

    def report(self, path: str | PathLike[str]) -> None:
        """Write all that is known of the function as a page, one file of HTML that needs no network: the timeline, versions, the graph, the
        program at each stage beside its source. The newest version is compiled again for its stages."""
        from tierup.runtime.functions.verdict.page import write  # here: few programs look

        write.write_function(path, self)

    def _repr_html_(self) -> str:
        """A short form of the page, for notebooks."""
        from tierup.runtime.functions.verdict.page import write  # here: as above

        return write.short_form(self)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    def __repr__(self) -> str:
        return f"<tierup function {self.__name__}: {len(self.versions)} versions>"


def _calls_of(weak: weakref.ref[Function]) -> int:
    function = weak()
    return 0 if function is None else function.answered()


def _answer(weak: weakref.ref[Function], /, *args: Any, **kwargs: Any) -> Any:
    """A call that a direct table does not answer."""
    function = weak()
    assert function is not None  # it is being called
    return function._slow(*args, **kwargs)


def _raised(call: Callable[..., Any], error: Exception, /, *args: Any, **kwargs: Any) -> Any:
    """Raises what the call does; where it gives a result, NotDifferentiable: of what Python alone computes there is no gradient."""
    call(*args, **kwargs)
    places = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    message = "for these values Python alone has an answer, and so no gradient is known: call it with others, or write the line otherwise"
    raise NotDifferentiable(f"{message}{places}") from error


def _only_raises(python: Callable[..., Any], error: Exception, /, *args: Any, **kwargs: Any) -> Any:
    """A strict call that raised what stands for an exception of the user's own, of which only Python makes class and message. Where Python
    has a value the call is not answered."""
    python(*args, **kwargs)
    raise unanswered(error)


def _leave_to_python(weak: weakref.ref[Function], why: str, remedy: str) -> None:
    function = weak()
    if function is not None and function._python is not None:
        function.leave_to(PlainPython(function._python, why, left=[Left(why, "", remedy)]))


def _unanswered(weak: weakref.ref[Function], error: Exception, program: Program, /, *args: Any, **kwargs: Any) -> Any:
    """A call that a program of a direct table has no answer to."""
    function = weak()
    assert function is not None  # it is being called
    return function.in_python(function.python_for(error, program), args, kwargs)


def _lists_of(weak: weakref.ref[Function], lists: Lists, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[list[Any]]:
    function = weak()
    assert function is not None  # it is being called
    return function.lists_of(lists, args, kwargs)


def _link(weak: weakref.ref[Function]) -> None:
    """A direct table was opened."""
    function = weak()
    if function is not None:
        function._link_tables()


ENTRIES = (Function.__call__, Function._slow, _answer, answer_due)  # through which calls come in


def _ranks(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Of plain arrays; -1 for anything else."""
    return tuple([a.ndim if type(a) is np.ndarray else -1 for a in args])


def _place_of(function: Callable[..., Any] | None) -> str:
    """The line of a Python function; "" where there is none."""
    code = getattr(function, "__code__", None)
    return "" if code is None else place_of(code)


def _finish(output: OutputTree, results: tuple[Any, ...]) -> Any:
    if type(output) is Output and output.kind == "array" and type(array := results[0]) is np.ndarray and array.ndim:
        return array  # what most programs give, in a third of the time
    return unflatten(output, results)
