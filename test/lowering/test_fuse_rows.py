"""Programs whose ops share a loop over rows (tierup-fuse-rows), against NumPy in float64, and what the pass made of them."""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import build, call, symbolic

import tierup

TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 5e-3, "bfloat16": 5e-2}
SHAPES = [
    ((7,), 0),
    ((1, 1), -1),
    ((4, 0), -1),
    ((0, 4), -1),
    ((5, 1), -1),
    ((4, 3), -1),
    ((4, 17), -1),
    ((4, 17), 0),
    ((3, 4, 17), -1),
    ((3, 4, 5), 1),
    ((2, 3, 4, 5), -1),
    ((2, 3, 4, 5), 0),
]


def softmax(axis: int, keepdim: bool = True) -> str:
    """x -> exp(x - max) / sum, op by op."""
    unsqueezed = "" if keepdim else "\n  {0}k = torch.aten.unsqueeze {0}, %axis : !torch.vtensor, !torch.int -> !torch.vtensor"
    suffix = "" if keepdim else "k"
    return f"""
  %axis = torch.constant.int {axis}
  %one = torch.constant.int 1
  %dims = torch.prim.ListConstruct %axis : (!torch.int) -> !torch.list<int>
  %keep = torch.constant.bool {str(keepdim).lower()}
  %none = torch.constant.none
  %m = torch.aten.amax %a0, %dims, %keep : !torch.vtensor, !torch.list<int>, !torch.bool -> !torch.vtensor{unsqueezed.format("%m")}
  %d = torch.aten.sub.Tensor %a0, %m{suffix}, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %e = torch.aten.exp %d : !torch.vtensor -> !torch.vtensor
  %s = torch.aten.sum.dim_IntList %e, %dims, %keep, %none : !torch.vtensor, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor{unsqueezed.format("%s")}
  %r = torch.aten.div.Tensor %e, %s{suffix} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor"""


def shares(axis: int) -> str:
    """x -> (x / (1 + sum of squares), that sum): the sums are a result too."""
    return f"""
  %axis = torch.constant.int {axis}
  %one = torch.constant.int 1
  %dims = torch.prim.ListConstruct %axis : (!torch.int) -> !torch.list<int>
  %keep = torch.constant.bool true
  %none = torch.constant.none
  %q = torch.aten.mul.Tensor %a0, %a0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %s = torch.aten.sum.dim_IntList %q, %dims, %keep, %none : !torch.vtensor, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor
  %t = torch.aten.add.Scalar %s, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %r = torch.aten.div.Tensor %a0, %t : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %r, %s : !torch.vtensor, !torch.vtensor"""


def numpy_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)


def numpy_shares(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    x = x.astype(np.float64)
    sums = (x * x).sum(axis, keepdims=True)
    return x / (sums + 1), sums


def run(body: str, x: np.ndarray, sizes=None) -> tuple[np.ndarray, ...]:
    return call(build(body, [x], sizes, level=1), [x])


def check(actual: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    assert actual.shape == expected.shape
    assert str(actual.dtype) == dtype
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=tolerance, atol=tolerance * 0.1)


def sample(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(len(shape) * 100 + shape[-1])
    return random.standard_normal(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("sizes", ["static", "symbolic"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_rows_of_every_length_and_rank(shape: tuple[int, ...], axis: int, sizes: str) -> None:
    x = sample(shape, "float32")
    results = run(shares(axis), x, symbolic([x]) if sizes == "symbolic" else None)
    for actual, expected in zip(results, numpy_shares(x, axis), strict=True):
        check(actual, expected, "float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((4, 3), -1), ((5, 1), -1), ((3, 4, 17), -1), ((4, 17), 0)], ids=str)
def test_other_floats(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = sample(shape, dtype)
    check(run(softmax(axis), x)[0], numpy_softmax(x, axis), dtype)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes_that_are_dropped_and_put_back(axis: int) -> None:
    x = sample((3, 4, 5), "float32")
    check(run(softmax(axis, keepdim=False), x)[0], numpy_softmax(x, axis), "float32")


@pytest.mark.parametrize("sizes", ["static", "symbolic"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_nan_and_infinity_stay_in_their_row(dtype: str, sizes: str) -> None:
    x = sample((6, 17), dtype)
    x[1, 3], x[2, 16], x[3, 0], x[4] = np.nan, np.inf, -np.inf, -np.inf
    actual = run(softmax(-1), x, symbolic([x]) if sizes == "symbolic" else None)[0]
    expected = numpy_softmax(x, -1)
    assert np.isnan(expected).all(-1).tolist() == [False, True, True, False, True, False]  # what the test is about
    check(actual, expected, dtype)


def test_a_strided_argument_and_rows_longer_than_the_stack_holds() -> None:
    x = sample((5000, 6), "float64").T
    assert not x.flags.c_contiguous
    check(run(softmax(-1), x)[0], numpy_softmax(x, -1), "float64")
    y = np.ascontiguousarray(x).astype(np.float16)  # widened rows, in memory of their own
    check(run(softmax(-1), y, [(6, "n")])[0], numpy_softmax(y, -1), "float16")


def test_a_softmax_in_a_loop_takes_its_stack_once() -> None:
    """A row widened from float16 is 400 bytes of stack: 50 000 times that is more than a stack has."""
    body = """
  %d = torch.constant.int -1
  %none = torch.constant.none
  %true = torch.constant.bool true
  %n = torch.constant.int 50000
  %r = torch.prim.Loop %n, %true, init(%a0) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    %1 = torch.aten.softmax.int %v, %d, %none : !torch.vtensor, !torch.int, !torch.none -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor"""
    x = sample((4, 100), "float16")
    np.testing.assert_array_equal(run(body, x)[0], np.full((4, 100), 0.01, np.float16))


@pytest.mark.parametrize("sizes", ["static", "symbolic"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (2, 3, 4, 5)], ids=str)
def test_one_nest_of_loops_over_the_rows_and_no_buffer_but_rows(shape: tuple[int, ...], sizes: str) -> None:
    x = sample(shape, "float32")
    text = build(softmax(-1), [x], symbolic([x]) if sizes == "symbolic" else None, level=1, stages=["buffers"]).stages["buffers"]
    assert text.count("scf.for") == len(shape) - 1
    allocated = [line.rpartition(" : ")[2] for line in text.splitlines() if "memref.alloc" in line]
    assert set(allocated) <= {"memref<f32>", "memref<5xf32>" if sizes == "static" else "memref<?xf32>"}, allocated


def test_many_ops_on_the_same_rows() -> None:
    lines = [
        "  %axis = torch.constant.int -1",
        "  %dims = torch.prim.ListConstruct %axis : (!torch.int) -> !torch.list<int>",
        "  %keep = torch.constant.bool true",
        "  %none = torch.constant.none",
        "  %one = torch.constant.int 1",
        "  %x0 = torch.aten.neg %a0 : !torch.vtensor -> !torch.vtensor",
    ]
    count = 14  # loops of one part of a kernel
    for i in range(count):
        lines.append(f"  %s{i} = torch.aten.sum.dim_IntList %x{i}, %dims, %keep, %none : !torch.vtensor, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor")
        lines.append(f"  %x{i + 1} = torch.aten.sub.Tensor %x{i}, %s{i}, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor")
    body = "\n".join([*lines, f"  return %x{count} : !torch.vtensor"])
    x = np.array([[1.0, 2.0], [0.5, 0.25]], np.float64)
    expected = -x
    for _ in range(count):
        expected = expected - expected.sum(-1, keepdims=True)
    text = build(body, [x], level=1, stages=["buffers"]).stages["buffers"]
    assert text.count("scf.for") == 1
    check(run(body, x)[0], expected, "float64")


@pytest.mark.parametrize("index", ["[::-1]", "[np.array([3, 0, 0, 1])]", "[:, ::-1]"])
def test_rows_that_are_read_elsewhere_are_all_written_first(index: str, tmp_path) -> None:
    """A body that loads from other rows shares no loop with what writes them."""
    (tmp_path / "program.py").write_text(
        "import numpy as np\n"
        "def f(a, b):\n"
        f"    v = np.tanh(b){index}\n"
        "    e = np.exp(a - np.max(a, axis=1, keepdims=True))\n"
        "    s = e / np.sum(e, axis=1, keepdims=True) + np.sum(v, axis=1, keepdims=True)\n"
        "    return np.mean(v) + np.mean(s), s\n"
    )
    spec = importlib.util.spec_from_file_location("program", tmp_path / "program.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    f, a, b = tierup.jit(module.f), np.arange(16.0).reshape(4, 4) / 9, np.arange(16.0)[::-1].reshape(4, 4) / 7
    for _ in range(3):
        for got, want in zip(f(a, b), module.f(a, b), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert f.stats().hits == 2
