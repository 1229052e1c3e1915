"""The reader of objects' symbol tables, against what LLVM was given and what it says itself."""

from __future__ import annotations

import re

import pytest
from llvmlite import binding as llvm

from tierup.lowering.base import llvm as ours
from tierup.lowering.objects import elf

TEXT = """
define i32 @first(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define internal i32 @hidden(i32 %x) noinline {
  %y = mul i32 %x, %x
  ret i32 %y
}
@data = global i32 7
define i32 @second(i32 %x) {
  %y = call i32 @hidden(i32 %x)
  %z = call i32 @elsewhere(i32 %y)
  ret i32 %z
}
declare i32 @elsewhere(i32)
"""


@pytest.fixture(scope="module")
def emitted() -> ours.Emitted:
    return ours.emit(TEXT, target="", level=1, want_asm=True)


def test_functions_are_found_with_their_sizes(emitted: ours.Emitted) -> None:
    found = {f.name: f for f in elf.Object(emitted.object).functions()}
    assert set(found) >= {"first", "second"} and "elsewhere" not in found and "data" not in found
    read = llvm.ObjectFileRef.from_data(emitted.object)
    (text_size,) = [size for s in read.sections() if s.is_text() and (size := s.size())]  # a section is valid until the next one
    ends = sorted((f.offset, f.offset + f.size) for f in found.values())
    assert ends[0][0] == 0 and ends[-1][1] == text_size
    assert all(end <= start for (_, end), (start, _) in zip(ends, ends[1:]))
    assert re.findall(r"\.type\s+(\w+),@function", emitted.asm) == sorted(found, key=lambda name: found[name].offset)


def test_what_is_no_object_is_a_value_error(emitted: ours.Emitted) -> None:
    for image in (b"", b"not an object", emitted.object[:64], emitted.object[: len(emitted.object) // 2]):
        with pytest.raises(ValueError):
            elf.Object(image).functions()


def test_a_function_is_renamed_for_debuggers_and_only_addresses_change(emitted: ours.Emitted) -> None:
    made = elf.Object(emitted.object).shown({"second": "tierup:f:f32[2,3],int=-1"}, {2: 0x123456})
    assert [s.address for s in elf.Object(made).sections] == [0x123456 * (i == 2) for i in range(len(elf.Object(made).sections))]
    before, after = elf.Object(emitted.object).functions(), elf.Object(made).functions()
    assert [f.name for f in after] == ["tierup:f:f32[2,3],int=-1" if f.name == "second" else f.name for f in before]
    assert [(f.section, f.offset, f.size) for f in after] == [(f.section, f.offset, f.size) for f in before]
    texts = []
    for image in (emitted.object, made):
        read = llvm.ObjectFileRef.from_data(image)
        texts.append([s.data() for s in read.sections() if s.is_text()])
    assert texts[0] == texts[1] and texts[0]
