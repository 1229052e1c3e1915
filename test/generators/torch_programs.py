"""`torch_program(seed)`: a random TorchScript module, with weights alone, in lists and in recurrent layers; eager mode is its oracle."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import draft
import torch
from draft import Draft, Nothing, indented
from families import Row, Statement
from torch import nn

ROWS: list[Row] = []
HEAD = "import torch\nfrom torch import nn, Tensor\nfrom typing import List\n\n\n"
UNARY = (
    "torch.tanh(X)", "torch.sigmoid(X)", "torch.relu(X)", "X.abs()", "-X", "X.exp()", "X * 2", "X + 1", "torch.sin(X)", "X.square()", "X.clamp(-1, 1)", "torch.softmax(X, -1)", "X.sum()", "X.mean(-1)",
    "X.sum(0)", "X.max()", "torch.cumsum(X, 0)", "X.clone()", "X.contiguous()", "X / 2", "torch.where(X > 0, X, X * 0.1)", "X.detach()", "X.sqrt()", "(X > 0).float()", "X.norm()", "torch.nn.functional.gelu(X)",
    "X.amax(-1)", "torch.flip(X, [0])", "torch.zeros_like(X)", "torch.ones_like(X)", "X.sum(-1, True)", "torch.cat([X, X * 2])", "torch.stack([X, X], 0)", "X.reciprocal()", "torch.log1p(X.abs())", "X.pow(2)",
    "torch.nn.functional.layer_norm(X, [X.size(-1)])", "torch.nn.functional.leaky_relu(X)", "X.to(torch.float64)", "torch.roll(X, 1, 0)", "X.var(-1)", "X.topk(1, -1)[0]", "X.sort(-1)[0]", "torch.floor(X)",
)  # fmt: skip
BINARY = ("X + Y", "X * Y", "X - Y", "X / (Y * Y + 1)", "torch.maximum(X, Y)", "X @ Y", "X @ Y.t()", "torch.where(X > Y, X, Y)", "torch.cat([X, Y])", "torch.stack([X, Y])", "torch.addcmul(X, X, Y)", "X.mul(Y)",
          "torch.add(X, Y, alpha=2)", "torch.nn.functional.linear(X, Y)", "X.matmul(Y)")  # fmt: skip
VIEWS = ("X.t()", "X.view(-1)", "X.reshape(-1)", "X[0]", "X[1:]", "X[:-1]", "X[::2]", "X.unsqueeze(0)", "X.transpose(0, -1)", "X.select(0, 0)", "X.narrow(0, 0, 1)", "X.expand(2, -1, -1)", "X.squeeze()", "X[:, 0]",
         "X[..., 1:]", "X.chunk(2)[0]", "X.split(1)[-1]", "X.unbind(0)[0]", "X.flatten()", "X.diagonal()", "X.permute(1, 0)", "X.expand_as(X)", "X.view(X.size(0), -1)", "X.detach()")  # fmt: skip
WRITES = ("X.add_(1)", "X.mul_(2)", "X.add_(Y)", "X.mul_(Y)", "X.copy_(Y)", "X.zero_()", "X.fill_(0.5)", "X[0] = Y", "X[0] = 1.5", "X[1:] = Y", "X[X > 0] = 0.0", "X += Y", "X *= 2", "X.relu_()", "X.sub_(Y, alpha=2)",
          "X.clamp_(-1, 1)", "X.tanh_()", "X[:, 0] = 2.0", "X.masked_fill_(X > 1, 0.0)", "X[0].add_(1)", "X.t().mul_(2)", "X.view(-1).add_(1)", "X[::2].mul_(3)", "X.detach().mul_(2)", "X.detach()[0].fill_(0.5)", "X.data.add_(1)", "X.detach().add_(Y)")  # fmt: skip
TESTS = ("bool(X.sum() > 0)", "X.size(0) > 3", "flag", "bool((X > 1).any())", "X.dim() > 1", "bool(X.max() > 1.0)", "not flag", "n > 2")
SHAPES = (("n", "m"), ("n", "m"), ("m",), ("m", "m"), ("n",))


def statement(family: str, weight: float) -> Any:
    def add(write: Statement) -> Statement:
        ROWS.append(Row(family, weight, write))
        return write

    return add


def tensor(d: Draft, least: int = 0) -> str:
    return d.pick(lambda v: isinstance(v, torch.Tensor) and v.dim() >= least and v.is_floating_point())


def filled(text: str, x: str, y: str) -> str:
    return text.replace("X", x).replace("Y", y)


@statement("values", 4)
def unary(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d.of(*UNARY), tensor(d), '')}"])


@statement("values", 5)
def binary(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d.of(*BINARY), tensor(d), tensor(d))}"])


@statement("views", 3)
def view(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d.of(*VIEWS), tensor(d, 1), '')}"])


@statement("writes", 2)
def write(d: Draft) -> bool:
    return d.keep([filled(d.of(*WRITES), d.pick(lambda v: isinstance(v, torch.Tensor) and not isinstance(v, nn.Parameter) and v.is_floating_point()), tensor(d))])


def condition(d: Draft) -> str:
    return filled(d.of(*TESTS), tensor(d, 1), "")


@statement("control", 1)
def branch(d: Draft) -> bool:
    v, x, y = d.new(), tensor(d), tensor(d)
    arms = d.of(("{x} * 2", "{x}"), ("{x}", "{y}"), ("{x} + {y}", "{x}"), ("{x}.clone()", "{x}"), ("torch.tanh({x})", "{y} * 2"), ("{x}[0]", "{x}[-1]"), ("{x}[1:]", "{x}[:-1]"))
    inner = d.inner(lambda b: grow(b, d.of(0, 1, 2)))
    a, b = (arm.format(x=x, y=y) for arm in arms)
    return d.keep([f"if {condition(d)}:", *indented([line for line in inner if line != "pass"]), f"    {v} = {a}", "else:", f"    {v} = {b}"], lambda name: name == v)


@statement("control", 0.7)
def write_in_branch(d: Draft) -> bool:
    return d.keep([f"if {condition(d)}:", *indented(d.inner(lambda b: grow(b, d.of(1, 2)))),], lambda name: False)


@statement("control", 1)
def loop(d: Draft) -> bool:
    v, x, y = d.new(), tensor(d, 1), tensor(d)
    i = f"i{d.depth}"
    start = d.of(f"{x} * 0", f"{x}.clone()", x, f"{x}[0] * 0", f"torch.zeros_like({x})")
    step = d.of(f"{v} = {v} + {x}[{i}]", f"{v} = torch.tanh({v} + {y})", f"{v} = {v} * {y} + {i}", f"{v}[{i}] = {x}[{i}] * 2", f"{v} = {v} + {x}", f"{v} += {y}", f"{v}[{i}] += {y}[0]")
    count = d.of("n", "2", f"{x}.size(0)", f"len({x})", "0", "3")
    return d.keep([f"{v} = {start}", f"for {i} in range({count}):", f"    {step}"], lambda name: name == v)


@statement("lists", 1)
def grown(d: Draft) -> bool:
    v, l, x, y = d.new(), d.new(), tensor(d, 1), tensor(d)
    if v == l:
        raise Nothing
    item = d.of(f"{l}[-1] * {y}", f"{x} * {y}", f"{x}[j]", f"{l}[-1] + 1", f"{x} * j", f"torch.tanh({l}[-1])")
    use = d.of(f"torch.stack({l})", f"{l}[-1]", f"torch.cat({l})", f"{l}[0] + {l}[-1]")
    return d.keep([f"{l} = [{d.of(x, f'{x} * 1', f'{x}[0]')}]", f"for j in range({d.of('n', '2', '3', '0')}):", f"    {l}.append({item})", f"{v} = {use}"], lambda name: name == v)


@statement("lists", 0.5)
def dims(d: Draft) -> bool:
    """Numbers that a loop appends, read by an op on tensors."""
    v, l, x = d.new(), d.new(), tensor(d, 1)
    if v == l:
        raise Nothing
    use = d.of(f"{x}.permute({l})", f"{x}.sum({l})", f"torch.movedim({x}, {l}, list(range({x}.dim())))", f"{x}.flip({l}[1:])", f"torch.tensordot({x}, {x}, {l}, {l})")
    return d.keep([f"{l}: List[int] = []", f"for j in range({x}.dim()):", f"    {l}.append({d.of(f'{x}.dim() - 1 - j', 'j', '-1 - j')})", f"{v} = {use}"], lambda name: name == v)


@statement("lists", 1)
def weights(d: Draft) -> bool:
    """The module's list of weights, walked, stacked, indexed."""
    v, x = d.new(), tensor(d, 1)
    return d.keep(d.of([f"{v} = {x}", "for w in self.ws:", f"    {v} = torch.tanh({v} @ w)"], [f"{v} = {x}", "for w in self.ws:", f"    {v} = {v} + w.sum()"],
                       [f"{v} = torch.stack([w for w in self.ws]).sum(0)"], [f"{v} = self.ws[0] * 2 + self.ws[1]"], [f"{v} = torch.cat([self.ws[0], self.ws[1]])"],
                       [f"{v} = {x} @ self.ws[1]"]), lambda name: name == v)  # fmt: skip


@statement("lists", 0.6)
def layer(d: Draft) -> bool:
    x = tensor(d, 2)
    return d.keep([f"{d.new()} = {d.of(f'self.linear({x})', f'self.rnn({x})[0]', f'self.rnn({x}.unsqueeze(0))[0]', f'self.norm({x})')}"])


@statement("lists", 0.5)
def parts(d: Draft) -> bool:
    x, v, w = tensor(d, 1), d.new(), d.new()
    if v == w:
        raise Nothing
    return d.keep(d.of([f"{v}, {w} = torch.chunk({x}, 2)"], [f"{v}, {w} = {x}.split([1, {x}.size(0) - 1])"], [f"{v}, {w} = {x} * 2, {x}"], [f"{v} = sum_ = torch.stack({x}.unbind(0)).sum(0)"],
                       [f"{v}, {w} = {x}.max(0)"], [f"{v}, {w} = torch.var_mean({x})"]), lambda name: name in (v, w))  # fmt: skip


def grow(d: Draft, count: int) -> None:
    rows = [r for r in ROWS if d.depth < 2 or r.family != "control"]
    for _ in range(count):
        for _ in range(12):
            try:
                if d.chance.choices(rows, [r.weight for r in rows])[0].write(d):
                    break
            except Nothing:
                continue


class TorchDraft(Draft):
    """Of tensors: names of torch are known to the lines."""


@dataclass(frozen=True)
class TorchProgram:
    """`source` defines Program, a module. `shapes`: of its tensors x, y, with n and m. `calls`: their numbers, on which all else of them hangs."""

    source: str
    shapes: list[tuple[str, ...]]
    seed: object
    calls: list[int] = field(default_factory=lambda: list(range(9)))


def _init(m: int, layer: str) -> list[str]:
    return ["super().__init__()", f"self.a = nn.Parameter(torch.randn({m}, {m}) / 2)", f"self.b = nn.Parameter(torch.randn({m}))", f"self.ws = nn.ParameterList([nn.Parameter(torch.randn({m}, {m}) / 2) for _ in range(2)])",
            f"self.linear = nn.Linear({m}, {m})", f"self.rnn = nn.{layer}({m}, {m}, batch_first={bool(m % 2)})", f"self.norm = nn.LayerNorm({m})", f"self.register_buffer('c', torch.ones({m}))"]  # fmt: skip


def torch_program(seed: object, most: int = 9) -> TorchProgram:
    chance = random.Random(f"torch {seed}")
    m, rnn = chance.choice((2, 3, 4)), chance.choice(("LSTM", "GRU", "RNN"))
    shapes = [chance.choice(SHAPES) for _ in range(chance.choice((1, 2, 2)))]
    head = HEAD + "\n".join(["class Program(nn.Module):", "    def __init__(self):", *indented(indented(_init(m, rnn))), ""])
    draft.NAMES.update(torch=torch, nn=nn, List=list)
    names: dict[str, Any] = {}
    exec(head + "\n    pass\n", names)  # noqa: S102 - our own text
    torch.manual_seed(0)
    module = names["Program"]()
    values = dict(zip("xy", tensors(shapes, 3, m, 0), strict=False))
    d = Draft(chance, {**values, "n": 3, "flag": True, "self": module}, raises=0.0)
    for name in ("a", "b", "c"):
        if chance.random() < 0.5:
            d.keep([f"w{name} = self.{name}"])
    with torch.no_grad():
        grow(d, chance.randint(2, most))
    found = [n for n, v in d.env.items() if isinstance(v, torch.Tensor) and n[0] in "vxy"]
    chosen = list(dict.fromkeys([found[-1], *(chance.choice(found) for _ in range(chance.choice((0, 1, 1, 2))))]))
    lines = [*d.lines, f"return {', '.join(chosen)}"]
    given = "".join(f", {name}: Tensor" for name in "xy"[: len(shapes)])
    source = head + "\n".join(["", f"    def forward(self{given}, n: int, flag: bool):", *indented(indented(lines))]) + "\n"
    return TorchProgram(source, shapes, (seed, m))


def tensors(shapes: list[tuple[str, ...]], n: int, m: int, seed: int) -> list[torch.Tensor]:
    """Numbers that all differ: of equal ones each sort has its own order."""
    chance = torch.Generator().manual_seed(seed)
    made = []
    for shape in shapes:
        sizes = [{"n": n, "m": m}[d] for d in shape]
        count = int(torch.tensor(sizes).prod())
        made.append((torch.randperm(count, generator=chance).view(sizes) - count // 2) / 4 + 0.0625)
    return made
