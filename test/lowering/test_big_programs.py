"""Long programs, which are taken apart and put together again: the same numbers, and no compile that takes for ever."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import call, spec_of, typed

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import PassFailure, parse
from tierup.lowering.base.abi import Request
from tierup.lowering.compiling.compile import compile

T = "!torch.vtensor"


def lines_of(n: int, weights: int, seed: int) -> tuple[list[str], list[int]]:
    """n ops on a state and some weights; every seventh state is returned. What is returned or read again later crosses the parts."""
    rng = np.random.default_rng(seed)
    lines, states, returned = ["%one = torch.constant.int 1"], ["%a0"], []
    for i in range(n):
        x, w, old = states[-1], f"%a{1 + rng.integers(weights)}", states[rng.integers(max(0, len(states) - 150), len(states))]
        match rng.integers(5):
            case 0 | 1:
                lines.append(f"%v{i} = torch.aten.mm {x}, {w} : {T}, {T} -> {T}")
            case 2:
                lines.append(f"%v{i} = torch.aten.tanh {x} : {T} -> {T}")
            case 3:
                lines.append(f"%v{i} = torch.aten.add.Tensor {x}, {old}, %one : {T}, {T}, !torch.int -> {T}")
            case _:
                lines.append(f"%t{i} = torch.aten.t {w} : {T} -> {T}")
                lines.append(f"%v{i} = torch.aten.mm {x}, %t{i} : {T}, {T} -> {T}")
        states.append(f"%v{i}")
        if i % 7 == 0:
            returned.append(i)
    return lines, returned


def reference(n: int, arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    states = [arrays[0]]
    for _ in range(n):
        x, w, old = states[-1], arrays[1 + rng.integers(len(arrays) - 1)], states[rng.integers(max(0, len(states) - 150), len(states))]
        match rng.integers(5):
            case 0 | 1:
                states.append(x @ w)
            case 2:
                states.append(np.tanh(x))
            case 3:
                states.append(x + old)
            case _:
                states.append(x @ w.T)
    return [states[1 + i] for i in range(n) if i % 7 == 0]


@pytest.mark.parametrize("n", [40, 200])
def test_parts_of_a_long_program_compute_what_the_whole_does(n: int) -> None:
    rng = np.random.default_rng(n)
    weights = [np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(3)]  # orthogonal: nothing grows
    arrays = [rng.normal(size=(6, 6)), *weights]
    specs = tuple(map(spec_of, arrays))
    lines, returned = lines_of(n, len(weights), n)
    lines.append(f"return {', '.join(f'%v{i}' for i in returned)} : {', '.join([T] * len(returned))}")
    artifact = compile(Request(typed("\n".join(lines), specs), "main", specs, level=1), stages=("loops",))
    assert (artifact.stages["loops"].count("func.func private @main_part") > 1) == (n > 100)
    found = call(artifact, arrays)
    for got, wanted in zip(found, reference(n, arrays, n), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)


def test_parts_that_are_alike_are_one() -> None:
    x, w = np.eye(4), np.roll(np.eye(4), 1, axis=0)
    specs = (spec_of(x), spec_of(w))
    lines = [f"%v{i} = torch.aten.mm {'%a0' if i == 0 else f'%v{i - 1}'}, %a1 : {T}, {T} -> {T}" for i in range(256)]
    request = Request(typed("\n".join([*lines, f"return %v255 : {T}"]), specs), "main", specs, level=1)
    artifact = compile(request, stages=("loops",))
    assert artifact.stages["loops"].count("func.func private @main_part") == 1
    assert artifact.stages["loops"].count("call @main_part0") == 8
    np.testing.assert_array_equal(call(artifact, [x, w])[0], np.linalg.matrix_power(w, 256))


@pytest.mark.parametrize("sizes", [(3,), ("s3",)], ids=["known", "a symbol"])
def test_many_parts_are_joined_by_one_op_in_time_that_grows_with_their_number(sizes: tuple[object, ...]) -> None:
    """Bufferization compares each of a chain of insertions with all others."""
    arrays = [np.full(3, i, (np.float32, np.float64, np.int32)[i % 3]) for i in range(40)]
    specs = tuple(spec_of(a, sizes) for a in arrays)
    listed = ", ".join(f"%a{i}" for i in range(40))
    lines = ["%zero = torch.constant.int 0", f"%l = torch.prim.ListConstruct {listed} : ({', '.join([T] * 40)}) -> !torch.list<vtensor>"]
    for op in ("stack", "cat"):
        lines.append(f"%{op} = torch.aten.{op} %l, %zero : !torch.list<vtensor>, !torch.int -> {T}")
    lines.append(f"return %stack, %cat : {T}, {T}")
    artifact = compile(Request(typed("\n".join(lines), specs), "main", specs, level=1), stages=("linalg",))
    assert artifact.stages["linalg"].count("tensor.concat") == 2 and "insert_slice" not in artifact.stages["linalg"]
    for got, wanted in zip(call(artifact, arrays), (np.stack(arrays), np.concatenate(arrays)), strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype


def test_copies_into_many_results_count_as_loops() -> None:
    x = np.arange(4.0)
    lines = ["%zero = torch.constant.int 0", *(f"%v{i} = torch.aten.{op} %a0 : {T} -> {T}" for i, op in enumerate(("neg", "square", "floor")))]
    listed = [f"%v{i % 3}" for i in range(150)]
    lines.append(f"%l = torch.prim.ListConstruct {', '.join(listed)} : ({', '.join([T] * 150)}) -> !torch.list<vtensor>")
    lines.append(f"%all = torch.aten.stack %l, %zero : !torch.list<vtensor>, !torch.int -> {T}")
    lines.append(f"return %all, {', '.join(listed)} : {', '.join([T] * 151)}")
    artifact = compile(Request(typed("\n".join(lines), (spec_of(x),)), "main", (spec_of(x),), level=1), stages=("loops",))
    assert artifact.stages["loops"].count("func.func private @main_part") > 1
    found = call(artifact, [x])
    wanted = [(-x, x * x, np.floor(x))[i % 3] for i in range(150)]
    for got, want in zip(found, [np.stack(wanted), *wanted], strict=True):
        np.testing.assert_array_equal(got, want)


def test_sizes_of_the_run_keep_a_program_whole() -> None:
    x, w = np.eye(4, dtype=np.float32), np.roll(np.eye(4, dtype=np.float32), 1, axis=0)
    specs = (spec_of(x, ("s4", "s4")), spec_of(w, ("s4", "s4")))
    lines = [f"%v{i} = torch.aten.mm {'%a0' if i == 0 else f'%v{i - 1}'}, %a1 : {T}, {T} -> {T}" for i in range(140)]
    artifact = compile(Request(typed("\n".join([*lines, f"return %v139 : {T}"]), specs), "main", specs, level=1), stages=("loops",))
    assert "main_part" not in artifact.stages["loops"]
    np.testing.assert_array_equal(call(artifact, [x, w])[0], np.linalg.matrix_power(w, 140))


@pytest.mark.parametrize(("branches", "is_refused"), [(20, False), (130, True)])
def test_very_many_branches_that_write_elements_of_an_array_are_refused(branches: int, is_refused: bool) -> None:
    """Bufferization takes minutes for them (a loop over a list of several kinds of numbers that was written out 40 times, in the soak)."""
    t = "!torch.vtensor<[1024],f64>"
    lines = ["%dim = torch.constant.int 0", "%v = torch.aten.select.int %a, %dim, %dim : " + f"{t}, !torch.int, !torch.int -> !torch.vtensor<[],f64>"]
    for i in range(branches):
        before = f"%r{i - 1}" if i else "%a"
        lines += [
            f"%n{i} = torch.constant.int {i}",
            f"%c{i} = torch.aten.gt.int %k, %n{i} : !torch.int, !torch.int -> !torch.bool",
            f"%r{i} = torch.prim.If %c{i} -> ({t}) {{",
            f"%p{i} = torch.aten.select_scatter {before}, %v, %dim, %n{i} : {t}, !torch.vtensor<[],f64>, !torch.int, !torch.int -> {t}",
            f"torch.prim.If.yield %p{i} : {t}",
            "} else {",
            f"torch.prim.If.yield {before} : {t}",
            "}",
        ]
    text = f"func.func @f(%a: {t}, %k: !torch.int) -> {t} {{\n" + "\n".join(lines) + f"\nreturn %r{branches - 1} : {t}\n}}"
    verify = parse("builtin.module(func.func(tierup-verify-native))")
    if is_refused:
        with pytest.raises(PassFailure, match="one of very many branches that write elements of arrays: more than 128"):
            verify.run(parse_module(text))
    else:
        verify.run(parse_module(text))
