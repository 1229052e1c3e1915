"""What an in-place op refuses is refused where it has become a value: by tier 0, which runs the values' graph when a program is recorded."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import outcome

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse

ADD = 'torch.aten.add_.Scalar %x, %half, %one{} : !torch.tensor, !torch.float, !torch.int -> !torch.tensor'
WIDE = "torch.aten.add_.Tensor %x, %y, %one{} : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor"


def program(op: str, promotion: str) -> str:
    attribute = ' {tierup.promotion = "numpy"}' if promotion == "numpy" else ""
    return f"""
    func.func @f(%x: !torch.tensor, %y: !torch.tensor) {{
      %one = torch.constant.int 1
      %half = torch.constant.float 5.0e-01
      %0 = {op.format(attribute)}
      return
    }}
    """


@pytest.mark.parametrize("passes", ["tierup-functionalize", "tierup-functionalize,tierup-dce", "tierup-functionalize,tierup-constant-propagation"])
@pytest.mark.parametrize("promotion", ["torch", "numpy"])
@pytest.mark.parametrize(
    ("op", "x", "y", "error"),
    [(ADD, np.arange(3), np.zeros(3), TypeError), (WIDE, np.zeros(3), np.zeros((2, 3)), ValueError), (WIDE, np.zeros(1), np.zeros(3), ValueError)],
)
def test_values_raise_as_the_write_does(passes: str, promotion: str, op: str, x: np.ndarray, y: np.ndarray, error: type[Exception]) -> None:
    text = program(op, promotion)
    want, _ = outcome(text, [x, y])
    assert isinstance(want, error)
    module = parse_module(text)
    parse(passes).run(module)
    got, _ = outcome(str(module), [x, y])
    assert isinstance(got, error), got


@pytest.mark.parametrize(("promotion", "error"), [("torch", ValueError), ("numpy", TypeError)])
@pytest.mark.parametrize("typed", [True, False])
def test_of_shape_and_dtype_the_same_is_refused_first(promotion: str, error: type[Exception], typed: bool) -> None:
    """By the write, by its value, and by the arm that it makes raise: PyTorch's in-place ops refuse the shape, NumPy's the dtype."""
    text = f"""
    func.func @f(%x: !torch.tensor{"<[],si64>" if typed else ""}, %y: !torch.tensor{"<[1,3],f64>" if typed else ""}, %c: !torch.bool) {{
      %one = torch.constant.int 1
      torch.prim.If %c -> () {{
        %0 = {WIDE.format(' {tierup.promotion = "numpy"}' if promotion == "numpy" else "")}
        torch.prim.If.yield
      }} else {{
        torch.prim.If.yield
      }}
      return
    }}
    """
    if typed:
        text = text.replace(": !torch.tensor, !torch.tensor,", ": !torch.tensor<[],si64>, !torch.tensor<[1,3],f64>,")
    arguments = [np.zeros((), np.int64), np.ones((1, 3)), True]
    want, _ = outcome(text, arguments)
    assert isinstance(want, error), want
    for passes in ("tierup-functionalize", "tierup-functionalize,tierup-infer-types"):
        module = parse_module(text)
        parse(passes).run(module)
        assert ("RaiseException" in str(module)) == (typed and "infer" in passes)
        got, _ = outcome(str(module), arguments)
        assert isinstance(got, error), got
        assert promotion == "numpy" or str(got) == str(want)


TENSORS = {
    "add_": "torch.aten.add_.Tensor %x, %y, %one{} : !torch.tensor, !torch.tensor, !torch.int",
    "mul_": "torch.aten.mul_.Tensor %x, %y{} : !torch.tensor, !torch.tensor",
    "div_": "torch.aten.div_.Tensor %x, %y{} : !torch.tensor, !torch.tensor",
    "bitwise_or_": "torch.aten.bitwise_or_.Tensor %x, %y{} : !torch.tensor, !torch.tensor",
}
IN_PYTHON = {"add_": np.add, "mul_": np.multiply, "div_": np.true_divide, "bitwise_or_": np.bitwise_or}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("passes", ["tierup-functionalize", "tierup-functionalize,tierup-dce", "tierup-functionalize,tierup-infer-types"])
@pytest.mark.parametrize(("x", "y"), [("int8", "float64"), ("int32", "int64"), ("float32", "complex64"), ("bool", "int8"), ("float64", "int8")])
def test_operands_that_fit_neither_each_other_nor_the_written_dtype_raise_as_numpy_does(name: str, passes: str, x: str, y: str) -> None:
    text = program(TENSORS[name] + " -> !torch.tensor", "numpy")
    for shape in ((4, 2), (4, 3), (1, 4, 3)):
        arguments = [np.ones((4, 3), x), np.ones(shape, y)]
        want: type[Exception] | None = None
        try:
            IN_PYTHON[name](*arguments, out=np.ones((4, 3), x))
        except Exception as e:  # noqa: BLE001 - whatever it is
            want = TypeError if isinstance(e, TypeError) else type(e)
        module = parse_module(text)
        parse(passes).run(module)
        got, _ = outcome(str(module), arguments)
        assert isinstance(got, want) if want else not isinstance(got, Exception), got


@pytest.mark.parametrize("promotion", ["torch", "numpy"])
def test_a_dead_write_that_may_raise_stays(promotion: str) -> None:
    """A local tensor that nobody reads: the write of a float into it raises nevertheless."""
    text = program(ADD.replace("%x", "%l"), promotion).replace(
        "%0 =", "%none = torch.constant.none\n%l = torch.aten.clone %x, %none : !torch.tensor, !torch.none -> !torch.tensor\n%0 ="
    )
    for types in ("!torch.tensor", "!torch.tensor<[3],si64>"):
        typed = text.replace("%x: !torch.tensor,", f"%x: {types},").replace("clone %x, %none : !torch.tensor,", f"clone %x, %none : {types},")
        module = parse_module(typed)
        parse("tierup-functionalize,tierup-dce").run(module)
        got, _ = outcome(str(module), [np.arange(3), np.zeros(3)])
        assert isinstance(got, TypeError), types
