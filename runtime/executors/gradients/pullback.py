"""What a run leaves for its gradients: the captured values, and the backward program that takes them with cotangents. Free of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.runtime.base.errors import NotDifferentiable
from tierup.runtime.base.protocols import BackwardProgram, GradientPair
from tierup.runtime.faults import faults

Array = np.ndarray
Shape = tuple[tuple[int, ...], Any]  # an array's sizes and dtype


@dataclass(frozen=True)
class Captured:
    """A value that a pullback holds. `source`: "argument", "result" or "saved". `bytes`: of an array or a list of arrays; 0 for numbers."""

    name: str
    source: str
    bytes: int


class Pullback:
    """The gradients of one run, as a function of cotangents: it may be called again, and by several threads.

    It holds what was captured: arguments and results as they are, not copies. So it gives gradients for the values that they have when it
    is called: who writes to an array that a function took or gave should be done with its pullback, or pass a copy. (PyTorch counts an
    array's writes and raises; NumPy counts none.)
    """

    def __init__(
        self,
        pair: GradientPair | None,
        captured: tuple[Any, ...],
        results: tuple[Shape | None, ...],
        wanted: tuple[Shape, ...],
        order: int = 1,
        through: Pullback | None = None,
        flows: tuple[int, ...] | None = None,
    ) -> None:
        """`results`: of those that may have a cotangent. `through`: the pullback of the forward program, for `again`. `flows`: of each
        result which of the leaves `wrt` are in it (bits); None where no path decides."""
        self._pair, self._captured, self._results, self._wanted = pair, captured, results, wanted
        self._order, self._through, self.flows = order, through, flows

    def __call__(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[Array | None, ...]:
        """The gradients of the leaves `wrt`, in order. `cotangents`: one per result, of its sizes and dtype, None where nothing flows. A
        gradient to which nothing flows is zeros, or None without `zeros`. No gradient shares memory with another, nor with what was given.

        Raises ValueError for cotangents that are too many or too few or of other sizes, TypeError for one of a result that is no tensor of
        floating dtype.
        """
        if faults.active:
            return faults.run(self._pull, (cotangents, zeros), {})
        return self._pull(cotangents, zeros)

    def _pull(self, cotangents: Sequence[Any], zeros: bool) -> tuple[Array | None, ...]:
        call = self._call(cotangents)
        found = {} if call is None else call.backward.pull(call.values)
        return self._in_order(found, zeros)

    def again(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[tuple[Array | None, ...], SecondPullback]:
        """The gradients, and what gives the gradients of these: of the run's leaves `wrt`, and of the cotangents.

        Raises RuntimeError when the run was not made for it: `forward(..., order=2)`; NotDifferentiable where a loop saves a list of
        arrays.
        """
        if self._pair is not None and self._through is None:
            raise RuntimeError("this run kept nothing for second derivatives: forward(..., order=2)")
        if self._pair is not None and any(isinstance(v, list) and any(map(shape_of, v)) for v in self._captured):
            program = self._pair.backward.executor.program
            raise NotDifferentiable(
                f"{program.name} has no gradient: a loop saves arrays in a list, for their sizes change or the number of iterations is not "
                f"known before it (at {program.place})"
            )
        call = self._call(cotangents)
        if call is None:
            return self._in_order({}, zeros), SecondPullback(self, None, (), None, ())
        wrt = self._differentiable(call) if call.backward.positions else ()
        found, pullback = call.backward.executor.gradients.forward(call.values, wrt, self._order - 1)
        gradients = call.backward.by_position(found, call.values)
        return self._in_order(gradients, zeros), SecondPullback(self, call, wrt, pullback, call.backward.positions)

    def _call(self, cotangents: Sequence[Any]) -> Call | None:
        given = self._check(cotangents)
        backward, here = self.seeds([g is not None for g in given])
        if backward is None:
            return None
        seeds = [np.zeros(*self.shape(k)) if given[k] is None else given[k] for k in here]
        return Call(backward, here, (*[self._captured[i] for i in backward.order], *seeds))

    def shape(self, result: int) -> Shape:
        """Of a result that has a cotangent."""
        shape = self._results[result]
        assert shape is not None  # what has a cotangent is of floating dtype
        return shape

    def zeros(self) -> tuple[Array, ...]:
        """Gradients of zeros."""
        return tuple([np.zeros(shape, dtype) for shape, dtype in self._wanted])

    def _in_order(self, found: dict[int, Array], zeros: bool) -> tuple[Array | None, ...]:
        return tuple(
            [found[i] if i in found else np.zeros(shape, dtype) if zeros else None for i, (shape, dtype) in enumerate(self._wanted)]
        )

    def _check(self, cotangents: Sequence[Any]) -> list[Array | None]:
        if len(cotangents) != len(self._results):
            raise ValueError(f"{len(self._results)} results have as many cotangents, not {len(cotangents)}")
        given: list[Array | None] = []
        for k, (cotangent, result) in enumerate(zip(cotangents, self._results, strict=True)):
            if cotangent is None:
                given.append(None)
                continue
            if result is None:
                raise TypeError(f"result {k} is no array of floating dtype: it has no cotangent, so None stands for it")
            shape, dtype = result
            array = np.asarray(cotangent)
            if array.shape != shape:
                raise ValueError(f"the cotangent of result {k} has the shape {array.shape}, the result {shape}")
            if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
                raise TypeError(f"the cotangent of result {k} has the dtype {array.dtype}, the result {dtype}")
            given.append(array if array.dtype == dtype else array.astype(dtype))
        return given

    @property
    def pair(self) -> GradientPair:
        """The programs that it runs. Only of a run of which gradients were wanted."""
        assert self._pair is not None
        return self._pair

    @property
    def values(self) -> tuple[Any, ...]:
        """What is captured, in the order of `pair.captures`: for who keeps it elsewhere, see `holding`."""
        return self._captured

    def holding(self, values: tuple[Any, ...]) -> Pullback:
        """This pullback with other captured values in the same order; without any it holds nothing, and is good for nothing else."""
        return Pullback(self._pair, values, self._results, self._wanted)

    def seeds(self, there: Sequence[bool]) -> tuple[BackwardProgram | None, tuple[int, ...]]:
        """The backward program for cotangents of these results, and of which results it takes cotangents; None where nothing flows."""
        if self._pair is None:
            return None, ()
        here = tuple([k for k in self._pair.seeds if there[k]])
        if not here:
            return None, ()
        backward = self._pair.backward_from(here)
        return backward, here if backward is not self._pair.backward else self._pair.seeds

    @property
    def captured(self) -> tuple[Captured, ...]:
        """What is held until the pullback goes. A value that is an argument or a result takes no memory of its own."""
        if self._pair is None:
            return ()
        names = self._pair.backward.executor.program.names
        capture = zip(names, self._pair.captures, self._captured, strict=False)
        return tuple(Captured(name, source.kind, _bytes(value)) for name, source, value in capture)

    # --- second derivatives --------------------------------------------------------------------------------------------

    def _differentiable(self, call: Call) -> tuple[int, ...]:
        """Which arguments of a backward program depend on the run's leaves `wrt`, or are cotangents."""
        assert self._pair is not None
        found = []
        for at, i in enumerate(call.backward.order):
            capture = self._pair.captures[i]
            if shape_of(call.values[at]) is not None and (capture.kind != "argument" or capture.index in self._pair.wrt):
                found.append(at)
        count = len(call.backward.order)
        return (*found, *range(count, count + len(call.seeds)))

    def _through_forward(self, call: Call, flowing: dict[int, Array]) -> dict[int, Array]:
        """Gradients of the leaves `wrt`, by their positions, from those of what was captured, by positions in `call`."""
        pair, through = self._pair, self._through
        assert pair is not None and through is not None
        total: dict[int, Array] = {}
        handed: list[Array | None] = [None] * len(through._results)
        first_saved = len(handed) - sum([capture.kind == "saved" for capture in pair.captures])
        for at, i in enumerate(call.backward.order):
            gradient, capture = flowing.get(at), pair.captures[i]
            if gradient is None:
                continue
            if capture.kind == "argument":
                position = pair.wrt.index(capture.index)
                total[position] = gradient
            else:
                handed[capture.index + (first_saved if capture.kind == "saved" else 0)] = gradient
        for position, more in enumerate(through(handed, zeros=False)):
            if more is not None:
                total[position] = total[position] + more if position in total else more
        return total


class SecondPullback:
    """The gradients of a pullback's gradients. It may be called again, and by several threads."""

    def __init__(
        self, first: Pullback, call: Call | None, wrt: tuple[int, ...], pullback: Pullback | None, positions: tuple[int, ...]
    ) -> None:
        self._first, self._call, self._wrt, self._pullback, self._positions = first, call, wrt, pullback, positions

    def __call__(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[tuple[Array | None, ...], tuple[Array | None, ...]]:
        """The gradients of the run's leaves `wrt`, and of the cotangents that the pullback was given (None for those that were None).

        `cotangents`: one per gradient that the pullback gave, None where nothing flows.
        """
        first, call = self._first, self._call
        if len(cotangents) != len(first._wanted):
            raise ValueError(f"{len(first._wanted)} gradients have as many cotangents, not {len(cotangents)}")
        of_cotangents: list[Array | None] = [None] * len(first._results)
        if call is None or self._pullback is None:
            return first._in_order({}, zeros), tuple(of_cotangents)
        found = self._pullback([cotangents[i] for i in self._positions], zeros=False)
        flowing = {at: g for at, g in zip(self._wrt, found, strict=True) if g is not None}
        for n, k in enumerate(call.seeds):
            at = len(call.backward.order) + n
            of_cotangents[k] = flowing.pop(at, None)
            if of_cotangents[k] is None and zeros:
                of_cotangents[k] = np.zeros_like(call.values[at])
        return first._in_order(first._through_forward(call, flowing), zeros), tuple(of_cotangents)


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a backward program. `seeds`: the results whose cotangents are there. `values`: captured ones, then cotangents."""

    backward: BackwardProgram
    seeds: tuple[int, ...]
    values: tuple[Any, ...]


def shape_of(value: object) -> Shape | None:
    """Of an array of floating dtype; None for other values."""
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "f":
        return value.shape, value.dtype
    dtype = dtypes.from_numpy(value.dtype)
    return (value.shape, value.dtype) if dtype is not None and dtype.is_float else None


def _bytes(value: object) -> int:
    if isinstance(value, list | tuple):
        return sum(map(_bytes, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def own(found: Sequence[Any], given: Sequence[Any]) -> list[Array]:
    """Gradients, copied where they share memory with what they were made of, or with one another."""
    made: list[Array] = []
    seen = {id(value) for value in given}
    for array in found:
        shared = id(array) in seen
        if not shared and array.base is not None:
            shared = any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in (*given, *made))
        made.append(array.copy() if shared else array)
        seen.add(id(array))
    return made
