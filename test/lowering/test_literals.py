"""Float literals as LLVM 24 prints them, read back by llvmlite's LLVM: the same bits."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from llvmlite import binding as llvm

from tierup.lowering.base.llvm import initialise
from tierup.lowering.building import literals

_BITS = {"half": ("i16", np.uint16), "float": ("i32", np.uint32), "double": ("i64", np.uint64), "bfloat": ("i16", np.uint16)}


def _bits_of(type_: str, literal: str) -> int:
    """The bits that LLVM gives a literal of a type, once mended."""
    initialise()
    integer, dtype = _BITS[type_]
    text = f"define void @f(ptr %p) {{\n  store {type_} {literal}, ptr %p\n  ret void\n}}\n"
    jit = llvm.create_lljit_compiler()
    tracker = llvm.JITLibraryBuilder().add_ir(literals.mend(text)).export_symbol("f").link(jit, "test")
    out = np.zeros(1, dtype)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(tracker["f"])(out.ctypes.data)
    del integer
    return int(out[0])


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, -3.3333, 1e-40, 1e30, 65504.0])
@pytest.mark.parametrize("type_", ["half", "float", "double", "bfloat"])
def test_decimals_are_rounded_once_to_their_type(type_: str, value: float) -> None:
    dtype = {"half": np.float16, "float": np.float32, "double": np.float64, "bfloat": ml_dtypes.bfloat16}[type_]
    with np.errstate(over="ignore"):
        expected = np.array(value).astype(dtype)
    if not np.isfinite(np.float64(expected)):
        pytest.skip("does not fit the type")
    assert _bits_of(type_, f"{value:e}") == int(expected.view(_BITS[type_][1]))


@pytest.mark.parametrize(
    ("type_", "literal", "bits"),
    [
        ("float", "+inf", 0x7F800000), ("float", "-inf", 0xFF800000), ("float", "+qnan", 0x7FC00000), ("float", "-qnan", 0xFFC00000),
        ("float", "+nan(0x123)", 0x7FC00123), ("float", "+snan(0x200001)", 0x7FA00001), ("float", "f0x7FC00000", 0x7FC00000),
        ("double", "+inf", 0x7FF0 << 48), ("double", "f0x37A16C262777579C", 0x37A16C262777579C), ("double", "+snan(0x1)", (0x7FF0 << 48) + 1),
        ("half", "-inf", 0xFC00), ("half", "+snan(0x101)", 0x7D01), ("bfloat", "+inf", 0x7F80), ("bfloat", "+qnan", 0x7FC0),
    ],
)  # fmt: skip
def test_what_is_no_number_keeps_its_bits(type_: str, literal: str, bits: int) -> None:
    assert _bits_of(type_, literal) == bits


def test_a_literal_takes_the_type_named_last_before_it() -> None:
    mended = literals.mend("  %a = fadd float %x, 1.000000e-01\n  %b = select i1 %c, double 1.000000e-01, double %y")
    assert mended == "  %a = fadd float %x, 0x3FB99999A0000000\n  %b = select i1 %c, double 0x3FB999999999999A, double %y"


def test_names_and_texts_that_look_like_numbers_stay() -> None:
    text = 'define float @f1.5(float %x1.0) "a"="1.5" {\n  %.0e1.5 = fadd float %x1.0, %x1.0\n'
    assert literals.mend(text) == text


def test_a_literal_without_a_type_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no type"):
        literals.mend("ret 1.500000e+00")
