"""Plans from bundles: functions that need no source, no MLIR and no LLVM, and kernels for GPUs.

    layer = tierup.load_plan("layer.tierup")
    y = layer(x, w)
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from tierup import __version__
from tierup.dialect.base.exceptions import Unanswerable, unanswered
from tierup.dialect.base.records import dataclass
from tierup.lowering.artifacts import bundle, encoding
from tierup.lowering.artifacts.bundle import Bundle, BundleError
from tierup.lowering.base.abi import Request
from tierup.lowering.entry import jit as entry_code
from tierup.lowering.objects import processors
from tierup.runtime.arguments.fitted import Fitted
from tierup.runtime.arguments.hidden import Constant
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.arguments.trees import CallShape, Leaf, OutputTree, Tree
from tierup.runtime.base import events
from tierup.runtime.base.errors import PlanError, UnsupportedArgument
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.code import plans
from tierup.runtime.functions.elsewhere import NeedsOther
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.graphs.variant import Built, Numbers
from tierup.runtime.functions.portable.plain import KIND, PlanReader
from tierup.runtime.programs.given import Given, GivenVersion
from tierup.runtime.programs.program import Program
from tierup.runtime.programs.speculations import Speculation

if TYPE_CHECKING:
    from tierup.runtime.cuda.bundle import LoadedPlan

P = TypeVar("P")
ON_MISS = ("tier0", "error")


@dataclass(frozen=True)
class _Found:
    """Where a plan is from, and how it was loaded. `learns`: whether it may have more versions than the file; `runs`: whether this machine
    runs its code."""

    path: str
    on_miss: str
    signed: bool
    learns: bool
    runs: bool


@dataclass(frozen=True)
class _Graph:
    """A graph of a plan: the structure of its calls, what it asks of their arguments, and its program as `Program` takes it."""

    shape: CallShape
    constants: tuple[Constant, ...]
    program: tuple[Any, ...]
    made: tuple[int, ...]
    given: Given
    output: OutputTree
    written_out: tuple[tuple[str, int], ...]

    def built(self) -> Built:
        """As a front end makes it: a program of its own each time, since one may be released."""
        return Built(Program(*self.program, made=self.made, given=self.given), self.output, (), self.constants, self.written_out)


class Plan(Function):
    """A function from a bundle: see docs/bundles.md."""

    is_expected_to_compile = False
    is_remade = False

    def __init__(
        self,
        found: _Found,
        name: str,
        signature: inspect.Signature,
        fitted: Fitted | None,
        options: Mapping[str, Any],
        graphs: tuple[_Graph, ...],
    ) -> None:
        self._from, self._graphs, self._saved_options, self.__signature__ = found, graphs, options, signature
        asserts = {"strict": True, "num_profiled_runs": 0} if found.on_miss == "error" else {}
        super().__init__(name, signature, self._find, lambda: graphs[0].built(), {**options, **asserts}, fitted=fitted)

    @property
    def options_to_save(self) -> dict[str, Any]:
        """Those of the file: what is done at a miss is who loads it to say."""
        return dict(self._saved_options)

    def _find(self, shape: CallShape, arguments: Mapping[str, object], numbers: Numbers) -> Built:
        """The graph for a call. Raises UnsupportedArgument where there is none."""
        alike = [graph for graph in self._graphs if graph.shape == shape]
        for graph in alike:
            if all(constant.holds(arguments) for constant in graph.constants):
                return graph.built()
        has = " or ".join(dict.fromkeys(_described(graph.shape) for graph in self._graphs))
        error = UnsupportedArgument(
            f"{self.__name__}() of {self._from.path} has no graph for ({_described(shape)}), only for ({has}): call the function that it "
            "was made of in this way, too, and save it again"
        )
        if not alike and self.graphs.structures.refuse(shape, arguments, error) is None:
            raise NeedsOther
        raise error

    def python_for(self, error: Exception, program: Program) -> Callable[..., Any]:
        """Nobody goes on where only the Python function could. Raises PlanError, or what the program raised."""
        if not isinstance(error, Unanswerable):
            raise error
        grows = ", or save it after it was called with as many" if isinstance(error, MemoryError) else ""
        said = f"{self.__name__}() of {self._from.path}: {error}: only the Python function goes on there, which a plan has not: call that"
        raise PlanError(said + grows) from unanswered(error)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickled as its file, which is read where it is unpickled; one that was read with a key is not: the key stays here."""
        if self._from.signed:
            raise TypeError(f"{self!r} was loaded with a key: have each process load it, with the key")
        return _again, (os.path.abspath(self._from.path), self.__name__, self._from.on_miss)

    def __repr__(self) -> str:
        return f"<plan {self.__name__} of {self._from.path}: {len(self.versions)} versions in use>"


def _again(path: str, name: str, on_miss: str) -> Plan | LoadedPlan:
    """What was pickled."""
    return load_plan(path, name, on_miss=on_miss)


def load_plan(
    path: str | Path, entry: str | None = None, *, key: bytes | None = None, on_miss: str = "tier0", libraries: bool = True
) -> Plan | LoadedPlan:
    """The program of a bundle that `Function.save` or tierup-compile wrote, as a function. `entry` names it where the bundle has more than
    one. `key`: what the file must be signed with.

    Of a function for the CPU, `on_miss`: what answers calls that no version fits: "tier0", or nobody, "error": NotOptimized. Of kernels for
    a GPU, `libraries=False` keeps large matrix products from NVIDIA's cuBLAS, which computes them where it is installed; a device is needed
    with the first call.

    Raises BundleError for a file that is no bundle, is damaged, not signed so, or for another tierup; with `on_miss="error"` also for one
    whose code this CPU cannot run, which else is a warning and an event; ValueError for an entry that is not there, OSError.
    """
    if on_miss not in ON_MISS:
        raise ValueError(f"on_miss: expected one of {', '.join(ON_MISS)}, got {on_miss!r}")
    found = bundle.read(path, key)
    if found.description["kind"] == KIND:
        return _chosen(path, entry, _functions(found, on_miss, signed=key is not None))
    from tierup.runtime.cuda.bundle import plans_of  # here: most programs run on the CPU

    return _chosen(path, entry, plans_of(found, libraries=libraries))


def _chosen(path: str | Path, name: str | None, programs: dict[str, P]) -> P:
    """The program of that name, or the only one. Raises ValueError."""
    if name is None and len(programs) == 1:
        return next(iter(programs.values()))
    if name is None or name not in programs:
        wanted = "name one of its programs" if name is None else f"no program is called {name!r}"
        raise ValueError(f"{path}: {wanted}; it has {', '.join(programs) or 'none'}")
    return programs[name]


def contents(found: Bundle) -> list[tuple[str, str, list[str]]]:
    """Of each graph of a bundle of this kind, for people: the function's name, the structure of its calls, the guards of its versions.
    Raises BundleError."""
    with found.reading():
        lines = []
        for name, *_, graphs in encoding.value(found.description["functions"], found.data):
            for (_, _, names, *_), plain, versions in graphs:
                shape: CallShape = PlanReader().value(plain)[0]
                lines.append((name, _described(shape), [describe_specs(version[1], names) for version in versions]))
        return lines


def _functions(found: Bundle, on_miss: str, *, signed: bool) -> dict[str, Plan]:
    """Raises BundleError."""
    about = found.description
    with found.reading():
        if about["tierup"] != __version__ or about["abi"] != entry_code.called_by():
            other = "" if about["tierup"] != __version__ else ", with other sources"
            raise BundleError(f"{found.path} was made by {about['made_by']}, and this is tierup {__version__}{other}: save it again")
        runs = _runs_here(found, about, on_miss)
        packed = encoding.value(about["entry"], found.data)
        if packed is not None and runs:
            entry_code.bring(*packed)
        functions = encoding.value(about["functions"], found.data)
        whence = _Found(found.path, on_miss, signed, on_miss == "tier0" and plans.has_compiler(), runs)
        return {name: _function(whence, name, *rest) for name, *rest in functions}


def _runs_here(found: Bundle, about: Mapping[str, Any], on_miss: str) -> bool:
    """Whether this machine can run the code of a plan. Where not, it is told, or raised where nothing else may answer."""
    lacking = [*processors.lacking(map(str, about["features"])), *(name for name in about["libraries"] if find_spec(str(name)) is None)]
    if not lacking and about["processor"] == processors.here():
        return True
    why = f"has no {', '.join(lacking)}" if processors.flags() else "does not say which CPU it has (/proc/cpuinfo)"
    if about["processor"] != processors.here():
        why = f"is {processors.here()}"
    said = f"{found.path} has code for {about['target']} ({about['processor']}), and this machine {why}"
    if on_miss == "error":
        raise BundleError(f"{said}; save it with target= for the machines that it is to run on, or install what is missing")
    events.emit(Event(EventKind.CACHE_REFUSED, "", 0, action=f"{said}: tier 0 answers, where nothing can be compiled"))
    warnings.warn(f"{said}: it starts without native code", RuntimeWarning, stacklevel=4)
    return False


def _function(found: _Found, name: str, parameters: Any, fitted: Any, options: Mapping[str, Any], whole_lists: bool, graphs: Any) -> Plan:
    read = PlanReader()
    signature = inspect.Signature([
        inspect.Parameter(p, inspect._ParameterKind(kind), default=read.value(default) if has else inspect.Parameter.empty)
        for p, kind, has, default in parameters
    ])  # fmt: skip
    made = Plan(found, name, signature, read.value(fitted), options, tuple(_graph(found, read, *graph) for graph in graphs))
    made.graphs.structures.whole_lists = whole_lists
    return made


def _graph(found: _Found, read: PlanReader, about: Any, plain: Any, versions: Any) -> _Graph:
    name, entry, names, place, graph, made = about
    shape, constants, tier0, output, written_out = read.value(plain)
    given = Given(tuple(_version(*version) for version in versions) if found.runs else (), found.learns, found.path)
    return _Graph(shape, constants, (name, graph, entry, names, tier0, place), made, given, output, written_out)


def _version(of: Any, specs: Any, request: Any, artifact: Any) -> GivenVersion:
    kind, guards, generalised = of
    return GivenVersion(Speculation(guards, kind, generalised), specs, Request(*request), artifact)


def _described(shape: CallShape) -> str:
    """A structure in words."""
    return ", ".join(f"{name}: {_words(tree)}" for name, tree in shape.parameters)


def _words(tree: Tree) -> str:
    if isinstance(tree, Leaf):
        if tree.kind in ("array", "numbers"):
            return f"{tree.kind} of rank {tree.ndim}" if tree.kind == "array" else "list of numbers"
        return repr(tree.value) if tree.kind == "str" else getattr(tree.value, "__name__", tree.kind)
    return f"{tree.kind} of ({', '.join(map(_words, tree.items))})"
