"""A Python function to a module over the torch dialect: `build`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np

from tierup.dialect.base.shielded import shielded
from tierup.dialect.base.stack import has_room
from tierup.dialect.ir.walking import callee_name, walk
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.pipeline import parse as parse_pipeline
from tierup.frontend.errors import UnsupportedSyntax, position
from tierup.frontend.graph import GraphResult, finish_function, new_function
from tierup.frontend.graph import built as as_built
from tierup.frontend.python import heaps
from tierup.frontend.python.building.complex_numbers import check_complex
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.frame import (
    Frame,
    NeedsComplex,
    NeedsDtypes,
    NeedsIndexDtypes,
    NeedsMutation,
    NeedsRoom,
    Outside,
    Room,
    Site,
    WillRaise,
    is_numpys,
)
from tierup.frontend.python.building.gradient_spec import GradientSpec, function_of
from tierup.frontend.python.building.knowledge import noted, settled
from tierup.frontend.python.building.own_memory import show_others
from tierup.frontend.python.building.parameters import bind, external, given_back, handed_over, parameter_value
from tierup.frontend.python.building.source import Source, parse
from tierup.frontend.python.building.templates import Same, Template, counterparts, given_in, lower, raise_, template_of, types_of
from tierup.frontend.python.building.values import (
    NONE,
    Closure,
    Const,
    Mapping_,
    Object,
    OneOf,
    Raised,
    Return,
    Sequence,
    Value,
    containers_in,
    tie,
)  # fmt: skip
from tierup.frontend.python.functions import (  # noqa: F401 - importing them registers the functions that programs may call
    builtins,
    list_methods,
    numpy_elementwise,
    numpy_factories,
    numpy_finding,
    numpy_internals,
    numpy_lapack,
    numpy_linalg,
    numpy_movement,
    numpy_reductions,
    numpy_shape,
    python_math,
    python_objects,
    scipy_special,
    summing,
    tierup_functions,
)
from tierup.frontend.python.operations import appending
from tierup.frontend.python.returned import Returned
from tierup.frontend.python.syntax.statements import execute
from tierup.runtime.arguments.binding import signature_of
from tierup.runtime.arguments.hidden import Access, Constant
from tierup.runtime.arguments.trees import CallShape, Leaf, each_once, has_lists, leaf_names
from tierup.runtime.functions.graphs.variant import Built

Target = FunctionType | GradientSpec
"""What a graph is built of: a function's body, or the gradients of a function."""


def build(
    target: Target, shape: CallShape, arguments: Mapping[str, object] | None = None, numbers: frozenset[Access] = frozenset(),
    most: dict[Site | Template, int] | None = None, *, python_answers: bool = False, copies_views: bool = False,
) -> GraphResult:
    """The graph of a function, or of its gradients, for calls of this shape.

    `arguments` are needed for parameters that are objects (`self`): their attributes are read now. `numbers`: those from outside that
    are read at every call. `most`: how many items lists that grow have room for. `python_answers`: whether calls may be left to Python.
    `copies_views`: whether a result may be a copy where NumPy has a reversed view of an argument.
    Raises UnsupportedSyntax for what is not translated, NotDifferentiable for what has no gradient, and TypeError or ValueError for
    arguments and results that have none.
    """
    context = thread_context()
    mutable, knows_dtypes = False, "no" if arguments else None
    most = {} if most is None else most
    rooms: dict[Site, Room | None] = {site: None for site, count in most.items() if isinstance(site, tuple) and count > appending.MOST}
    tries = 0
    otherwise: UnsupportedSyntax | None = None  # what is refused where no list grows
    has_complex = any(leaf.is_complex for name, tree in shape.parameters for _, leaf in leaf_names(tree, name))
    if has_complex and arguments:
        knows_dtypes = "all"
    try:
        with context:
            while True:
                outside = Outside(
                    numbers, knows_dtypes, has_complex=has_complex, rooms=rooms, python_answers=python_answers, copies_views=copies_views
                )
                try:
                    return ProgramBuilder(context, mutable, outside=outside).build(target, shape, arguments or {})
                except NeedsMutation:
                    mutable = True
                except NeedsRoom as e:
                    otherwise = e.otherwise
                    rooms |= {site: _room(site, wanted, most) for site, wanted in e.items.items()}
                    tries += 1
                    if tries > _MOST_TRIES:
                        raise e.otherwise from None
                except NeedsIndexDtypes:
                    knows_dtypes = "indices"
                except NeedsDtypes as e:
                    knows_dtypes, has_complex = "all", has_complex or isinstance(e, NeedsComplex)
    except UnsupportedSyntax as e:
        refused = e if otherwise is None or len(e.errors) < len(otherwise.errors) else otherwise
        raise refused if len(refused.errors) > 1 else refused.plain() from None


def built(
    target: Target, place: str, shape: CallShape, arguments: Mapping[str, object], numbers: frozenset[Access],
    most: dict[Site | Template, int], **how: bool,
) -> Built:
    """`build`'s graph as the runtime keeps it. `place`: of the function, for people. Raises what `build` does."""
    found = build(target, shape, arguments, numbers, most, **how)
    enlarge = partial(appending.enlarge, most, found.rooms) if found.rooms else None
    return as_built(found, target.__name__, place, enlarge=enlarge)


_MOST_TRIES = 12  # in which lists are found that grow, or are in one heap


def _room(site: Site, wanted: Room, most: dict[Site | Template, int]) -> Room | None:
    """What a list has that is made there; None where it, or the lists that share its heap, had too many items."""
    found = most.setdefault(wanted.item, appending.FIRST * heaps.LISTS) if wanted.in_heap else most.setdefault(site, appending.FIRST)
    return replace(wanted, most=found) if found <= appending.MOST else None


def shape_from_annotations(function: FunctionType) -> CallShape:
    """The shape of a call not seen yet: arrays of any rank, save for parameters annotated int, float or bool."""
    kinds = {int: "int", float: "float", bool: "bool", "int": "int", "float": "float", "bool": "bool"}
    parameters = []
    try:
        annotations = function.__annotations__
    except Exception:  # noqa: BLE001 - from Python 3.14 on it is evaluated here, and may raise whatever it likes
        annotations = {}
    for name in signature_of(function).parameters:
        annotation = annotations.get(name)
        kind = kinds.get(annotation, "array") if isinstance(annotation, (type, str)) else "array"
        parameters.append((name, Leaf(kind)))
    return CallShape(tuple(parameters))


@dataclass
class Callee:
    """A private function built for one kind of call. `hidden`: what its caller must pass after the arguments."""

    name: str
    func: ir.Operation
    hidden: tuple[Access | Template, ...]
    parameters: list[Template]
    result: Template
    writes: bool = False
    returns: bool = True  # False: it only raises
    value: Value = NONE  # what it gave where it was built, for what is known of it beside its template
    size: int = 0  # ops, those of the functions that it calls among them


_DEEPEST_CALLS = 24
_MOST_OF_ITEMS = 4096  # ops of a graph in which each number of a list is an argument, and loops are written out
_MOST_REPEATED = 1024  # ops of functions that call themselves, in all copies but the first: they multiply, and all are inlined
ROOM = 400  # frames of Python's that building a function's body may take



@dataclass
class ProgramBuilder:
    """One module in the making."""

    context: ir.Context
    mutable: bool
    em: Emitter = field(init=False)
    outside: Outside = field(default_factory=Outside)
    callees: dict[Any, Callee] = field(default_factory=dict)
    entry: str = ""  # its symbol
    numbers: Iterator[int] = field(default_factory=count)  # of private functions
    stack: list[Any] = field(default_factory=list)  # keys of the callees that are being built, one for another
    repeated: int = 0  # ops of callees that are called again inside a call of the same function
    kept: list[object] = field(default_factory=list)  # what keys hold by identity

    def __post_init__(self) -> None:
        self.em = Emitter(self.context, self.mutable)
        self.module = ir.Module.create(self.em.unknown)

    def nested(self, mutable: bool) -> ProgramBuilder:
        """One for a module apart, of which a function is taken over into this."""
        return ProgramBuilder(self.context, mutable, self.outside, stack=self.stack)

    def private_name(self, of: str) -> str:
        """A symbol that no other function of the module has: a `forward` calls other ones, which call others."""
        return next(name for n in self.numbers if (name := f"{of}_{n}") != self.entry)

    # --- the entry ---------------------------------------------------------------------------------------------------

    def build(self, target: Target, shape: CallShape, arguments: Mapping[str, object]) -> GraphResult:
        """The graph, as the function `build` gives it. Raises NeedsMutation for one that writes arrays, unless `mutable`."""
        em = self.em
        source = parse(function_of(target))
        leaves = tuple(pair for name, tree in shape.parameters for pair in leaf_names(tree, name))
        types = [em.leaf_type(leaf.kind) for _, leaf in leaves]
        name = self.entry = _symbol(source.function)
        func, frame = self._function(source, name, types, "jit")
        ssa = iter(list(frame.block.arguments))
        with em.function(frame.block):
            heaps.make(frame)
            for parameter, tree in shape.parameters:
                frame.env[parameter] = parameter_value(frame, tree, Access("argument", parameter), arguments, ssa)
            value = self._value(frame, target)
            if self.outside.refused:
                first, *others = self.outside.refused
                refused = first.with_others(others)
                raise NeedsRoom(self.outside.growing, refused) if self.outside.growing else refused
            returned = Returned(frame, value)
            results, output = each_once(*returned.outputs(value))
            if self.outside.changes_list is not None and self._has_other_lists(shape):
                raise self.outside.changes_list
            if returned.copies and not self.outside.copies_views and show_others(func, returned.copies, results):
                raise frame.error(None, "returning a reversed view of an array that the caller has or gets", "write .copy() after it")
            em.create("func.return", results, [])
        if self.outside.has_complex:
            check_complex(frame, func, isinstance(target, GradientSpec))
        if self.outside.rounds and arguments and not isinstance(target, GradientSpec) and self._writes_out_too_much(shape, arguments):
            what = f"a program of more than {_MOST_OF_ITEMS} operations, with loops over a list's numbers that are written out"
            raise frame.error(source.tree, what, "pass an array")
        hidden = tuple(self.outside.hidden[access] for access in frame.hidden)
        finish_function(func, results, [n for n, _ in leaves] + [str(h.access) for h in hidden])
        self._drop_unused(func)
        if isinstance(target, GradientSpec):  # the entry only calls: without the call, runs in tier 0 are quicker
            parse_pipeline("builtin.module(tierup-inline)").run(self.module)
        return GraphResult(
            self.module,
            name,
            leaves,
            output,
            hidden,
            tuple(self.outside.constants.values()),
            self.mutable,
            self.outside.made_by_python,
            tuple(self.outside.written_out.items()),
            tuple({room.item if room.in_heap else site: None for site, room in self.outside.rooms.items() if room is not None}),
        )

    def _writes_out_too_much(self, shape: CallShape, arguments: Mapping[str, object]) -> bool:
        """Whether the graph is large, and one in which lists of numbers are arrays may be smaller: its loops are loops."""
        if self.em.made <= _MOST_OF_ITEMS or shape.has_whole_lists or not CallShape.of(arguments, fewest=1)[0].has_whole_lists:
            return False
        return sum(1 for _ in walk(self.module.operation)) > _MOST_OF_ITEMS

    def _has_other_lists(self, shape: CallShape) -> bool:
        """Whether a list is read that did not come in as arrays: item by item, or from outside."""
        constants = self.outside.constants.values()
        return any(has_lists(tree) for _, tree in shape.parameters) or any(map(_is_list, constants))

    def _function(
        self, source: Source, name: str, types: list[ir.Type], origin: str = "", access: Access | None = None
    ) -> tuple[ir.Operation, Frame]:
        """An empty function and its frame. Its type is set when it is finished."""
        func = new_function(self.module, name, types, source.location(self.context), origin)
        return func, Frame(self.em, source, self.outside, func.regions[0].blocks[0], self.call, execute, access)

    def _value(self, frame: Frame, target: Target) -> Value | None:
        """What a function, or its gradient, gives for the arguments that `frame` has names for; None when it can only raise."""
        if not isinstance(target, GradientSpec):
            return self._body(frame)
        frame.em.location = frame.source.location(self.context)
        try:
            return self._gradient(frame, None, target, dict(frame.env))
        except WillRaise as e:
            raise e.error from None

    def _body(self, frame: Frame) -> Value | None:
        """What the body returns; None when it can only raise."""
        end = frame.execute(frame.source.body, tail=True)
        if isinstance(end, Raised):
            return None
        return end.value if isinstance(end, Return) else NONE

    def _drop_unused(self, entry: ir.Operation) -> None:
        """Private functions that only an abandoned attempt called."""
        called: set[str] = set()
        functions = {callee.name: callee.func for callee in self.callees.values()}
        pending = [entry]
        while pending:
            for name in _calls(pending.pop()):
                if name not in called:
                    called.add(name)
                    pending.append(functions[name])
        for name, func in functions.items():
            if name not in called:
                func.erase()

    def _gradient(self, frame: Frame, node: ast.AST | None, spec: GradientSpec, bound: Mapping[str, Value]) -> Value:
        calls: Any = shielded(lambda: import_module("tierup.frontend.python.gradients.calls"))  # here: most programs ask for none
        made: Value = calls.call(self, frame, node, spec, bound)
        return made

    # --- calls of other tierup functions -------------------------------------------------------------------------------

    def call(
        self, frame: Frame, node: ast.AST, target: Target, args: list[Value], kwargs: dict[str, Value], access: Access | None = None,
        closure: Closure | None = None,
    ) -> Value:
        """A func.call of a private function, built once for each kind of arguments. `access`: see Frame. `closure`: one of the program,
        with all values that it has."""
        function = function_of(target)
        bound = bind(frame, node, function, args, kwargs, access, closure)
        place = str(frame.em.location) if is_numpys(function) else ""  # which is the user's
        key = (target, access, place, tuple(self.key(v) for v in bound.values()))
        known = self.callees.get(key)
        if known is not None and any(function is function_of(other) for other, *_ in self.stack):
            self.repeated += known.size
        if key in self.stack or len(self.stack) == _DEEPEST_CALLS or self.repeated > _MOST_REPEATED or not has_room(ROOM):
            raise frame.error(node, f"the recursive call of `{function.__name__}`", "write a loop")
        self.stack.append(key)
        try:
            if isinstance(target, GradientSpec):
                return given_back(frame, self._gradient(frame, node, target, bound))
            callee = known
            if callee is None:
                callee = self.callees[key] = self.build_callee(function, bound, access=access)
        except UnsupportedSyntax as e:
            e.called_at, e.where = getattr(node, "lineno", None), position(node)  # in the end the entry's
            raise
        finally:
            self.stack.pop()
        em = frame.em
        operands = [s for v, t in zip(bound.values(), callee.parameters, strict=True) for s in lower(em, v, t)]
        operands += [s for key in callee.hidden for s in frame.ssa_of(key)]
        symbol = {"callee": ir.FlatSymbolRefAttr.get(callee.name)}
        results = em.given(em.create("func.call", operands, types_of(em, callee.result), symbol).results)
        em.writes += callee.writes
        if not callee.returns:  # what comes after the call is not reached
            raise WillRaise(RuntimeError(f"{callee.name} returned"))
        result = given_back(frame, raise_(callee.result, iter(results), em.region, em.writes))
        frame.has_choices |= isinstance(result, OneOf)
        for mine, theirs in counterparts(result, callee.value):
            if isinstance(mine, Sequence) and isinstance(theirs, Sequence):
                mine.site = theirs.site
        given = [*given_in(result, callee.result)]
        if given:
            tie([*given, *(c for value in bound.values() for c in containers_in(value))])
        return noted(frame, result)

    def build_callee(
        self,
        target: Target,
        bound: Mapping[str, Value],
        result_of: Callable[[Frame, Value | None], Value] | None = None,
        access: Access | None = None,
    ) -> Callee:
        """A private function for these kinds of arguments. `result_of` makes its result of what the body returns (None: it only raises)."""
        em = self.em
        function = function_of(target)
        name = self.private_name(_symbol(function))
        parameters = [template_of(v) for v in bound.values()]
        types = [t for template in parameters for t in types_of(em, template)]
        source = parse(function)
        source.refuse_declarations()
        func, frame = self._function(source, name, types, access=access)
        func.attributes["sym_visibility"] = ir.StringAttr.get("private")
        frame.is_entry = False
        code = function.__code__
        names = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS) :]
        keywords = names[0] if code.co_flags & inspect.CO_VARKEYWORDS else None
        ssa = iter(list(frame.block.arguments))
        writes, copied_at, made = em.writes, em.copied_at, em.made
        try:
            with em.function(frame.block):
                for parameter, template in zip(bound, parameters, strict=True):
                    value = noted(frame, raise_(template, ssa, 0, writes))
                    given = external(value)
                    for mine, theirs in counterparts(given, bound[parameter]):
                        if isinstance(mine, Sequence) and isinstance(theirs, Sequence):
                            mine.site = theirs.site
                    if isinstance(given, Mapping_) and parameter == keywords:  # a dict of the callee's own
                        given = replace(given, external=False, region=em.region)
                    frame.env[parameter] = given
                found = self._value(frame, target)
                if frame.is_numpys and found is not None:
                    found = settled(frame, found)
                value = (found or NONE) if result_of is None else result_of(frame, found)
                value = handed_over(frame, None, value, f"as what `{function.__name__}` gives", "give what it is made of")
                result = template_of(value)
                results = lower(em, value, result)
                em.create("func.return", results, [])
                finish_function(func, results)
        except BaseException:
            func.erase()
            raise
        finally:
            em.copied_at = copied_at
        returns = result_of is not None or found is not None
        return Callee(name, func, tuple(frame.passed), parameters, result, em.writes != writes, returns, value, em.made - made)

    def key(self, value: Value) -> Any:
        """What a callee depends on of an argument: everything but SSA values."""
        if isinstance(value, Const):
            number = value.value is None or isinstance(value.value, (bool, int, float, complex, str, np.generic))
            self.kept.append(value.value)
            return "const", type(value.value), repr(value.value) if number else id(value.value)
        if isinstance(value, Object):
            return "object", value.access
        if isinstance(value, Sequence):
            return value.kind, value.keys, value.site, tuple(self.key(v) for v in value.items)
        if isinstance(value, Mapping_):
            return "dict", tuple((k, self.key(v)) for k, v in value.items.items())
        template = template_of(value)
        self.kept.append(template)
        return id(template) if isinstance(template, Same) else template


def _calls(func: ir.Operation) -> set[str]:
    """The functions that a function calls."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            found.add(callee_name(op))
        return ir.WalkResult.ADVANCE

    shielded(lambda: func.walk(visit))  # MLIR would make a RuntimeError of what a signal's handler raises in there
    return found


def _is_list(constant: Constant) -> bool:
    """Whether a list is read from outside."""
    return constant.kind == "structure" and isinstance(constant.value, tuple) and constant.value[0] is list


def _symbol(function: FunctionType) -> str:
    return re.sub(r"\W", "_", function.__name__) if function.__name__ != "<lambda>" else "lambda_"
