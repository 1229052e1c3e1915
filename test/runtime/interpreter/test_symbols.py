"""Which guards and checks of a call hold a symbol to one size. The results say which side ran."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreter_programs import main

from tierup.runtime.base.errors import GuardFailed

FACT = "#tierup.profiled<f32[s0]>"
CHECK = f'"tierup.check"(%VALUE) {{expected = [{FACT}]}} : (!t) -> (!t, !b)'
SHAPES = f'"tierup.check_shapes"(%VALUE) {{expected = [{FACT}]}} : (!t) -> !b'
GUARD = f'"tierup.guard"(%VALUE) {{expected = {FACT}}} : (!t) -> !t'
BAILOUT = f'"tierup.bailout"(%VALUE) {{expected = {FACT}, index = 0 : i64}} : (!t) -> !t'
CHECK_X, CHECK_Y, CHECK_A = (CHECK.replace("VALUE", name) for name in "xya")


def f32(*sizes: int) -> list[np.ndarray]:
    return [np.zeros(n, np.float32) for n in sizes]


def choice(ok: str, then: tuple[str, str], otherwise: tuple[str, str], result: str) -> str:
    """An If that gives an int; `then` and `otherwise` are ops, and what is yielded."""
    arms = [f"{arm[0]} torch.prim.If.yield {arm[1]} : !i" for arm in (then, otherwise)]
    return f"%{result} = torch.prim.If {ok} -> (!i) {{ {arms[0]} }} else {{ {arms[1]} }}"


def run(body: str, values: list[np.ndarray], arguments: str = "(%x: !t, %y: !t)") -> Any:
    return main(f"{arguments} -> !i", f"{body}\n return %r : !i").call(*values)


@pytest.mark.parametrize("first", ["check", "shapes", "both"])
@pytest.mark.parametrize(("x", "y", "side"), [(3, 3, 1), (3, 4, 2), (1, 4, 0)])
def test_a_check_where_another_held_is_held_to_its_symbols(first: str, x: int, y: int, side: int) -> None:
    inner = choice("%ok2", ("", "%c1"), ("", "%c2"), "i")
    shapes = SHAPES.replace("VALUE", "x")
    asked = {
        "check": f"%v, %ok = {CHECK_X}",
        "shapes": f"%ok = {shapes}",
        "both": f"%v, %a = {CHECK_X}\n%b = {shapes}\n%ok = torch.aten.__and__.bool %a, %b : !b, !b -> !b",
    }[first]
    body = f"{asked}\n{choice('%ok', (f'%w, %ok2 = {CHECK_Y} {inner}', '%i'), ('', '%c0'), 'r')}"
    assert run(body, f32(x, y)) == side


@pytest.mark.parametrize(("x", "y", "side"), [(3, 3, 3), (3, 4, 3), (1, 4, 2), (3, 1, 1)])
def test_checks_side_by_side_are_independent(x: int, y: int, side: int) -> None:
    body = f"""
      %v, %ok = {CHECK_X}
      %w, %ok2 = {CHECK_Y}
      {choice("%ok", ("", "%c1"), ("", "%c0"), "a")}
      {choice("%ok2", ("", "%c2"), ("", "%c0"), "b")}
      %r = torch.aten.add.int %a, %b : !i, !i -> !i"""
    assert run(body, f32(x, y)) == side


def test_a_check_that_failed_binds_nothing() -> None:
    both = f'"tierup.check"(%x, %y) {{expected = [{FACT}, {FACT}]}} : (!t, !t) -> (!t, !t, !b)'
    otherwise = f"%w, %ok2 = {CHECK_Y}\n{choice('%ok2', ('', '%c1'), ('', '%c2'), 'i')}"
    body = f"%v:2, %ok = {both}\n{choice('%ok', ('', '%c0'), (otherwise, '%i'), 'r')}"
    assert [run(body, f32(*sizes)) for sizes in ((3, 3), (3, 4), (3, 1))] == [0, 1, 2]


def test_each_round_of_a_loop_asks_anew() -> None:
    body = f"""
      %l:2 = torch.prim.Loop %c2, %true, init(%c0, %x) {{
      ^bb0(%k: !i, %n: !i, %a: !t):
        %v, %ok = {CHECK_A}
        {choice("%ok", ("", "%c1"), ("", "%c0"), "fits")}
        %m = torch.aten.add.int %n, %fits : !i, !i -> !i
        torch.prim.Loop.condition %true, iter(%m, %y : !i, !t)
      }} : (!i, !b, !i, !t) -> (!i, !t)
      %r = torch.aten.add.int %l#0, %c0 : !i, !i -> !i"""
    assert [run(body, f32(*sizes)) for sizes in ((3, 4), (3, 1), (1, 1))] == [2, 1, 0]


@pytest.mark.parametrize("guard", [GUARD, BAILOUT], ids=["guard", "bailout"])
def test_guards_hold_checks_and_checks_that_held_hold_guards(guard: str) -> None:
    on_x, on_y = guard.replace("VALUE", "x"), guard.replace("VALUE", "y")
    before = f"%g = {on_x}\n%v, %ok = {CHECK_Y}\n{choice('%ok', ('', '%c1'), ('', '%c2'), 'r')}"
    assert [run(before, f32(*sizes)) for sizes in ((3, 3), (3, 4))] == [1, 2]
    inside = f"%v, %ok = {CHECK_X}\n{choice('%ok', (f'%g = {on_y}', '%c1'), ('', '%c2'), 'r')}"
    assert [run(inside, f32(*sizes)) for sizes in ((3, 3), (1, 4))] == [1, 2]
    with pytest.raises(GuardFailed, match="with s0 = 3"):
        run(inside, f32(3, 4))


def test_the_symbols_of_arguments_hold_checks() -> None:
    body = f"""
      %s = torch.symbolic_int "s0" {{min_val = 2, max_val = 9223372036854775807}} : !i
      torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
      %w, %ok = {CHECK_Y}
      {choice("%ok", ("", "%c1"), ("", "%c2"), "r")}"""
    arguments = "(%x: !torch.vtensor<[?],f32>, %y: !t)"
    assert [run(body, f32(*sizes), arguments) for sizes in ((3, 3), (3, 4))] == [1, 2]
