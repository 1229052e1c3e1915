"""From a pristine graph and a bet to native code.

Loads MLIR and LLVM: the runtime imports this module when the first version is wanted, not before.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from tierup.dialect import dtypes, optable, registry
from tierup.dialect.analysis.contiguity import VIEWS, doubtful_view
from tierup.dialect.analysis.raising import hangs_on_numbers, raises_for_values
from tierup.dialect.autodiff.formula_expansion import is_formula
from tierup.dialect.context import thread_context
from tierup.dialect.contracts import defined_functions
from tierup.dialect.functional.walk import Acts
from tierup.dialect.inference import symbols
from tierup.dialect.inference.infer import PROMOTION
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.ir_text import parse_module
from tierup.dialect.ir.rewriting import items_of
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.typed_rewriting import infer_or_remark
from tierup.dialect.ir.values import Tensor
from tierup.dialect.mlir import ir
from tierup.dialect.pipelines import custom, diagnostics
from tierup.dialect.pipelines.reproducer import Reproducer
from tierup.dialect.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.transforms.stack_lists import grows_lists
from tierup.lowering import builders as b
from tierup.lowering import faults
from tierup.lowering import signature as kernel_signature
from tierup.lowering.abi import ArgumentKind, ArgumentSpec, Layout, Request
from tierup.lowering.cuda import cached
from tierup.lowering.errors import CompileError, Unsupported
from tierup.lowering.objects import cache, copies_kept, store
from tierup.lowering.pipelines import STAGES
from tierup.lowering.service import request_json
from tierup.lowering.transforms.unpack_lists import check_items
from tierup.runtime.explaining import dump, plans
from tierup.runtime.explaining.plans import NotCompiled, Produced, is_passing, note, note_code, request_for
from tierup.runtime.options import Options

# The inliner must not canonicalise: what torch's patterns rewrite loses its `tierup.promotion` (aten.sign to aten.sgn, for one)
VALUES = registry.parse(
    "builtin.module(inline{default-pipeline=},tierup-expand-to-torch,tierup-functionalize,tierup-remove-list-mutation)"
)
# By pass, the ops that it expands. What tierup-explicit-promotion makes is typed; what these make is not.
_EXPANDED: dict[str, Callable[[ir.Operation], bool]] = {
    "tierup-expand-formulas": is_formula,
    "tierup-expand-sum-to-size": lambda op: op.name == "torch.operator",
}
_TYPES = "func.func(tierup-infer-types,tierup-explicit-promotion)"
_EXPANSIONS = f"{','.join(_EXPANDED)},func.func(tierup-infer-types)"
TYPES = registry.parse(f"builtin.module({_TYPES})")
TYPES_OF_EXPANDED = registry.parse(f"builtin.module({_TYPES},{_EXPANSIONS})")
TYPES_OF_LISTS = registry.parse(f"builtin.module(func.func(tierup-infer-types),tierup-stack-lists,{_TYPES},{_EXPANSIONS})")
FORCED = "tierup.forced_losses"  # the unit attribute of one whose bets can be lost at will (`runtime/faults.py`)
GUARDED = "tierup.guarded"  # the unit attribute of a function with bets in mid-program: its graph is in values, its arguments are refined
CLEAN = registry.parse("builtin.module(canonicalize,cse)")


def to_values(graph: str) -> str:
    """The graph with mutation turned into values (`tierup-functionalize`). Raises NotCompiled."""
    module = parse_module(graph)
    try:
        with step(module, VALUES):
            VALUES.run(module, verify_each=False)
    except PassFailure as e:
        raise NotCompiled(Reason.ACTS if isinstance(e, Acts) else Reason.MUTATION, str(e), place_of_failure(e)) from e
    return _text(module)


def specialise(values: str, entry: str, arguments: tuple[ArgumentSpec, ...]) -> str:
    """The text of the graph with every type inferred from the guards. Raises NotCompiled."""
    dump.stage("values", values)
    module = ir.Module.parse(values, thread_context())  # `to_values` has verified it
    with module.context, ir.Location.unknown():
        refine_arguments(registry_function(module, entry), arguments)
    refuse_doubtful_views(registry_function(module, entry), arguments)
    return specialise_refined(module)


def specialise_refined(module: ir.Module) -> str:
    """As `specialise`, for a graph of values whose arguments have the types that the guards promise. Raises NotCompiled."""
    try:
        types = _types_of(module)
        with step(module, types):
            faults.begins("specialize")
            types.run(module, verify_each=False)
        _refuse_numpys(module)
        _custom("pre-fusion", module)
        _clean(module)
        _custom("post-fusion", module)
    except custom.CustomPassError as e:
        reason = Reason.NO_RESOURCES if is_passing(e) else Reason.CUSTOM_PASS_FAILED
        raise NotCompiled(reason, "".join(traceback.format_exception(e)).strip()) from e
    except PassFailure as e:
        raise NotCompiled(Reason.PROGRAM_RAISES, str(e), place_of_failure(e)) from e
    return _text(module)


def _types_of(module: ir.Module) -> registry.Pipeline:
    if any(map(grows_lists, defined_functions(module))):
        return TYPES_OF_LISTS
    expanded = b.first(module.operation, lambda op: any(takes(op) for takes in _EXPANDED.values()))
    return TYPES if expanded is None else TYPES_OF_EXPANDED


def _custom(when: str, module: ir.Module) -> None:
    with step(module, f"builtin.module(tierup-custom-passes{{when={when}}})"):
        custom.run(when, module)


def refuse_doubtful_views(function: ir.Operation, arguments: tuple[ArgumentSpec, ...]) -> None:
    """Raise NotCompiled for a view that raises, or may, for how its operand lies in memory: as values it could always be had."""
    strided = [i for i, spec in enumerate(arguments) if spec.kind is ArgumentKind.ARRAY and spec.layout is Layout.STRIDED]
    op = doubtful_view(function, strided)
    if op is not None and (inference := infer_or_remark(function, _functions_beside(function))) is not None:
        op = doubtful_view(function, strided, lambda v: t.shape if isinstance(t := inference.values.get(v), Tensor) else None)
    if op is not None:
        place, name = diagnostics.place_of(op.location), op.name.removeprefix("torch.")
        raise NotCompiled(Reason.STRIDES, f"{name}: its operand need not be row-major", str(place) if place.line else "", name)


def _functions_beside(function: ir.Operation) -> dict[str, ir.Operation]:
    tops = [view.operation for view in function.block.operations]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in tops if op.name == "func.func"}


@contextmanager
def step(module: ir.Module, pipeline: registry.Pipeline | str) -> Iterator[None]:
    """Around a pipeline: when it fails where dumps are kept, a reproducer is what it was given."""
    kept = dump.current()
    reproducer = Reproducer(_text(module), str(pipeline)) if kept is not None else None
    if kept is not None:
        kept.begin(str(reproducer))
    try:
        yield
    except Exception as e:
        if kept is not None and reproducer is not None:
            kept.stage("reproducer", str(replace(reproducer, error=f"{type(e).__name__}: {e}")))
        raise
    if kept is not None:
        kept.passed()


# What torch-mlir folds to true when both operands are one value: not so for NaN.
_FALSE_FOR_NAN = ("torch.aten.eq.Tensor", "torch.aten.eq.float", "torch.aten.ge.float")

# Where windows have their strides, behind the kernel size. When there are none torch-mlir reads them from beyond the list's end.
_STRIDES = {
    **{f"torch.aten.{kind}_pool{n}d": 2 for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"torch.aten.max_pool{n}d_with_indices": 2 for n in (1, 2, 3)}, **{f"torch.aten.avg_pool{n}d_backward": 3 for n in (2, 3)},
}  # fmt: skip


def _clean(module: ir.Module) -> None:
    """MLIR's canonicalizer and CSE. Comparisons that NaN decides get their right operand from an op that nothing folds meanwhile, and
    so do all ops their constant tensors and floats, for torch-mlir computes with them as tier 0 does not (zeros + -1 were 2**64); what
    may raise is used by one that nothing drops, for MLIR takes torch ops for dead when nobody uses them: an error is a result too.
    Copies stay where a result is a copy on some paths only (`lowering/objects/copies_kept.py`).
    Lists are checked to have the items that are taken out. Windows without strides get those that they mean, their own size."""
    hidden: dict[ir.Value, ir.Value] = {}
    for function in defined_functions(module):
        _merge_floats(function)
    for op in b.unerased(b.walk(module.operation)):
        if op.name.startswith("torch.aten.") and not _reads_what_was_put_in(op):
            _hide_constants(op, hidden)
        if op.name in ("torch.prim.ListUnpack", "torch.aten.__getitem__.t"):
            check_items(op)
        strides = _STRIDES.get(op.name)
        if strides is not None and items_of(op.operands[strides]) == []:
            op.operands[strides] = op.operands[strides - 1]
        if op.name in _FALSE_FOR_NAN:
            right, before = op.operands[1], ir.InsertionPoint(op)
            op.operands[1] = ir.Operation.create(copies_kept.HIDDEN, [right.type], [right], loc=op.location, ip=before).result
        if _may_raise(op):
            end = ir.InsertionPoint.at_block_terminator(op.block)
            ir.Operation.create("tierup.kept", [], list(op.results), loc=op.location, ip=end)
    copies_kept.hide(module)
    with step(module, CLEAN):
        CLEAN.run(module, verify_each=False, verify_end=False)  # ops that nobody knows stand in it; who parses the text verifies it
    for op in b.unerased(b.walk(module.operation)):
        if op.name == copies_kept.HIDDEN:
            copies_kept.restore(op)
        elif op.name == "tierup.kept":
            op.erase()


def _hide_constants(op: ir.Operation, hidden: dict[ir.Value, ir.Value]) -> None:
    """Let an op read constant tensors and floats from ops that nothing folds: one for each constant, so that equal ops still merge."""
    for i, value in enumerate(op.operands):
        made = b.defining_op(value)
        if made is None or made.name != "torch.constant.float" and not _makes_a_constant(made):
            continue
        if value not in hidden:
            after = ir.InsertionPoint.after(made)
            hidden[value] = ir.Operation.create(copies_kept.HIDDEN, [value.type], [value], loc=made.location, ip=after).result
        op.operands[i] = hidden[value]


def _merge_floats(function: ir.Operation) -> None:
    """Have each float constant of a function once, where it begins: equal constants are hidden as one."""
    first: dict[str, ir.Operation] = {}
    for op in b.unerased(b.walk(function)):
        if op.name == "torch.constant.float":
            kept = first.setdefault(str(op.attributes["value"]), op)
            if kept == op:
                op.move_before(function.regions[0].blocks[0].operations[0])
            else:
                op.results[0].replace_all_uses_with(kept.results[0])
                op.erase()


_READS = frozenset(f"torch.aten.{n}" for n in ("item", "Int.Tensor", "Float.Tensor", "IntImplicit", "FloatImplicit", "ScalarImplicit"))
_AS_IT_IS = {dtypes.i64: "!torch.int", dtypes.f64: "!torch.float"}


def _reads_what_was_put_in(op: ir.Operation) -> bool:
    """Whether an op gives the very number that a tensor was made of, as traces do for sizes: nothing is computed when that folds."""
    made = b.defining_op(op.operands[0]) if op.name in _READS else None
    if made is None or made.name not in ("torch.prim.NumToTensor.Scalar", "torch.vtensor.literal"):
        return False
    dtype = torch_types.parse_tensor(str(made.results[0].type))[1]
    return dtype is not None and _AS_IT_IS.get(dtype) == str(op.results[0].type)


def _makes_a_constant(op: ir.Operation) -> bool:
    """Whether an op makes a tensor of numbers alone."""
    return len(op.results) == 1 and is_tensor(op.results[0].type) and not any("tensor" in str(v.type) for v in op.operands)


def _may_raise(op: ir.Operation) -> bool:
    """Whether an op may raise though its types are inferred: for what is in its operands, or for numbers that only the run knows."""
    row = optable.lookup(op.name)
    if row is None or len(op.regions):
        return False
    listed = [item for v in op.operands for item in items_of(v) or ()]
    hangs = any("?" in str(v.type) for v in (*op.operands, *listed)) or hangs_on_numbers(op, row)
    return hangs or op.name in VIEWS or raises_for_values(op, row)


def _refuse_numpys(module: ir.Module) -> None:
    """Raise NotCompiled for an op that still follows NumPy's rules: the canonicaliser knows torch's only."""
    for op in b.walk(module.operation):
        if PROMOTION in op.attributes:
            place, name = diagnostics.place_of(op.location), op.name.removeprefix("torch.")
            detail = f"{name} follows NumPy's rules here, which no torch op gives"
            raise NotCompiled(Reason.NO_LOWERING, detail, str(place) if place.line else "", name)


_LISTS = "it carries a list of tensors, and not just one more in each iteration, of sizes that stand still"


def _place_of_lists(text: str) -> str | None:
    """Where the first loop is that carries a list of tensors, which `tierup-stack-lists` left one; None when there is none."""
    module = parse_module(text)
    for func in defined_functions(module):
        for op in b.walk(func):
            if op.name == "torch.prim.Loop" and any(str(r.type).startswith("!torch.list<vtensor") for r in op.results):
                place = diagnostics.place_of(op.location)
                return str(place) if place.line else ""
    return None


_values = lru_cache(maxsize=64)(to_values)  # a graph is specialised more than once
forget_values = _values.cache_clear


def produce(
    graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options, dumped: tuple[str, int] | None = None
) -> Produced:
    """Native code for a pristine graph under guards, or for one that is GUARDED, not loaded. It is kept on disk. Raises NotCompiled.

    A worker is asked for it by this name; `dumped` then says where its parent keeps what is kept of the compile (`dump.Dump.where`).
    """
    before = len(store.reports())
    if dumped is None:
        produced, facts = _produce(graph, entry, arguments, options), {}
    else:
        with dump.continued(*dumped) as elsewhere:
            produced, facts = _produce(graph, entry, arguments, options), elsewhere.facts
    return replace(produced, facts=facts, reports=store.reports()[before:])


def _produce(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> Produced:
    start = time.perf_counter()
    if GUARDED in graph:
        specialised = specialise_refined(parse_module(graph))
    else:
        specialised = specialise(_values(graph), entry, arguments)
    request = replace(request_for(specialised, entry, arguments, options), force=FORCED in graph)
    kept = dump.current()
    if kept is not None:
        note(kept, request)
        kept.note(pipelines={"values": str(VALUES), "types": str(TYPES), "clean": str(CLEAN)} | {p.name: p.text for p in STAGES})
        kept.begin(str(Reproducer(request.ir, request=json.dumps(request_json.to_dict(request)))))
    try:
        keep = None if kept is None else kept.stage
        on_cpu = options.backend == "cpu"
        artifact, from_disk = (
            cache.obtain(request, keep) if on_cpu else cached.obtain(request, options.target, keep, libraries=options.libraries)
        )
    except Unsupported as e:
        if (e.op == "prim.Loop" or "not known" in e.reason) and (place := _place_of_lists(specialised)) is not None:
            raise NotCompiled(Reason.NO_LOWERING, f"prim.Loop: {_LISTS}", place, "prim.Loop") from e
        if not e.op:  # no op is to blame
            raise NotCompiled(Reason.TYPE_UNKNOWN, e.reason, e.location) from e
        raise NotCompiled(Reason.NO_LOWERING, f"{e.op}: {e.reason}", e.location, e.op) from e
    except CompileError as e:
        path = kept.reproducer if kept is not None else dump.write(f"{entry}-{e.stage}", e.reproducer)
        raise NotCompiled(Reason.COMPILE_FAILED, f"{e}; reproducer: {path}" if path else str(e)) from e
    if kept is not None:
        kept.passed()
        note_code(kept, artifact, from_disk)
    plans.keep(graph, entry, arguments, specialised)
    return Produced(request, artifact, (time.perf_counter() - start) * 1e3)


def stages(request: Request, wanted: Collection[str]) -> dict[str, str]:
    """The texts of a version's stages, compiled again for the purpose."""
    from tierup.lowering import compile as lowering  # here: a version whose code is on disk needs none of it

    return lowering.compile(request, stages=wanted).stages


def registry_function(module: ir.Module, entry: str) -> ir.Operation:
    return next(f for f in registry.functions(module.operation) if ir.StringAttr(f.attributes["sym_name"]).value == entry)


def refine_arguments(function: ir.Operation, arguments: tuple[ArgumentSpec, ...]) -> None:
    """Give a function's arguments the types that the guards promise, and bind the symbols of their sizes."""
    block = function.regions[0].blocks[0]
    for argument, spec in zip(block.arguments, arguments, strict=True):
        argument.set_type(ir.Type.parse(kernel_signature.argument_type(spec), function.context))
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], type_.results))
    shapes = {a: s.sizes for a, s in zip(block.arguments, arguments, strict=True) if s.kind is ArgumentKind.ARRAY}
    symbols.bind(block, {a: sizes for a, sizes in shapes.items() if any(isinstance(d, str) for d in sizes)})


def place_of_failure(failure: PassFailure) -> str:
    """The user's line that a pass failed at, "" when it is not known."""
    return next((str(d.place) for d in failure.diagnostics if d.place.line), "")


def _text(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=True)
