"""`tierup.torch.install()`: programs of TorchScript are called as ever, and tierup answers."""

import gc
import threading
import traceback
import weakref

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

import tierup  # noqa: E402
from tierup.runtime.base.events import EventKind, subscribe  # noqa: E402

pytestmark = pytest.mark.torch
PATCHED = [(torch.jit.ScriptFunction, "__call__"), (torch._C.ScriptMethod, "__call__"), (torch.jit.RecursiveScriptModule, "__init__")]


@pytest.fixture(autouse=True)
def _uninstalled():
    yield
    tierup.torch.uninstall()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return torch.relu(self.layer(x)) * 2

    @torch.jit.export
    def doubled(self, x):
        return self.layer(x) + self.layer(x)


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + 1


def halved(x, by: float = 2.0):
    return (x / by).sin()


def ran_native() -> bool:
    """Whether tierup answered the last call of this thread, and has native code for it."""
    text = torch.jit.last_executed_optimized_graph()
    return isinstance(text, str) and "tierup.guard" in text


def is_taken(program, *args, **kwargs):
    want = program(*args, **kwargs)
    for _ in range(2):
        torch.testing.assert_close(program(*args, **kwargs), want)
    return ran_native()


X = torch.linspace(-1, 1, 12).reshape(4, 3)


def test_scripted_traced_and_loaded_programs_are_taken_whenever_they_were_made(tmp_path):
    model = Layer().eval()
    before = [torch.jit.script(model), torch.jit.trace(model, X), torch.jit.script(halved), torch.jit.trace(halved, X)]
    wants = [program(X) for program in before]  # their methods are cached now
    torch.jit.save(before[0], tmp_path / "model.pt")
    tierup.torch.install()
    after = [torch.jit.script(Layer()), torch.jit.trace(model, X), torch.jit.load(tmp_path / "model.pt")]
    for program in (*before, *after):
        assert is_taken(program, X), program
    for program, want in zip(before, wants, strict=True):
        torch.testing.assert_close(program(X), want)
    torch.testing.assert_close(after[-1](X), wants[0])
    torch.testing.assert_close(before[0].doubled(X), model.doubled(X))
    assert isinstance(torch.jit.last_executed_optimized_graph(), str)
    assert is_taken(before[2], X, by=3.0)


def test_modules_written_as_ScriptModule_and_frozen_ones_are_taken():
    class Written(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return x * 2 + 1

    tierup.torch.install()
    assert is_taken(Written(), X)
    assert is_taken(torch.jit.freeze(torch.jit.script(Layer().eval())), X)


def test_nothing_is_left_after_uninstall():
    def state():
        return [getattr(owner, name) for owner, name in PATCHED] + [
            torch.jit.last_executed_optimized_graph,
            torch.jit._fuser.last_executed_optimized_graph,
        ]

    scripted, function, was = torch.jit.script(Layer()), torch.jit.script(halved), state()
    tierup.torch.uninstall()  # without effect
    want, attributes = scripted(X), [set(p.__dict__) for p in (scripted.forward, function)]
    tierup.torch.install()
    tierup.torch.install()
    assert state() != was
    assert is_taken(scripted, X)
    assert is_taken(function, X)
    tierup.torch.uninstall()
    assert state() == was
    assert [set(p.__dict__) for p in (scripted.forward, function)] == attributes
    torch.testing.assert_close(scripted(X), want)
    assert not ran_native()


@pytest.mark.parametrize("listed", [Layer, "Layer", f"{__name__}.Layer", "itself"])
def test_programs_are_excepted_or_chosen_by_object_class_or_name(listed):
    layer, outer, function = torch.jit.script(Layer()), torch.jit.script(Outer(Layer())), torch.jit.script(halved)
    listed = layer if listed == "itself" else listed
    tierup.torch.install(except_=[listed, "halved"])
    assert [is_taken(p, X) for p in (layer, outer, function)] == [False, True, False]
    tierup.torch.install(listed, function)
    assert [is_taken(p, X) for p in (layer, outer, function)] == [True, False, True]


def test_a_training_step_is_eagers():
    eager = Layer()
    model = torch.jit.script(eager)
    copy = Layer()
    copy.load_state_dict(eager.state_dict())
    tierup.torch.install()
    for _ in range(3):
        for module in (model, copy):
            module.zero_grad()
            module(X).square().sum().backward()
            with torch.no_grad():
                for p in module.parameters():
                    p -= 0.1 * p.grad
    for ours, want in zip(model.parameters(), copy.parameters(), strict=True):
        torch.testing.assert_close(ours, want)


def test_only_the_outermost_call_is_taken():
    inner = torch.jit.script(halved)

    class Calling(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.jit.script(Layer())

        @torch.jit.ignore
        def in_python(self, x: torch.Tensor) -> torch.Tensor:
            taken.append(inner.__dict__.get("_tierup_answer"))
            return inner(x)

        def forward(self, x):
            return self.inner(self.in_python(x))

    taken = []
    calling = torch.jit.script(Calling())
    want = calling(X)
    tierup.torch.install()
    for _ in range(3):
        torch.testing.assert_close(calling(X), want)
    assert taken == [None] * 4
    assert not inner.__dict__.get("_tierup_answer")
    answers = [m for m in (calling.forward, calling.inner.forward) if m.__dict__.get("_tierup_answer")]
    assert len(answers) == 1


def tripled(self, input: tuple[torch.Tensor], output: torch.Tensor):
    return output * 3


def test_the_plan_shown_is_the_one_that_ran_last():
    function = torch.jit.script(halved)
    tierup.torch.install(fusion_strategy=[("static", 2)])
    for x in (X, X, X[:2], X[:2]):
        function(x)
    for size, x in ((2, X[:2]), (4, X)):
        function(x)
        assert f"[{size},3],f32>" in torch.jit.last_executed_optimized_graph()
    function(X[:3])  # tier 0
    assert "tierup.guard" not in torch.jit.last_executed_optimized_graph()


def test_hooks_of_the_module_run_after_what_is_taken():
    layer = Layer()
    layer.register_forward_hook(tripled)
    model = torch.jit.script(layer)
    tierup.torch.install()
    assert is_taken(model, X) is False  # the hook is PyTorch's, and ran last
    torch.testing.assert_close(model(X), layer(X))
    assert model.forward.__dict__["_tierup_answer"].answered() == 4


@torch.jit.script
class Pair:
    def __init__(self, first: torch.Tensor):
        self.first = first


def test_what_is_not_translated_runs_in_pytorch_and_an_event_says_so():
    def of_pair(pair: Pair, x):
        return pair.first + x

    function, said = torch.jit.script(of_pair), []
    tierup.torch.install()
    with subscribe(said.append):
        for _ in range(3):
            torch.testing.assert_close(function(Pair(X), X), X + X)
    assert EventKind.FALLBACK in {event.kind for event in said}
    assert not isinstance(torch.jit.last_executed_optimized_graph(), str)


def test_traces_and_transforms_see_pytorchs_program():
    function = torch.jit.script(halved)
    tierup.torch.install()
    traced = torch.jit.trace(lambda x: function(x) * 2, X)
    assert "halved" in str(traced.graph)
    torch.testing.assert_close(traced(X + 1), function(X + 1) * 2)
    torch.testing.assert_close(torch.func.vmap(function)(X), function(X))
    torch.testing.assert_close(torch.func.grad(lambda x: function(x).sum())(X), (X / 2).cos() / 2)


def test_errors_name_the_line_of_the_program():
    def wrong(x, y):
        z = x + 1
        return z @ y  # the line

    function = torch.jit.script(wrong)
    tierup.torch.install()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="cannot be multiplied") as raised:
            function(X, X)
        assert torch.jit.last_executed_optimized_graph() is not None
        assert "return z @ y  # the line" in "".join(traceback.format_exception(raised.value))


def test_a_module_that_nobody_holds_is_freed():
    tierup.torch.install()
    model = torch.jit.script(Layer())
    model(X)
    gone = weakref.ref(model)
    del model
    torch.jit.script(halved)(X)
    gc.collect()
    assert gone() is None


def test_threads_each_have_their_calls_taken():
    model = torch.jit.script(Layer())
    want, found = model(X), []
    tierup.torch.install()

    def call():
        for _ in range(5):
            torch.testing.assert_close(model(X), want)
        found.append(ran_native())

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert any(found)


def test_wrong_options_and_programs_are_refused_by_name():
    with pytest.raises(TypeError, match="max_version"):
        tierup.torch.install(max_version=3)
    with pytest.raises(ValueError, match="foreign"):
        tierup.torch.install(foreign="no")
    with pytest.raises(TypeError, match="no scripted module"):
        tierup.torch.install(except_=[nn.Linear(1, 1)])
    assert not hasattr(torch.jit.script(halved), "_tierup_answer")
