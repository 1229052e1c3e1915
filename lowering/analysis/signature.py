"""What the guards of an entry mean for its arguments: types, values and memory, and all that follows by inference."""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.facts import dims
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.facts.inference.refine import splice
from tierup.dialect.facts.values import Bool, Float, Int, Tensor, Value
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines import analyses
from tierup.lowering.analysis.stated import guards
from tierup.lowering.analysis.views import View, contiguous_strides
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, dense_strides, stride_symbol
from tierup.lowering.building.refused import Refused

WRITEBACKS = "tierup.writebacks"
ALIASES = "tierup.result_aliases"

_SCALAR_VALUES = {ArgumentKind.INT: Int, ArgumentKind.FLOAT: Float, ArgumentKind.BOOL: Bool}


def argument_type(spec: ArgumentSpec) -> str:
    """The type that an argument has in the IR, as text."""
    if spec.kind is not ArgumentKind.ARRAY:
        return f"!torch.{spec.kind.value}"
    sizes = ",".join(str(size) if isinstance(size, int) else "?" for size in spec.sizes)
    return f"!torch.vtensor<[{sizes}],{dtypes.BY_NAME[spec.dtype].mlir}>"


def argument_values(arguments: tuple[ArgumentSpec, ...]) -> list[Value]:
    """What the guards promise about each argument, as inference has it."""
    values: list[Value] = []
    for spec in arguments:
        if spec.kind is ArgumentKind.ARRAY:
            shape = tuple(dims.symbol(size) if isinstance(size, str) else size for size in spec.sizes)
            values.append(Tensor(dtypes.BY_NAME[spec.dtype], shape))
        else:
            values.append(_SCALAR_VALUES[spec.kind](dims.symbol(spec.value) if isinstance(spec.value, str) else spec.value))
    return values


def inference_of(function: ir.Operation) -> Inference:
    """What is known of all values of an entry. Arms that are never taken go. Raises Refused for a program that raises for these types."""
    return analyses.of(function, _infer)


def _infer(function: ir.Operation) -> Inference:
    try:
        inference = infer_function(function, argument_values(guards(function)))
    except InferenceError as e:
        raise Refused(e.op, f"raises for these types: {e}") from e
    splice(function.regions[0].blocks[0], inference)  # nothing is inferred of arms that are never taken
    return inference


def symbols_of(arguments: tuple[ArgumentSpec, ...]) -> set[str]:
    """The names that the arguments give to sizes."""
    return {name for spec in arguments for name in spec.symbols}


def argument_views(block: ir.Block, arguments: tuple[ArgumentSpec, ...]) -> dict[ir.Value, View]:
    """How the arrays among the arguments lie in memory."""
    roots = {}
    for i, (value, spec) in enumerate(zip(block.arguments, arguments, strict=True)):
        if spec.kind is ArgumentKind.ARRAY:
            sizes = tuple(dims.symbol(size) if isinstance(size, str) else size for size in spec.sizes)
            strides = contiguous_strides(sizes)
            if spec.layout is Layout.STRIDED:
                strides = tuple(stride_symbol(i, d) for d in range(len(sizes)))
            elif spec.layout is Layout.COLUMNS:
                strides = dense_strides(sizes, tuple(reversed(range(len(sizes)))))
            roots[value] = View(i, 0, sizes, strides)
    return roots


def to_arguments(stated: str) -> str:
    """What is stated of a result without what it is to other results."""
    last = stated.rpartition(";")[2]
    return "fresh" if "result:" in last else last


def is_described(view: View, known: set[str]) -> bool:
    """Whether sizes (`known` by name) and strides of arguments say how a view lies, and nothing else."""
    symbols = (symbol for dim in (*view.sizes, *view.strides, view.offset) for symbol in dims.symbols(dim))
    return all(symbol.name in known or symbol.name.startswith("stride") for symbol in symbols)


def terminator(function: ir.Operation) -> ir.Operation:
    """What ends a function."""
    return last_of(function.regions[0].blocks[0])
