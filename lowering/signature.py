"""From the torch function of a request to what its kernel takes and returns.

`settle` decides, result by result, whether the caller allocates it, the kernel does, or no data is needed because it is an
argument or a view of one; and leaves in the function only the results that the kernel computes.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect import dtypes, optable
from tierup.dialect.functional.read_only import PERHAPS_READ_ONLY, READ_ONLY
from tierup.dialect.inference import dims
from tierup.dialect.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.inference.refine import splice
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.values import Bool, Float, Int, NoneValue, Tensor, Value
from tierup.dialect.mlir import ir
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.lowering import builders as b
from tierup.lowering.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec, stride_symbol
from tierup.lowering.errors import Unsupported
from tierup.lowering.layouts import order_in_memory
from tierup.lowering.objects.own_memory import ensure_apart, ensure_own, is_made
from tierup.lowering.objects.read_only import ReadOnly
from tierup.lowering.origins import Origin, origin
from tierup.lowering.transforms.materialize_boundary import LAYOUT, RESULT_KINDS
from tierup.lowering.views import Unknown, View, contiguous_strides, view_of

WRITEBACKS = "tierup.writebacks"
ALIASES = "tierup.result_aliases"
SOURCE = "tierup.source"
_TORCHS = ("torchscript", "fx")
_LOCKED = (ResultKind.BUFFER, ResultKind.ALLOCATED, ResultKind.VIEW)

_SCALARS = {"!torch.int": "int", "!torch.float": "float", "!torch.bool": "bool"}
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
            values.append(_SCALAR_VALUES[spec.kind](spec.value))  # type: ignore[arg-type]  # of the kind's own type
    return values


def unsupported(op: ir.Operation, reason: str) -> Unsupported:
    """Unsupported at an op that origins.tag has seen."""
    found = origin(op.location) or Origin(op.name.removeprefix("torch."), "")
    return Unsupported(found.op, found.place, reason)


def bake(function: ir.Operation, arguments: tuple[ArgumentSpec, ...]) -> None:
    """Replace scalar arguments whose value the guards promise by constants. The arguments stay, unused."""
    block = function.regions[0].blocks[0]
    with ir.Location.unknown(function.context), ir.InsertionPoint.at_block_begin(block):
        for argument, spec in zip(block.arguments, arguments, strict=True):
            if spec.value is None:
                continue
            if spec.kind is ArgumentKind.BOOL:
                made = b.value("torch.constant.bool", [], argument.type, value=ir.BoolAttr.get(bool(spec.value)))
            elif spec.kind is ArgumentKind.INT:
                made = b.value("torch.constant.int", [], argument.type, value=ir.IntegerAttr.get(b.integer_type(64), int(spec.value)))
            else:
                made = b.value("torch.constant.float", [], argument.type, value=ir.FloatAttr.get(ir.F64Type.get(), float(spec.value)))
            argument.replace_all_uses_with(made)


def refuse(function: ir.Operation) -> None:
    """Raise Unsupported at the first op that has no row in the op table, or whose row says that it has no native code.

    Not left to the conversions: some of torch-mlir's patterns run for ever on what they don't know.
    """
    for op in b.walk(function):
        if not op.name.startswith(("torch.aten.", "torch.prims.")):
            continue
        row = optable.lookup(op.name)
        if row is None or not row.native:
            raise unsupported(op, "has no native code")


def infer(function: ir.Operation, arguments: tuple[ArgumentSpec, ...]) -> Inference:
    """Types of all values. Raises Unsupported for a program that raises for these types."""
    try:
        inference = infer_function(function, argument_values(arguments))
    except InferenceError as e:
        raise unsupported(e.op, f"raises for these types: {e}") from e
    splice(function.regions[0].blocks[0], inference)  # nothing is inferred of arms that are never taken
    return inference


def ties(arguments: tuple[ArgumentSpec, ...], inference: Inference) -> tuple[tuple[dims.Dim, dims.Dim], ...]:
    """Sizes that must be equal for the code to be right: the kernel checks them before anything else. Raises Unsupported where only
    the run could know a size."""
    known = symbols_of(arguments)
    found: dict[tuple[dims.Dim, dims.Dim], None] = {}
    for tie in inference.ties:
        if tie.left == tie.right:
            continue
        if any(s.name not in known for side in (tie.left, tie.right) for s in dims.symbols(side)):
            raise Unsupported("", "", f"the program needs the sizes {tie.left} and {tie.right} equal, one of which only the run knows")
        found[tie.left, tie.right] = None
    return tuple(found)


def decide(function: ir.Operation, arguments: tuple[ArgumentSpec, ...], inference: Inference) -> tuple[ResultSpec, ...]:
    """The kinds of all results. Raises Unsupported for one that has no native form."""
    block = function.regions[0].blocks[0]
    returned = list(_terminator(function).operands)
    writebacks = list(ir.DenseI64ArrayAttr(function.attributes[WRITEBACKS])) if WRITEBACKS in function.attributes else []
    users = len(returned) - len(writebacks)
    stated = b.strings(function.attributes[ALIASES]) if ALIASES in function.attributes else [""] * users
    roots = _roots(block, arguments, returned[users:], writebacks)
    known = symbols_of(arguments)
    specs = [_result(value, to_arguments(stated[i]), roots, inference, known) for i, value in enumerate(returned[:users])]
    for i, value in enumerate(returned[:users]):
        _keep_apart(value, stated[i], returned, specs, inference)
    read_only, locked = ReadOnly(function, inference, argument_views(block, arguments)), _numbers(function, READ_ONLY)
    unclear = _numbers(function, PERHAPS_READ_ONLY) if ALIASES in function.attributes else range(users)
    for i, value in enumerate(returned[:users]):
        if specs[i].kind not in _LOCKED or i not in (*locked, *unclear):
            continue
        if i in locked or read_only.surely(value):
            specs[i] = replace(specs[i], read_only=True)
        elif not read_only.ensure_writable(value):
            raise _at(value, "a result is read-only on some of the paths through the program")
    specs += [_writeback(value, argument, inference, known) for value, argument in zip(returned[users:], writebacks, strict=True)]
    return tuple(specs)


def _numbers(function: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(function.attributes[name])) if name in function.attributes else []


def lay_out(
    function: ir.Operation, arguments: tuple[ArgumentSpec, ...], results: tuple[ResultSpec, ...], inference: Inference
) -> tuple[ResultSpec, ...]:
    """The results of a program of PyTorch's, each in the order of dims that eager mode gives it, where that is known (`layouts.py`)."""
    if SOURCE not in function.attributes or ir.StringAttr(function.attributes[SOURCE]).value not in _TORCHS:
        return results
    roots = argument_views(function.regions[0].blocks[0], arguments)
    return tuple(
        replace(spec, order=order_in_memory(value, roots, inference)) if spec.kind is ResultKind.BUFFER else spec
        for value, spec in zip(_terminator(function).operands, results, strict=True)
    )


def _permuted(value: ir.Value, order: tuple[int, ...], before: ir.Operation) -> ir.Value:
    """The tensor with its dims in an order; itself for ()."""
    if not order:
        return value
    context = value.type.context
    with ir.InsertionPoint(before), ir.Location.unknown(context):
        integer = ir.Type.parse("!torch.int", context)
        dims_ = [b.value("torch.constant.int", [], integer, value=ir.IntegerAttr.get(b.integer_type(64), d)) for d in order]
        listed = b.value("torch.prim.ListConstruct", dims_, ir.Type.parse("!torch.list<int>", context))
        sizes, dtype = torch_types.parse_tensor(str(value.type))
        assert sizes is not None and dtype is not None  # or there would be no buffer of it
        type_ = torch_types.tensor_type(Tensor(dtype, tuple(sizes[d] for d in order)), context=context)
        return b.value("torch.aten.permute", [value, listed], type_)


def settle(function: ir.Operation, arguments: tuple[ArgumentSpec, ...], results: tuple[ResultSpec, ...]) -> None:
    """Leave in the function only the results that the kernel computes, and say in attributes what they are."""
    terminator = _terminator(function)
    kept = [
        (_permuted(value, spec.order, terminator), spec.kind)
        for value, spec in zip(terminator.operands, results, strict=True)
        if spec.kind in _COMPUTED
    ]
    _return(function, terminator, [value for value, _ in kept])
    sweep(function)
    with ir.Location.unknown(function.context):
        function.attributes[RESULT_KINDS] = ir.ArrayAttr.get([ir.StringAttr.get(_COMPUTED[kind]) for _, kind in kept])
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([_argument_attributes(spec) for spec in arguments])
        for name in (WRITEBACKS, ALIASES, READ_ONLY, PERHAPS_READ_ONLY, "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]


def _terminator(function: ir.Operation) -> ir.Operation:
    return list(function.regions[0].blocks[0].operations)[-1].operation


def fold(function: ir.Operation, inference: Inference) -> None:
    """Replace numbers that inference knows by constants: dtypes, ranks, comparisons of lists and of strings, ..."""
    with ir.Location.unknown(function.context):
        for op in b.unerased(b.walk(function)):
            if not op.name.startswith(_PURE) or op.name.startswith("torch.constant.") or len(op.results) != 1 or op.regions:
                continue
            row = optable.lookup(op.name)
            found = inference.values.get(op.results[0])
            if (row is not None and row.raises) or not isinstance(found, (Int, Float, Bool)):
                continue
            with ir.InsertionPoint(op):
                made = _constant(found, op.results[0].type)
            if made is not None:
                op.results[0].replace_all_uses_with(made)
                inference.values[made] = found


def _constant(found: Int | Float | Bool, type_: ir.Type) -> ir.Value | None:
    kind = str(type_)
    if kind == "!torch.int" and isinstance(found, Int) and type(found.value) is int and found.value in _INT64:
        return b.value("torch.constant.int", [], type_, value=ir.IntegerAttr.get(b.integer_type(64), found.value))
    if kind == "!torch.bool" and isinstance(found, Bool) and found.value is not None:
        return b.value("torch.constant.bool", [], type_, value=ir.BoolAttr.get(found.value))
    if kind == "!torch.float" and isinstance(found, Float) and found.value is not None:
        return b.value("torch.constant.float", [], type_, value=ir.FloatAttr.get(ir.F64Type.get(), found.value))
    return None


_INT64 = range(-(1 << 63), 1 << 63)


def sweep(function: ir.Operation) -> None:
    """Erase torch ops whose results nobody uses, and what is said of symbols. Checks have no results, so they stay."""
    for op in b.unerased(reversed(list(b.walk(function)))):
        unused = op.results and not any(len(list(r.uses)) for r in op.results)
        if op.name == "torch.bind_symbolic_shape" or (op.name.startswith(_PURE) and unused):
            op.erase()


_PURE = ("torch.aten.", "torch.prims.", "torch.constant.", "torch.derefine", "torch.prim.List", "torch.prim.Tuple",
         "torch.prim.NumToTensor", "torch.vtensor.literal", "torch.tensor_static_info_cast", "torch.symbolic_int",
         "torch.prim.tolist", "torch.prim.dtype")  # fmt: skip

_COMPUTED = {
    ResultKind.BUFFER: "buffer",
    ResultKind.ARGUMENT: "buffer",
    ResultKind.ALLOCATED: "allocated",
    ResultKind.SCALAR: "scalar",
}


_OWN = (ResultKind.BUFFER, ResultKind.ALLOCATED)


def symbols_of(arguments: tuple[ArgumentSpec, ...]) -> set[str]:
    """The sizes that the arguments give names to."""
    return {size for spec in arguments for size in spec.sizes if isinstance(size, str)}


def _argument_attributes(spec: ArgumentSpec) -> ir.Attribute:
    strided = spec.kind is ArgumentKind.ARRAY and spec.layout is Layout.STRIDED
    return ir.DictAttr.get({LAYOUT: ir.StringAttr.get("strided")} if strided else {})


def argument_views(block: ir.Block, arguments: tuple[ArgumentSpec, ...]) -> dict[ir.Value, View]:
    """How the arrays among the arguments lie in memory."""
    roots = {}
    for i, (value, spec) in enumerate(zip(block.arguments, arguments, strict=True)):
        if spec.kind is ArgumentKind.ARRAY:
            sizes = tuple(dims.symbol(size) if isinstance(size, str) else size for size in spec.sizes)
            strided = spec.layout is Layout.STRIDED
            strides = tuple(stride_symbol(i, d) for d in range(len(sizes))) if strided else contiguous_strides(sizes)
            roots[value] = View(i, 0, sizes, strides)
    return roots


def _roots(block: ir.Block, arguments: tuple[ArgumentSpec, ...], written: list[ir.Value], writebacks: list[int]) -> dict[ir.Value, View]:
    """The values whose memory is an argument's once the call is over: arguments, and new contents of those written."""
    roots = argument_views(block, arguments)
    of = {view.argument: view for view in roots.values()}
    for value, argument in zip(written, writebacks, strict=True):
        roots[value] = roots[where_control_stayed(value)] = of[argument]
    return roots


def to_arguments(stated: str) -> str:
    """What is stated of a result without what it is to other results."""
    last = stated.rpartition(";")[2]
    return "fresh" if "result:" in last else last


def _keep_apart(value: ir.Value, stated: str, returned: list[ir.Value], specs: list[ResultSpec], inference: Inference) -> None:
    """See to it that a result shares no memory with those before it which the kernel computes, too: each gets memory of its own. Raises
    Unsupported where they share memory, or where no check could tell."""
    first = stated.partition(";")[0]
    kind, _, others = first.partition("result:")
    if not others or specs[returned.index(value)].kind not in _OWN:
        return
    for other, spec in ((returned[int(j)], specs[int(j)]) for j in others.split(",")):
        if spec.kind in _OWN and not (kind and (_differ(value, other) or (kind == "may_" and ensure_apart(value, other, inference)))):
            raise _of_two(value, other, "two results may share memory" if kind else "two results share memory")


def _of_two(value: ir.Value, other: ir.Value, reason: str) -> Unsupported:
    """Unsupported at a result that is a view or a choice, which a split then leaves to tier 0, rather than at what computes it: where all
    views are folded, at its line."""
    for one in (value, other):
        if not is_made(one):
            return _at(one, reason)
    return Unsupported("func.return", _at(value, reason).location, reason)


def _differ(value: ir.Value, other: ir.Value) -> bool:
    """Whether two tensors have different dtypes, and so no memory in common."""
    mine, theirs = (torch_types.parse_tensor(str(v.type))[1] for v in (value, other))
    return mine is not None and theirs is not None and mine is not theirs


def _result(value: ir.Value, stated: str, roots: dict[ir.Value, View], inference: Inference, known: set[str]) -> ResultSpec:
    type_ = str(value.type)
    if type_ in _SCALARS:
        return ResultSpec(ResultKind.SCALAR, _SCALARS[type_])
    if type_ == "!torch.none" or isinstance(inference[value], NoneValue):
        return ResultSpec(ResultKind.NONE)
    if not torch_types.is_value_tensor(value.type):
        raise _at(value, f"a result of type {type_} has no native form")
    if stated.startswith("argument:"):
        return ResultSpec(ResultKind.ALIAS, argument=int(stated.partition(":")[2]))
    if stated == "fresh":
        return _fresh(value, inference, known)
    if value in roots and not stated.startswith("view:"):
        return ResultSpec(ResultKind.ALIAS, argument=roots[value].argument)
    try:
        view = view_of(value, roots, inference)
        own = view is None and not stated.startswith("unclear_view:")  # tier 0 may give (a view of) the argument
        own = own and (not stated.startswith("may_view:") or ensure_own(value, roots, inference))
    except Unknown as e:
        raise _at(value, f"a result is a view of an argument, but {e}") from e
    if view is None:
        if stated.startswith("view:"):
            raise _at(value, f"a result is a {stated}, but no chain of views leads there")
        if not own:
            raise _at(value, "a result is an argument, or another one, on some of the paths through the program")
        return _fresh(value, inference, known)
    if stated.startswith("view:") and int(stated.partition(":")[2]) != view.argument:
        raise _at(value, f"a result is a {stated}, but its chain of views leads to argument {view.argument}")
    if not is_described(view, known):
        raise _at(value, "a result is a view of an argument, but its layout is known at run time only")
    return ResultSpec(ResultKind.VIEW, _dtype(value, inference), view.sizes, view.argument, view.offset, view.strides)


def is_described(view: View, known: set[str]) -> bool:
    """Whether sizes (`known` by name) and strides of arguments say how a view lies, and nothing else."""
    symbols = (symbol for dim in (*view.sizes, *view.strides, view.offset) for symbol in dims.symbols(dim))
    return all(symbol.name in known or symbol.name.startswith("stride") for symbol in symbols)


def _writeback(value: ir.Value, argument: int, inference: Inference, known: set[str]) -> ResultSpec:
    fresh = _fresh(value, inference, known)
    if fresh.kind is not ResultKind.BUFFER:
        raise _at(value, f"the sizes of what is written to argument {argument} are not known")
    return ResultSpec(ResultKind.ARGUMENT, fresh.dtype, fresh.sizes, argument)


def _fresh(value: ir.Value, inference: Inference, known: set[str]) -> ResultSpec:
    found = inference[value]
    assert isinstance(found, Tensor)
    dtype = _dtype(value, inference)
    if found.shape is not None and all(s.name in known for d in found.shape for s in dims.symbols(d)):
        return ResultSpec(ResultKind.BUFFER, dtype, found.shape)
    sizes, _ = torch_types.parse_tensor(str(value.type))
    if sizes is None:
        raise _at(value, "the rank of a result is not known")
    return ResultSpec(ResultKind.ALLOCATED, dtype, (0,) * len(sizes))


def _dtype(value: ir.Value, inference: Inference) -> str:
    _, dtype = torch_types.parse_tensor(str(value.type))
    if dtype is None:
        raise _at(value, "the dtype of a result is not known")
    found = inference[value]
    if isinstance(found, Tensor) and found.dtype is not None and found.dtype is not dtype:
        raise _at(value, f"its type says {dtype} but inference {found.dtype}")
    return dtype.name


def _at(value: ir.Value, reason: str) -> Unsupported:
    owner = value.owner
    return unsupported(owner.operation, reason) if isinstance(owner, (ir.Operation, ir.OpView)) else Unsupported("func.func", "", reason)


def _return(function: ir.Operation, terminator: ir.Operation, values: list[ir.Value]) -> None:
    with ir.InsertionPoint(terminator), ir.Location.unknown(function.context):
        b.op("func.return", values)
    terminator.erase()
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(type_.inputs, [v.type for v in values]))
