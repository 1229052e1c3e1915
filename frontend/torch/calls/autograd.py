"""A call that joins PyTorch's autograd: forward and backward are two programs of tierup's, each profiled and compiled like any other.

    results = joined(executor, leaves, tensors)

is the seam for whoever calls a program with tensors that require a gradient. `executor` is a program's (`Function.find` gives it with
the flat leaves), `leaves` what it takes: arrays, numbers, lists of arrays. `tensors` has for each leaf the tensor of whose memory it is
made (for a list of arrays a list of tensors), None for numbers. The results are flat ones, tensors in the place of arrays; they require a
gradient where PyTorch's would. `wanted` says whether there is anything to join for; where not, `plain` is the call.

What the backward program needs is saved with `ctx.save_for_backward`, so that PyTorch's own rules hold: a tensor that was written in
between makes `backward` raise, saved tensors go with the first `backward` without `retain_graph`, saved-tensor hooks see them. Under
`create_graph` the backward program is called through this seam, as is, once more, the forward program where it saved values of its own:
so second and higher derivatives are the same thing again.

Arguments that the program writes get their new contents by `tensor.copy_` after the run, which leaves versions, views and autograd's
leaves to PyTorch. Where there is no gradient (NotDifferentiable) nothing has run yet, and the caller may do something else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tierup.dialect.optable.kernels import torch_tensors
from tierup.frontend.torch.calls import shared_memory, transforms
from tierup.frontend.torch.calls.second_derivatives import Again, Original
from tierup.runtime.arguments.nesting import Nesting
from tierup.runtime.base.errors import NotDifferentiable

if TYPE_CHECKING:
    from tierup.dialect.passes.autodiff.split_gradient import Capture
    from tierup.runtime.base.protocols import ProgramExecutor
    from tierup.runtime.executors.gradients.pair import Pair
    from tierup.runtime.executors.gradients.pullback import Pullback

    _Kept = tuple[np.ndarray[Any, Any], torch.Tensor]  # a value, and the tensor that it is kept as


def wanted(tensors: Sequence[Any]) -> bool:
    """Whether a call with these tensors joins: grad mode is on, and one of them requires a gradient."""
    if not torch.is_grad_enabled():
        return False
    for t in tensors:
        if t is not None and (any(u.requires_grad for u in _flat(t)) if isinstance(t, (list, tuple)) else t.requires_grad):
            return True
    return False


def joined(executor: ProgramExecutor, leaves: Sequence[Any], tensors: Sequence[Any], original: Original | None = None) -> tuple[Any, ...]:
    """See the head of this file. `original`: what gives second derivatives where the pair has none. Raises NotDifferentiable, naming op,
    line and remedy, before anything has run; RuntimeError for a write to a leaf of autograd's that requires a gradient; else what the
    program raises."""
    call = _Call(executor, leaves, tensors, original)
    if not call.wrt:
        return plain(executor, leaves, tensors)
    found = Tierup.apply(call, *[call.tensors[i] for i in call.wrt])
    return call.results(found)


def plain(executor: ProgramExecutor, leaves: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """`joined` where no gradient is wanted. PyTorch is told of what is written."""
    written = [t for p, t in zip(executor.program.tier0.parameters, tensors, strict=True) if p.written and isinstance(t, torch.Tensor)]
    for tensor in written:
        if tensor.is_inference() and not torch.is_inference_mode_enabled():
            raise RuntimeError(f"{executor.program.name}: an update to an inference tensor outside of inference mode: pass tensor.clone()")
    found = executor.call(tuple(leaves))
    for tensor in written:
        if not tensor.is_inference():
            torch.autograd.graph.increment_version(tensor)
    return shared_memory.as_tensors(found, leaves, tensors, executor.program.tier0.detached)


class _Call:
    """One call, until its results are there. Lists are taken apart: all here is item by item."""

    def __init__(self, executor: ProgramExecutor, leaves: Sequence[Any], tensors: Sequence[Any], original: Original | None) -> None:
        gradients = executor.gradients
        self.original = original
        self.executor, self.given = executor, tuple(leaves)
        self.lengths: tuple[int, ...] = ()
        self.leaves: tuple[Any, ...] = self.given
        self.tensors: Sequence[Any] = tensors
        if gradients.takes_lists:
            nesting = Nesting.of(self.given, executor.program.tier0.parameters)
            self.lengths = nesting.lengths
            self.leaves, self.tensors = tuple(nesting.flat(self.given, "leaves")), nesting.flat(tensors, "tensors")
        self.wrt = tuple([i for i, t in enumerate(self.tensors) if t is not None and t.requires_grad])
        if self.wrt:
            gradients.joins = True
            if gradients.writes:
                self._refuse_overlaps()
            self.pair: Pair = gradients.pair(self.leaves, self.wrt, self.lengths, self.given)
        self.places: Sequence[tuple[str, Any]] = ()  # of each result

    def _refuse_overlaps(self) -> None:
        """A write to one of two tensors in the same memory is seen through the other. The pair's programs, which write nothing, miss it."""
        program = self.executor.program
        what = shared_memory.overlap(program.tier0.parameters, program.names, self.given)
        if what:
            raise NotDifferentiable(f"{program.name} has no gradient where {what}: pass a copy (at {program.place})")

    # --- inside autograd -----------------------------------------------------------------------------------------------

    def run(self, ctx: Any) -> tuple[torch.Tensor, ...]:
        """The tensors that autograd takes for made by this call, in grad mode off."""
        pair = self.pair
        self.generator = torch.get_rng_state() if pair.draws else None  # for who runs forward again
        try:
            results, pullback = pair.run(self.leaves, 1)
        except NotDifferentiable:  # who answers in its place draws again
            if self.generator is not None:
                torch.set_rng_state(self.generator)
            raise
        first_content = len(results) - len(pair.written)
        self.refuse_leaves(results[first_content:])
        self.flows = pullback.flows
        captured = zip(pair.captures, pullback.values, strict=True)
        values = [v for capture, v in captured if capture.kind == "saved" and isinstance(v, np.ndarray)]
        inner = {id(v): (v, torch_tensors.tensor(v)) for v in values}
        outputs, positions = self._place(results, list(inner.values()))
        ctx.set_materialize_grads(False)
        constants = [t for t, k in zip(outputs, positions, strict=True) if not self._flows_into(k)]
        if constants:
            ctx.mark_non_differentiable(*constants)
        made = dict(zip(positions, outputs, strict=True))
        saved: list[torch.Tensor] = []
        held: list[Any] = []
        for capture, value in zip(pair.captures, pullback.values, strict=True):
            if isinstance(value, np.ndarray):
                if capture.kind == "argument" and self.tensors[capture.index] is None:  # a constant of the program
                    kept = torch_tensors.tensor(value)
                elif capture.kind == "argument" and capture.index not in pair.written:
                    kept = self.tensors[capture.index]
                elif capture.kind == "argument":
                    kept = torch_tensors.tensor(value.copy())  # what it was before the write, as PyTorch keeps it
                elif capture.kind == "result" and capture.index in made:
                    kept = made[capture.index]
                else:
                    kept = self._kept(value, outputs, positions, inner)
                saved.append(kept)
                held.append(_Saved)
            elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                saved += map(torch_tensors.tensor, value)
                held.append(len(value))
            else:
                held.append((value,))
        saved += [made[k] for k in pair.watched if k in made]  # so that PyTorch finds writes to them
        ctx.save_for_backward(*saved)
        ctx.tierup = _Later(self, pullback.holding(()), held, positions, len(results))
        return tuple(outputs)

    def _flows_into(self, k: int) -> bool:
        """Whether a result requires a gradient."""
        return k in self.pair.seeds and (self.flows is None or self.flows[k] != 0)

    def refuse_leaves(self, contents: Sequence[Any]) -> None:
        for i, content in zip(self.pair.written, contents, strict=True):
            tensor = self.tensors[i]
            if content is not self.leaves[i] and tensor.is_leaf and tensor.requires_grad:
                raise RuntimeError(
                    f"{self.executor.program.name} writes its argument {self.pair.names[i]}: a leaf Variable that requires grad is used "
                    "in an in-place operation: pass a copy of it, or call under torch.no_grad()"
                )

    def _place(self, results: Sequence[Any], inner: Sequence[_Kept]) -> tuple[list[torch.Tensor], list[int]]:
        """Say of each result what it is: a value, a tensor that autograd gets from this call, a view of an argument, of a result, or of an
        argument's new contents. The tensors for autograd, and which results they are. `inner`: what else is kept for backward."""
        pair, outputs, positions = self.pair, list[torch.Tensor](), list[int]()
        first_content = len(results) - len(pair.written)
        places: list[Any] = [None] * len(results)
        # A base before its views, a view before its parts, and of the same array one with a gradient before one that is detached.
        shown = sorted(range(first_content), key=lambda k: (shared_memory.priority(results[k]), not self._flows_into(k)))
        for k in (*range(first_content, len(results)), *shown):
            value = results[k]
            if not isinstance(value, np.ndarray):
                places[k] = "value", torch_tensors.to_tensors(value)
                continue
            if k >= first_content:
                if value is self.leaves[pair.written[k - first_content]]:
                    places[k] = "unwritten", None
                    continue
                if shared_memory.shares(value, self.leaves):
                    value = value.copy()
            else:
                place = self._shared(k, results, positions)
                if place is not None:
                    places[k] = place
                    continue
                if not value.flags.owndata and self._is_copied(value, k, results, positions):
                    value = value.copy()
            places[k] = "output", len(outputs)
            # What is a part of a value that is kept, or of a detached result, is no view of it to autograd, but counts writes with it.
            near = [kept for kept in inner if not kept[0].flags.owndata] if value.flags.owndata else [*inner]
            if not value.flags.owndata and self._flows_into(k):
                near += [(results[p], t) for p, t in zip(positions, outputs, strict=True) if not self._flows_into(p)]
            part = shared_memory.Known(near).tensor_of(value) if near else None
            outputs.append(torch_tensors.tensor(value) if part is None else part.detach())
            positions.append(k)
        self.places, self.arrays = places, results
        return outputs, positions

    def _is_copied(self, value: np.ndarray[Any, Any], k: int, results: Sequence[Any], before: Sequence[int]) -> bool:
        """Whether a result lies in memory that autograd is to take for another's: not in that of a detached result, where it has a gradient
        itself."""
        others = [results[p] for p in before if self._flows_into(p) or not self._flows_into(k)]
        return shared_memory.shares(value, [*self.leaves, *others])

    def _kept(
        self, value: np.ndarray[Any, Any], outputs: Sequence[torch.Tensor], positions: Sequence[int], inner: Mapping[int, _Kept]
    ) -> torch.Tensor:
        """A captured value as a tensor that shares its memory, and the count of its writes, with the tensor that the memory is of."""
        made = zip([self.arrays[p] for p in positions], outputs, strict=True)
        if value.flags.owndata:  # as most do: of these only what is a view, or they themselves, can lie in them
            near = [(array, tensor) for array, tensor in made if array is value or not array.flags.owndata]
        elif shared_memory.shares(value, [self.leaves[i] for i in self.pair.written]):
            return torch_tensors.tensor(value.copy())  # what it was before the write
        else:
            near = [*zip(self.leaves, self.tensors, strict=True), *made]
        found = shared_memory.Known(near).tensor_of(value) if near else None
        if found is not None:
            return found.detach()  # it is what its memory is, but no view, of which autograd asks more
        return inner[id(value)][1] if id(value) in inner else torch_tensors.tensor(value)

    def _shared(self, k: int, results: Sequence[Any], before: Sequence[int]) -> tuple[str, Any] | None:
        """Where a result lies that has no memory of its own, None for a copy of it or one that has."""
        value, pair = results[k], self.pair
        if value.flags.owndata and not any(value is a for a in (*self.leaves, *[results[p] for p in before])):
            return None  # most are
        if k in pair.apart and self._flows_into(k):
            return None  # how much of it autograd is to see through, the view does not say
        first_content = len(results) - len(pair.written)
        unwritten = [i for k, i in enumerate(pair.written, first_content) if results[k] is self.leaves[i]]
        i = shared_memory.owner_of(value, self.leaves)
        if i is not None and self.tensors[i] is not None and (i not in pair.written or i in unwritten):
            return "argument", i
        made = [results[p] for p in before]
        i = shared_memory.owner_of(value, made)
        if i is not None and shared_memory.has_views(made[i], value) and not shared_memory.shares(value, self.leaves):
            which = before[i]
            if self._flows_into(k) and not self._flows_into(which):
                return None  # autograd would see no more through it than through what it is a view of
            tensor = self.tensors[pair.written[which - first_content]] if which >= first_content else None
            if tensor is None or shared_memory.has_view(tensor, made[i], value):
                return "result", which
        return None

    # --- afterwards ----------------------------------------------------------------------------------------------------

    def results(self, found: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        """The user's results, tensors as autograd gave them; arguments get their new contents."""
        pair = self.pair
        first_content = len(self.places) - len(pair.written)
        for k, i in enumerate(pair.written, first_content):
            kind, which = self.places[k]
            if kind == "output":
                self.tensors[i].copy_(found[which])
        made: list[Any] = []
        for k, (kind, which) in enumerate(self.places[:first_content]):
            if kind == "output":
                made.append(found[which])
            elif kind == "value":
                made.append(which)
            else:
                made.append(self._view(k, kind, which, found))
        if not pair.results.lengths:
            return tuple(made)
        nested = pair.results.nested([*made, *[None] * len(pair.written)])
        return nested[: len(nested) - len(pair.written)]

    def _view(self, k: int, kind: str, which: int, found: Sequence[torch.Tensor]) -> torch.Tensor:
        first_content = len(self.places) - len(self.pair.written)
        if kind == "argument":
            base, array = self.tensors[which], self.leaves[which]
        elif which >= first_content:
            base, array = self.tensors[self.pair.written[which - first_content]], self.arrays[which]
        else:
            base, array = found[self.places[which][1]], self.arrays[which]
        if base.requires_grad and not self._flows_into(k):
            base = base.detach()
        view = shared_memory.view(base, array, self.arrays[k])
        return view.detach() if not self.pair.results.lengths and k in self.executor.program.tier0.detached else view


class _Saved:
    """Stands for a captured tensor that autograd keeps."""


class _Later:
    """What a call leaves for its backward: no tensor that autograd made is in here, or nothing would ever be freed."""

    def __init__(self, call: _Call, pullback: Pullback, held: list[Any], positions: list[int], count: int) -> None:
        self.pair, self.pullback, self.held, self.positions, self.count = call.pair, pullback, held, positions, count
        self.generator, self.flows = call.generator, call.flows
        written = self.pair.written
        self.lists = any(isinstance(h, int) or h == ([],) for h in held)
        needs_forward = self.lists or bool(written) or any(not self._is_tracked(capture) for capture in call.pair.captures)
        self.again: Again | None = None
        if needs_forward and call.original is not None and not call.lengths:
            self.again = Again.of(call.original, call.tensors, self.pair, count)
        self.leaves: list[Any] | None = None
        if (needs_forward and not written) or self.again is not None:
            self.leaves = [leaf if t is None else t for t, leaf in zip(call.tensors, call.leaves, strict=True)]
            self.versions = [0 if t is None or t.is_inference() else t._version for t in call.tensors]

    def _is_tracked(self, capture: Capture) -> bool:
        """Whether autograd knows what a captured tensor depends on: of an argument, and of a result that it got as the call's own."""
        return capture.kind == "argument" or (capture.kind == "result" and capture.index in self.positions)

    def values(self, saved: Sequence[torch.Tensor], convert: Any) -> tuple[Any, ...]:
        """What was captured."""
        items = iter(saved)
        found: list[Any] = []
        for held in self.held:
            if held is _Saved:
                found.append(convert(next(items)))
            elif isinstance(held, int):
                found.append([convert(next(items)) for _ in range(held)])
            else:
                found.append(held[0])
        return tuple(found)

    def cotangents(self, given: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """One per result of the pair."""
        all_: list[torch.Tensor | None] = [None] * self.count
        for k, cotangent in zip(self.positions, given, strict=True):
            if k in self.pair.seeds:
                all_[k] = cotangent
        return all_

    def backward(self, saved: Sequence[torch.Tensor], given: Sequence[torch.Tensor | None]) -> Iterator[torch.Tensor | None]:
        """The gradients of what the call was made for, in order."""
        cotangents = [None if t is None else torch_tensors.array(t) for t in self.cotangents(given)]
        pullback = self.pullback.holding(self.values(saved, torch_tensors.array))
        found = self._reached(pullback(cotangents, zeros=self.flows is not None), cotangents)
        return (None if g is None else torch_tensors.tensor(g) for g in found)

    def _reached(self, gradients: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        """The gradients; None for a leaf that is in no result with a cotangent, where the path of the call decides that."""
        if self.flows is None:
            return gradients
        reached = 0
        for flow, cotangent in zip(self.flows, cotangents, strict=True):
            reached |= flow if cotangent is not None else 0
        return [g if reached >> n & 1 else None for n, g in enumerate(gradients)]

    def tracked(self, saved: Sequence[torch.Tensor], given: Sequence[torch.Tensor | None]) -> Iterator[torch.Tensor | None]:
        """The gradients, which have gradients themselves."""
        if self.again is None:
            return self._by_pair(saved, given)
        if not self.lists and not self.pair.written:
            with contextlib.suppress(NotDifferentiable):  # of branches some have none
                return self._by_pair(saved, given)
        return iter(self._by_original(self.cotangents(given)))

    def _by_pair(self, saved: Sequence[torch.Tensor], given: Sequence[torch.Tensor | None]) -> Iterator[torch.Tensor | None]:
        pair, name = self.pair, self.pair.forward.program.name
        cotangents = self.cotangents(given)
        backward, seeds = self.pullback.seeds([c is not None for c in cotangents])
        if backward is None:
            return iter([None] * len(pair.wrt))
        captured = list(self.values(saved, lambda t: t))
        if self.lists:
            raise NotDifferentiable(f"{name} has no second derivatives: it saves tensors in a list: let it make no lists in loops")
        if pair.written:
            raise NotDifferentiable(f"{name} has no second derivatives: it writes its arguments: let it write to copies")
        if not all(self._is_tracked(pair.captures[i]) for i in backward.order):
            handed = self._forward_again()
            first_saved = len(handed) - sum(capture.kind == "saved" for capture in pair.captures)
            for at, capture in enumerate(pair.captures):
                if capture.kind != "argument":
                    captured[at] = handed[capture.index + (first_saved if capture.kind == "saved" else 0)]
        there = [captured[i] for i in backward.order]
        for k in seeds:
            seed = cotangents[k]
            if seed is None:
                shape = self.pullback.shape(k)
                seed = torch_tensors.tensor(np.zeros(*shape))
            there.append(seed)
        found = _on_tensors(backward.executor, there)
        by_position = dict(zip(backward.positions, found, strict=True))
        gradients = [by_position.get(n) for n in range(len(pair.wrt))]
        if self.flows is not None:
            zeros = self.pullback.zeros()
            gradients = [torch_tensors.tensor(zeros[n]) if g is None else g for n, g in enumerate(gradients)]
        return iter(self._reached(gradients, cotangents))

    def _by_original(self, cotangents: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor | None]:
        assert self.again is not None and self.leaves is not None
        self._check_versions()
        with torch.random.fork_rng(devices=[], enabled=self.generator is not None):
            if self.generator is not None:
                torch.set_rng_state(self.generator)
            return self.again.gradients([self.leaves[i] for i in self.pair.wrt], cotangents)

    def _forward_again(self) -> tuple[Any, ...]:
        assert self.leaves is not None
        self._check_versions()
        if self.generator is None:
            return _on_tensors(self.pair.forward, self.leaves)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.generator)
            return _on_tensors(self.pair.forward, self.leaves)

    def _check_versions(self) -> None:
        assert self.leaves is not None
        for i, (leaf, version, name) in enumerate(zip(self.leaves, self.versions, self.pair.names, strict=True)):
            if i not in self.pair.written and isinstance(leaf, torch.Tensor) and not leaf.is_inference() and leaf._version != version:
                raise RuntimeError(
                    f"{self.pair.forward.program.name}: {name}, which is needed for second derivatives, has been modified by an inplace "
                    f"operation: is at version {leaf._version}; expected version {version}"
                )


def _on_tensors(executor: ProgramExecutor, values: Sequence[Any]) -> tuple[Any, ...]:
    """A program of tensors and numbers, joined where a gradient is wanted of some."""
    tensors = [v if isinstance(v, torch.Tensor) else None for v in values]
    return joined(executor, [torch_tensors.array(v) if isinstance(v, torch.Tensor) else v for v in values], tensors)


class Tierup(torch.autograd.Function):  # type: ignore[misc]  # of PyTorch, which is optional, nothing is known
    """The node of a call in PyTorch's graph: as many inputs as tensors require a gradient, as many outputs as results have own memory."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *inputs: torch.Tensor) -> Any:
        """Run the call. `inputs` are passed so that PyTorch sees which tensors require a gradient."""
        return call.run(ctx)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """A gradient or None for each input of `forward`. A cotangent may be None. Raises TypeError for a batch of cotangents."""
        later: _Later = ctx.tierup
        transforms.refuse_batches(later.pair.forward.program.name, cotangents)
        saved = ctx.saved_tensors
        gradients = later.tracked if torch.is_grad_enabled() else later.backward
        return (None, *gradients(saved, cotangents))


def _flat(tensors: Sequence[Any]) -> Iterator[Any]:
    for t in tensors:
        if isinstance(t, (list, tuple)):
            yield from _flat(t)
        else:
            yield t
