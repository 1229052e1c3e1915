"""Reading programs: what is refused, and where the message points."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tierup.dialect.language.context import new_context, thread_context
from tierup.dialect.language.text import InvalidIR, parse_file, parse_module, verify_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics


def test_malformed_text_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidIR, match=r"-:2:1: error: custom op 'nonsense' is unknown"):
        parse_module("func.func @f() {\nnonsense\n}")


def test_ops_of_unknown_dialects_are_refused() -> None:
    with pytest.raises(InvalidIR, match=r"unregistered operation 'foo\.bar'"):
        parse_module('func.func @f() { "foo.bar"() : () -> ()\n return }')


def test_broken_tierup_ops_are_refused_all_at_once() -> None:
    with pytest.raises(InvalidIR) as caught:
        parse_module('func.func @f() {\n"tierup.profile"() : () -> ()\n"tierup.guard"() : () -> ()\nreturn }')
    assert [d.place.line for d in caught.value.diagnostics] == [2, 3]


def test_a_module_gone_wrong_is_found_by_verify_module() -> None:
    module = parse_module("func.func @f() { return }")
    verify_module(module)
    block = module.body.operations[0].operation.regions[0].blocks[0]
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        ir.Operation.create("tierup.profile")
    with pytest.raises(InvalidIR, match="has 0 operands, expected 1"):
        verify_module(module)


def test_a_file_is_named_in_messages_and_locations(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("func.func @f() {\n  return\n}")
    module = parse_file(path)  # held: the bindings' ops do not keep their module
    function = module.body.operations[0].operation
    assert diagnostics.place_of(function.location) == diagnostics.Place(str(path), 1, 1)
    path.write_text("func.func @f() {\n  retrn\n}")
    with pytest.raises(InvalidIR, match=r"model\.mlir:2:3: error"):
        parse_file(path)
    with pytest.raises(FileNotFoundError):
        parse_file(tmp_path / "none.mlir")


def test_each_thread_has_one_context() -> None:
    assert thread_context() is thread_context()
    assert new_context() is not thread_context()


def test_place_of_reads_fused_and_unknown_locations() -> None:
    with thread_context():
        inner, outer = ir.Location.file("a.py", 3, 4), ir.Location.file("b.py", 5, 6)
        assert diagnostics.place_of(ir.Location.callsite(inner, [outer])) == diagnostics.Place("a.py", 3, 4)
        assert diagnostics.place_of(ir.Location.name("x", inner)) == diagnostics.Place("a.py", 3, 4)
        assert diagnostics.place_of(ir.Location.fused([inner, outer])) == diagnostics.Place("a.py", 3, 4)
        assert diagnostics.place_of(ir.Location.unknown()) == diagnostics.Place()
        assert str(diagnostics.Place()) == "<unknown>"
        quoted = ir.Location.file('we"ird\\.py', 1, 2)
        assert diagnostics.place_of(quoted).file == 'we"ird\\.py'


def test_warnings_and_remarks_of_passes_reach_the_collector_in_order() -> None:
    module = parse_module("func.func @f() { return }")
    function = module.body.operations[0].operation
    diagnostics.warn(function, "heard by nobody")
    with diagnostics.collect(module.context) as found:
        diagnostics.warn(function, "odd")
        function.location.emit_error("bad")
        diagnostics.remark(function, "done")
    told = [(d.severity, d.message) for d in found]
    assert told == [("warning", "'func.func' op odd"), ("error", "bad"), ("remark", "'func.func' op done")]


def test_a_files_name_need_not_be_utf8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.mlir")
    path.write_text("func.func private @f()\n")
    assert len(parse_file(path).body.operations) == 1
    path.write_text("func.func @f( {")
    with pytest.raises(InvalidIR):
        parse_file(path)
