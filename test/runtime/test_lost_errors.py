"""An error is a result: native code raises what tier 0 raises, also for what nobody uses, and for how arrays lie in memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.dialect.speculation.reasons import Reason


def load(tmp_path: Path, text: str) -> Callable[..., object]:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return tierup.load(path)


UNUSED_INDEX = """
func.func @main(%x: !torch.vtensor, %at: !torch.vtensor) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %0 = torch.aten.index_select %x, %zero, %at : !torch.vtensor, !torch.int, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}"""

UNUSED_SUM = """
func.func @main(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %y, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}"""

UNUSED_ITEM = """
func.func @main(%x: !torch.vtensor, %i: !torch.int) -> !torch.vtensor {
  %list = torch.prim.ListConstruct %i, %i : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.__getitem__.t %list, %i : !torch.list<int>, !torch.int -> !torch.int
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}"""


def test_an_index_out_of_range_raises_though_nobody_uses_what_was_selected(tmp_path: Path) -> None:
    f = load(tmp_path, UNUSED_INDEX)
    x = np.ones((3, 2), np.float32)
    for _ in range(3):
        f(x, np.array([2, 0]))
    assert f.stats().hits == 2
    with pytest.raises(IndexError):
        f(x, np.array([3, 0]))
    assert f.stats().bailouts == 1


def test_sizes_that_do_not_fit_raise_though_nobody_uses_the_sum(tmp_path: Path) -> None:
    f = load(tmp_path, UNUSED_SUM)
    for n in (3, 3, 4, 4, 5, 6):
        f(np.ones(n, np.float32), np.ones(n, np.float32))
    hits = f.stats().hits
    assert [v.speculation.kind for v in f.versions] == ["static", "static", "dynamic"]
    with pytest.raises(ValueError):
        f(np.ones(7, np.float32), np.ones(8, np.float32))
    f(np.ones(7, np.float32), np.ones(7, np.float32))
    assert f.stats().hits == hits + 2  # both reached the dynamic version, whose guards are on each argument alone
    assert f.stats().bailouts == 1


def test_an_item_that_is_not_there_raises_though_nobody_uses_it(tmp_path: Path) -> None:
    f = load(tmp_path, UNUSED_ITEM)
    for _ in range(3):
        f(np.ones(3, np.float32), -2)
    assert f.stats().hits == 2
    with pytest.raises(IndexError, match="list index out of range"):
        f(np.ones(3, np.float32), 2)
    assert f.stats().bailouts == 1


VIEW = """
func.func @main(%x: !torch.vtensor) -> !torch.vtensor {{
  %one = torch.constant.int 1
  %minus = torch.constant.int -1
  %size = torch.prim.ListConstruct %minus : (!torch.int) -> !torch.list<int>
  {op}
  %y = torch.aten.mul.Scalar %t, %one : !torch.vtensor, !torch.int -> !torch.vtensor
  %v = torch.aten.view %y, %size : !torch.vtensor, !torch.list<int> -> !torch.vtensor
  return %v : !torch.vtensor
}}"""
TRANSPOSED = VIEW.format(op="%t = torch.aten.t %x : !torch.vtensor -> !torch.vtensor")
SELECTED = VIEW.format(op="""%zero = torch.constant.int 0
  %t = torch.aten.select.int %x, %zero, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor""")
CONTIGUOUS = VIEW.format(op="""%s = torch.aten.t %x : !torch.vtensor -> !torch.vtensor
  %zero = torch.constant.int 0
  %t = torch.aten.contiguous %s, %zero : !torch.vtensor, !torch.int -> !torch.vtensor""")


def test_a_view_of_what_is_not_row_major_raises_in_every_call(tmp_path: Path) -> None:
    f = load(tmp_path, TRANSPOSED)
    for _ in range(4):
        with pytest.raises(ValueError, match="view size is not compatible"):
            f(np.ones((3, 2), np.float32))
    assert not f.versions
    assert Reason.STRIDES.sentence in f.explain()
    np.testing.assert_array_equal(f(np.ones((1, 2), np.float32)), np.ones(2))


@pytest.mark.parametrize("text", [SELECTED, CONTIGUOUS])
def test_a_view_of_what_is_row_major_is_native(tmp_path: Path, text: str) -> None:
    f = load(tmp_path, text)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x[1] if text == SELECTED else x.T.ravel())
    assert f.stats().hits == 2


def test_a_view_that_no_strides_refuse_is_native_of_a_strided_argument(tmp_path: Path) -> None:
    f = load(tmp_path, SELECTED)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x[1])
    assert f.stats().hits == 2


UNUSED = (
    "np.zeros(-n)", "np.eye(-n)", "np.arange(0, 5, n - 3)", "np.identity(-n)", "np.full((2, -n), 1.0)", "x.reshape(n, 2)", "np.tile(x, -n)",
    "np.repeat(x, -n)", "np.max(x[n:])", "np.argmax(x[n:])", "x.sum(axis=n)", "np.cumsum(x, axis=n)", "np.expand_dims(x, n)",
    "np.swapaxes(x, 0, n)", "np.stack((x, y))", "x + y", "np.zeros(n) + x", "n // (n - 3)", "(n - 3) ** -1.0", "np.full(2, 300 * n, np.int8)",
    "np.pad(x, -n)", "x[n]", "np.broadcast_to(x, (n, 2))[n]", "np.zeros((n, 2)).reshape(x.shape)", "x.astype(np.int64) // (n - 3)",
)  # fmt: skip
PLACES = ("    v = {}\n", "    if n > 0:\n        v = {}\n", "    for i in range(n):\n        v = {}\n", "    v = {}\n    x[0] = 7\n")
OPTIONS = ({}, {"speculate": "bailout"}, {"executor": "specializing"}, {"bailout_depth": 0})
CASES = [(line, place, options) for line in UNUSED for place in PLACES for options in OPTIONS]


@pytest.mark.parametrize(("line", "place", "options"), drawn("unused ops", CASES, 32, lambda case: case[0]))
def test_what_nobody_uses_raises_in_every_tier(tmp_path: Path, line: str, place: str, options: dict) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\ndef f(x, y, n):\n{place.format(line)}    return x + 1\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    jitted = tierup.jit(scope["f"], **options)
    for n in (3, 3, 3, 4, 1, 3):
        outcomes = []
        for function in (scope["f"], jitted):
            try:
                outcomes.append(function(np.ones(2), np.ones(3), n).tolist())
            except (ValueError, IndexError, ZeroDivisionError, OverflowError) as e:
                outcomes.append(type(e))
        assert outcomes[0] == outcomes[1], f"n = {n}"


OF_ONE_RANK = (
    "v[3:0]", "v[0]", "v[:, 0]", "v.sum(1)", "v.T @ v", "v + np.ones(7)", "np.transpose(v, (1, 0))", "v.reshape(18)", "np.concatenate([v, v])",
    "v[None][:, 1:]", "np.argmax(v, 1)", "np.expand_dims(v, 2)", "np.swapaxes(v, 0, 1)", "np.repeat(v, 2, 1)", "np.flip(v, 1)", "v << 1", "~v",
)  # fmt: skip
PATHS = ("    if n > 0:\n        v = {}\n", "    for i in range(n):\n        v = {}\n", "    v = [x, {}][min(n, 1)]\n")
OTHERS = ("np.sum(x)", "x[0]", "x[None]", "x.astype(np.int64)")
DECIDED = [(line, path, other, options) for line in OF_ONE_RANK for path in PATHS for other in OTHERS for options in OPTIONS]


@pytest.mark.parametrize(
    ("line", "path", "other", "options"),
    [("v[3:0]", PATHS[0], OTHERS[0], {}), ("np.expand_dims(v, 2)", PATHS[2], OTHERS[0], {}), *drawn("unused ops of a rank", DECIDED, 32, lambda case: case[0])],
)
def test_what_nobody_uses_raises_for_a_rank_or_dtype_that_only_the_run_knows(
    tmp_path: Path, line: str, path: str, other: str, options: dict
) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"import numpy as np\ndef f(x, n):\n    v = x\n{path.format(other)}    w = {line}\n    return x * 2\n")
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    jitted = tierup.jit(scope["f"], **options)
    for n in (0, 0, 0, 1, 1, 1, 1, 2, 0):
        outcomes = []
        for function in (scope["f"], jitted):
            try:
                outcomes.append(function(np.arange(18.0).reshape(6, 3), n).tolist())
            except (ValueError, IndexError, TypeError) as e:
                outcomes.append(type(e))
        assert outcomes[0] == outcomes[1], f"n = {n}"


UNPACKED = """
func.func @main(%x: !torch.vtensor) -> !torch.vtensor {{
  %d = torch.constant.int 0
  %k = torch.constant.int 2
  %list = torch.aten.{0} : !torch.vtensor, {1} -> !torch.list<vtensor>
  %pieces:2 = torch.prim.ListUnpack %list : !torch.list<vtensor> -> !torch.vtensor, !torch.vtensor
  %r = torch.aten.tanh {2} : !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor
}}"""


@pytest.mark.parametrize("used", ["%x", "%pieces#0"])
@pytest.mark.parametrize(
    ("cut", "operands", "fit"),
    [
        ("unbind.int %x, %d", "!torch.int", (2,)),
        ("split.Tensor %x, %k, %d", "!torch.int, !torch.int", (3, 4)),
        ("chunk %x, %k, %d", "!torch.int, !torch.int", (0, 2, 3, 4, 5, 6)),
    ],
)
def test_a_list_of_another_number_of_items_raises_in_every_version(
    tmp_path: Path, cut: str, operands: str, fit: tuple[int, ...], used: str
) -> None:
    f = load(tmp_path, UNPACKED.format(cut, operands, used))
    x = np.linspace(0, 1, 6)
    for n in (2, 2, 2, 3, 3, 4, 5, 6, 4, 3, 1, 0, 2):
        if n in fit:
            expected = x[:n] if used == "%x" else x[0] if "unbind" in cut else x[: 2 if "split" in cut else -(-n // 2)]
            np.testing.assert_allclose(f(x[:n]), np.tanh(expected))
        else:
            with pytest.raises(ValueError, match="unpack"):
                f(x[:n])
    assert f.stats().hits or used == "%x"  # what nobody uses may be tier 0's


TAKEN = """
func.func @main(%x: !torch.vtensor, %i: !torch.int) -> !torch.vtensor {{
  %d = torch.constant.int 0
  %k = torch.constant.int 2
  %list = torch.aten.split.Tensor %x, %k, %d : !torch.vtensor, !torch.int, !torch.int -> !torch.list<vtensor>
  %item = torch.aten.__getitem__.t %list, {0} : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %r = torch.aten.tanh {1} : !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor
}}"""


@pytest.mark.parametrize(("position", "used"), [("%k", "%item"), ("%k", "%x"), ("%i", "%x"), ("%i", "%item")])
def test_an_item_beyond_the_end_of_a_list_raises_in_every_version(tmp_path: Path, position: str, used: str) -> None:
    f = load(tmp_path, TAKEN.format(position, used))
    x = np.linspace(0, 1, 9)
    for n in (6, 6, 6, 7, 7, 8, 5, 4, 3, 9, 4):
        for i in (2, 1, 3):
            wanted = i if position == "%i" else 2
            if 2 * wanted < n:
                np.testing.assert_allclose(f(x[:n], i), np.tanh(x[:n] if used == "%x" else x[2 * wanted : min(n, 2 * wanted + 2)]))
            else:
                with pytest.raises(IndexError):
                    f(x[:n], i)


def test_an_error_is_not_lost_with_what_only_uses_it_in_vain() -> None:
    @tierup.jit
    def f(x):
        part = x[2::3]
        part - part.max()  # raises for an empty part
        return np.tanh(x)

    for n in (5, 5, 7, 8):
        np.testing.assert_allclose(f(np.ones(n)), np.tanh(np.ones(n)))
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size array"):
            f(np.ones(2))


@pytest.mark.parametrize("how", ["branch", "loop"])
def test_what_is_read_only_on_some_paths_is_not_written_there(how: str) -> None:
    def branch(x, n):
        v = np.broadcast_to(x * 2, (2, 3))
        if n > 1:
            v = np.cumprod(v, axis=0)
        v *= 2
        return v

    def loop(x, n):
        v = np.broadcast_to(x * 2, (2, 3))
        for _ in range(n):
            v = v + 1
        v[0] = 3
        return v

    plain = {"branch": branch, "loop": loop}[how]
    f = tierup.jit(plain)
    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, 2), plain(x, 2))
        with pytest.raises(ValueError, match="read-only"):
            f(x, 0)
