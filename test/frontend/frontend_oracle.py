"""The oracle of the front end's tests: the undecorated function. Its graph, run in tier 0, must do the same."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.graph import GraphResult
from tierup.frontend.python.build import build
from tierup.runtime.arguments.trees import CallShape, Leaf, Node, Tree, output_leaves, unflatten
from tierup.runtime.interpreter.translate import translate


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function as one that decorated functions may call."""
    function.__tierup_function__ = function  # type: ignore[attr-defined]  # what the front end looks for
    return function


def graph(
    function: Callable[..., Any], *args: object, ranks: bool = True, **kwargs: object
) -> tuple[GraphResult, list[object], dict[str, Any]]:
    """The graph for a call, the call's leaves and its arguments by name. Without `ranks`, the graph serves arrays of every rank."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    shape, leaves = CallShape.of(bound.arguments)
    if not ranks:
        shape = CallShape(tuple((name, _without_ranks(tree)) for name, tree in shape.parameters))
    return build(function, shape, bound.arguments), leaves, bound.arguments  # type: ignore[arg-type]  # a function


def _without_ranks(tree: Tree) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf("array") if tree.kind == "array" else tree
    return Node(tree.kind, tuple(map(_without_ranks, tree.items)), tree.keys)


def call(function: Callable[..., Any], *args: object, ranks: bool = True, **kwargs: object) -> Any:
    """What the function's graph gives in tier 0."""
    built, leaves, arguments = graph(function, *args, ranks=ranks, **kwargs)
    return run(built, leaves, arguments)


def run(built: GraphResult, leaves: list[object], arguments: dict[str, Any]) -> Any:
    assert built.module.operation.verify()
    assert all(c.holds(arguments) for c in built.constants)
    hidden = [h.read(arguments) for h in built.hidden]
    assert all(h.fits(v) for h, v in zip(built.hidden, hidden, strict=True))
    flat = translate(built.module, built.entry).call(*leaves, *hidden)
    count = len(list(output_leaves(built.output)))
    results = [] if count == 0 else [flat] if count == 1 else list(flat)
    return unflatten(built.output, results)


def check(function: Callable[..., Any], *args: Any, unranked: bool = True, **kwargs: Any) -> Any:
    """Compare graph and function on copies of the arguments: result, exception, and what was written to arguments."""
    want_args, want_kwargs = copy.deepcopy((args, kwargs))
    with np.errstate(all="ignore"):
        try:
            want: Any = function(*want_args, **want_kwargs)
        except Exception as e:
            want = e
    for ranks in (True, False) if unranked else (True,):
        got_args, got_kwargs = copy.deepcopy((args, kwargs))
        with np.errstate(all="ignore"):
            try:
                got: Any = call(function, *got_args, ranks=ranks, **got_kwargs)
            except UnsupportedSyntax:
                raise
            except Exception as e:
                got = e
        if isinstance(want, Exception):
            assert isinstance(got, Exception), f"{function.__name__}: {want!r} expected, {got!r} given"
            assert isinstance(want, type(got)) or isinstance(got, type(want)), f"{function.__name__}: {want!r} and {got!r}"
            continue
        if isinstance(got, Exception):
            raise got
        assert_same(got, want)
        assert_same(list(got_args), list(want_args), "arguments")
        assert_same(got_kwargs, want_kwargs, "arguments")
    return want


def assert_same(got: Any, want: Any, where: str = "result") -> None:
    """Same type, dtype, shape and bits; -0.0 is not 0.0, NaN is NaN."""
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want), f"{where}: {got!r} is not {want!r}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{where}[{i}]")
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            assert_same(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, (np.ndarray, np.generic)):
        assert type(got) is type(want), f"{where}: {type(got)} is not {type(want)}"
        assert got.dtype == want.dtype and got.shape == want.shape, f"{where}: {got.dtype}{got.shape} is not {want.dtype}{want.shape}"
        np.testing.assert_array_equal(got, want, err_msg=where)
        if want.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want), err_msg=f"{where}: signs")
    elif isinstance(want, float):
        assert type(got) is float and (got == want or (got != got and want != want)), f"{where}: {got!r} is not {want!r}"
    elif type(want).__module__ in ("builtins", "numpy") or isinstance(want, np.dtype):
        assert type(got) is type(want) and got == want, f"{where}: {got!r} is not {want!r}"
