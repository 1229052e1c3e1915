"""Passes of the user's own: they run in every compile, in order, and never cost a wrong result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tierup
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes import core as passes
from tierup.dialect.passes.pipelines import custom
from tierup.runtime.base.events import EventKind


@dataclass(frozen=True)
class Census(tierup.Pass):
    """Write down the ops of a version."""

    name = "test-census"
    seen: ClassVar[list[list[str]]] = []

    def run(self, module: ir.Module) -> None:
        self.seen.append([op.name.removeprefix("torch.aten.") for op in walk(module.operation) if "aten" in op.name])


@dataclass(frozen=True)
class TanhToExp(tierup.Pass):
    """A pass that a test can tell has run."""

    name = "test-tanh-to-exp"

    def run(self, module: ir.Module) -> None:
        for op in [op for op in walk(module.operation) if op.name == "torch.aten.tanh"]:
            new = ir.Operation.create("torch.aten.exp", results=[op.results[0].type], operands=list(op.operands), loc=op.location, ip=ir.InsertionPoint(op))
            op.results[0].replace_all_uses_with(new.results[0])
            op.erase()


@dataclass(frozen=True)
class Raising(tierup.Pass):
    """A pass with a mistake."""

    name = "test-raising"

    def run(self, module: ir.Module) -> None:
        {}["missing"]


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    Census.seen.clear()
    yield
    for cls in (Census, TanhToExp, Raising):
        tierup.unregister_pass(cls)


def program(x):
    return np.tanh(x) * 2.0


def sorting(x):
    return np.exp(np.argpartition(np.tanh(x) * 2.0, -1)) + 1.0


X = np.linspace(-1, 1, 8)


def test_a_registered_pass_sees_every_version_once() -> None:
    with tierup.custom_pass(Census, "pre-fusion"):
        f = tierup.jit(program)
        for _ in range(4):
            f(X)
        assert Census.seen == [["tanh", "mul.Scalar"]]
        for _ in range(2):
            f(X[:4])
        assert len(Census.seen) == 2
    g = tierup.jit(program)
    for _ in range(3):
        g(X)
    assert len(Census.seen) == 2 and g.stats().hits == 2


def test_what_a_pass_rewrites_is_what_runs() -> None:
    with tierup.custom_pass(TanhToExp, "post-fusion"):
        f = tierup.jit(program)
        f(X)
        np.testing.assert_allclose(f(X), np.exp(X) * 2.0)
        assert "torch.aten.exp" in f.plan("specialized")


@pytest.mark.parametrize("order", [(Census, TanhToExp), (TanhToExp, Census)])
def test_passes_of_one_place_run_in_the_order_of_their_registration(order: tuple[type[tierup.Pass], ...]) -> None:
    for cls in order:
        tierup.register_pass("pre-fusion")(cls)
    f = tierup.jit(program)
    f(X), f(X)
    assert Census.seen == [["tanh" if order[0] is Census else "exp", "mul.Scalar"]]


def test_pre_fusion_comes_before_post_fusion_whatever_was_registered_first() -> None:
    tierup.register_pass("post-fusion")(TanhToExp)
    tierup.register_pass("pre-fusion")(Census)
    f = tierup.jit(program)
    f(X), f(X)
    assert Census.seen == [["tanh", "mul.Scalar"]]


def test_a_pass_runs_in_each_region_of_a_split_program() -> None:
    with tierup.custom_pass(Census, "post-fusion"):
        f = tierup.jit(sorting)
        for _ in range(4):
            np.testing.assert_allclose(f(X), sorting(X))
        assert f.stats().hits == 2
    assert ["tanh", "mul.Scalar"] in Census.seen and ["to.dtype", "exp", "add.Scalar"] in Census.seen


def test_a_pass_that_raises_leaves_the_program_in_tier_0_and_says_so() -> None:
    with tierup.custom_pass(Raising, "pre-fusion"):
        f = tierup.jit(program)
        events = []
        with tierup.events.subscribe(events.append):
            for _ in range(4):
                np.testing.assert_array_equal(f(X), program(X))
    assert not f.versions
    assert "test-raising (pre-fusion) raised KeyError" in f.explain() and "test_custom_passes.py" in f.explain()
    assert [e.kind for e in events].count(EventKind.GAVE_UP) == 1


def test_a_module_that_does_not_verify_is_not_compiled() -> None:
    @dataclass(frozen=True)
    class Breaking(tierup.Pass):
        """Leave a function without its return."""

        name = "test-breaking"

        def run(self, module: ir.Module) -> None:
            list(next(iter(module.body.operations)).operation.regions[0].blocks[0].operations)[-1].operation.erase()

    with tierup.custom_pass(Breaking, "post-fusion"):
        f = tierup.jit(program)
        for _ in range(3):
            np.testing.assert_array_equal(f(X), program(X))
    assert not f.versions and "does not verify" in f.explain()


def test_a_class_registered_again_takes_the_old_ones_place() -> None:
    tierup.register_pass("pre-fusion")(Census)
    tierup.register_pass("pre-fusion")(TanhToExp)
    tierup.register_pass("pre-fusion")(Census)
    assert custom.registered("pre-fusion") == (Census, TanhToExp)
    tierup.register_pass("post-fusion")(Census)
    assert (custom.registered("pre-fusion"), custom.registered("post-fusion")) == ((TanhToExp,), (Census,))


def test_a_wrong_place_is_named() -> None:
    with pytest.raises(ValueError, match="pre-fusion or post-fusion"):
        tierup.register_pass("before")


PASS_FILE = '''
from dataclasses import dataclass
import tierup

@tierup.register_pass("pre-fusion")
@dataclass(frozen=True)
class Hello(tierup.Pass):
    """Say hello, once per module."""

    name = "say-hello"
    word: str = "hello"

    def run(self, module):
        print(self.word, len(list(module.body.operations)))
'''


def test_tierup_opt_lists_and_runs_passes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(PASS_FILE)
    program = tmp_path / "p.mlir"
    program.write_text("func.func @f() { return }\n")
    opt = [sys.executable, "-m", "tierup.tools.opt", f"--load-passes={tmp_path / 'hello.py'}"]
    listed = subprocess.run([*opt, "--list-passes"], capture_output=True, text=True, check=True).stdout
    assert "say-hello" in listed and "Say hello, once per module." in listed
    assert subprocess.run([*opt, "--say-hello=word=hi", str(program)], capture_output=True, text=True, check=True).stdout.startswith("hi 1\n")
    by_hook = subprocess.run([*opt, "--tierup-custom-passes=when=pre-fusion", str(program)], capture_output=True, text=True, check=True)
    assert by_hook.stdout.startswith("hello 1\n")
    wrong = subprocess.run([*opt[:-1], "--load-passes=nowhere.py", str(program)], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and "cannot load passes from 'nowhere.py'" in wrong.stderr


def test_passes_come_from_entry_points_of_installed_distributions(tmp_path: Path) -> None:
    (tmp_path / "hello_passes.py").write_text(PASS_FILE)
    info = tmp_path / "hello-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{passes.ENTRY_POINTS}]\nhello = hello_passes\n")
    (tmp_path / "use.py").write_text(
        "import numpy as np, tierup\n@tierup.jit\ndef f(x): return np.tanh(x) * 2\nfor _ in range(3): f(np.ones(3))\nprint(f.stats().hits)\n"
    )
    run = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["hello", "1", "2"]
