"""Which torch ops get effects, and that MLIR had none for them."""

from __future__ import annotations

import pytest

from tierup.dialect import optable
from tierup.dialect.language import effects
from tierup.dialect.language.context import new_context
from tierup.dialect.mlir import ir, passmanager, register_torch_dialect


def _has_interface(name: str) -> bool:
    view = type("View", (ir.OpView,), {"OPERATION_NAME": name})
    try:
        ir.MemoryEffectsOpInterface(view)
    except ValueError:
        return False
    return True


def test_native_lists_exactly_the_rows_that_mlir_gives_effects() -> None:
    plain = ir.Context(load_on_create_dialects=[])
    register_torch_dialect(plain)
    names = [f"torch.{name}" for name in optable.table()]
    with plain:
        found = {n for n in names if plain.is_registered_operation(n) and _has_interface(n)}
    assert {n for n in found if effects.has_known_effects(optable.table()[n.removeprefix("torch.")])} == effects.NATIVE


def test_attached_rows_are_those_that_only_compute() -> None:
    with new_context() as context:
        for name, row in optable.table().items():
            if context.is_registered_operation(f"torch.{name}") and f"torch.{name}" not in effects.NATIVE:
                assert _has_interface(f"torch.{name}") == effects.has_known_effects(row), name


@pytest.mark.parametrize("name", ["aten.add_.Tensor", "aten.index_select", "aten.floordiv.int"])
def test_writing_and_raising_rows_have_none(name: str) -> None:
    row = optable.lookup(name)
    assert row is not None
    assert not effects.has_known_effects(row)


def test_contexts_can_be_made_and_dropped_by_the_dozen() -> None:
    for _ in range(20):
        with new_context() as context:
            text = "func.func @f(%x: !torch.vtensor) { %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor\n return }"
            module = ir.Module.parse(text)
            passmanager.PassManager.parse("builtin.module(cse)").run(module.operation)
            assert "tanh" not in str(module)
        del context
