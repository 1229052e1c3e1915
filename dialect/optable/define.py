"""How an op is defined: one place, in the file of its family, that says all that is true of it.

    @op("aten.cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", kind=Kind.SCAN, infer=..., combine=Combine.ADD,
        spelled=("np.cumsum", "ndarray.cumsum"))
    def cumsum(x, dim, dtype=None):  # tier 0 with torch's semantics: arrays and Python values in the schema's order
        ...

    @cumsum.under_numpy(form="accumulating")  # tier 0 with NumPy's, and the torch ops that native code is made of
    def _(x, dim, dtype=None):
        ...

    cumsum.vjp(reads=("result",))(lambda g: ...)  # gradients/core.py says what a rule gets and gives

An op's kind and properties (`combine`, ...) say how native code for CPU and GPU is made of it: lowering has a recipe for each kind and no
list of names. An op that is defined is called like a function; that runs tier 0. What one expression says is a
lambda; all else is decorated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.optable.core import EXACT, GradientRule, Infer, InferRule, Kind, Op, ShapeError
from tierup.dialect.optable.operands import lifted

R = TypeVar("R")
Kernel = Callable[..., Any]
_PLACE = "tierup.dialect.ops."


_TIER_0 = Infer()  # what rules are given of arrays: all is known, so that they note nothing in it


class DefinedOp(Op, Generic[R]):
    """An op with its functions: `tier0` and, where NumPy's rules differ, `numpy_tier0`. `overloads`: all ops that it defines."""

    tier0: Callable[..., R]
    numpy_tier0: Callable[..., R]
    numpy_value: Callable[..., R]  # of an op that writes: what it would write, refused as it is
    copied: Callable[..., R]  # of a view: a copy of what it shows
    overloads: tuple[DefinedOp[R], ...]

    def defined_in(self, module: str) -> bool:
        """Whether the op is defined in this module of a family, given by its full name."""
        return f"{_PLACE}{self.kernel.partition(':')[0]}" == module

    def __call__(self, *operands: Any) -> R:
        """Run tier 0 with torch's semantics, on arrays and Python values in the schema's order."""
        return self.tier0(*operands)

    def under_numpy(self, *, form: str) -> Callable[[Kernel], Kernel]:
        """What the op computes in NumPy's Python; `form` names the rewriting into torch ops (rewriting/numpy_rules)."""

        def register(kernel: Kernel) -> Kernel:
            for op in self.overloads:
                op.numpy_tier0, op.numpy_form = kernel, form
                op.numpy = op.kernel.replace(".tier0", ".numpy_tier0")
            return kernel

        return register

    def checked(self, *operands: Any) -> Any:
        """What the rule of the results' types says of arrays and Python values: tier 0 refuses what the rule does, as the rule does, but
        for ValueError where sizes do not fit."""
        try:
            return self.infer(_TIER_0, [lifted(v) for v in operands])
        except ShapeError as e:
            raise ValueError(str(e)) from None

    def dtype(self, *operands: Any) -> np.dtype:
        """That of the result, with `checked`'s checks. TypeError for arrays that programs cannot hold."""
        found: DType | None = self.checked(*operands).dtype
        if found is None:
            raise TypeError(f"{self.name}: arrays of this dtype are not supported")
        return found.numpy

    def copied_as(self, schema: str) -> None:
        """Define the op that gives a copy of what this view shows, with its gradient."""
        name, operands = read_schema(schema)
        place = self.kernel.replace(".tier0", ".copied")
        fields = {"operands": operands, "tolerance": EXACT, "raises": self.raises, "gradient": self.gradient}
        copy: DefinedOp[Any] = DefinedOp(name, Kind.MOVEMENT, place, self.infer, **fields)  # type: ignore[arg-type]  # Op's fields
        shown: Any = self.__call__
        self.copied = copy.tier0 = lambda *values: shown(*values).copy()
        self.overloads, copy.overloads = (*self.overloads, copy), (copy,)

    def vjp(self, *kinds: str, reads: Iterable[str] = ()) -> Callable[[GradientRule], GradientRule]:
        """The op's gradient; `kinds`: the overloads that it is for, all unless told; `reads`: operands, by the schema's names, and results
        (`result`) that are kept until it is computed."""
        named = tuple(reads)

        def register(rule: GradientRule) -> GradientRule:
            for op in self.overloads:
                if kinds and op.name.rpartition(".")[2] not in kinds:
                    continue
                for name in named:
                    if name not in op.operands and not name.startswith("result"):
                        raise ValueError(f"the gradient of {op.name} reads '{name}', which is none of {', '.join(op.operands)}")
                op.gradient = rule, named
            return rule

        return register

    def overload(self, kind: str) -> DefinedOp[R]:
        """The one of the overloads that is called `kind`: where.overload("Scalar") is aten.where.Scalar."""
        return next(op for op in self.overloads if op.name.endswith(f".{kind}"))


def op(*schemas: str, kind: Kind, infer: InferRule, **fields: Any) -> Callable[[Callable[..., R]], DefinedOp[R]]:
    """Define the op of a schema as PyTorch writes it (native_functions.yaml), or several overloads, with the function that is decorated as
    its tier 0.

    `infer`: the rule of its results' types. `fields`: as in `Op`. Raises ValueError for a schema that cannot be read.
    """

    def define(kernel: Callable[..., R]) -> DefinedOp[R]:
        place = place_of(kernel, schemas[0])
        made: tuple[DefinedOp[R], ...] = tuple(
            DefinedOp(name, kind, f"{place}.tier0", infer, operands=operands, **fields) for name, operands in map(read_schema, schemas)
        )
        for each in made:
            each.tier0, each.__doc__, each.overloads = kernel, kernel.__doc__, made
        return made[0]

    return define


def define(schema: str, tier0: Callable[..., R], *, kind: Kind, infer: InferRule, **fields: Any) -> DefinedOp[R]:
    """The op of a schema with a tier 0 that a function made. In its module it has its name, conv2d_padding for aten.conv2d.padding."""
    tier0.__name__ = read_schema(schema)[0].partition(".")[2].replace(".", "_")
    return op(schema, kind=kind, infer=infer, **fields)(tier0)


def place_of(function: Callable[..., Any], schema: str) -> str:
    """Where the op that a function defines stands: "reductions.scans:cumsum". A lambda has the name in the schema."""
    name = function.__name__ if function.__name__ != "<lambda>" else read_schema(schema)[0].split(".")[1]
    return f"{function.__module__.removeprefix(_PLACE)}:{name}"


def read_schema(schema: str) -> tuple[str, tuple[str, ...]]:
    """The name of an op and those of its operands: ("aten.cumsum", ("self", "dim", "dtype")). Raises ValueError."""
    head, arrow, _ = schema.rpartition(" -> ")
    name, bracket, rest = head.partition("(")
    if not (arrow and bracket and rest.endswith(")")):
        raise ValueError(f"no schema: {schema!r}; write it as name(Type operand, *, Type operand=default) -> Type")
    parts = (part.strip() for part in _BRACKETS.sub("", rest[:-1]).split(","))
    return name, tuple(part.partition("=")[0].split()[-1] for part in parts if part and part != "*")


_BRACKETS = re.compile(r"\[[^]]*\]|\([^)]*\)")  # of types and defaults: int[2] padding=[0, 0] is one operand
