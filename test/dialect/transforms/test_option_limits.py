"""Options outside their limits are refused before anything runs, by name and with what may stand there."""

from __future__ import annotations

import pytest

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes import registry
from tierup.dialect.passes.core import PACKAGES, options_of
from tierup.dialect.passes.registry import PassFailure, PipelineError
from tierup.dialect.torchscript.transforms.peel_loops import PeelLoops

PROGRAM = """
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.bailout"(%x) {index = 4 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @g(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
"""

OURS = {name: cls for name, cls in registry.passes().items() if cls.__module__.startswith(PACKAGES)}
NUMBERS = [(name, option) for name, cls in OURS.items() for option in options_of(cls) if option.type is int]


@pytest.mark.parametrize(("name", "option"), NUMBERS, ids=lambda p: p if isinstance(p, str) else p.flag)
def test_every_number_has_a_least_value_and_below_it_is_refused(name: str, option: object) -> None:
    registry.parse(f"{name}{{{option.flag}={option.limit.least}}}")
    with pytest.raises(PipelineError, match=f"option '{option.flag}' of pass '{name}' is at least {option.limit.least}, not") as caught:
        registry.parse(f"builtin.module(cse,{name}{{{option.flag}={option.limit.least - 1}}})")
    assert caught.value.at == len("builtin.module(cse,")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tierup-fuse-groups{policy=eager}", "option 'policy' of pass 'tierup-fuse-groups' is one of native, legacy, tensor-expressions, not eager"),
        ("tierup-custom-passes{when=now}", "option 'when' of pass 'tierup-custom-passes' is one of pre-fusion, post-fusion, not now"),
        ("tierup-update-requires-grad{to=maybe}", "is one of true, false, unknown, not maybe"),
    ],
)  # fmt: skip
def test_a_word_is_one_of_those_there_are(text: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        registry.parse(text)


def test_a_pass_made_in_python_is_checked_too() -> None:
    with pytest.raises(ValueError, match="option 'count' of pass 'tierup-peel-loops' is at least 1, not 0"):
        PeelLoops(count=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tierup-fuse-groups{excluded=aten.tanh,aten.sortt}", "option excluded: 'aten.sortt' is no op, .* did you mean 'aten.sort'"),
        ("tierup-build-bailout-continuations{function=nope}", "option function: no function is named 'nope'"),
        ("tierup-build-bailout-continuations{function=f index=99}", "'func.func' op option index: no bailout has index 99; there are 4"),
        ("tierup-build-bailout-continuations{function=g index=4}", "'func.func' op option index: no bailout has index 4; there is none"),
        ("tierup-build-bailout-continuations{index=5}", "'builtin.module' op option index: no bailout has index 5; there are 4"),
    ],
)
def test_names_are_of_something(text: str, said: str) -> None:
    with pytest.raises(PassFailure, match=said):
        registry.parse(text).run(parse_module(PROGRAM))


def test_what_is_there_is_taken() -> None:
    registry.parse("tierup-fuse-groups{excluded=aten.tanh,func.call,prim.If,tierup.guard,gone.py:3:4}").run(parse_module(PROGRAM))
    module = parse_module(PROGRAM)
    for text in ("index=4", "function=f index=4"):  # the second time it stands already
        registry.parse(f"tierup-build-bailout-continuations{{{text}}}").run(module)
    assert str(module).count("continuation = @f_continuation_4") == 1
