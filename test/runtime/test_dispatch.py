"""The choice of entry, and what only the Python twin can show. What both entries do is in test/lowering/entry/test_both_tables.py."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.lowering.entry import probe as entry_probe
from tierup.lowering.entry.records import AttributeSource, Constant, GlobalSource, Inputs, Positional, VersionRecord, work_of
from tierup.runtime.base.once import Once
from tierup.runtime.dispatching import dispatch
from tierup.runtime.dispatching.dispatch import PythonTable, make_table, native_unavailable


def slow(*args: Any, **kwargs: Any) -> str:
    return "slow"


def test_the_native_entry_works_here() -> None:
    assert native_unavailable() is None
    assert make_table(1, slow).entry == "native"


def test_the_python_entry_can_be_asked_for() -> None:
    assert make_table(1, slow, entry="python").entry == "python"
    with pytest.raises(ValueError, match="native or python"):
        make_table(1, slow, entry="fast")


def test_a_failed_probe_gives_the_python_entry_and_says_why_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_probe, "unavailable", lambda: "no such luck")
    monkeypatch.setattr(dispatch, "_said", Once())
    assert make_table(1, slow, entry="python").entry == "python"
    with pytest.warns(tierup.SlowEntryWarning, match="no such luck") as said:
        assert make_table(1, slow).entry == make_table(2, slow).entry == "python"
    assert len(said) == 1 and said[0].filename == __file__


UNKNOWN = {
    "a release that nobody looked at": "from tierup.lowering.entry import layout; del layout.RELEASES[sys.version_info[:2]]",
    "a free-threaded build": "import sysconfig; known = sysconfig.get_config_var\n"
    "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else known(name)",
}
PROGRAM = """
import sys
{unknown}
import numpy as np
import tierup

@tierup.jit
def f(x, n=2):
    if n > 3:
        return x + 1
    return np.tanh(x) * n

@tierup.jit(compile="background")
def g(x, *, scale):
    x[0] = x[0] * scale
    return {{"sum": x.sum(), "all": (x, x @ x)}}

x = np.arange(12.0)
for k in range(40):
    want = np.tanh(x[: k % 3 + 4]) * 2
    np.testing.assert_allclose(f(x[: k % 3 + 4]), want, rtol=1e-15)
    assert (f(x, n=5) == x + 1).all()
    y = x.copy()
    given = g(y, scale=2.0)
    assert given["all"][0] is y and y[0] == 0 and given["sum"] == 66 and given["all"][1] == x @ x
    tierup.wait_for_compiles()
assert f.stats().hits > 50 and g.stats().hits > 20, (f.stats(), g.stats())
try:
    f(x, x, x)
except TypeError as e:
    print(e)
"""


@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN)
def test_where_python_is_not_known_everything_works_and_one_warning_says_that_it_is_slow(unknown: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(unknown=unknown))
    done = subprocess.run([sys.executable, "-W", "always", str(path)], capture_output=True, text=True, check=True)
    assert "takes from 1 to 2 positional arguments but 3 were given" in done.stdout
    assert done.stderr.count("Warning") == done.stderr.count("SlowEntryWarning") == 1 and "native entry is not used" in done.stderr


def test_python_tables_need_neither_mlir_nor_llvm() -> None:
    code = (
        "import sys\n"
        "from tierup.runtime.dispatching.dispatch import make_table\n"
        "assert make_table(1, lambda *a: 5, entry='python').callable()(1) == 5\n"
        "assert not [m for m in sys.modules if m.startswith(('torch_mlir', 'llvmlite'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_native_entry_needs_no_mlir() -> None:
    code = (
        "import sys\n"
        "from tierup.runtime.dispatching.dispatch import make_table\n"
        "assert make_table(1, lambda *a: 5).callable()(1) == 5\n"
        "assert not [m for m in sys.modules if m.startswith('torch_mlir')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("entry", ["native", "python"])
def test_a_kernel_may_be_any_c_function(entry: str) -> None:
    """The ABI as ctypes sees it: what a kernel reads and fills."""
    seen: list[Any] = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(abi.Argument), ctypes.POINTER(abi.Result))
    def kernel(arguments: Any, results: Any) -> int:
        sizes = list((ctypes.c_int64 * 2).from_address(arguments[0].dims))
        strides = list((ctypes.c_int64 * 2).from_address(arguments[0].strides))
        elements = list((ctypes.c_float * 6).from_address(arguments[0].data))
        number = ctypes.c_int64.from_address(ctypes.addressof(arguments[1])).value
        flag = ctypes.c_int64.from_address(ctypes.addressof(arguments[2])).value
        seen.append((sizes, strides, elements, number, flag, arguments[1].dims, list((ctypes.c_int64 * 1).from_address(results[0].dims))))
        (ctypes.c_int64 * 3).from_address(results[0].data)[:] = [7, 8, 9]
        return 0

    arguments = (ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0", 3)), ArgumentSpec(ArgumentKind.INT), ArgumentSpec(ArgumentKind.BOOL))
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    assert address is not None
    table = make_table(3, slow, entry=entry)
    table.add(VersionRecord(arguments, (ResultSpec(ResultKind.BUFFER, "i64", (3,)),), address, keepalive=kernel))
    out = table.callable()(np.arange(6, dtype=np.float32).reshape(2, 3), -5, True)
    assert out.tolist() == [7, 8, 9] and out.dtype == np.int64
    assert seen == [([2, 3], [12, 4], [0, 1, 2, 3, 4, 5], -5, 1, None, [3])]


def test_inputs_say_whether_they_are_plain() -> None:
    assert Inputs(2).plain and Inputs(2, (Positional(0), Positional(1))).plain and Inputs(0).plain
    assert not Inputs(2, (Positional(1), Positional(0))).plain and not Inputs(2, (Positional(0),)).plain
    assert not Inputs(1, None, (Constant(GlobalSource({}, "a"), 1),)).plain
    for wrong in ((Positional(1),), (AttributeSource(AttributeSource(Positional(-1), "a"), "b"),)):
        with pytest.raises(ValueError):
            Inputs(1, wrong)


def test_unknown_work_is_counted_in_elements() -> None:
    arguments = (ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0", 3)), ArgumentSpec(ArgumentKind.INT))
    record = VersionRecord(arguments, (ResultSpec(ResultKind.BUFFER, "f32", (4, 5)),), 0)
    assert str(work_of(record)) == "3*s0 + 20"
    assert work_of(VersionRecord(arguments, record.results, 0, work=9)) == 9


def test_the_table_is_the_twin() -> None:
    public = {n for n in dir(PythonTable) if not n.startswith("_")}
    from tierup.lowering.entry.tables.table import NativeTable

    assert public == {n for n in dir(NativeTable) if not n.startswith("_")} - {"probe_kernel", "release", "set_tensors", "follow", "calls_until_due"}  # what only native versions need
