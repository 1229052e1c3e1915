"""Passes: registration, options, pipelines, hooks, failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tierup.dialect.language import ops
from tierup.dialect.language.context import new_context, thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes import core as passes
from tierup.dialect.passes import registry
from tierup.dialect.passes.pipelines import mlir_passes, pipeline
from tierup.dialect.passes.registry import Pass, PassFailure, PipelineError, register

TWO = """
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @g() { return }
"""


@pytest.fixture
def log() -> Iterator[list[str]]:
    """Registers the passes of these tests; what they did."""
    lines: list[str] = []

    @register
    class Note(Pass):
        """Write down what it is called on."""

        name = "tierup-test-note"
        loud: bool = False
        times: int = 1
        scale: float = 1.0
        word: str = ""
        names: tuple[str, ...] = ()
        sizes: tuple[int, ...] = ()

        def run_on_function(self, function: ir.Operation) -> None:
            name = ir.StringAttr(function.attributes["sym_name"]).value
            lines.append(f"{name} {self}")

    @register
    class Fail(Pass):
        """Fail at the first op of the first function."""

        name = "tierup-test-fail"

        def run(self, module: ir.Module) -> None:
            function = next(registry.functions(module.operation))
            first = function.regions[0].blocks[0].operations[0].operation
            raise PassFailure(first, "is not to my taste", (function, "it is in here"))

    @register
    class Break(Pass):
        """Leave an op behind that its definition forbids."""

        name = "tierup-test-break"

        def run(self, module: ir.Module) -> None:
            function = next(registry.functions(module.operation))
            with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
                ir.Operation.create("tierup.count_run", attributes={"run": ir.UnitAttr.get()})

    @register
    class Mistype(Pass):
        """Leave a function behind that is not of its type."""

        name = "tierup-test-mistype"

        def run_on_function(self, function: ir.Operation) -> None:
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))

    yield lines
    for name in [n for n in passes._registered if n.startswith("tierup-test-")]:
        del passes._registered[name]
    pipeline.parse.cache_clear()


def test_a_pass_of_functions_runs_on_each(log: list[str]) -> None:
    registry.parse("tierup-test-note").run(parse_module(TWO))
    assert log == ["f tierup-test-note", "g tierup-test-note"]


def test_nesting_runs_all_of_a_nest_on_one_function_before_the_next(log: list[str]) -> None:
    registry.parse("builtin.module(func.func(tierup-test-note,cse,tierup-test-note{times=2}),cse)").run(parse_module(TWO))
    assert log == ["f tierup-test-note", "f tierup-test-note{times=2}", "g tierup-test-note", "g tierup-test-note{times=2}"]


def test_passes_of_mlir_run_between_ours(log: list[str]) -> None:
    module = parse_module(TWO)
    registry.parse("tierup-test-note,func.func(cse,canonicalize),tierup-test-note").run(module)
    assert str(module).count("torch.aten.tanh") == 1
    assert len(log) == 4


def test_options_have_their_fields_types(log: list[str]) -> None:
    (step,) = registry.parse("tierup-test-note{loud times=3 scale=0.5 word='a b' names=x,y sizes=1,2}").steps
    note = step.instance  # type: ignore[union-attr]  # one of ours
    assert (note.loud, note.times, note.scale, note.word, note.names, note.sizes) == (True, 3, 0.5, "a b", ("x", "y"), (1, 2))


def test_text_of_a_pipeline_parses_to_it_again(log: list[str]) -> None:
    note = 'tierup-test-note{loud=true word="a b" names=x,y}'
    text = f"builtin.module({note},func.func(tierup-test-note{{times=3}},cse),inline{{max-iterations=2}})"
    assert str(registry.parse(text)) == text
    assert registry.parse(str(registry.parse(text))) == registry.parse(text)


@pytest.mark.parametrize(
    ("text", "says", "at"),
    [
        ("tierup-test-note{lud}", "has no option 'lud'; did you mean 'loud'?; it has loud, times", 0),
        ("cse,tierup-test-note{times=x}", "option 'times' of pass 'tierup-test-note' takes <int>, not 'x'", 4),
        ("tierup-test-note{loud=maybe}", "takes <bool>, not 'maybe'", 0),
        ("tierup-test-note{times}", "needs a value: times=<int>", 0),
        ("tierup-test-not", "did you mean 'tierup-test-note'", 0),
        ("canonicalise", "did you mean 'canonicalize'?", 0),
        ("func.func(tierup-test-fail)", "works on a whole module: it cannot stand under func.func", 10),
        ("scf.for(tierup-test-note)", "not on scf.for", 8),
        ("convert-torch-to-arith", "works on func.func, not on builtin.module; write func.func(convert-torch-to-arith)", 0),
        ("cse{bogus=1}", "no such option bogus", 0),
        ("cse,", "expected the name of a pass", 4),
        ("cse)", "unbalanced ')'", 3),
        ("func.func(cse", "'func.func(' is never closed", 0),
        ("cse{a", "'{' is never closed", 3),
        ("cse;canonicalize", "unexpected ';'", 3),
    ],
)
def test_malformed_pipelines_say_what_and_where(log: list[str], text: str, says: str, at: int) -> None:
    with pytest.raises(PipelineError) as caught:
        registry.parse(text)
    assert says in str(caught.value)
    assert caught.value.at == at


def test_a_failure_carries_place_name_and_notes(log: list[str]) -> None:
    with pytest.raises(PassFailure) as caught:
        registry.parse("tierup-test-fail").run(parse_module(TWO))
    (found,) = caught.value.diagnostics
    assert caught.value.pass_name == "tierup-test-fail"
    assert (found.severity, found.message) == ("error", "'torch.aten.tanh' op is not to my taste")
    assert (found.place.line, found.notes[0].message) == (3, "it is in here")
    assert str(caught.value) == 'tierup-test-fail: -:3:8: error: \'torch.aten.tanh\' op is not to my taste\n-:2:1: note: it is in here'


def test_failures_of_mlirs_passes_come_in_the_same_form(log: list[str]) -> None:
    with pytest.raises(PassFailure) as caught:
        registry.parse("func.func(convert-torch-to-linalg)").run(parse_module(TWO))
    assert "failed to legalize operation 'torch.aten.tanh'" in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].place.line == 3


def test_what_a_pass_leaves_broken_is_found_after_it(log: list[str]) -> None:
    with pytest.raises(PassFailure, match="has no attribute 'run'") as caught:
        registry.parse("tierup-test-break,tierup-test-note").run(parse_module(TWO))
    assert caught.value.pass_name == "tierup-test-break"
    assert log == []
    registry.parse("tierup-test-break,tierup-test-note").run(parse_module(TWO), verify=False)
    assert len(log) == 2


@pytest.mark.parametrize("after", ["", ",cse", ",func.func(cse)", ",func.func(tierup-test-note,cse)"])
def test_verified_at_the_end_mlir_never_sees_what_its_verifier_refuses(log: list[str], after: str) -> None:
    with pytest.raises(PassFailure, match="entry block must have 0 arguments") as caught:
        registry.parse(f"cse,func.func(tierup-test-mistype),tierup-test-note{after}").run(parse_module(TWO), verify_each=False)
    assert caught.value.pass_name == "tierup-test-note"
    assert len(log) == (3 if after.endswith("note,cse)") else 2)


def test_verified_at_the_end_tierup_ops_are_verified_too(log: list[str]) -> None:
    with pytest.raises(PassFailure, match="has no attribute 'run'") as caught:
        registry.parse("tierup-test-break,tierup-test-note,cse").run(parse_module(TWO), verify_each=False)
    assert caught.value.pass_name == "cse"
    assert len(log) == 2


def test_a_pipeline_that_another_follows_leaves_verifying_to_it(log: list[str]) -> None:
    module = parse_module(TWO)
    registry.parse("tierup-test-mistype").run(module, verify_each=False, verify_end=False)
    with pytest.raises(PassFailure, match="entry block must have 0 arguments"):
        registry.parse("tierup-test-note").run(module, verify_each=False)
    registry.parse("tierup-test-note").run(module, verify=False)


def test_hooks_see_every_pass_and_its_op(log: list[str]) -> None:
    seen: list[str] = []

    class Hook:
        def before(self, name: str, op: ir.Operation) -> None:
            seen.append(f"before {name} {op.name}")

        def after(self, name: str, op: ir.Operation, seconds: float) -> None:
            seen.append(f"after {name} {op.name}")
            assert seconds >= 0

        def failed(self, name: str, op: ir.Operation, seconds: float) -> None:
            seen.append(f"failed {name} {op.name}")

    with pytest.raises(PassFailure):
        registry.parse("func.func(cse),tierup-test-note{times=2},tierup-test-fail").run(parse_module(TWO), hooks=[Hook()])
    assert seen == [
        "before cse func.func", "after cse func.func", "before cse func.func", "after cse func.func",
        "before tierup-test-note{times=2} builtin.module", "after tierup-test-note{times=2} builtin.module",
        "before tierup-test-fail builtin.module", "failed tierup-test-fail builtin.module",
    ]  # fmt: skip


def test_registration_refuses_what_no_command_line_could_say(log: list[str]) -> None:
    with pytest.raises(ValueError, match="two passes are named tierup-test-note"):

        @register
        class Other(Pass):
            """Another."""

            name = "tierup-test-note"

            def run(self, module: ir.Module) -> None: ...

    with pytest.raises(ValueError, match="options are bool, int, float, str"):

        @register
        class Strange(Pass):
            """Strange."""

            name = "tierup-test-strange"
            table: dict = None  # type: ignore[assignment,type-arg]  # the point of the test

            def run(self, module: ir.Module) -> None: ...

    with pytest.raises(ValueError, match="neither run nor run_on_function"):

        @register
        class Idle(Pass):
            """Idle."""

            name = "tierup-test-idle"

    with pytest.raises(ValueError, match="has no docstring"):

        @register
        class Mute(Pass):
            name = "tierup-test-mute"

            def run(self, module: ir.Module) -> None: ...


def test_a_pass_has_the_name_of_its_file_and_says_what_that_says_first() -> None:
    own = {name: cls for name, cls in registry.passes().items() if cls.__module__.startswith("tierup.")}  # tests register others
    assert own
    for name, cls in own.items():
        assert cls.__module__.rpartition(".")[2] == name.removeprefix("tierup-").replace("-", "_")
        said = (sys.modules[cls.__module__].__doc__ or "").partition("\n")[0]
        assert said.startswith(f"{name}: ") and cls.summary().lower() == said.removeprefix(f"{name}: ").lower(), name


def test_finding_one_pass_imports_its_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.passes()  # so that nothing is discovered while the registry is not the real one
    monkeypatch.setattr(passes, "_registered", {})
    monkeypatch.setattr(passes, "_discovered", False)
    for name in [m for m in sys.modules if m.startswith("tierup.dialect.transforms.verify_")]:
        monkeypatch.delitem(sys.modules, name)
    assert registry.find("tierup-verify-graph") is not None
    assert set(passes._registered) == {"tierup-verify-graph"}


def test_every_named_pipeline_parses_and_its_text_is_stable() -> None:
    for name in registry.named_pipelines():
        text = str(registry.pipeline(name))
        assert str(registry.parse(text)) == text


def test_every_listed_pass_of_mlirs_exists() -> None:
    assert [n for n in mlir_passes.NAMES if not pipeline.is_mlir_pass(n)] == []


def test_pass_managers_live_as_long_as_their_context() -> None:
    context = new_context()
    registry.parse("cse").run(parse_module(TWO, context))
    assert context in pipeline._managers
    count = len(pipeline._managers)
    del context
    assert len(pipeline._managers) == count - 1


def test_other_distributions_add_passes_through_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "foreign_pass.py").write_text(
        "from dataclasses import dataclass\n"
        "from tierup.dialect.passes.registry import Pass, register\n"
        "@register\n@dataclass(frozen=True)\nclass Foreign(Pass):\n"
        '    """Foreign."""\n    name = "foreign"\n    def run(self, module): ...\n'
    )
    info = tmp_path / "foreign-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tierup.passes]\nforeign = foreign_pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(passes, "_registered", dict(registry.passes()))
    monkeypatch.setattr(passes, "_discovered", False)
    monkeypatch.setattr(passes, "_entry_points_loaded", False)
    assert "foreign" in registry.passes()
    assert registry.find("foreign") is not None


def test_the_builders_make_ops_that_verify() -> None:
    module = parse_module("func.func @f(%x: !torch.vtensor, %n: !torch.int) { return }", thread_context())
    block = module.body.operations[0].operation.regions[0].blocks[0]
    x, n = block.arguments
    from tierup.dialect.facts.profiled import parse

    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        refined = ir.Type.parse("!torch.vtensor<[4],f32>")
        ops.profile(x, 0, parse("f32[4]"))
        ops.guard(x, parse("f32[4]"), refined)
        ops.bailout(x, [n], 0, parse("f32[4]"), refined)
        (value, number), ok = ops.check([x, n], [parse("f32[4]"), parse("int=2")], [refined, n.type])
        for make in (ops.fusion_group, ops.fallback):
            group = make([value, number], [refined])
            with ir.InsertionPoint(group.regions[0].blocks[0]):
                ops.yield_([group.regions[0].blocks[0].arguments[0]])
        ops.create("if_then_else", [ok, n, number], [n.type])
    assert module.operation.verify()
    assert ops.verify(module.operation) == []
