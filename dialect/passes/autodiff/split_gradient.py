"""A function and its gradient as two: a forward function that also gives what its gradient needs, and a backward one that takes it.

    @f(%x, %y) -> (%r)     becomes     @f(%x, %y) -> (%r, saved...)     and     @f_backward(captures..., cotangents...) -> (gradients...)

What is captured (`capturing.py`) is an argument, a result, or saved: one of the values that forward gives behind its results.
Each is captured once. Arguments and results are those of the run, not copies.

The backward function for fewer cotangents is the reverse of the same forward function with fewer seeds: what follows from none of them
is not there at all. `kept`, the keys of what was captured for all cotangents, makes it read nothing else; where it would need to, it is
refused (CannotRestrict), and zeros do.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, at_least
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function, promotion
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant, i64
from tierup.dialect.ir.structure import forget_results, last_of, read_others, set_signature, signature
from tierup.dialect.ir.walking import ops_of, symbol_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.optable.core import REFUSALS, Infer, Tie
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.capturing import Captures, base_of
from tierup.dialect.passes.autodiff.differentiation import REGIONS, activity
from tierup.dialect.passes.autodiff.reverse.reverse import Reverse, sweep
from tierup.dialect.passes.autodiff.stacked_lists import grows_lists, stack_lists
from tierup.dialect.rewriting.core import int_of
from tierup.dialect.rewriting.loops import loops_inside

Key = Hashable
SITE = "tierup.site"  # the number of a forward op, the same each time the function is differentiated
SAVED = "tierup.saved"  # of a loop: which of what it carries its further results are lists of (`reverse/loops.py`)


class CannotRestrict(Exception):
    """The gradient from fewer cotangents needs something that was not captured."""


@dataclass(frozen=True)
class Capture:
    """Where a captured value comes from. `kind`: "argument" or "result" of the forward function, or "saved": what it gives behind its
    results, counted from the first of these."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}"


@dataclass(frozen=True)
class Split:
    """How the two functions are called.

    `forward`, `backward`: their names. `captures`: the first arguments of backward; then follow the cotangents of the results `seeds`.
    `gradients`: for each result of backward the position in `wrt` that it is the gradient of; nothing flows to those that are not named.
    `keys`: of the captures, for `split_gradient` with fewer cotangents. `assumed`: pairs of sizes that are equal in the calls that the
    functions are for. `drops`: an argument to which nothing flows may have a gradient of zeros. `watched`: results in whose memory lay what
    is saved, which has memory of its own: where results are tensors, a write to one is an error for the gradient, as it is without that.
    """

    forward: str
    backward: str
    captures: tuple[Capture, ...]
    seeds: tuple[int, ...]
    gradients: tuple[int, ...]
    keys: tuple[Key, ...]
    assumed: tuple[tuple[Dim, Dim], ...] = ()
    drops: bool = False
    watched: tuple[int, ...] = ()


def split_gradient(
    module: ir.Module,
    func: ir.Operation,
    wrt: Sequence[int],
    *,
    known: Sequence[Tensor | None] = (),
    sizes: Mapping[Dim, int] | None = None,
    seeds: Sequence[int] | None = None,
    kept: Collection[Key] | None = None,
) -> Split:
    """Make a function in value form (`differentiation.value_form`) forward, and add its backward function to the module.

    `wrt`: arguments. `known`: what the caller ensures of tensor arguments, sizes as numbers or symbols of at least 2; the functions rely
    on it, and their types don't say it. `sizes`: what the symbols were in a call; those that some path of the program needs equal, and that
    were, are taken for equal then, and the split says which. `seeds`: results whose cotangents backward takes, all that the gradients
    depend on if not given. There may be none. Raises PassFailure, at the op, for an op without a gradient on the way; CannotRestrict, see
    above.
    """
    return _Splitter(module, func, wrt, known, sizes or {}).run(seeds, kept)


class _Splitter:
    def __init__(
        self, module: ir.Module, func: ir.Operation, wrt: Sequence[int], known: Sequence[Tensor | None], sizes: Mapping[Dim, int]
    ) -> None:
        self.module, self.func, self.wrt = module, func, list(wrt)
        self.block = func.regions[0].blocks[0]
        self.arguments = list(self.block.arguments)
        self.types = [a.type for a in self.arguments]
        self.body = [view.operation for view in self.block.operations][:-1]
        for i, op in enumerate(self.body):
            op.attributes[SITE] = i64(i, func.context)
        self.assumed = _refine(func, known, sizes) if known else []
        self.active, self.inference = activity(func, wrt)
        self.last = last_of(self.block)
        self.emitter = Emitter(ir.InsertionPoint(self.last), func.location, self.inference)

    def _differentiable_results(self) -> list[int]:
        """The results that are tensors, of floating dtype as far as is known, and depend on `wrt`."""
        found = []
        for i, value in enumerate(self.last.operands):
            dtype = self.emitter.tensor(value).dtype
            if torch_types.is_tensor(value.type) and self.active.get(value, False) and (dtype is None or dtype.is_float):
                found.append(i)
        return found

    def run(self, seeds: Sequence[int] | None, kept: Collection[Key] | None) -> Split:
        e = self.emitter
        if seeds is None:
            seeds = self._differentiable_results()
        marker = constant(None, e.ip).owner.operation
        stand_ins = [self._stand_in(self.last.operands[k]) for k in seeds]
        reverse = Reverse(e, self.active, REGIONS)
        for k, stand_in in zip(seeds, stand_ins, strict=True):
            reverse.give(self.last.operands[k], stand_in)
        reverse.run(self.body)
        returned = list(self.last.operands)  # a loop that was made again has new results
        found = {n: g for n, i in enumerate(self.wrt) if isinstance(g := reverse.take(self.arguments[i]), ir.Value)}
        self.last.erase()
        with self.func.context, self.func.location:
            last = ir.Operation.create("func.return", operands=list(found.values()), ip=ir.InsertionPoint(self.block)).operation
        sweep(self.block, marker, set(stand_ins))
        if grows_lists(self.func):
            returned = self._stack_lists(returned)
        keys = _Keys(self.arguments)
        forward = [view.operation for view in self.block.operations]
        forward = forward[: forward.index(marker)]
        given = [*self.arguments, *(v for op in forward for v in op.results)]
        captured_anyway = [v for v in given if kept is not None and keys.of(v) in kept]
        captured = Captures(self.block, marker, self.inference, returned, captured_anyway).minimal()
        if kept is not None and any(keys.of(v) not in kept for v in captured):
            raise CannotRestrict
        _restore(self.func, self.types)
        return self._lift(marker, stand_ins, returned, captured, last, tuple(found), tuple(seeds), keys, reverse.drops)

    def _stack_lists(self, returned: Sequence[ir.Value]) -> list[ir.Value]:
        """Make what loops save tensors, which native code takes and gives. Results, which an op reads meanwhile, stay lists; gives
        them, or what was made in their place."""
        ip = ir.InsertionPoint.at_block_terminator(self.block)
        with self.func.context, self.func.location:
            held = ir.Operation.create("tierup.held", operands=list(returned), ip=ip).operation
        stack_lists(self.func)
        returned = list(held.operands)
        held.erase()
        with suppress(InferenceError):  # for the run to raise: what was known stays
            found = infer_function(self.func, unset_has_sizes=True)
            self.inference.values.update(found.values)
            self.inference.doubtful |= found.doubtful
        return returned

    def _stand_in(self, result: ir.Value) -> ir.Value:
        type_ = self.types[self.arguments.index(result)] if result in self.arguments else result.type  # not what a caller promises
        made = self.emitter.create("torch.prim.Uninitialized", [type_], []).results[0]
        self.inference.values[made] = self.emitter.known(result)
        return made

    def _lift(
        self,
        marker: ir.Operation,
        stand_ins: Sequence[ir.Value],
        returned: Sequence[ir.Value],
        captured: Sequence[ir.Value],
        last: ir.Operation,
        gradients: tuple[int, ...],
        seeds: tuple[int, ...],
        keys: _Keys,
        drops: bool,
    ) -> Split:
        """Move the reverse ops into a function of their own."""
        saved: list[ir.Value] = []
        sources = []
        for value in captured:
            if value in self.arguments:
                sources.append(Capture("argument", self.arguments.index(value)))
            elif value in returned:
                sources.append(Capture("result", list(returned).index(value)))
            else:
                sources.append(Capture("saved", len(saved)))
                saved.append(value)
        found_keys = tuple(keys.of(v) for v in captured)
        theirs = {base_of(v) for v in returned if torch_types.is_tensor(v.type)}
        shared = {base_of(v) for v in saved if torch_types.is_tensor(v.type)} & theirs
        watched = tuple(k for k, v in enumerate(returned) if torch_types.is_tensor(v.type) and base_of(v) in shared)
        with self.emitter.before(marker):  # in memory of its own: results in one memory have no native code
            saved = [self._apart(v, shared) for v in saved]
        name = symbol_of(self.func)
        backward = self._backward(name, [*captured, *stand_ins], [v.type for v in last.operands], sources, seeds)
        body = backward.regions[0].blocks[0]
        found = [view.operation for view in self.block.operations]
        at = next(i for i, op in enumerate(found) if op == marker)
        for op in found[at + 1 :]:
            body.append(op)
        read_others(ops_of(body), dict(zip([*captured, *stand_ins], body.arguments, strict=True)))
        with self.func.context, self.func.location:
            ir.Operation.create("func.return", operands=[*returned, *saved], ip=ir.InsertionPoint(self.block))
        for value in stand_ins:
            value.owner.operation.erase()
        marker.erase()
        set_signature(self.func, kept=len(returned))
        forget_results(self.func)
        for op in (*walk(self.func), *walk(backward)):
            for attribute in (SITE, SAVED):
                if attribute in op.attributes:
                    del op.attributes[attribute]
        backward_name = symbol_of(backward)
        return Split(name, backward_name, tuple(sources), seeds, gradients, found_keys, tuple(self.assumed), drops, watched)

    def _apart(self, value: ir.Value, shared: set[ir.Value]) -> ir.Value:
        """What is saved; a copy of what lies in memory that a result shows."""
        is_shared = torch_types.is_tensor(value.type) and base_of(value) in shared
        return self.emitter.call("aten.clone", value, None) if is_shared else value

    def _backward(
        self, name: str, given: Sequence[ir.Value], results: Sequence[ir.Type], sources: Sequence[Capture], seeds: Sequence[int]
    ) -> ir.Operation:
        """The backward function, empty, behind the forward one."""
        context = self.func.context
        names = [self._name_of(source, value) for source, value in zip(sources, given, strict=False)] + [f"d_result{k}" for k in seeds]
        with context, self.func.location:
            attributes = {
                "sym_name": ir.StringAttr.get(f"{name}_backward"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([v.type for v in given], list(results))),
                "arg_attrs": ir.ArrayAttr.get([ir.DictAttr.get({"tierup.name": ir.StringAttr.get(n)}) for n in names]),
                "tierup.captures": ir.ArrayAttr.get([ir.StringAttr.get(str(source)) for source in sources]),
            }
            if "tierup.source" in self.func.attributes:
                attributes["tierup.source"] = self.func.attributes["tierup.source"]
            made = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(self.module.body)).operation
            ir.Block.create_at_start(made.regions[0], [v.type for v in given], [self.func.location] * len(given))
        return made

    def _name_of(self, source: Capture, value: ir.Value) -> str:
        if source.kind == "argument" and "arg_attrs" in self.func.attributes:
            given = ir.DictAttr(list(ir.ArrayAttr(self.func.attributes["arg_attrs"]))[source.index])
            if "tierup.name" in given:
                return str(ir.StringAttr(given["tierup.name"]).value)
        return f"{source.kind}{source.index}"


class _Keys:
    """What a forward value is, in words that are the same each time the function is differentiated."""

    def __init__(self, arguments: Sequence[ir.Value]) -> None:
        self.arguments = {value: i for i, value in enumerate(arguments)}

    def of(self, value: ir.Value) -> Key:
        if value in self.arguments:
            return "argument", self.arguments[value]
        op = value.owner.operation
        number = list(op.results).index(value)
        if SITE in op.attributes:
            more = list(ir.DenseI64ArrayAttr(op.attributes[SAVED])) if SAVED in op.attributes else []
            own = len(op.results) - len(more)
            site = ir.IntegerAttr(op.attributes[SITE]).value
            # What a loop saved is a list, or a tensor where that can be said of all of it: with fewer seeds perhaps of another loop.
            return ("op", site, number) if number < own else ("saved", site, more[number - own], torch_types.is_tensor(value.type))
        attributes = str(sorted((n, str(op.attributes[n])) for n in op.attributes))
        return op.name, attributes, number, tuple(self.of(v) for v in op.operands)




def _refine(func: ir.Operation, known: Sequence[Tensor | None], sizes: Mapping[Dim, int]) -> list[tuple[Dim, Dim]]:
    """Give arguments the types that a caller promises, and sizes that the program needs equal one symbol; which of them only some path
    needs equal."""
    assumed: list[tuple[Dim, Dim]] = []
    block = func.regions[0].blocks[0]
    shapes = {a: t.shape for a, t in zip(block.arguments, known, strict=True) if t is not None and t.shape is not None}
    shapes = {a: shape for a, shape in shapes.items() if torch_types.is_value_tensor(a.type)}
    dtypes = {a: t.dtype for a, t in zip(block.arguments, known, strict=True) if t is not None}
    while True:
        for argument, shape in shapes.items():
            argument.set_type(torch_types.tensor_type(Tensor(dtypes[argument], shape), context=func.context))
        symbols.rebind(block, shapes)
        one = _equal(func, {dim for shape in shapes.values() for dim in shape}, sizes, assumed)
        if not one:
            break
        shapes = {argument: tuple(one.get(dim, dim) for dim in shape) for argument, shape in shapes.items()}
    set_signature(func, signature(func).results)
    return assumed


def _equal(func: ir.Operation, own: Collection[Dim], sizes: Mapping[Dim, int], assumed: list[tuple[Dim, Dim]]) -> dict[Dim, Dim]:
    """For sizes that a run raises for unless they are equal to another, that other. A size of 1 broadcasts: nothing is said of it. What
    only some path of the program needs is taken where `sizes` are equal, and added to `assumed`; so are a window's sizes for what they are,
    on which all that a convolution makes hangs, and those along which tensors are cut into parts."""
    try:
        inference = infer_function(func, unset_has_sizes=True)
    except InferenceError:  # for the run to raise
        return {}
    certain = [tie for view in func.regions[0].blocks[0].operations for tie in _ties(view.operation, inference.values)]
    decisive = [Tie(dim, sizes[dim]) for dim in _decisive(func, inference) if dim in own and dim in sizes]
    ties = [(tie, False) for tie in certain] + [(tie, True) for tie in (*decisive, *inference.ties)]
    one: dict[Dim, Dim] = {}

    def leader(dim: Dim) -> Dim:
        while dim in one:
            dim = one[dim]
        return dim

    for tie, is_assumed in ties:
        sides = tie.left, tie.right
        if all(at_least(dim, 2) and (isinstance(dim, int) or dim in own) for dim in sides):
            left, right = leader(tie.left), leader(tie.right)
            if is_assumed and left != right:
                actual = [dim if isinstance(dim, int) else sizes.get(dim) for dim in (left, right)]
                if None in actual or actual[0] != actual[1]:
                    continue
                assumed.append((left, right))
            if left != right and not isinstance(left, int):
                one[left] = right
            elif left != right and not isinstance(right, int):
                one[right] = left
    return {dim: leader(dim) for dim in one}


def _decisive(func: ir.Operation, inference: Inference) -> Iterator[Dim]:
    """The sizes of windows that slide over tensors, and those along which tensors are cut into parts."""
    cuts: list[tuple[ir.Operation, int]] = []
    for op in walk(func):
        row = row_of(op)
        if row is not None and row.window is not None:
            known = inference.values.get(op.operands[row.window])
            yield from (known.shape or ())[2:] if isinstance(known, Tensor) else ()
        if row is not None and row.cuts is not None:
            cuts.append((op, row.cuts))
    first = _in_first_rounds(func) if cuts else {}
    yield from (dim for op, axis in cuts if (dim := _size(first.get(op.operands[0]), int_of(op.operands[axis]))) is not None)


def _in_first_rounds(func: ir.Operation) -> Mapping[ir.Value, Value]:
    """What is known of values, in loops that of their first rounds: in later ones sizes may hang on the parts that were cut."""
    loops = list(loops_inside(func))
    counts = [loop.operands[0] for loop in loops]
    once = constant(1, ir.InsertionPoint(func.regions[0].blocks[0].operations[0].operation))
    for loop in loops:
        loop.operands[0] = once
    try:
        return infer_function(func, unset_has_sizes=True).values
    except InferenceError:  # for the run to raise
        return {}
    finally:
        for loop, count in zip(loops, counts, strict=True):
            loop.operands[0] = count
        once.owner.operation.erase()


def _size(known: Value | None, dim: int | None) -> Dim | None:
    shape = known.shape if isinstance(known, Tensor) else None
    return shape[dim] if shape is not None and dim is not None and -len(shape) <= dim < len(shape) else None


def _ties(op: ir.Operation, values: Mapping[ir.Value, Value]) -> list[Tie]:
    """The sizes that one op needs equal; none that an op inside needs, for that may not run."""
    row = row_of(op)
    if row is None or len(op.regions):
        return []
    rules = Infer()
    rules.promotion, rules.given = promotion(op), op.operands
    with suppress(*REFUSALS):  # inference knew better
        row.infer(rules, [values[v] for v in op.operands])
    return rules.ties


def _restore(func: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Take back what `_refine` said."""
    block = func.regions[0].blocks[0]
    symbols.erase(block)
    for argument, type_ in zip(block.arguments, types, strict=True):
        argument.set_type(type_)
    set_signature(func, signature(func).results)
