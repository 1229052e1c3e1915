"""Calls of gradient functions (`tierup.value_and_grad`, `tierup.grad`) in a graph that is being built.

What is differentiated is built as a private function in a module of its own, for the kinds of arguments at hand, gets its gradients
there (a step of the compiler, `runtime/compiling/gradients.py`), and is then called like any other private function:

    func.func private @gradient_of_loss_0(%w, %x) -> (%value, %gradient_of_w)

    value, g = value_and_grad(loss)(w, x)      becomes      %value, %g = call @gradient_of_loss_0(%w, %x)

So a gradient of a gradient is no special case, and a training step around it is one program.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tierup.dialect.base.spelling import line_of
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.walking import function_names
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.reverse import reverse
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.diagnostics import Place
from tierup.frontend.errors import NotDifferentiable
from tierup.frontend.python.building.branch import for_each
from tierup.frontend.python.building.complex_numbers import NO_COMPLEX
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.frame import Frame, NeedsMutation, WillRaise
from tierup.frontend.python.building.gradient_spec import GradientSpec
from tierup.frontend.python.building.templates import Structure, lower, raise_, types_of
from tierup.frontend.python.building.values import NONE, Array, Const, OneOf, Sequence, Value, describe, is_number, is_numpy_scalar
from tierup.frontend.python.gradients.arguments import flat_names, flat_numbers, gradient_template, prepared
from tierup.frontend.python.operations.arrays import as_array, rank_ssa
from tierup.frontend.python.operations.scalars import not_, raise_if
from tierup.lowering.base.errors import CompilerCrashed
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.compiling import steps

_SOURCE = "tierup.source"

if TYPE_CHECKING:
    from tierup.frontend.python.build import Callee, ProgramBuilder


def call(program: ProgramBuilder, frame: Frame, node: ast.AST | None, spec: GradientSpec, bound: Mapping[str, Value]) -> Value:
    """The value and the gradients for arguments by parameter. Raises NotDifferentiable."""
    if frame.outside.has_complex:
        raise frame.error(node, *NO_COMPLEX, NotDifferentiable)
    arguments = prepared(frame, node, spec, bound)
    key = (spec, tuple(program.key(v) for v in arguments.values()))
    callee = program.callees.get(key)
    if callee is None:
        callee = program.callees[key] = _build(program, spec, arguments)
    found = _call(program.em, frame, callee, arguments)
    assert isinstance(found, Sequence)
    value, gradients = found.items
    assert isinstance(gradients, Sequence)
    wanted = gradients if spec.is_tuple else gradients.items[0]
    if spec.with_value:
        return Sequence("tuple", [value, wanted], frame.em.region)
    if not spec.has_aux:
        return wanted
    assert isinstance(value, Sequence)  # checked when it was built
    return Sequence("tuple", [wanted, value.items[1]], frame.em.region)


def _call(em: Emitter, frame: Frame, callee: Callee, arguments: Mapping[str, Value]) -> Value:
    """A call of what `_build` made. It takes and gives values; a program that writes arrays hands copies over."""
    operands = [s for v, t in zip(arguments.values(), callee.parameters, strict=True) for s in lower(em, v, t)]
    if not all(isinstance(key, Access) for key in callee.hidden):
        raise frame.error(None, "a list that grows beside others, under gradients", "use arrays")
    operands += [s for key in callee.hidden for s in frame.ssa_of(key)]
    value_type = ir.Type.parse("!torch.vtensor", em.context)
    taken = [_as_value(em, v, value_type) if em.mutable else v for v in operands]
    types = types_of(em, callee.result)
    given = [value_type if torch_types.is_tensor(t) else t for t in types]
    results = list(em.create("func.call", taken, given, {"callee": ir.FlatSymbolRefAttr.get(callee.name)}).results)
    if em.mutable:
        results = [
            em.create("torch.copy.to_tensor", [r], [t]).results[0] if torch_types.is_tensor(t) else r
            for r, t in zip(results, types, strict=True)
        ]
    return raise_(callee.result, iter(em.given(results)), em.region)


def _as_value(em: Emitter, operand: ir.Value, value_type: ir.Type) -> ir.Value:
    return em.create("torch.copy.to_vtensor", [operand], [value_type]).results[0] if torch_types.is_tensor(operand.type) else operand


# --- building it ---------------------------------------------------------------------------------------------------------


def _build(program: ProgramBuilder, spec: GradientSpec, arguments: Mapping[str, Value]) -> Callee:
    """The private function of `program` that gives a function's results and then its gradients."""
    inner = program.nested(mutable=False)
    try:
        callee = inner.build_callee(spec.target, arguments, lambda f, value: _checked_result(f, spec, value))
    except NeedsMutation:
        inner = program.nested(mutable=True)
        callee = inner.build_callee(spec.target, arguments, lambda f, value: _checked_result(f, spec, value))
    del callee.func.attributes["sym_visibility"]  # a private function that nobody calls would go
    callee.func.attributes[_SOURCE] = ir.StringAttr.get("jit")
    try:
        text = steps.gradients.of_function(text_of(inner.module), callee.name, flat_numbers(inner.em, arguments, spec))
    except PassFailure as e:
        raise _explained(spec, e, flat_names(arguments, callee.hidden)) from e
    except CompilerCrashed as e:
        raise NotDifferentiable(f"{spec}: the compiler failed: {e}", REMEDY) from e
    module = parse_module(text, program.context)
    func = function_names(module)[callee.name]
    del func.attributes[_SOURCE]
    own_memory(func, len(types_of(inner.em, callee.result)))
    made = func.clone(ip=ir.InsertionPoint(program.module.body)).operation
    name = program.private_name(f"gradient_of_{callee.name}")
    made.attributes["sym_name"] = ir.StringAttr.get(name)
    made.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return replace(callee, name=name, func=made, result=Structure("tuple", (callee.result, gradient_template(arguments, spec))))


def _checked_result(frame: Frame, spec: GradientSpec, value: Value | None) -> Value:
    """What the function returns, the value that is differentiated an array of rank 0 and of floats: now, or else the run raises."""
    if value is None:  # it only raises, and never comes here
        value = Sequence("tuple", [Const(0.0), NONE]) if spec.has_aux else Const(0.0)
    if not spec.has_aux:
        return _checked_value(frame, spec, value)
    if not isinstance(value, Sequence) or value.kind != "tuple" or len(value.items) != 2:
        raise WillRaise(TypeError(f"{spec}: with has_aux the function returns a tuple (value, anything else), not {describe(value)}"))
    return Sequence("tuple", [_checked_value(frame, spec, value.items[0]), value.items[1]], frame.em.region)


def _checked_value(frame: Frame, spec: GradientSpec, value: Value) -> Array:
    if isinstance(value, Sequence):
        remedy = "return the value alone, or (value, the rest) with has_aux=True"
        raise WillRaise(TypeError(f"{spec}: the function returns {describe(value)}, which has no gradient: {remedy}"))
    if isinstance(value, OneOf) and all(is_number(v) or isinstance(v, Array) for v in value.alternatives):
        with frame.named(value) as name:
            value = for_each(frame, None, name, lambda: as_array(frame, None, frame.env[name]))
    if not isinstance(value, Array) and not (isinstance(value, Const) and (is_number(value) or is_numpy_scalar(value))):
        remedy = "return the array, without float() or .item()" if is_number(value) else "return an array of rank 0"
        raise WillRaise(TypeError(f"{spec}: the function returns {describe(value)}, which has no gradient: {remedy}"))
    array = as_array(frame, None, value)
    message = f"{spec}: the function returns an array with dims, and only one of rank 0 has a gradient: return its sum or mean"
    if array.at_least > 0:
        raise WillRaise(ValueError(message))
    if array.rank is None:
        is_zero = frame.em.scalar("aten.eq.int", [rank_ssa(frame, array), frame.em.int(0)], frame.em.types.bool)
        raise_if(frame, not_(frame, is_zero), "ValueError", message)
    message = f"{spec}: the function returns an integer or a bool, which has no gradient: return an array of floats"
    if array.dtype is not None and array.dtype.kind in "iub":
        raise WillRaise(TypeError(message))
    if array.dtype is None:
        is_float = frame.em.numpy("aten.is_floating_point", [array.ssa], frame.em.types.bool)
        raise_if(frame, not_(frame, is_float), "TypeError", message)
    return array


def own_memory(func: ir.Operation, count: int) -> None:
    """Copy gradients that lie in memory which something else has too: an argument's, a result's, what broadcasting repeats."""
    block = func.regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    copy, none = ir.Type.parse("!torch.vtensor"), None
    seen = list(last.operands)[:count]
    for i, gradient in enumerate(list(last.operands)[count:]):
        if not _is_fresh(gradient) or gradient in seen:
            with last.location:
                if none is None:
                    none = constant(None, ir.InsertionPoint(last), last.location)
                made = ir.Operation.create("torch.aten.clone", results=[copy], operands=[gradient, none], ip=ir.InsertionPoint(last))
            last.operands[count + i] = made.results[0]
        seen.append(gradient)


def _is_fresh(value: ir.Value) -> bool:
    """Whether the op that gives an array makes it anew in each run."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH


REMEDY = "compute it outside of the function, or keep its result out of what is differentiated with tierup.stop_gradient"


def _explained(spec: GradientSpec, failure: PassFailure, names: list[str]) -> NotDifferentiable:
    """The error at the user's line for an op that has no gradient. `names`: what the flat arguments are to the user."""
    found = failure.diagnostics[0]
    code = spec.function.__code__
    place = found.place if found.place.line else Place(code.co_filename, line_of(code))
    text = linecache.getline(place.file, place.line)
    shown = f" (in `{text.strip()}`)" if text.strip() else ""
    message = _MARKER.sub("", found.message).replace(reverse.REMEDY, REMEDY)
    message = _ARGUMENT.sub(lambda m: f"`{names[int(m[1])]}`" if int(m[1]) < len(names) else m[0], message)
    construct, _, remedy = message.partition(": ")
    return NotDifferentiable(
        f"{spec.__name__}: {construct}{shown}", remedy, filename=place.file, lineno=place.line, offset=place.column, text=text
    )


_MARKER = re.compile("^'torch.constant.none' op ")  # stands where an op was that is no more
_ARGUMENT = re.compile(r"\bargument (\d+)")
