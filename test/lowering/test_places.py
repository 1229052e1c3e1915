"""Where a program stands is no part of what it is, and what was made of it elsewhere speaks of where it stands now."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_encoding import ARTIFACT, DEVICE

from tierup.dialect.language.context import new_context
from tierup.dialect.mlir import ir
from tierup.lowering.artifacts.places import moved, moved_text, placed
from tierup.lowering.base.abi import ErrorSite, ExitSite

FILES = ["f.py", 'a "quoted".py', "back\\slash.py", "café.py", "日本.py", "x:1:2.py", "0", "", 'loc(', '":1:2', "with at in.py"]


def text(places: list[tuple[str, int, int]], strings: tuple[str, ...] = ()) -> str:
    """A module with an op at each of these, as MLIR prints it."""
    with new_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for number, (file, line, column) in enumerate(places):
                at = ir.Location.file(file, line, column)
                if number % 3 == 1:
                    at = ir.Location.name("torch.aten.mm", at)
                elif number % 3 == 2:
                    at = ir.Location.fused([at, ir.Location.file("else.py", 7, 7)])
                ir.Operation.create("test.op", attributes={"text": ir.StringAttr.get(strings[number] if strings else "")}, loc=at)
        return str(module.operation.get_asm(enable_debug_info=True))


def put(places: list[tuple[str, int, int]], by: int, file: str) -> list[tuple[str, int, int]]:
    """The same, so many lines below, and the first file under another name."""
    return [(file if name == places[0][0] else name, line + by, column) for name, line, column in places]


PLACES = st.lists(st.tuples(st.sampled_from(FILES), st.integers(1, 60), st.integers(1, 9)), min_size=1, max_size=6)


@given(PLACES, st.integers(1, 10**6), st.just("/another/folder/f \\ é.py"))
def test_lines_above_and_another_folder_change_no_key_and_move_back_and_forth(places: list, by: int, file: str) -> None:
    here, there = text(places), text(put(places, by, file))
    one, two = placed(here), placed(there)
    assert one.text == two.text and one.places != two.places
    assert moved_text(here, one.places, two.places) == there and moved_text(there, two.places, one.places) == here


@given(PLACES, st.data())
def test_another_column_or_another_order_of_lines_is_another_program(places: list, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(places) - 1))
    file, line, column = places[at]
    assert placed(text(places)).text != placed(text([*places[:at], (file, line, column + 1), *places[at + 1 :]])).text
    twice = [("f.py", 1, 1), ("f.py", 1, 2)], [("f.py", 1, 1), ("f.py", 2, 2)]
    assert placed(text(twice[0])).text != placed(text(twice[1])).text


@pytest.mark.parametrize("string", ['loc("f.py":1:2)', '"f.py":1:2', '":1:2', "f.py:1:2", '\\', '\\"', 'x" "f.py":3:4'])
def test_what_only_looks_like_a_place_in_a_string_is_part_of_the_program(string: str) -> None:
    one, two = (text([("f.py", 1, 2)], (what,)) for what in (string, string.replace("1", "7").replace("3", "8") + "y"))
    assert placed(one).text != placed(two).text
    assert placed(one).places == (("f.py", 1),)


@pytest.mark.parametrize("made", [ARTIFACT, DEVICE], ids=["CPU", "device"])
def test_what_was_compiled_elsewhere_names_the_lines_that_are_here(made) -> None:
    sites, exits = (ErrorSite("aten.index", "f.py:3:4"), ErrorSite("sizes", "s0 = 3")), (ExitSite(0, "aten.Int", "f.py:1:2", ()),)
    made = replace(made, error_sites=sites, exits=exits)
    if made.__class__ is DEVICE.__class__:
        made = replace(made, host=replace(made.host, origins={"f_0": "tanh at f.py:1:2"}, reads={4: "Int at f.py:3:4", 5: "a number"}))
    old, new = (("f.py", 1), ("f.py", 3)), (("/a b/caf\\C3\\A9 at.py", 101), ("g.py", 7))
    there = moved(made, old, new)
    assert [site.location for site in there.error_sites] == ["g.py:7:4", "s0 = 3"]
    assert [site.location for site in there.exits] == ["/a b/café at.py:101:2"]
    if made.__class__ is DEVICE.__class__:
        assert there.host.origins == {"f_0": "tanh at /a b/café at.py:101:2"} and there.host.reads == {4: "Int at g.py:7:4", 5: "a number"}
    assert moved(there, new, old) == made
