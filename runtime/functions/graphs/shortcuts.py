"""Python written for one graph: whether a call's arguments are those that it takes, their leaves, and its results as the user gets them.

What `CallShape.of`, `Constant.holds`, `HiddenInput.fits` and `unflatten` do by walking trees is one function each here, made when a graph
is called for the second time. For a training step of six arrays in a list of tuples they take 6 us instead of 40. Whatever is not as
expected goes the long way: a shortcut never says more than "these are just the kinds of arguments that the graph was made for".

Free of MLIR.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tierup.runtime.arguments.guards import device_arrays
from tierup.runtime.arguments.hidden import Access, Constant, HiddenInput, index_dtype_of
from tierup.runtime.arguments.lists.columns import columns_of
from tierup.runtime.arguments.trees import SWAPPED, CallShape, Leaf, Output, OutputNode, OutputTree, Tree, output_leaves, unflatten

Match = Callable[..., "tuple[Any, ...] | None"]
Finish = Callable[[Sequence[Any]], Any]

_MOST_LEAVES = 500  # Python takes 0.1 ms for each
_GONE = (AttributeError, KeyError, IndexError, NameError, TypeError, ValueError)  # of reading; the long way says what there is to say
_INT64 = np.iinfo(np.int64)


class _NoShortcut(Exception):
    """Something that only the long way takes."""


def matcher(shape: CallShape, constants: Sequence[Constant], hidden: Sequence[HiddenInput] = ()) -> Match | None:
    """A function of all arguments, each by position, that gives the leaves and then the hidden inputs, if arguments have this shape, the
    constants hold and the hidden inputs fit; else None. None where there is no such function."""
    text = _Text({"ndarray": np.ndarray, "generic": np.generic, "asarray": np.asarray, "LOW": int(_INT64.min), "HIGH": int(_INT64.max)})
    text.names.update(DEVICE=device_arrays, INDEX=index_dtype_of, columns_of=columns_of)
    leaves: list[str] = []
    text.parameters = {name: text.name() for name, _ in shape.parameters}
    try:
        for name, tree in shape.parameters:
            text.expect(tree, text.parameters[name], leaves)
        for constant in constants:
            text.hold(constant)
        for item in hidden:
            variable = text.name()
            text.lines.append(f"{variable} = {text.read(item.access)}")
            text.expect(item.leaf, variable, leaves)
    except _NoShortcut:
        return None
    if len(leaves) > _MOST_LEAVES:
        return None
    handed = "".join(f"{leaf}, " for leaf in leaves)
    made: Match = text.function(f"({', '.join(text.parameters.values())})", f"return ({handed})", gone="return None")
    return made


def finisher(output: OutputTree) -> Finish:
    """`unflatten` for one tree."""
    if isinstance(output, Output) and output.kind not in ("const", "dtype", "again"):  # most programs': nothing need be written
        return _single if output.decays else _first
    try:
        if len(list(output_leaves(output))) > _MOST_LEAVES:
            raise _NoShortcut
        text = _Text({"ndarray": np.ndarray})
        made: Finish = text.function("(r)", f"return {text.result(output, iter(range(_MOST_LEAVES)))}")
        return made
    except _NoShortcut:
        return lambda results: unflatten(output, results)


def _first(results: Sequence[Any]) -> Any:
    return results[0]


def _single(results: Sequence[Any]) -> Any:
    value = results[0]
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


class _Text:
    """Source in the making. What it names and does not define stands in `names`."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.count = 0
        self.parameters: dict[str, str] = {}

    def name(self, value: Any = None) -> str:
        """A new name: of a local variable, or of a value from outside."""
        self.count += 1
        made = f"v{self.count}"
        if value is not None:
            self.names[made] = value
        return made

    def function(self, parameters: str, last: str, gone: str = "") -> Any:
        """`gone`: what it does where something is not there that was."""
        body = "".join(f"    {line}\n" for line in [*self.lines, last])
        if gone:
            body = "    try:\n" + "".join(f"        {line}\n" for line in [*self.lines, last]) + f"    except GONE: {gone}\n"
        space = {**self.names, "GONE": _GONE}
        exec(compile(f"def shortcut{parameters}:\n{body}", "<tierup shortcut>", "exec"), space)  # noqa: S102 - our own text, made above
        return space["shortcut"]

    def unless(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return None")

    # --- arguments -----------------------------------------------------------------------------------------------------

    def expect(self, tree: Tree, variable: str, leaves: list[str]) -> None:
        """Lines that leave the function unless the value of a variable is such a tree. Raises _NoShortcut."""
        if isinstance(tree, Leaf):
            self._leaf(tree, variable, leaves)
            return
        if tree.kind == "whole":
            self._whole(tree.keys[0], variable)
            leaves += [f"{variable}[1][{i}]" for i in range(len(tree.items))]
            return
        if tree.kind == "complex":
            self.unless(f"type({variable}) is complex")
            parts = [(item, f"{variable}.{name}") for name, item in zip(tree.keys, tree.items, strict=True)]
        elif tree.kind == "dict":
            self.unless(f"type({variable}) is dict and tuple({variable}) == {self.name(tree.keys)}")
            parts = [(item, f"{variable}[{self.name((key,))}[0]]") for key, item in zip(tree.keys, tree.items, strict=True)]
        else:
            self.unless(f"type({variable}) is {tree.kind} and len({variable}) == {len(tree.items)}")
            parts = [(item, f"{variable}[{i}]") for i, item in enumerate(tree.items)]
        for item, place in parts:
            inner = self.name()
            self.lines.append(f"{inner} = {place}")
            self.expect(item, inner, leaves)

    def _whole(self, kind: object, variable: str) -> None:
        self.unless(f"type({variable}) is list")
        self.lines.append(f"{variable} = columns_of({variable})")
        self.unless(f"{variable} is not None and {variable}[0] == {self.name(kind)}")

    def _leaf(self, leaf: Leaf, variable: str, leaves: list[str]) -> None:
        if leaf.kind == "array" and leaf.ndim is not None:
            self.unless(f"(type({variable}) is ndarray or type({variable}) in DEVICE) and {variable}.ndim == {leaf.ndim}")
        elif leaf.kind == "scalar":
            self.unless(f"isinstance({variable}, generic)")
            self.lines.append(f"{variable} = asarray({variable})")
        elif leaf.kind == "numbers":
            self._whole(leaf.value, variable)
            self.lines.append(f"{variable} = {variable}[1][0]")
        elif leaf.kind == "int":
            self.unless(f"type({variable}) is int and LOW <= {variable} <= HIGH")
        elif leaf.kind in ("float", "bool"):
            self.unless(f"type({variable}) is {leaf.kind}")
        elif leaf.kind == "none":
            self.unless(f"{variable} is None")
            return
        elif leaf.kind == "str":
            self.unless(f"type({variable}) is str and {variable} == {self.name(leaf.value)}")
            return
        elif leaf.kind == "itself":
            self.unless(f"type({variable}) is {self.name(type(leaf.value))} and {variable} == {self.name(leaf.value)}")
            return
        elif leaf.kind == "object":
            self.unless(f"type({variable}) is {self.name(leaf.value)}")
            return
        else:
            raise _NoShortcut
        if leaf.value is SWAPPED:
            raise _NoShortcut
        if leaf.kind in ("array", "scalar"):
            self.unless(f"{variable}.dtype.kind {'==' if leaf.is_complex else '!='} 'c' and {variable}.dtype.isnative")
        leaves.append(variable)

    # --- what is read from outside -------------------------------------------------------------------------------------

    def read(self, access: Access) -> str:
        """An expression for what an access gives now; it may raise. Raises _NoShortcut."""
        function = access.function
        if access.root == "argument":
            found = self.parameters[access.name]
        elif access.root == "global" and function is not None:
            found = f"{self.name(function.__globals__)}[{access.name!r}]"
            if access.name not in function.__globals__:
                found = (
                    f"({found} if {access.name!r} in {self.name(function.__globals__)} else {self.name(vars(builtins))}[{access.name!r}])"
                )
        elif access.root == "closure" and function is not None and function.__closure__ is not None:
            found = f"{self.name(function.__closure__[function.__code__.co_freevars.index(access.name)])}.cell_contents"
        else:
            raise _NoShortcut
        for kind, step in access.path:
            if kind == "item":
                found += f"[{self.name((step,))}[0]]"
            elif str(step).isidentifier():
                found += f".{step}"
            else:
                raise _NoShortcut
        return found

    def hold(self, constant: Constant) -> None:
        """A line that leaves the function unless a constant is what it was. That it is the same object is seen at once."""
        arguments = ", ".join(f"{name!r}: {variable}" for name, variable in self.parameters.items())
        holds = f"{self.name(constant.holds)}({{{arguments}}})"
        try:
            if constant.kind == "same":
                assert isinstance(constant.value, Access)
                self.unless(f"{self.read(constant.access)} is {self.read(constant.value)}")
            elif constant.kind in ("value", "identity"):
                self.unless(f"{self.read(constant.access)} is {self._same(constant.value)} or {holds}")
            elif constant.kind in ("dtype", "index dtype"):
                read = self.read(constant.access)
                found = f"INDEX({read})" if constant.kind == "index dtype" else f"getattr({read}, 'dtype', None)"
                self.unless(f"{found} is {self._same(constant.value)} or {holds}")
            else:
                self.unless(holds)
        except _NoShortcut:
            self.unless(holds)

    def _same(self, value: object) -> str:
        return "None" if value is None else self.name(value)

    # --- results -------------------------------------------------------------------------------------------------------

    def result(self, tree: OutputTree, numbers: Any) -> str:
        """An expression for a part of the result."""
        if isinstance(tree, Output):
            if tree.kind == "const":
                return self._same(tree.value)
            if tree.kind == "dtype":
                raise _NoShortcut
            value = f"r[{tree.value if tree.kind == 'again' else next(numbers)}]"
            if not tree.decays:
                return value
            self.lines.append(f"{(decayed := self.name())} = {value}")
            return f"({decayed}[()] if isinstance({decayed}, ndarray) and {decayed}.ndim == 0 else {decayed})"
        if not isinstance(tree, OutputNode) or tree.kind in ("scalar_if", "each"):
            raise _NoShortcut
        items = [self.result(item, numbers) for item in tree.items]
        if tree.kind == "dict":
            keys = [f"{self.name((key,))}[0]" for key in tree.keys]
            return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, items, strict=True)) + "}"
        inner = "".join(f"{item}, " for item in items)
        if tree.kind == "complex":
            return f"complex({inner})"
        if tree.keys:
            return f"{self.name(tree.keys[0])}({inner})"
        return f"({inner})" if tree.kind == "tuple" else f"[{inner}]"
