"""PyTorch's programs: tierup against eager mode, TorchScript and torch.compile (inductor), one call without gradients.

One thread each, float32, in one process and in turns; the ratios are medians of neighbouring measurements over eager's. TorchScript has
run often enough to be optimised; torch.compile with static sizes, as it compiles first. Where inductor cannot compile (it wants a C++
compiler) the row says so. There is no bar.
"""

from __future__ import annotations

import logging
import statistics
from collections.abc import Callable, Collection
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import tierup
from benchmarks.steady import calls_per_block

REPEATS = 9
WARM_UP = 6  # calls: TorchScript profiles two, and compiles at the third
SIDES = ("eager", "TorchScript", "torch.compile", "tierup")


@dataclass(frozen=True)
class Case:
    """`make(networks)`: a module or a function. `inputs(torch)`: of one call. `how`: scripted or traced. `draws`: random numbers, of which
    torch.compile has its own."""

    name: str
    title: str
    make: Callable[[Any], Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    how: str = "script"
    draws: bool = False


@dataclass(frozen=True)
class Row:
    """Seconds of eager mode, the median; of each other side its time over eager's, or why there is none. `native`: all calls measured."""

    eager: float
    ratios: dict[str, float | str]
    native: bool


def _mask(torch: Any) -> Any:
    return torch.arange(64)[None] < torch.tensor([[64], [40], [7], [51]])


def _boxes(torch: Any) -> Any:
    low = torch.rand(40, 2)
    return torch.cat([low, low + 0.2 + 0.3 * torch.rand(40, 2)], 1)


CASES = (
    Case("perceptron", "MLP, batch 32, width 256", lambda n: n.Perceptron(256, 256, 10), lambda t: (t.randn(32, 256),)),
    Case("resnet", "ResNet blocks, 8x3x32x32, width 16", lambda n: n.ResNet(16, 10), lambda t: (t.randn(8, 3, 32, 32),)),
    Case("lstm", "LSTM loop, 32 steps, batch 16, hidden 64", lambda n: n.LSTM(64, 64), lambda t: (t.randn(32, 16, 64),)),
    Case("gru", "GRU loop, 32 steps, batch 16, hidden 64", lambda n: n.GRU(64, 64), lambda t: (t.randn(32, 16, 64),)),
    Case("encoder", "encoder, 2 layers, 4x64 tokens, width 64", lambda n: n.Encoder(100, 64, 4, 2, 64),
         lambda t: (t.randint(100, (4, 64)), _mask(t))),
    Case("decoder", "decoder, one token after 64, batch 4", lambda n: n.Decoder(64, 4, 100),
         lambda t: (t.randint(100, (4, 1)), (t.randn(4, 4, 64, 16), t.randn(4, 4, 64, 16)))),
    Case("gpt2_block", "GPT-2 block, 1x64 tokens, width 768", lambda n: n.GPT2Block(768, 12), lambda t: (t.randn(1, 64, 768),)),
    Case("bert", "BERT of transformers, 2 layers of width 128", lambda n: n.bert(128, 2, 512),
         lambda t: (t.randint(11, (2, 32)), t.ones(2, 32, dtype=t.long)), "trace"),
    Case("experts", "mixture of 8 experts, 64 tokens, width 64", lambda n: n.Experts(64, 8), lambda t: (t.randn(64, 64),)),
    Case("unet", "U-Net block, 4x3x32x32, width 16", lambda n: n.UNet(3, 16), lambda t: (t.randn(4, 3, 32, 32),)),
    Case("vae", "VAE, batch 64, 256 inputs", lambda n: n.VAE(256, 16), lambda t: (t.randn(64, 256),), draws=True),
    Case("suppression", "suppression of 40 boxes", lambda n: n.suppress, lambda t: (_boxes(t), t.rand(40))),
)  # fmt: skip


def measure(case: Case, repeats: int = REPEATS) -> Row:
    """Raises AssertionError where results differ from eager's, ImportError for what is not installed."""
    import torch

    from benchmarks import torch_networks

    for chatty in ("torch._dynamo", "transformers"):  # a graph that breaks, a model of no known kind
        logging.getLogger(chatty).setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    program = case.make(torch_networks)
    if isinstance(program, torch.nn.Module):
        program.eval()
    inputs = case.inputs(torch)
    with torch.no_grad():
        scripted = torch.jit.script(program) if case.how == "script" else torch.jit.trace(program, inputs, check_trace=False)
        ours = tierup.torch.from_torchscript(scripted)
        sides: dict[str, Any] = {"eager": program, "TorchScript": scripted, "torch.compile": torch.compile(program), "tierup": ours}
        failed: dict[str, float | str] = {}
        for name, side in list(sides.items()):
            try:
                warm_up(torch, program, side, inputs, compared=not (case.draws and name == "torch.compile"))
            except AssertionError:
                raise
            except Exception as e:  # Inductor fails in many ways, without a C++ compiler above all: then that is what the row says
                if name != "torch.compile":
                    raise
                failed[name] = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:60]}"
                del sides[name]
        timers = [Timer("f(*a)", globals={"f": side, "a": inputs}) for side in sides.values()]
        counts = [calls_per_block(t) for t in timers]
        before = ours.stats()
        seconds = [[t.timeit(n) / n for t, n in zip(timers, counts, strict=True)] for _ in range(repeats)]
    after = ours.stats()
    ratios = {name: statistics.median(row[i] / row[0] for row in seconds) for i, name in enumerate(sides)}
    native = after.hits - before.hits == after.calls - before.calls and all(type(v).__name__ != "Split" for v in ours.versions)
    return Row(statistics.median(row[0] for row in seconds), {**ratios, **failed}, native)


def warm_up(torch: Any, program: Any, side: Any, inputs: Any, compared: bool) -> None:
    """Calls that compile. `compared`: with eager's results of the same seed."""
    for _ in range(WARM_UP):
        torch.manual_seed(1)
        want = program(*inputs)
        torch.manual_seed(1)
        got = side(*inputs)
        if compared:
            torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


def report(repeats: int, span: Callable[[float], str], only: Collection[str] = ()) -> None:
    """The table's lines; a line that says so where PyTorch, or a package that a row needs, is missing. `only`: these rows."""
    try:
        import torch  # noqa: F401 - whether it is there
    except ImportError:
        print("PyTorch's programs: not measured, PyTorch is not installed")
        return
    print(f"{'PyTorch programs: time over eager mode':44} {'eager':>10} {'TorchScript':>12} {'torch.compile':>14} {'tierup':>8}")
    for case in CASES:
        if only and case.name not in only:
            continue
        try:
            row = measure(case, repeats)
        except ImportError as e:
            print(f"{case.title:44} not measured: {e}", flush=True)
            continue
        cells = [_cell(row.ratios[name]) for name in SIDES[1:]]
        notes = [f"{name}: {why}" for name, why in row.ratios.items() if isinstance(why, str)]
        notes += [] if row.native else ["tierup: native regions, tier 0 between them"]
        note = f"  ({'; '.join(notes)})" if notes else ""
        print(f"{case.title:44} {span(row.eager):>10} {cells[0]:>12} {cells[1]:>14} {cells[2]:>8}{note}", flush=True)


def _cell(ratio: float | str) -> str:
    return "-" if isinstance(ratio, str) else f"{ratio:.2f}x"
