"""From a pristine graph to its forward and backward programs.

Loads MLIR: the runtime imports this module when a gradient is wanted, not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts import dims
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import last_of, set_signature
from tierup.dialect.ir.walking import function_names, walk
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import registry
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function, take_written, value_form
from tierup.dialect.passes.autodiff.flows import Flows, add_flows, has_paths
from tierup.dialect.passes.autodiff.split_gradient import CannotRestrict, Key, Split, split_gradient
from tierup.dialect.passes.registry import PassFailure
from tierup.dialect.rewriting.core import under_casts
from tierup.dialect.transforms.unpack_list_arguments import is_tensor_list, unpack_list_arguments
from tierup.runtime.arguments.gradient_kinds import Equal, Kind, Sizes
from tierup.runtime.arguments.nesting import Nesting
from tierup.runtime.base.errors import NotDifferentiable, Origin
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate

_EQUAL_ONCE = registry.parse("builtin.module(tierup-cse)")


@dataclass(frozen=True)
class Source:
    """A program as text, and its tier 0."""

    graph: str
    entry: str
    names: tuple[str, ...]
    tier0: Tier0


@dataclass(frozen=True)
class Halves:
    """A program in value form, and its forward and backward programs for all cotangents. `names`: of its arguments, the items of lists one
    by one; `results`: which results were lists. `wrt`, `kinds`, `sizes`: see `split`. `written`: arguments whose new contents are the last
    results. `apart`: results that may stand apart from what they are views of, for gradients. `draws`: whether forward draws random
    numbers. `flows`: which arguments are in the results; None: those that have a gradient."""

    prepared: str
    entry: str
    names: tuple[str, ...]
    results: Nesting
    wrt: tuple[int, ...]
    kinds: tuple[Kind, ...]
    sizes: Sizes | None
    split: Split
    forward: Source
    backward: Source
    written: tuple[int, ...] = ()
    apart: frozenset[int] = frozenset()
    draws: bool = False
    flows: Flows | None = None


def of_function(graph: str, entry: str, wrt: Sequence[int]) -> str:
    """A program whose function gives, behind its results, the gradients of these arguments, of a result of rank 0 (`gradient_of_function`).

    Raises PassFailure.
    """
    module = parse_module(graph)
    gradient_of_function(module, entry, wrt)
    return text_of(module)


def split(
    name: str,
    graph: str,
    entry: str,
    wrt: tuple[int, ...],
    kinds: tuple[Kind, ...],
    lengths: tuple[int, ...],
    sizes: Sizes | None,
    writes: bool = False,
) -> Halves:
    """The forward and backward programs of a pristine graph, for gradients of the arguments `wrt` and arguments of these kinds.

    `lengths`: of the lists of tensors among the arguments, whose items `wrt` and `kinds` count one by one. `sizes`: the arguments' in a
    call, of which some may be taken for equal (`Split.assumed`); None: none is. `writes`: the program may write its arguments, and gives
    their new contents behind its results instead; else it is refused. Behind these it then gives what tells which arguments are in them.
    Raises NotDifferentiable, naming the op, its line and what to do instead.
    """
    module = parse_module(graph)
    with _failures(name):
        func = value_form(module, entry, _arguments(function_names(module)[entry], wrt, lengths), (), writes=writes)
        written = _first_items(func, take_written(func), lengths)
        results = Nesting(tuple(unpack_list_arguments(module, func, lengths)))
        apart = _results_apart(func)
        _refine_results(func)
        if writes:
            _refuse_hidden(func)
        flows = add_flows(module, func, wrt) if writes and has_paths(func) else None
        draws = any(row is not None and row.random for row in map(row_of, walk(func)))
        _EQUAL_ONCE.run(module)  # what is computed twice would be captured twice
    prepared = text_of(module)
    found, forward, backward = _split(name, prepared, entry, wrt, kinds, sizes, None, None)
    if writes and flows is None and found.drops:
        module = parse_module(prepared)
        flows = add_flows(module, function_names(module)[entry], wrt)
    return Halves(prepared, entry, forward.names, results, wrt, kinds, sizes, found, forward, backward, written, apart, draws, flows)


def _refine_results(func: ir.Operation) -> None:
    """Return as tensors what are tensors under an optional type, as which a branch gave them before it was decided."""
    last = last_of(func.regions[0].blocks[0])
    for k, value in enumerate(last.operands):
        inner = under_casts(value)
        if str(value.type).startswith("!torch.optional<") and torch_types.is_tensor(inner.type):
            last.operands[k] = inner
    set_signature(func)


def _refuse_hidden(func: ir.Operation) -> None:
    """Raise PassFailure for a result that may hold tensors where no cotangent comes: an autograd would take its gradient for
    none. Of lists of a known length the items are results by now."""
    last = last_of(func.regions[0].blocks[0])
    for k, value in enumerate(last.operands):
        if "tensor" in str(value.type) and not torch_types.is_tensor(value.type):
            remedy = "return tensors, tuples, and lists of a known length"
            made = func if isinstance(value.owner, ir.Block) else value.owner.operation  # of the user's line
            raise PassFailure(made, f"gives a {value.type} as result {k}, through which no gradient goes: {remedy}")


def _results_apart(func: ir.Operation) -> frozenset[int]:
    """The results that may be, or be views of, a detached value: how much of one in an argument's memory autograd is to see through,
    the view does not say."""
    apart: set[ir.Value] = set()

    def follow(block: ir.Block) -> list[bool]:
        for view in block.operations:
            op = view.operation
            handed = [v in apart for v in op.operands]
            row = row_of(op)
            if op.name == "torch.prim.If":
                found = list(map(any, zip(*(follow(region.blocks[0]) for region in op.regions), strict=True)))
            elif op.name == "torch.prim.Loop":
                body, found = op.regions[0].blocks[0], handed[2:]
                while True:
                    apart.update(v for v, is_apart in zip(list(body.arguments)[1:], found, strict=True) if is_apart)
                    more = [a or b for a, b in zip(found, follow(body)[1:], strict=True)]
                    if more == found:
                        break
                    found = more
            elif row is not None and row.aliasing is Aliasing.FRESH:
                continue
            else:
                is_detached = op.name == "torch.aten.detach" and not _feeds_generators(op)
                found = [is_detached or any(handed)] * len(op.results)
            apart.update(r for r, is_apart in zip(op.results, found, strict=False) if is_apart)
        return handed

    return frozenset(k for k, is_apart in enumerate(follow(func.regions[0].blocks[0])) if is_apart)


def _feeds_generators(op: ir.Operation) -> bool:
    """Whether only ops that draw random numbers read a value."""
    rows = [row_of(use.owner.operation) for use in op.results[0].uses]
    return all(row is not None and row.random for row in rows)


def _arguments(func: ir.Operation, items: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """Which arguments some arguments and items of lists are, when the items of lists are counted one by one."""
    of_lists = iter(lengths)
    owners: list[int] = []
    for i, argument in enumerate(func.regions[0].blocks[0].arguments):
        owners += [i] * (next(of_lists, 0) if is_tensor_list(argument.type) else 1)
    return sorted({owners[k] for k in items})


def _first_items(func: ir.Operation, arguments: Sequence[int], lengths: Sequence[int]) -> tuple[int, ...]:
    """Where arguments that are no lists are when the items of lists are counted one by one."""
    of_lists, at, starts = iter(lengths), 0, []
    for argument in func.regions[0].blocks[0].arguments:
        starts.append(at)
        at += next(of_lists, 0) if is_tensor_list(argument.type) else 1
    return tuple([starts[i] for i in arguments])


def restricted(name: str, halves: Halves, seeds: tuple[int, ...]) -> tuple[Split, Source] | None:
    """The backward program that takes the cotangents of these results alone, and reads of what the forward program captured; None where it
    would need something else. In the split the captures are to be found by their keys."""
    try:
        found, _, backward = _split(name, halves.prepared, halves.entry, halves.wrt, halves.kinds, halves.sizes, seeds, halves.split.keys)
    except CannotRestrict:
        return None
    return found, backward


def _split(
    name: str,
    prepared: str,
    entry: str,
    wrt: Sequence[int],
    kinds: Sequence[Kind],
    sizes: Sizes | None,
    seeds: Sequence[int] | None,
    kept: tuple[Key, ...] | None,
) -> tuple[Split, Source, Source]:
    module = parse_module(prepared)
    func = function_names(module)[entry]
    with _failures(name), module.context, ir.Location.unknown():
        found = split_gradient(module, func, wrt, known=_known(kinds), sizes=_actual(sizes), seeds=seeds, kept=kept)
        _EQUAL_ONCE.run(module)
    return found, _alone(module, found.forward, found.backward), _alone(module, found.backward, found.forward)


def _known(kinds: Sequence[Kind]) -> list[Tensor | None]:
    """Sizes of two and more are symbols: which are equal is not part of a kind."""
    found: list[Tensor | None] = []
    for i, kind in enumerate(kinds):
        if kind is None:
            found.append(None)
        else:
            shape = tuple(dims.symbol(f"s{i}_{d}") if size > 1 else size for d, size in enumerate(kind[1]))
            found.append(Tensor(dtypes.BY_NAME[kind[0]], shape))
    return found


def _actual(sizes: Sizes | None) -> dict[dims.Dim, int]:
    """What the symbols of `_known` are for arrays of these sizes."""
    each = enumerate(sizes or ())
    return {dims.symbol(f"s{i}_{d}"): n for i, shape in each if shape is not None for d, n in enumerate(shape)}


def assumed(halves: Halves) -> tuple[Equal, ...]:
    """The sizes that the programs take for equal, as (argument, dim) each, or a number."""
    at = {dims.symbol(f"s{i}_{d}"): (i, d) for i, kind in enumerate(halves.kinds) if kind is not None for d in range(len(kind[1]))}

    def where(dim: dims.Dim) -> tuple[int, int] | int:
        return dim if isinstance(dim, int) else at[dim]

    return tuple((where(a), where(b)) for a, b in halves.split.assumed)


def _alone(module: ir.Module, entry: str, other: str) -> Source:
    """One function of a module as a program of its own."""
    copy = parse_module(text_of(module))
    for name, func in list(function_names(copy).items()):
        if name == other:
            func.erase()
    tier0 = translate(copy, entry)
    return Source(text_of(copy), entry, tuple(p.name for p in tier0.parameters), tier0)


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """Raise NotDifferentiable for what a pass refuses."""
    try:
        yield
    except PassFailure as e:
        found = next(iter(e.diagnostics), None)
        if found is None:
            raise NotDifferentiable(f"{name} has no gradient: {e}") from e
        place, (op, _, said) = found.place, found.message.partition(" op ")
        origin = Origin(op.strip("'").removeprefix("torch."), place.file, place.line, place.column)
        raise NotDifferentiable(f"{name} has no gradient: {origin.op} {said} (at {origin})") from e
