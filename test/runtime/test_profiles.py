"""Profiles as data: what they say of calls, how they merge, and that versions made of one answer the first call."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tierup
from tierup.runtime.arguments.call_profiles import SCHEMA, VARIES, calls_of, written

# --- a lattice ----------------------------------------------------------------------------------------------------------

SIZES = st.sampled_from([0, 1, 2, 5, 64, VARIES])
ARRAYS = st.builds(
    lambda dtype, sizes, order: {"array": dtype, "sizes": sizes, "order": order},
    st.sampled_from(["f32", "i64"]), st.lists(SIZES, max_size=2), st.sampled_from(["contiguous", "strided"]),
)  # fmt: skip
LEAVES = st.one_of(
    ARRAYS,
    st.sampled_from([-1, 0, 1, 7, VARIES]).map(lambda n: {"int": n}),
    st.sampled_from([{"float": None}, {"bool": None}, {"none": None}, {"str": "relu"}, {"scalar": "f32"}]),
)
ARGUMENTS = st.one_of(
    LEAVES,
    st.lists(LEAVES, max_size=2).map(lambda items: {"tuple": items}),
    st.dictionaries(st.sampled_from("ab"), LEAVES, max_size=2).map(lambda items: {"dict": [list(item) for item in items.items()]}),
)
PROFILES = st.lists(st.tuples(ARGUMENTS, LEAVES), max_size=4).map(lambda calls: written("f", [[("x", one), ("y", two)] for one, two in calls]))
join = tierup.merge_profiles


@given(PROFILES, PROFILES, PROFILES)
def test_merging_is_commutative_associative_and_idempotent(a: str, b: str, c: str) -> None:
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c)) == join(a, b, c)
    assert join(a, a) == join(a) == a
    assert join(join(a, b), b) == join(a, b)  # the join is above both


def test_a_hundred_profiles_merge_to_the_same_text_in_any_order() -> None:
    draw = random.Random(3)
    texts = []
    for _ in range(100):
        sizes = [draw.choice([0, 1, 2, 9]) for _ in range(2)]
        texts.append(written("f", [[("x", {"array": draw.choice(["f32", "f64"]), "sizes": sizes, "order": "contiguous"}), ("n", {"int": draw.choice([3, 4])})]]))
    merged = join(*texts)
    for _ in range(5):
        draw.shuffle(texts)
        half = draw.randrange(1, 99)
        assert join(*texts) == join(join(*texts[:half]), join(*texts[half:]), texts[0]) == merged
    assert len(calls_of(merged)[1]) == 2 * 9  # dtypes, and for each of two sizes 0, 1, or any other


def test_sizes_and_ints_that_differ_vary_and_0_and_1_stay_apart() -> None:
    def one(size: int, n: int) -> str:
        return written("f", [[("x", {"array": "f32", "sizes": [size, 4], "order": "contiguous"}), ("n", {"int": n})]])

    def told(text: str) -> list[tuple[object, object]]:
        return [(call[0][1]["sizes"][0], call[1][1]["int"]) for call in calls_of(text)[1]]

    assert told(join(one(3, 5), one(3, 5))) == [(3, 5)]
    assert told(join(one(3, 5), one(7, 5))) == [(VARIES, 5)]
    assert told(join(one(3, 5), one(3, 6))) == [(3, VARIES)]
    assert sorted(told(join(one(3, 5), one(1, 5), one(0, 5))), key=str) == [(0, 5), (1, 5), (3, 5)]


def test_profiles_of_different_functions_do_not_merge() -> None:
    with pytest.raises(ValueError, match="of one function are merged, not of f, g"):
        join(written("f", []), written("g", []))
    with pytest.raises(ValueError, match="not of none"):
        join()


GOOD = written("f", [[("x", {"array": "f32", "sizes": [3, 4], "order": "contiguous"}), ("p", {"dict": [["w", {"int": 3}]]})]])


@pytest.mark.parametrize("text", [
    "", "{", "[]", "{}", "3", '{"schema": "tierup profile 2"}', GOOD.replace(SCHEMA, "another"), GOOD.replace("f32", "f33"),
    GOOD.replace("[3, 4]", "[3, -4]"), GOOD.replace("[3, 4]", "[3, 4.5]"), GOOD.replace("[3, 4]", "3"), GOOD.replace("[3, 4]", f"[{2**50}]"),
    GOOD.replace("[3, 4]", f"[{2**30}, 0, {2**30}]"), GOOD.replace("[3, 4]", str([1] * 40)), GOOD.replace("[3, 4]", "[true, 1]"), GOOD.replace("contiguous", "any"), GOOD.replace('"int": 3', f'"int": {2**63}'),
    GOOD.replace('"int": 3', '"int": 3, "bool": null'), GOOD.replace('"int": 3', '"object": null'), GOOD.replace('"function": "f"', '"function": 3'),
    GOOD.replace('{"int": 3}', "[" * 5000 + "]" * 5000), GOOD.replace('{"int": 3}', '{"tuple": [' * 200 + "]}" * 200),
])  # fmt: skip
def test_a_text_that_is_no_profile_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a profile"):
        join(text)
    with pytest.raises(ValueError, match="not a profile"):
        tierup.jit(lambda x: x + 1).warm(text)


@given(st.data())
def test_a_profile_with_any_change_in_it_is_one_or_a_value_error(data: st.DataObject) -> None:
    at, new = data.draw(st.integers(0, len(GOOD) - 1)), data.draw(st.sampled_from('{}[]",:09-eE1a \\'))
    changed = GOOD[:at] + new + GOOD[at + 1 :]
    try:
        found = join(changed)
    except ValueError:
        return
    assert join(found) == found


# --- what calls looked like ---------------------------------------------------------------------------------------------


def layer(x, p, n: int, mode="tanh", scale=1.0):
    y = np.zeros((n, 1)) + (x @ p["w"])[:n]
    return np.tanh(y) * scale if mode == "tanh" else y + p["b"][0]


def arguments(rows: int = 6, n: int = 4, dtype=np.float64, **more):
    return (np.linspace(-1, 1, rows * 3).reshape(rows, 3).astype(dtype), {"w": np.ones((3, 2), dtype), "b": (np.ones(2, dtype),)}, n), more


def called(function, *calls):
    for args, kwargs in calls:
        np.testing.assert_allclose(function(*args, **kwargs), layer(*args, **kwargs), rtol=1e-6)
    return function


def test_a_profile_tells_kinds_sizes_and_ints() -> None:
    f = called(tierup.jit(layer), arguments(), arguments(), arguments(rows=9), arguments(mode="plain", dtype=np.float32))
    name, calls = calls_of(f.profile())
    assert name == "layer" and len(calls) == 2
    plain, tanh = sorted((dict(call) for call in calls), key=lambda call: call["mode"]["str"])
    assert tanh["x"] == {"array": "f64", "sizes": [VARIES, 3], "order": "contiguous"} and tanh["n"] == {"int": 4}
    assert plain["p"] == {"dict": [("w", {"array": "f32", "sizes": [3, 2], "order": "contiguous"}), ("b", {"tuple": [{"array": "f32", "sizes": [2], "order": "contiguous"}]})]}
    assert plain["mode"] == {"str": "plain"} and plain["scale"] == {"float": None}
    assert json.loads(f.profile())["schema"] == SCHEMA
    assert calls_of(tierup.jit(layer).profile()) == ("layer", [])


def warmed(text: str, count: int, /, **options):
    f = tierup.jit(layer, **options)
    assert f.warm(text) == count and f.wait(timeout=120)
    assert len(f.versions) == count and f.stats().calls == 0
    return f


def test_the_first_call_of_a_warmed_function_is_native() -> None:
    profile = called(tierup.jit(layer), arguments(), arguments()).profile()
    f = warmed(profile, 1)
    called(f, arguments())
    assert (f.stats().hits, f.stats().profiled_runs, f.stats().misses) == (1, 0, 0)
    assert [v.speculation.kind for v in f.versions] == ["static"] and "n: int = 4" in f.versions[0].guards
    assert f.profile() == profile
    assert f.warm(profile) == 0 and len(f.versions) == 1  # it is there
    called(f, arguments(rows=9))
    assert f.stats().misses == 1  # guards are guards


def test_sizes_and_ints_that_varied_are_symbols_in_what_is_warmed() -> None:
    one = called(tierup.jit(layer), arguments(rows=6, n=4)).profile()
    other = called(tierup.jit(layer), arguments(rows=11, n=5), arguments(rows=6, n=4, dtype=np.float32)).profile()
    f = warmed(join(one, other), 2)
    called(f, arguments(rows=30, n=17), arguments(rows=6, n=4, dtype=np.float32), arguments(rows=8, n=2))
    assert (f.stats().hits, f.stats().calls) == (3, 3)
    assert any("x: f64[s0, 3]" in v.guards and "n: int = s1" in v.guards for v in f.versions)
    assert any("x: f32[6, 3]" in v.guards for v in f.versions)
    assert f.profile() == join(f.profile(), one, other)  # it says all that it was warmed by


def test_orders_of_memory_are_warmed_as_they_were() -> None:
    def f(x, y):
        return x + y

    x, y = np.asfortranarray(np.ones((4, 5))), np.ones((4, 10))[:, ::2]
    seen = tierup.jit(f)
    seen(x, y)
    made = tierup.jit(f)
    assert made.warm(seen.profile()) == 1 and made.wait(timeout=120)
    np.testing.assert_array_equal(made(x, y), x + y)
    assert made.stats().hits == 1 and "columns" in made.versions[0].guards and "strided" in made.versions[0].guards


def test_a_written_argument_is_written_by_the_first_call_alone() -> None:
    def f(x, y):
        x += y
        return x.sum()

    seen, made = tierup.jit(f), tierup.jit(f)
    seen(np.ones((4, 2)), np.ones(2))
    assert made.warm(seen.profile()) == 1 and made.wait(timeout=120)
    x = np.ones((4, 2))
    assert made(x, np.full(2, 2.0)) == 24.0 and (x == 3.0).all() and made.stats().hits == 1


def test_a_program_in_mlir_is_warmed(tmp_path) -> None:
    (tmp_path / "p.mlir").write_text(
        "func.func @main(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32> {\n"
        "  %y = torch.aten.tanh %x : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[?,3],f32>\n  return %y : !torch.vtensor<[?,3],f32>\n}\n"
    )
    seen, made = tierup.load(tmp_path / "p.mlir"), tierup.load(tmp_path / "p.mlir")
    seen(np.ones((5, 3), np.float32)), seen(np.ones((6, 3), np.float32))
    assert made.warm(seen.profile()) == 1 and made.wait(timeout=120)
    np.testing.assert_allclose(made(np.ones((9, 3), np.float32)), np.tanh(np.ones((9, 3), np.float32)), rtol=1e-6)
    assert made.stats().hits == 1
    assert made.warm(seen.profile().replace(" 3]", " 4]")) == 0  # sizes that its types refuse


@pytest.mark.parametrize("options", [{"optimize": False}, {"profile": False}, {"speculate": "bailout"}, {"executor": "specializing"}, {"bailout_depth": 0}])
def test_where_no_version_may_be_made_of_records_none_is(options) -> None:
    profile = called(tierup.jit(layer), arguments()).profile()
    f = warmed(profile, 0, **options)
    called(f, arguments(), arguments())


def test_a_strategy_of_static_versions_gets_no_symbols_and_no_sizes_that_nobody_had() -> None:
    profile = called(tierup.jit(layer), arguments(), arguments(rows=9)).profile()
    warmed(profile, 0, fusion_strategy=[("static", 2)])


def told(x):
    print("called")
    return np.tanh(x) + 1


def test_of_a_function_in_parts_there_is_no_profile_and_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    profile = written("told", [[("x", {"array": "f64", "sizes": [3], "order": "contiguous"})]])
    f = tierup.jit(told)
    assert f.warm(profile) == 0 and capsys.readouterr().out == ""
    np.testing.assert_allclose(f(np.ones(3)), np.tanh(np.ones(3)) + 1)
    assert capsys.readouterr().out == "called\n" and calls_of(f.profile())[1] == []


def test_a_profile_of_other_parameters_is_refused_before_anything_is_compiled() -> None:
    profile = called(tierup.jit(layer), arguments()).profile()
    f = tierup.jit(lambda x, q: x + q)
    with pytest.raises(ValueError, match="the arguments x, p, n, mode, scale, those of .* x, q"):
        f.warm(profile)
    assert not f.versions


def test_a_profile_for_which_the_program_raises_costs_nothing_but_a_compile() -> None:
    """Sizes that do not fit one another: a call like it raises, as ever."""
    profile = called(tierup.jit(layer), arguments()).profile().replace("[6, 3]", "[6, 5]")
    f = tierup.jit(layer)
    f.warm(profile)
    assert f.wait(timeout=120)
    called(f, arguments(), arguments())
