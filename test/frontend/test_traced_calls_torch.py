"""Our functions inside torch.jit.trace, torch.fx and torch.compile: the right result for other inputs, never a constant."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402 - it may be missing

import tierup  # noqa: E402
from tierup.torch import UnsupportedProgram, from_torchscript  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@torch.jit.script
def branch(x, y):
    if bool(x.sum() > 0):
        x = x * y
    return x - y


def _branch(x, y):
    if x.sum() > 0:
        for _ in range(3):
            x = x * y
    return np.where(x > 0, x - y, 0.5)


def _reference(x, y):
    return torch.from_numpy(_branch(x.numpy(), y.numpy()))


INPUTS = [(torch.tensor([a, 2.0, -1.0]), torch.tensor([1.5, b, 3.0])) for a in (1.0, -5.0) for b in (2.0, -2.0)]
ours = {"script": from_torchscript(branch), "jit": tierup.jit(_branch)}
expected = {"script": branch, "jit": _reference}


def user(kind):
    return lambda x, y: ours[kind](x * 2, y) + 1


def check(kind, program):
    for x, y in INPUTS:
        torch.testing.assert_close(program(x, y), expected[kind](x * 2, y) + 1, check_dtype=True)


def kinds(graph):
    return {node.kind() for node in graph.findAllNodes("prim::If") + graph.findAllNodes("prim::Loop")}


@pytest.mark.parametrize("kind", ["script", "jit"])
@pytest.mark.parametrize("calls", [0, 3])
def test_a_trace_has_the_graph_with_its_control_flow(kind, calls):
    for _ in range(calls):
        ours[kind](*INPUTS[0])
    traced = torch.jit.trace(user(kind), INPUTS[0])
    check(kind, traced)
    assert kinds(traced.inlined_graph) == ({"prim::If"} if kind == "script" else {"prim::If", "prim::Loop"})


def test_a_trace_serves_other_sizes():
    traced = torch.jit.trace(user("jit"), INPUTS[0])
    x, y = torch.randn(2, 7)
    torch.testing.assert_close(traced(x, y), _reference(x * 2, y) + 1)


def test_numpys_promotion_is_in_the_trace():
    @tierup.jit
    def program(x, y):
        return x / y, np.float32(1) * x

    def wanted(x, y):
        return torch.from_numpy(x.numpy() / y.numpy()), torch.from_numpy(np.float32(1) * x.numpy())

    x, y = torch.arange(1, 4, dtype=torch.int32), torch.arange(2, 5, dtype=torch.int16)
    traced = torch.jit.trace(lambda x, y: program(x, y), (x, y))
    for found, right in zip(traced(x + 1, y), wanted(x + 1, y), strict=True):
        torch.testing.assert_close(found, right)


def test_arrays_from_outside_are_constants_of_the_trace():
    weights = np.arange(3, dtype=np.float32)

    @tierup.jit
    def program(x):
        return x * weights

    traced = torch.jit.trace(lambda x: program(x), (torch.ones(3),))
    assert traced(torch.full((3,), 2.0)).tolist() == [0, 2, 4]


def test_numbers_that_a_function_gives_are_warned_of():
    @tierup.jit
    def program(x):
        return x + 1, x.shape[0] * 2

    with pytest.warns(torch.jit.TracerWarning, match="the numbers that program gives are constants"):
        traced = torch.jit.trace(lambda x: program(x)[0] * program(x)[1], (torch.ones(3),))
    assert traced(torch.ones(3)).tolist() == [12, 12, 12]


def test_what_torchscript_cannot_say_is_refused_by_name():
    @tierup.jit
    def writes(x):
        x += 1
        return x

    with pytest.raises(UnsupportedProgram, match="writes cannot be traced: it writes its argument x"):
        torch.jit.trace(lambda x: writes(x * 1), (torch.ones(3),))


def test_an_op_that_torchscript_lacks_is_refused_by_name_and_line():
    from tierup.frontend.torch.calls.to_script import to_script

    text = (
        "func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {\n"
        '  %y = torch.prims.sqrt %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32> loc("model.py":7:3)\n'
        "  return %y : !torch.vtensor<[2],f32>\n}\n"
    )
    with pytest.raises(UnsupportedProgram, match=r"model.py:7:.*no operator for prims.sqrt"):
        to_script(text, "main")


@pytest.mark.parametrize("kind", ["script", "jit"])
def test_symbolic_tracing_sees_one_call(kind):
    graph = torch.fx.symbolic_trace(user(kind))
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"].count(ours[kind]) == 1
    check(kind, graph)


def test_make_fx_sees_one_call_of_a_jit_function():
    graph = make_fx(user("jit"))(*INPUTS[0])
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"].count(ours["jit"]) == 1
    check("jit", graph)


def test_make_fx_sees_the_operations_of_a_torchscript_program():
    @torch.jit.script
    def program(x, y):
        return x * y + x

    ours = from_torchscript(program)
    for _ in range(3):
        ours(*INPUTS[0])
    graph = make_fx(lambda x, y: ours(x, y))(*INPUTS[0])
    assert torch.ops.aten.mul.Tensor in [n.target for n in graph.graph.nodes]
    for x, y in INPUTS:
        torch.testing.assert_close(graph(x, y), program(x, y))


def test_fake_tensors_are_refused():
    with pytest.raises(TypeError, match="FakeTensor is not supported"):
        make_fx(user("jit"), tracing_mode="fake")(*INPUTS[0])


def test_under_autocast_the_original_runs():
    @torch.jit.script
    def program(x, y):
        return torch.mm(x, y)

    x = torch.randn(3, 3)
    ours = from_torchscript(program)
    for _ in range(3):
        ours(x, x)
    seen = []
    with torch.autocast("cpu"), tierup.events.subscribe(seen.append):
        assert ours(x, x).dtype is torch.bfloat16
    assert [(e.kind.value, e.reason.name, e.guard) for e in seen] == [("fallback", "WATCHED", "autocast")]
    assert ours(x, x).dtype is torch.float32


@pytest.mark.parametrize("kind", ["script", "jit"])
def test_torch_compile_breaks_its_graph_at_our_functions(kind):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(user(kind), backend=backend)
        check(kind, compiled)
    operations = [[n.target for n in g.graph.nodes if n.op == "call_function"] for g in graphs]
    assert all(len(found) == 1 for found in operations) and len(operations) >= 2  # x * 2 before, + 1 behind
