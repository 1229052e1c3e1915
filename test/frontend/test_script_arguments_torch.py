"""What a call hands to a TorchScript program is converted and refused as TorchScript itself does it: its scripted function is the oracle."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - what torch.jit.script reads

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._jit_internal import BroadcastingList2  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


def an_int(a: int):
    return a, a + 1


def a_float(a: float):
    return a, a + 1


def a_bool(a: bool):
    return a, not a


def an_optional_int(a: Optional[int] = None):  # noqa: UP045
    return a


def an_optional_bool(a: Optional[bool] = None):  # noqa: UP045
    return a


def ints(a: List[int]):  # noqa: UP006
    return a


def floats(a: List[float]):  # noqa: UP006
    return a


def bools(a: List[bool]):  # noqa: UP006
    return a


def a_pair(a: Tuple[int, float]):  # noqa: UP006
    return a


def by_name(a: Dict[str, int]):  # noqa: UP006
    return a


def by_number(a: Dict[int, float]):  # noqa: UP006
    return a


def a_string(a: str):
    return a


def an_optional_list(a: Optional[List[int]]):  # noqa: UP006, UP045
    return a


def anything(a: Any):
    return a, isinstance(a, int), isinstance(a, Tuple[int, int]), isinstance(a, torch.Tensor)  # noqa: UP006


def one_of(a: Union[float, List[int], torch.Tensor]):  # noqa: UP006, UP007
    if isinstance(a, float):
        return a * 2, 0
    elif isinstance(a, torch.Tensor):
        return 0.5, int(a.sum().item()) + 1
    else:
        return 2.5, len(a)


PROGRAMS = (an_int, a_float, a_bool, an_optional_int, an_optional_bool, ints, floats, bools, a_pair, by_name, by_number, a_string, an_optional_list, anything, one_of)  # fmt: skip
VALUES = (
    3, 1.5, True, False, float("nan"), 2**62, "a", None, torch.tensor(3), torch.tensor(3.7), torch.tensor(-3.7), torch.tensor(True), torch.tensor([2]),
    torch.tensor([1, 2]), torch.tensor([]), [1, 2], [1.5], [True], (1, 2), (1, 2.5), (1,), (1, 2, 3), [torch.tensor(1)], [torch.tensor(1.5), 2], {"a": 1},
    {"a": 1.5}, {1: 1}, {}, [[1, 2]], np.int64(3), np.bool_(True), (), [None],
)  # fmt: skip

OTHERWISE = (  # what Python's iteration makes of a value in TorchScript, and not here: a tuple of a tensor, a dict of nothing
    ((a_pair,), (torch.Tensor,)),
    ((by_name, by_number), (torch.Tensor, type(None), tuple, list)),
    ((anything, one_of), (np.int64, np.bool_)),  # arrays here
)


def outcome(function, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(function(value))
        except Exception as e:  # noqa: BLE001 - the class is compared
            return type(e).__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_numbers_lists_and_tuples_are_converted_or_refused_as_by_torchscript(program):
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    taken = [v for v in VALUES if not any(program in programs and type(v) in types for programs, types in OTHERWISE)]
    for value in (*taken, *taken, *reversed(taken)):
        assert outcome(ours, value) == outcome(scripted, value), value


def test_what_is_one_of_several_types_is_native():
    def program(x, by: Union[float, List[int], torch.Tensor]) -> Any:  # noqa: UP006, UP007
        scaled: Any = x
        if isinstance(by, float):
            scaled = x * by
        elif isinstance(by, torch.Tensor):
            scaled = x + by
        return scaled

    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(3, 3)
    for by in (2.5, torch.ones(3), [1]) * 4:
        torch.testing.assert_close(ours(x, by), program(x, by))
    assert ours.stats().hits == 9, ours.explain()


def test_a_tensor_that_is_left_out_is_none():
    def program(x, bias: Optional[torch.Tensor] = None):  # noqa: UP045
        return torch.nn.functional.linear(x, x, bias), bias

    ours = from_torchscript(torch.jit.script(program))
    x = torch.randn(3, 3)
    for bias in (None, torch.ones(3), None, torch.ones(3)):
        torch.testing.assert_close(ours(x, bias), program(x, bias))


class Colour(Enum):
    RED = 1
    GREEN = 2


def test_dtypes_devices_and_members_of_enums_are_part_of_the_structure_of_a_call():
    def program(x, dtype: torch.dtype, device: torch.device, colour: Colour):
        if colour == Colour.RED:
            x = x * 2.5
        return torch.zeros_like(x, dtype=dtype, device=device) + x.to(dtype), x.device, colour

    scripted = torch.jit.script(program)
    ours, x, cpu = from_torchscript(scripted), torch.tensor([1.5, -2.0]), torch.device("cpu")
    ours(x, torch.float32, cpu, Colour.RED)  # an enum is known from its first call on
    for dtype, device, colour in ((torch.float64, cpu, Colour.RED), (torch.int64, "cpu", Colour.GREEN), (torch.float16, cpu, Colour.GREEN)) * 3:
        (found, *rest), (expected, *wanted) = ours(x, dtype, device, colour), scripted(x, dtype, device, colour)
        torch.testing.assert_close(found, expected)
        assert rest == wanted
    assert (ours.stats().profiled_runs, ours.stats().hits) == (3, 6), ours.explain()
    for wrong in ("float64", cpu, Colour.RED):
        with pytest.raises(RuntimeError):
            ours(x, wrong, cpu, Colour.RED)


def test_a_number_for_an_int_is_checked_in_every_tier():
    @torch.jit.script
    def program(x, n: int):
        return x.sum() * n

    ours, x = from_torchscript(program), torch.ones(3)
    for n in (2, torch.tensor(2), torch.tensor(2.9), True, torch.tensor([4])):
        for _ in range(3):
            assert ours(x, n).item() == 3 * int(n)
            with pytest.raises(RuntimeError, match="expected a value of type int, and found a float"):
                ours(x, 2.9)
            with pytest.raises(RuntimeError):
                ours(x, torch.tensor([1, 2]))


def test_a_number_stands_for_a_list_of_a_fixed_length():
    @torch.jit.script
    def program(x, sizes: BroadcastingList2[int]):
        return x.new_zeros(sizes) + x, sizes

    ours = from_torchscript(program)
    for sizes in (3, [2, 3], 3, 2.5):
        if sizes == 2.5:
            with pytest.raises(RuntimeError):
                ours(torch.ones(3), sizes)
        else:
            torch.testing.assert_close(ours(torch.ones(3), sizes), program(torch.ones(3), sizes))


def test_a_call_that_leaves_out_defaults_goes_the_same_way_as_one_that_gives_all():
    """Through the native entry, which takes all arguments, and by position."""

    @torch.jit.script
    def program(x, y: torch.Tensor | None = None, n: int = 2, flag: bool = True):
        if y is not None:
            x = x + y
        return x * n if flag else x - n

    ours, x = from_torchscript(program), torch.ones(3)
    for given in ((x,), (x, None, 2, True), (x, x), (x, None, 3), (x, None, 2, False)):
        for _ in range(4):
            torch.testing.assert_close(ours(*given), program(*given))
    torch.testing.assert_close(ours(x, flag=False), program(x, flag=False))
    assert "defaults that Python fills in" not in ours.explain()
    for wrong in ((), (x, x, 1, True, 2)):
        with pytest.raises(TypeError):
            ours(*wrong)
