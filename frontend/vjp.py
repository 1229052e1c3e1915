"""`tierup.vjp`: the value of a function, and its vector-Jacobian product as a function of cotangents.

Forward and backward are two programs (runtime/executors/gradients), each with versions of its own; here trees become flat leaves and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.jit import jit
from tierup.runtime.arguments.trees import Leaf, Node, Output, OutputNode, OutputTree, Tree, explain_recursion, flatten, unflatten
from tierup.runtime.base.errors import NotDifferentiable
from tierup.runtime.base.options import options
from tierup.runtime.executors.gradients import pair as gradient_pair
from tierup.runtime.functions.elsewhere import AnsweredElsewhere
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.graphs.variant import Variant

_MADE = "__tierup_vjp__"  # of a Python function: the tierup function that was made of it


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(fn(*primals), pullback)`; with `has_aux`, where `fn` gives `(value, aux)`, `(value, pullback, aux)`.

    `pullback(cotangents)` gives a tuple with the gradient of each primal: the tree of the primal, None for what is no array of floats and
    no Python float (which is a float64 of rank 0 in `fn`). `cotangents` is a tree as the value is: for each array of floats an array of
    its sizes, or None where nothing flows; None for everything else. It may be called again, and by several threads.

    `fn` is a Python function or any function of tierup's. What is compiled is kept with it. Raises TypeError for what is no such function
    or a result of `has_aux` that is no pair, NotDifferentiable where there is no gradient.
    """
    function = _function(fn)
    try:
        given = tuple(_arrays(p) for p in primals)
        variant, flat = _program(function, given)
    except RecursionError:
        explain_recursion(primals, {})
        raise
    leaves: list[object] = []
    trees = [flatten(p, leaves, "primal") for p in given]
    kept = [i for i, leaf in enumerate(leaves) if _is_differentiable(leaf)]
    results, pulled = gradient_pair.forward(variant.executor, flat, kept)
    output = variant.built.output
    value = unflatten(output, results)
    if not has_aux:
        return value, Pullback(pulled, output, len(results), trees, kept)
    if not isinstance(output, OutputNode) or output.kind != "tuple" or len(output.items) != 2:
        raise TypeError(f"{function.__name__}: with has_aux the function returns a tuple (value, anything else)")
    assert isinstance(value, tuple)
    return value[0], Pullback(pulled, output.items[0], len(results), trees, kept), value[1]


class Pullback:
    """What `tierup.vjp` gives: gradients of the primals for cotangents of the value. It holds the primals and what `fn` computed from them
    that gradients need; see `captured`."""

    def __init__(
        self, flat: gradient_pair.Pullback, output: OutputTree, results: int, primals: list[Tree], differentiable: list[int]
    ) -> None:
        self._flat, self._output, self._results = flat, output, results
        self._primals, self._differentiable = primals, differentiable

    def __call__(self, cotangents: Any) -> tuple[Any, ...]:
        """Raises ValueError for cotangents that are no tree as the value is, or arrays of other sizes; TypeError for one of a value that
        has none."""
        given: list[Any] = []
        for output, cotangent, name in _cotangents(self._output, cotangents, "the cotangent"):
            if output.kind != "again":
                given.append(cotangent)
            elif cotangent is not None:
                slot: Any = output.value
                if given[slot] is not None and np.shape(given[slot]) != np.shape(cotangent):
                    raise ValueError(f"{name} has other sizes than another of the same array")
                given[slot] = cotangent if given[slot] is None else np.add(given[slot], cotangent)
        given += [None] * (self._results - len(given))  # of aux
        found = dict(zip(self._differentiable, self._flat(given), strict=True))
        numbers = iter(range(_count(self._primals)))
        return tuple(_gradient(tree, numbers, found) for tree in self._primals)

    @property
    def captured(self) -> tuple[gradient_pair.Captured, ...]:
        """The values that are held, each with its name, where it comes from ("argument", "result" or "saved") and its bytes."""
        return self._flat.captured


def _program(function: Function, given: tuple[Any, ...]) -> tuple[Variant, tuple[Any, ...]]:
    """Raises NotDifferentiable where there is no program of the whole function."""
    try:
        found = function.find(given, {})
    except AnsweredElsewhere:
        try:
            with options(strict=True):
                found = function.find(given, {})
        except UnsupportedSyntax as e:
            raise e.as_gradient() from None
    if found[0].lists.all:
        raise NotDifferentiable(f"{function.__name__} changes a list that it is given, or gives it back: make a new one of it: list(...)")
    return found


def _function(fn: Any) -> Function:
    if isinstance(fn, Function):
        return fn
    if not isinstance(fn, FunctionType):
        raise TypeError(f"tierup.vjp takes a Python function or one of tierup's, not {type(fn).__name__}")
    made: Function | None = getattr(fn, _MADE, None)
    if made is None or made.__tierup_function__ is not fn:  # functools.wraps copies attributes
        made = jit(fn)
        setattr(fn, _MADE, made)
    return made


def _arrays(tree: Any) -> Any:
    """A tree with float64s of rank 0 for Python floats."""
    if type(tree) is float:
        return np.float64(tree)
    if type(tree) in (tuple, list):
        return type(tree)(_arrays(v) for v in tree)
    return {k: _arrays(v) for k, v in tree.items()} if type(tree) is dict else tree


def _is_differentiable(leaf: object) -> bool:
    return isinstance(leaf, np.ndarray) and (leaf.dtype.kind == "f" or leaf.dtype.name == "bfloat16")


def _count(trees: list[Tree]) -> int:
    return sum(_count(list(t.items)) if isinstance(t, Node) else not t.is_static for t in trees)


def _gradient(tree: Tree, numbers: Iterator[int], found: dict[int, Any]) -> Any:
    if isinstance(tree, Leaf):
        gradient = None if tree.is_static else found.get(next(numbers))
        return gradient[()] if gradient is not None and tree.kind == "scalar" else gradient
    items = [_gradient(item, numbers, found) for item in tree.items]
    return dict(zip(tree.keys, items, strict=True)) if tree.kind == "dict" else tuple(items) if tree.kind == "tuple" else items


def _cotangents(output: OutputTree, given: Any, name: str) -> Iterator[tuple[Output, Any, str]]:
    """The results, each with its cotangent and that one's name, in order."""
    if isinstance(output, Output):
        if output.kind != "const":
            yield output, given, name
        elif given is not None:
            raise ValueError(f"{name} is for a value without a gradient, for which None stands")
        return
    if not isinstance(output, OutputNode):
        raise ValueError("a function whose paths return different kinds of values has no pullback")
    if given is None:
        given = [None] * len(output.items)
    elif (
        type(given).__name__ != output.kind or len(given) != len(output.items) or (output.kind == "dict" and set(given) != set(output.keys))
    ):
        wanted = f"with the keys {', '.join(map(repr, output.keys))}" if output.kind == "dict" else f"of {len(output.items)}"
        raise ValueError(f"{name} is a {output.kind} {wanted}, as the value is")
    keys = output.keys if output.kind == "dict" else range(len(output.items))
    for i, (key, item) in enumerate(zip(keys, output.items, strict=True)):
        yield from _cotangents(item, given[key] if isinstance(given, dict) else given[i], f"{name}[{key!r}]")
