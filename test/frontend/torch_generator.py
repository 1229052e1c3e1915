"""Random programs of PyTorch: one text that is eager Python and TorchScript, and what a call of it shows under autograd."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

VALUES = (  # of two square matrices
    "{a} * {b}", "{a} + {b}", "torch.tanh({a})", "{a} - {b} * 0.5", "torch.relu({a})", "torch.maximum({a}, {b})", "{a} @ {b}",
    "torch.where({a} > {b}, {a}, {b})", "{a}.detach() * {b}", "{a}.clone()", "torch.cat([{a}[:1], {b}[1:]])", "{a}.sum(0) + {b}",
    "{a} * {b}.mean()", "torch.sigmoid({a}).t()", "torch.zeros_like({a})", "{a}.detach() + 1", "torch.stack([{a}[0], {b}[1], {a}[2]])",
)  # fmt: skip
VIEWS = ("{a}.t()", "{a}[:]", "{a}.view(3, 3)", "{a}.unsqueeze(0).squeeze(0)")
PARTS = ("{a}[1:]", "{a}[0]", "{a}[:, 0:2]", "{a}.t()[1]", "{a}[::2]", "{a}.sum()", "{a}.unsqueeze(1)", "{a}[0, 1]", "torch.chunk({a}, 2)[1]",
         "{a}.reshape(-1)")  # fmt: skip
WRITES = ("{v}.mul_({b})", "{v}.add_(1)", "{v}[0] = {b}[1]", "{v}.t().add_({b})", "{v}[1:].mul_(2)", "{v}[:, 0] = 0", "{v}.copy_({b})",
          "{v}[0:1] += {b}[2]")  # fmt: skip
CONDITIONS = ("bool({a}.sum() > 0)", "n > 1", "bool({a}[0, 0] > {b}[0, 0])", "n == 0")


@dataclass(frozen=True)
class Features:
    """What programs are made of: views among values, writes to the program's own values, writes to the arguments `x` and `y`."""

    views: bool = False
    writes: bool = False
    arguments: bool = False


class _Writer:
    def __init__(self, draw: random.Random, features: Features) -> None:
        self.draw, self.features = draw, features
        self.lines: list[str] = []
        self.names = ["x", "y", "u", "v", "w"]
        self.own: list[str] = []  # what may be written

    def fill(self, form: str) -> str:
        return form.format(a=self.draw.choice(self.names), b=self.draw.choice(self.names), v=self.draw.choice(self.own or ["x"]))

    def value(self) -> str:
        forms = (*VALUES, *VIEWS) if self.features.views else VALUES
        return self.fill(self.draw.choice(forms))

    def block(self, indent: str, depth: int, count: int, targets: list[str]) -> None:
        """Statements that set some of `targets`."""
        for _ in range(count):
            kind = self.draw.random()
            if depth and kind < 0.3:
                self.lines.append(f"{indent}if {self.fill(self.draw.choice(CONDITIONS))}:")
                self.block(indent + "    ", depth - 1, self.draw.randint(1, 2), targets)
                if self.draw.random() < 0.6:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1, self.draw.randint(1, 2), targets)
            elif depth and kind < 0.45:
                self.lines.append(f"{indent}for i in range({self.draw.choice(['n', 'n', '2', 'n - 1'])}):")
                self.block(indent + "    ", depth - 1, self.draw.randint(1, 2), targets)
            elif kind < 0.6 and self.features.writes and self.own:
                self.lines.append(indent + self.fill(self.draw.choice(WRITES)))
            else:
                self.lines.append(f"{indent}{self.draw.choice(targets)} = {self.value()}")


def program(seed: object, features: Features = Features()) -> tuple[Callable[..., Any], str]:  # noqa: B008 - frozen
    """A function of matrices x, y, u, v, w and a number n, and its text."""
    draw = random.Random(f"torch program {seed}")
    made = _Writer(draw, features)
    made.lines.append("def f(x, y, u, v, w, n: int):")
    targets = ["a", "b", "c"]
    for name in targets:
        made.lines.append(f"    {name} = {made.fill(draw.choice(('{a} * {b}', '{a} + 1', 'torch.tanh({a})')))}")
        made.names.append(name)
        made.own.append(name)
    if features.arguments:
        made.own += ["x", "y"]
    made.block("    ", 2, draw.randint(2, 5), targets)
    parts = PARTS if features.views else PARTS[5:6]
    first = draw.choice(targets)
    made.names = ["x", "y", "u", "v", "w", first]  # two views of a value that is no result itself would be copies
    results = [first, made.fill(draw.choice((*parts, "{a} * {b}"))), draw.choice([first, made.fill(draw.choice(parts))])]
    made.lines.append(f"    return {', '.join(results)}")
    text = "\n".join(made.lines) + "\n"
    name = f"<torch program {seed} {features}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {"torch": torch, "__name__": __name__}
    exec(compile(text, name, "exec"), space)  # noqa: S102 - a text of ours
    return space["f"], text


def leaves(seed: int, shapes: Any = None) -> tuple[list[torch.Tensor], list[bool]]:
    """Five matrices of random layouts, of which some require a gradient."""
    draw, generator = random.Random(f"leaves {seed}"), torch.Generator().manual_seed(seed)
    made = []
    for _ in range(5):
        values = torch.randn(6, 6, generator=generator)
        cut = draw.choice([values[:3, :3].contiguous(), values[:3, :3].t().contiguous().t(), values[::2, ::2], values[:3, 1:4]])
        made.append(cut.detach().requires_grad_(draw.random() < 0.6))
    return made, [t.requires_grad for t in made]


def shown(f: Callable[..., Any], given: list[torch.Tensor], n: int, chosen: tuple[int, ...], *, own: bool) -> dict[str, Any]:
    """What a call does: results, contents of arguments, layouts, which share memory, what requires gradients, gradients where they are.

    `chosen`: the results that are differentiated. `own`: x and y are no leaves of autograd's, so that they may be written."""
    leaves_ = [t.detach().clone(memory_format=torch.preserve_format).requires_grad_(t.requires_grad) for t in given]
    arguments = [t.as_strided(t.shape, t.stride()) * 1 if own and i < 2 else t for i, t in enumerate(leaves_)]
    wanted = [t for t in leaves_ if t.requires_grad]
    found = f(*arguments, n)
    tensors = [*arguments, *found]
    seen: dict[str, Any] = {
        "values": [t.detach().clone() for t in tensors],
        "requires": [t.requires_grad for t in tensors],
        "strides": [t.stride() for t in tensors],
        "shared": [_shared(a, b) for i, a in enumerate(tensors) for b in tensors[:i]],
    }
    total = [(found[k] * (found[k].detach() + 1)).sum() for k in chosen if found[k].requires_grad]
    if total and wanted:
        gradients = torch.autograd.grad(sum(total), wanted, allow_unused=True)
        seen["none"] = [g is None for g in gradients]
        seen["gradients"] = [g for g in gradients if g is not None]
    return seen


def _shared(a: torch.Tensor, b: torch.Tensor) -> object:
    """Which elements of two tensors are one; None where none is."""
    arrays = a.detach().numpy(), b.detach().numpy()
    if not np.shares_memory(*arrays):
        return None
    places = []
    for array in arrays:
        indices = np.indices(array.shape).reshape(array.ndim, array.size)
        strides = np.array(array.strides, np.int64)
        places.append(array.__array_interface__["data"][0] + (indices * strides[:, None]).sum(0))
    return np.equal.outer(*places).tolist()


def differences(found: dict[str, Any], wanted: dict[str, Any], *, but: tuple[str, ...] = ()) -> list[str]:
    """What two calls showed differently. Matrices are compared with room for another order of sums."""
    different = []
    for name in wanted.keys() | found.keys():
        a, b = found.get(name), wanted.get(name)
        if name in ("values", "gradients") and a is not None and b is not None:
            same = len(a) == len(b) and all(
                p.shape == q.shape and torch.allclose(p, q, rtol=1e-3, atol=1e-4, equal_nan=True) for p, q in zip(a, b, strict=True)
            )
        else:
            same = a == b
        if not same and name not in but:
            different.append(f"{name}: {a} is not {b}")
    return different
