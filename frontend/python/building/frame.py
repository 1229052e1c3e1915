"""One function that is being built: its source, its names, the emitter, and errors at the user's line."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.spelling import printable
from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.source import Source
from tierup.frontend.python.building.templates import Template, dtypes_of, says_more
from tierup.frontend.python.building.values import (
    PYTHON_SCALARS,
    Array,
    Const,
    Ends,
    Foreign,
    Heap,
    Mapping_,
    Object,
    OneOf,
    Perhaps,
    Scalar,
    Sequence,
    Unknown,
    Unset,
    Value,
)
from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.flow.names import NONE, Names, binds, names_of, own_nodes, reads
from tierup.frontend.python.flow.parts import SCOPES
from tierup.frontend.stopping import NO_GRAD
from tierup.runtime.arguments.hidden import Access, Constant, HiddenInput, dtype_of, index_dtype_of, is_number_to_read, structure_of
from tierup.runtime.arguments.trees import DEEPEST, Leaf, flatten, is_on_device, is_plain

ALL_NAMES = ("*",)
MAX_WRITTEN_OUT = 1024  # rounds of loops in one graph
MAX_OPS = 16_384  # of one graph, with those of attempts that are given up
NOT_GIVEN: Any = np._NoValue  # what NumPy passes on for an argument that nobody gave


class NeedsStatic(UnsupportedSyntax):
    """Unsupported unless a value were known at build time: an enclosing loop may be unrolled instead."""


Site = tuple[str, int, int]  # of a list: the function that makes it, line and column


class GrowsList(NeedsStatic):
    """A list changes in a branch or loop that the run decides, or has another one's place. `grows`: where it is made, and what its items
    are."""

    grows: Mapping[Site, Room] | None = None


class NeedsRoom(Exception):
    """Lists may be built as ones that grow: where they are made, and what their items are. `otherwise`: what is refused else."""

    def __init__(self, items: Mapping[Site, Room], otherwise: UnsupportedSyntax) -> None:
        super().__init__(items)
        self.items, self.otherwise = items, otherwise


@dataclass(frozen=True)
class Room:
    """Of a list that grows: the template of its items, and how many there may be. `in_heap`: of it and all that share its heap."""

    item: Any
    most: int
    in_heap: bool = False


class Follows(UnsupportedSyntax):
    """What cannot be built because another statement was refused."""


class Unjoinable(UnsupportedSyntax):
    """Two paths give a name values that no one SSA value can hold: what follows is built once for each path. `differ`: these values."""

    differ: tuple[Value, ...] = ()


class NeedsMutation(Exception):
    """The program writes an array, so that it must be built with !torch.tensor."""


class NeedsIndexDtypes(Exception):
    """An index may be an integer or a bool, which gives a view or a copy: the graph must know which of its inputs are which."""


class NeedsDtypes(Exception):
    """What is built asks for the dtype of an array: the graph must be for the dtypes of its inputs."""


class NeedsComplex(NeedsDtypes):
    """Complex numbers come up: it must be known which ops meet them, too."""


class WillRaise(Exception):
    """Evaluating an expression raises `error` whatever the arguments are: the graph raises it there, when reached."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Outside:
    """What all functions of one graph read from outside their bodies. `numbers`: those that are hidden inputs, not constants.
    `knows_dtypes`: whether the graph is for the dtypes of its inputs: "no", of those that are "indices" alone, of "all"; None where there
    are no inputs yet."""

    def __init__(
        self,
        numbers: frozenset[Access] = frozenset(),
        knows_dtypes: str | None = None,
        *,
        has_complex: bool = False,
        rooms: Mapping[Site, Room | None] | None = None,
        python_answers: bool = False,
        copies_views: bool = False,
    ) -> None:
        """`has_complex`: complex numbers may come up, so that it is looked at which ops meet them (complex_numbers.py). `rooms`: of the
        lists that are built as ones that grow; None of those that had too many items. `python_answers`: a call may be left to Python.
        `copies_views`: a result may be a copy where NumPy has a view of an argument."""
        self.python_answers, self.copies_views = python_answers, copies_views
        self.rooms = rooms or {}
        self.growing: dict[Site, Room] = {}  # the lists that were refused and may be built so
        self.numbers = numbers
        self.knows_dtypes, self.has_complex = knows_dtypes, has_complex
        self.dtypes: dict[Access, np.dtype | None] = {}
        self.hidden: dict[Access, HiddenInput] = {}
        self.constants: dict[tuple[Access, str], Constant] = {}
        self.written_out: dict[str, int] = {}  # see Built
        self.rounds = 0  # of all loops that are written out so far
        self.tries = False  # what is built may be built in another way: what is refused is raised
        self.reads_anywhere = False  # numbers of lists are read at places that only the run knows: see operations/indexing.py
        self.made_by_python: UnsupportedSyntax | None = None  # see GraphResult
        self.changes_list: UnsupportedSyntax | None = None  # what to raise if a list that changes may be another one that is read
        self.given: list[ir.Value] = []  # the first array of each list that came in as arrays
        self.refused: list[UnsupportedSyntax] = []  # statements of the entry that are not translated; there will be no graph then

    def constant(self, access: Access | None, kind: str, value: object) -> None:
        """Note what the graph relies on of a value from outside (`kind`: see Constant). `access`: None if there is nothing to note. What
        NumPy's own functions read does not change."""
        if access is not None and (access.function is None or not is_numpys(access.function)):
            self.constants.setdefault((access, kind), Constant(access, kind, value))

    def dtype(self, access: Access, value: object) -> np.dtype | None:
        """The dtype that the graph is for of an input that is an array, where that is known."""
        if self.knows_dtypes in ("indices", "all"):
            kind = "dtype" if self.knows_dtypes == "all" else "index dtype"
            self.dtypes[access] = dtype_of(value) if kind == "dtype" else index_dtype_of(value)
            self.constant(access, kind, self.dtypes[access])
        return self.dtypes.get(access)


class Frame:
    """`env` holds the names; it is replaced while the arms of a branch are built."""

    def __init__(
        self,
        em: Emitter,
        source: Source,
        outside: Outside,
        block: ir.Block,
        call: Callable[..., Value],
        execute: Callable[..., Ends | None],
        access: Access | None = None,
    ) -> None:
        """`access`: to the function, where calls bring it anew."""
        self.em = em
        self.source = source
        self.outside = outside
        self.block = block
        self.call_function = call  # (frame, node, function, access, arguments) -> Value: calls of other tierup functions
        self.access = access
        self._execute = execute  # (frame, statements, tail) -> how they end
        self.env: dict[str, Value] = {}
        self.hidden: dict[Access, Array | Scalar] = {}
        self.heaps: dict[Template, Heap] = {}  # of lists, by the templates of their items
        self.passed: list[Access | Template] = []  # block arguments after the leaves, in order: hidden inputs, and heaps
        self.token = object()  # says of names in functions inside that they are its own
        self.locals = names_of(source.tree)
        inside = [node for node in own_nodes(source.tree) if isinstance(node, SCOPES)]
        declared = (n for node in inside if isinstance(node, ast.FunctionDef) for n in own_nodes(node) if isinstance(n, ast.Nonlocal))
        self.rebound = frozenset(name for node in declared for name in node.names)  # by functions inside, when they are called
        self.cells = reads(inside) & self.locals if inside else NONE  # names that functions inside read, whenever they run
        self.functions: dict[ast.AST, FunctionType] = {}  # those inside, by their definitions
        self.values_named = 0
        self.comprehended: dict[str, object] = {}  # names of the comprehensions around the expression at hand, with whose they are
        self.shadowed: dict[str, Value] = {}  # what the function's own names of these have meanwhile
        self.has_choices = False  # whether some name may be a value of one kind or another
        self.conditions: set[ast.AST] = set()  # nodes of which only the truth is asked
        # where statements in tail position end: None: the function; names: a loop body that carries them; ALL_NAMES: one
        # iteration of a loop that is written out
        self.boundary: tuple[str, ...] | None = None
        self.is_entry = True
        self.is_numpys = is_numpys(source.function)
        self.trying: int | None = None  # branches and loops around the `try` at hand, whose handlers catch what surely raises
        self.caught: Exception | None = None  # by the handler at hand
        self.without_gradients: set[tuple[int, int]] = set()  # first and last lines of tierup.no_grad
        if getattr(source.function, NO_GRAD, None) is source.function:
            self.without_gradients.add((source.tree.lineno, source.tree.end_lineno or source.tree.lineno))
        self.ignores_errors = False  # of NumPy's own code: under np.errstate(all="ignore")
        self.nested = 0  # expressions around the one at hand
        self.blocks = 0  # lists of statements around the one at hand
        # of the chain that the statements at hand go on, how many links stand around them (chains.py); None: it is not cut
        self.links: int | None = 0
        self.in_arrays: dict[tuple[Value, ...], Array] = {}  # the numbers of lists and tuples that are read so
        self.flow = Flow(managers_end=False)  # what loops ask of the statements behind them
        self.duplicates = self.copied = 0  # how often the code after a branch was built once more, and how many statements of it
        self.joins_choices = False  # behind the branch at hand names may be one of two kinds: see conditionals.py

    # --- errors ------------------------------------------------------------------------------------------------------

    def error(
        self, node: ast.AST | None, construct: str, remedy: str = "", cls: type[UnsupportedSyntax] = UnsupportedSyntax
    ) -> UnsupportedSyntax:
        """An UnsupportedSyntax, for the caller to raise, at `node`; None: at the function's definition."""
        return self.source.error(node, construct, remedy, cls)

    def at(self, node: ast.AST) -> None:
        """Locate the next ops at `node`: file, line, and column counted from 1. NumPy's own code stands where it is called."""
        if self.is_entry:
            self.em.node = node
        if self.is_numpys:
            return
        line = getattr(node, "lineno", None)
        if line is not None:
            column = getattr(node, "col_offset", 0) + 1
            self.em.location = ir.Location.file(printable(self.source.filename), line, column, self.em.context)
            self.em.has_gradients = not any(first <= line <= last for first, last in self.without_gradients)

    def writes_out(self, node: ast.AST, rounds: int) -> None:
        """Note that the graph has every round of a loop; of one in NumPy's own code nobody is told. Raises UnsupportedSyntax for too many:
        loops in one another multiply, and so does what compiling them takes."""
        self.outside.rounds += rounds
        if self.outside.rounds > MAX_WRITTEN_OUT:
            what = f"more than {MAX_WRITTEN_OUT} rounds of loops to write out in all, those of this one among them"
            raise self.error(node, what, "use array operations")
        line = getattr(node, "lineno", None)
        if line is not None and not self.is_numpys:
            place, outside = f"{printable(self.source.filename)}:{line}", self.outside
            outside.written_out[place] = max(rounds, outside.written_out.get(place, 0))

    def check_size(self, node: ast.AST) -> None:
        """Raises UnsupportedSyntax where the program is too large for one more statement: what may be of several kinds is built for each,
        and these multiply."""
        if self.em.made > MAX_OPS:
            what = f"a program of more than {MAX_OPS} operations"
            raise self.error(node, what, "use array operations, or give each name one kind of value")

    def execute(self, statements: list[Any], *, tail: bool, links: int | None = 0) -> Ends | None:
        """Build statements. None: they fall through; Return, Jump, Raised: how they end. `links`: see `__init__`."""
        self.blocks += 1
        try:
            with self.linked(links):
                return self._execute(self, statements, tail)
        finally:
            self.blocks -= 1

    def goes_on(self, node: Any, error: UnsupportedSyntax) -> bool:
        """Whether what follows a refused statement of the entry is built all the same: to find what else is refused."""
        tried_again = self.outside.tries or self.blocks > 1 and isinstance(error, (NeedsStatic, Unjoinable))
        if not self.is_entry or tried_again or not isinstance(node, ast.stmt):
            return False
        for site, room in (error.grows or {}).items() if isinstance(error, GrowsList) else ():
            had = self.outside.growing.get(site) or self.outside.rooms.get(site, room)
            if had is room or had is not None and (room.in_heap and not had.in_heap or says_more(room.item, had.item)):
                self.outside.growing[site] = replace(room, in_heap=room.in_heap or had.in_heap)
        last = node.end_lineno or node.lineno
        known = any(node.lineno <= line <= last for e in self.outside.refused if (line := e.called_at or e.lineno) is not None)
        if not known and not isinstance(error, Follows):
            self.outside.refused.append(error.plain())
        self.env.update((name, Unknown("")) for name in binds([node]))
        return True

    @contextmanager
    def linked(self, links: int | None) -> Iterator[None]:
        """Inside the `with`, `links` is another number, or None (see `__init__`)."""
        saved, self.links = self.links, links
        try:
            yield
        finally:
            self.links = saved

    def meets_complex(self, node: ast.AST | None, what: str) -> None:
        """Say that complex numbers come up. Raises NeedsComplex where the graph was built for none; UnsupportedSyntax where the dtypes of
        its inputs cannot be known."""
        if self.outside.has_complex:
            return
        if self.outside.knows_dtypes is None:
            raise self.error(node, what)
        raise NeedsComplex

    # --- names -------------------------------------------------------------------------------------------------------

    def ask_for_dtypes(self) -> None:
        """Raises NeedsDtypes where the graph is built without knowing dtypes, which may tell what kind a value is of."""
        if self.outside.knows_dtypes in ("no", "indices"):
            raise NeedsDtypes

    def keep(self, value: Value) -> str:
        """A name that no program has, bound to a value from here on."""
        self.values_named += 1
        name = f"value {self.values_named}"
        self.env[name] = value
        self.has_choices |= isinstance(value, OneOf)
        return name

    @contextmanager
    def named(self, value: Value) -> Iterator[str]:
        """A name that no program has for a value, inside the `with`."""
        name = self.keep(value)
        try:
            yield name
        finally:
            self.env.pop(name, None)

    @contextmanager
    def comprehension(self, node: ast.AST, own: Names) -> Iterator[None]:
        """Inside the `with`, the names in `own` are those of a comprehension; behind it they are what they were."""
        outer = {name: value for name, value in self.env.items() if name in own}
        saved = self.comprehended, self.shadowed
        self.shadowed = {**{name: value for name, value in outer.items() if name not in self.comprehended}, **self.shadowed}
        self.comprehended = {**self.comprehended, **dict.fromkeys(own, node)}
        try:
            yield
        finally:
            self.comprehended, self.shadowed = saved
            self.env = {**{name: value for name, value in self.env.items() if name not in own}, **outer}  # `:=` binds outside of it

    def lookup(self, node: ast.Name) -> Value:
        """What a name stands for here. Raises WillRaise for Python's NameError, UnsupportedSyntax if only some paths set it."""
        name = node.id
        if name in self.env:
            value = self.env[name]
            if isinstance(value, Perhaps):
                return value.settle()
            if isinstance(value, Foreign):
                raise self.foreign_error(node, name, value)
            if isinstance(value, Unknown):
                raise self.error(node, f"`{name}`, which is not translated", cls=Follows)
            if isinstance(value, Unset):
                raise self.error(node, f"`{name}` may have no value here: {value.why}", f"give `{name}` a value before that")
            return value
        if name in self.locals and any(isinstance(node, _OF_THEIR_OWN) for node in self.comprehended.values()):
            raise WillRaise(NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"))
        if name in self.locals:
            raise WillRaise(UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value"))
        if name in self.source.around:
            raise WillRaise(NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"))
        function = self.source.outermost
        root = "closure" if name in function.__code__.co_freevars else "global"
        access = Access(root, name, (), function)
        if root == "closure" and self.access is not None:
            access = self.access.attribute("__closure__").item(function.__code__.co_freevars.index(name)).attribute("cell_contents")
        try:
            found = Access(root, name, (), function).read({})
        except NameError as e:
            self.outside.constant(access, "missing", NameError)
            raise WillRaise(NameError(str(e))) from e
        if root == "global" and name not in function.__globals__ and hasattr(builtins, name):
            self.outside.constant(access, "identity", found)
            return Const(found, access)
        return self.outside_value(node, found, access)

    def outside_value(self, node: ast.AST | None, value: Any, access: Access) -> Value:
        """What an object from outside the body is to the graph; recorded as a hidden input or a constant."""
        kind = type(value)
        if isinstance(value, np.ndarray) or hasattr(kind, "__cuda_array_interface__") and is_on_device(value):
            if (found := foreign(value)) is not None:
                raise self.foreign_error(node, str(access), found)
            return self._hidden(value, access)
        if kind in (list, tuple, dict) and len(access.path) == DEEPEST:
            what = f"`{access.name}`, which is nested {DEEPEST} deep, or contains itself"
            raise self.error(node, what, "pass what the function reads of it as an argument")
        if kind in (list, tuple):
            self.outside.constant(access, "structure", structure_of(value))
            items = [self.outside_value(node, v, access.item(i)) for i, v in enumerate(value)]
            return Sequence(kind.__name__, items, external=True, access=access)
        if kind is dict:
            self.outside.constant(access, "structure", structure_of(value))
            return Mapping_({k: self.outside_value(node, v, access.item(k)) for k, v in value.items()}, external=True)
        if access in self.outside.numbers and is_number_to_read(value):
            return self._hidden(value, access)
        if kind is complex or isinstance(value, np.complexfloating):
            self.meets_complex(node, f"`{access}`, a complex number")
        if value is None or value is Ellipsis or kind in (*PYTHON_SCALARS, complex, str) or isinstance(value, (np.generic, np.dtype)):
            self.outside.constant(access, "value", value)
            return Const(value, access)
        if value is NOT_GIVEN:
            return Const(value)
        comes_anew = access.root == "argument" and kind in (FunctionType, MethodType)
        if callable(value) and not isinstance(value, ModuleType) and not comes_anew and not _has_state(value):
            self.outside.constant(access, "identity", value)
            return Const(value, access)
        given = access.root == "argument" and all(kind == "item" for kind, _ in access.path)  # the call's structure has its class
        if not comes_anew and not given:
            self.outside.constant(access, "identity", value)
        return Object(value, access)

    def foreign_error(self, node: ast.AST | None, name: str, value: Foreign) -> UnsupportedSyntax:
        """For the caller to raise, where the name of such an array is read."""
        name = ast.unparse(getattr(node, "stands_for", ast.Name(name)))
        return self.error(node, f"`{name}` is {value.why}", "convert it, for example to float64")

    def _hidden(self, value: object, access: Access) -> Value:
        leaf = flatten(value, [], str(access))
        assert isinstance(leaf, Leaf)
        if leaf.is_complex:
            self.meets_complex(None, f"`{access}`, an array of complex numbers")
        self.outside.hidden.setdefault(access, HiddenInput(access, leaf))
        self.outside.dtype(access, value)
        return self.hidden_input(access)

    def heap(self, item: Template) -> Heap:
        """The arrays, in this function, that hold the lists with such items."""
        if item not in self.heaps:
            assert not self.is_entry, "it made all that there are"
            ints = np.dtype(np.int64)
            parts = [(ints, 2), (ints, 1), *((dtype, 1) for dtype in dtypes_of(item))]
            given = [self.block.add_argument(self.em.types.tensor, self.em.unknown) for _ in parts]
            arrays = [Array(ssa, rank, 0, dtype, decays=False) for ssa, (dtype, rank) in zip(given, parts, strict=True)]
            most = next(room.most for room in self.outside.rooms.values() if room is not None and room.in_heap and room.item == item)
            self.heaps[item] = Heap(arrays[0], arrays[1], tuple(arrays[2:]), most)
            self.passed.append(item)
        return self.heaps[item]

    def ssa_of(self, key: Access | Template) -> list[ir.Value]:
        """What a call of a function is given for something that it reads from around it."""
        if isinstance(key, Access):
            return [self.hidden_input(key).ssa]
        heap = self.heap(key)
        return [array.ssa for array in (heap.lists, heap.ends, *heap.buffers)]

    def hidden_input(self, access: Access) -> Array | Scalar:
        """The block argument that a hidden input is in this function."""
        if access not in self.hidden:
            leaf = self.outside.hidden[access].leaf
            ssa = self.block.add_argument(self.em.leaf_type(leaf.kind), self.em.unknown)
            is_array = leaf.kind in ("array", "scalar")
            self.passed.append(access)
            self.hidden[access] = (
                Array(ssa, leaf.ndim, 0, self.outside.dtypes.get(access), leaf.kind == "scalar") if is_array else Scalar(ssa, leaf.kind)
            )
        return self.hidden[access]


# comprehensions that are functions: from Python 3.12 on generator expressions alone
_OF_THEIR_OWN = (ast.GeneratorExp,) if sys.version_info >= (3, 12) else (ast.GeneratorExp, ast.ListComp, ast.DictComp)


def foreign(value: object) -> Foreign | None:
    """What an array, or a NumPy scalar, is to a program that cannot hold it; None for one that it can."""
    if isinstance(value, np.ndarray) and not is_plain(value):
        return Foreign(f"a {type(value).__name__}, whose rules are its own")
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtypes.from_numpy(dtype) is not None:
        return None
    return Foreign(f"an array of {dtype}, which programs cannot hold")


def is_numpys(function: FunctionType) -> bool:
    """Whether a function is one of those that NumPy writes in Python, or stands for one."""
    return (function.__module__ or "").partition(".")[0] == "numpy" or is_rewritten(function)


def is_rewritten(function: FunctionType) -> bool:
    """Whether a function is one of ours that stands for one of NumPy's, or for something of Python's."""
    return (function.__module__ or "").startswith(_REWRITTEN)


_REWRITTEN = tuple(f"tierup.frontend.python.{name}_rewritten" for name in ("functions.numpy", "functions.python_math", "lists"))


def _has_state(value: object) -> bool:
    """Whether a callable is an object whose attributes a method body may read, not a function or class."""
    plain = (type, FunctionType, np.ufunc, type(len), type(np.sum), type("".join))
    return not isinstance(value, plain) and not hasattr(value, "__tierup_function__") and hasattr(value, "__dict__")
