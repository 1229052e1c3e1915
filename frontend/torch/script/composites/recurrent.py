"""Recurrent layers and cells as loops over time of what a cell computes.

    %y, %h, %c = aten::lstm(%x, %states, %params, ...)     of nn.LSTM; so with gru, rnn_tanh, rnn_relu, with packed sequences
    %h, %c = aten::lstm_cell(%x, %states, %w_ih, ...)      of nn.LSTMCell; so with gru_cell, rnn_tanh_cell, rnn_relu_cell

become, layer by layer and for each direction, one product of all inputs, and a loop that appends the states of each step to a list, which
is stacked behind it: one kernel, with gradients. The cells are those of Hochreiter and Schmidhuber (1997) with forget gates, of Cho et al.
(2014), and of Elman (1990), with their parameters in PyTorch's order.

Of packed sequences step t has rows for the sequences that are that long. All sequences are computed in each step, and a state is kept
where its sequence is not that long: so nothing changes its sizes in the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from textwrap import indent
from typing import Any, NamedTuple

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, float_of, int_of, is_none
from tierup.frontend.torch.script.builder import Builder

_CELLS = {  # what a step computes of `given`, the product of its input, and of the states
    "lstm": """
        enters, stays, new, leaves = (given + hidden).chunk(4, 1)
        next_c = torch.sigmoid(stays) * c + torch.sigmoid(enters) * torch.tanh(new)
        next_h = torch.sigmoid(leaves) * torch.tanh(next_c)
    """,
    "gru": """
        reset, update, new = given.chunk(3, 1)
        reset_by_h, update_by_h, new_by_h = hidden.chunk(3, 1)
        fresh = torch.tanh(new + torch.sigmoid(reset + reset_by_h) * new_by_h)
        next_h = (h - fresh) * torch.sigmoid(update + update_by_h) + fresh
    """,
    "rnn_tanh": "next_h = torch.tanh(given + hidden)",
    "rnn_relu": "next_h = torch.relu(given + hidden)",
}


class _Kind(NamedTuple):
    """What decides the loops."""

    cell: str
    parameters: int  # of one direction of one layer
    layers: int
    directions: int
    dropout: float  # between layers
    batch_first: bool
    packed: bool

    @property
    def states(self) -> tuple[str, ...]:
        return ("h", "c") if self.cell == "lstm" else ("h",)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of one direction of one layer."""
        biases = ("b_ih", "b_hh") if self.parameters > 3 else ()
        return "w_ih", "w_hh", *biases, *(("w_hr",) if self.parameters % 2 else ())


def is_apart(builder: Builder, name: str, operands: Sequence[ir.Value]) -> bool:
    """Whether this is one of the ops, and the graph says all that decides its loops."""
    return _kind(builder, name, operands) is not None or _cell(name) is not None


def apart(builder: Builder, node: Any, name: str, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Its results by other ops."""
    kind, cell = _kind(builder, name, operands), _cell(name)
    if kind is not None:
        return builder.inlined(_layers(kind), list(node.inputs()), here=True)
    assert cell is not None
    return builder.inlined(_step(cell, *(not is_none(b) for b in operands[4:6])), list(node.inputs()), here=True)


def _cell(name: str) -> str | None:
    cell = name.removeprefix("aten.").removesuffix("_cell")
    return cell if name.endswith("_cell") and cell in _CELLS else None


def _kind(builder: Builder, name: str, operands: Sequence[ir.Value]) -> _Kind | None:
    cell, _, overload = name.removeprefix("aten.").partition(".")
    if cell not in _CELLS or overload not in ("input", "data"):
        return None
    packed = overload == "data"
    states, params, _, layers, dropout, train, both, *batch_first = operands[1 + packed :]
    count, p, drops, reversed_too = int_of(layers), float_of(dropout), bool_of(train), bool_of(both)
    transposed = bool_of(batch_first[0]) if batch_first else False
    if count is None or p is None or drops is None or reversed_too is None or transposed is None:
        return None
    given = builder.items_of(params)
    if given is None or cell == "lstm" and len(builder.items_of(states) or ()) != 2:
        return None
    directions = 2 if reversed_too else 1
    each = len(given) // (count * directions)
    if not 2 <= each <= 5 or len(given) != each * count * directions:
        return None
    return _Kind(cell, each, count, directions, p if drops else 0.0, transposed, packed)


@cache
def _step(cell: str, b_ih: bool, b_hh: bool) -> Any:
    """One step of a cell, which takes one input, too, without a dim for batches."""
    kind = _Kind(cell, 4, 1, 1, 0.0, False, False)
    states = "h, c = states" if len(kind.states) == 2 else "h = states"
    results = ", ".join(f"next_{s}" for s in kind.states)
    return compiled(f"""
def run(x, states{": List[Tensor]" if len(kind.states) == 2 else ""}, w_ih, w_hh, b_ih: Optional[Tensor], b_hh: Optional[Tensor]):
    {states}
    given = torch._C._nn.linear(x, w_ih, {"b_ih" if b_ih else "None"})
    hidden = torch._C._nn.linear(h, w_hh, {"b_hh" if b_hh else "None"})
{indent(_text(kind), "    ")}
    return {results}
""")


def _text(kind: _Kind) -> str:
    """The lines of a step, after the products."""
    lines = "\n".join(line.strip() for line in _CELLS[kind.cell].strip().splitlines())
    return f"{lines}\nnext_h = torch._C._nn.linear(next_h, w_hr)" if "w_hr" in kind.names else lines


@cache
def _layers(kind: _Kind) -> Any:
    """All layers. Of packed sequences `rows` has for each step and sequence where its input is, `places` for each input where its step's
    state is, `lasts` for each step which sequences are over."""
    each = range(kind.layers * kind.directions)
    params = [[f"{name}{k}" for name in kind.names] for k in each]
    body = [
        f"{', '.join(n for names in params for n in names)} = params",
        f"first_{', first_'.join(kind.states)} = states",
        *(["rows, places, lasts = _places(sizes, x.size(0), first_h.size(1))"] if kind.packed else []),
        *(["x = x.transpose(0, 1)"] if kind.batch_first else []),
    ]
    for k in each:
        layer, backwards = divmod(k, kind.directions)
        if backwards == 0 and layer and kind.dropout:
            body.append(f"x = torch.dropout(x, {kind.dropout}, True)")
        given = ", ".join([*(f"first_{s}[{k}]" for s in kind.states), *params[k], *(["rows, places, lasts"] if kind.packed else [])])
        last = ", ".join(f"{s}{k}" for s in kind.states)
        body.append(f"y{backwards}, {last} = _{'backwards' if backwards else 'forwards'}(x, {given})")
        if backwards + 1 == kind.directions:
            body.append("x = torch.cat([y0, y1], -1)" if kind.directions == 2 else "x = y0")
    stacked = [f"torch.stack([{', '.join(f'{s}{k}' for k in each)}])" for s in kind.states]
    result = ", ".join(["x.transpose(0, 1)" if kind.batch_first else "x", *stacked])
    tail = "has_biases: bool, layers: int, dropout: float, train: bool, both: bool" + ("" if kind.packed else ", batch_first: bool")
    of_states = "states: List[Tensor]" if len(kind.states) == 2 else "states"
    return compiled(f"""
{_PLACES if kind.packed else ""}
{_direction(kind, backwards=False)}
{_direction(kind, backwards=True)}
def run(x, {"sizes, " if kind.packed else ""}{of_states}, params: List[Tensor], {tail}):
{indent(chr(10).join(body), "    ")}
    return {result}
""")


_PLACES = """
def _places(sizes, count: int, batch: int):
    if bool(sizes[0] != batch):
        raise RuntimeError("the states are of another number of sequences than the packed ones")
    ends = torch.cumsum(sizes, 0)
    begins = ends - sizes
    each = torch.arange(batch)
    lasts = each.unsqueeze(0) >= sizes.unsqueeze(1)
    rows = (begins.unsqueeze(1) + each.unsqueeze(0)).clamp(max=count - 1).flatten()
    inputs = torch.arange(count)
    steps = (inputs.unsqueeze(1) >= ends.unsqueeze(0)).sum(1)
    return rows, steps * batch + inputs - begins.index_select(0, steps), lasts.unsqueeze(2)
"""


def _direction(kind: _Kind, backwards: bool) -> str:
    """The function of one direction of a layer: from inputs, first states and parameters to the states of each step, and the last ones."""
    names = [*kind.states, *kind.names, *(["rows", "places", "lasts"] if kind.packed else [])]
    b_ih, b_hh = ("b_ih", "b_hh") if "b_ih" in kind.names else ("None", "None")
    step = "steps - 1 - i" if backwards else "i"
    kept = "torch.where(lasts[t], {0}, next_{0})" if kind.packed else "next_{0}"
    moves = "\n".join(f"        {s} = {kept.format(s)}" for s in kind.states)
    found = "torch.stack(states)"
    found = f"{found}.flip([0])" if backwards else found
    found = f"{found}.flatten(0, 1).index_select(0, places)" if kind.packed else found
    padded = "\n    inputs = inputs.index_select(0, rows).view(lasts.size(0), lasts.size(1), -1)" if kind.packed else ""
    return f"""
def _{"backwards" if backwards else "forwards"}(x, {", ".join(names)}):
    inputs = torch._C._nn.linear(x, w_ih, {b_ih}){padded}
    steps = inputs.size(0)
    if steps == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    states: List[Tensor] = []
    for i in range(steps):
        t = {step}
        given = inputs[t]
        hidden = torch._C._nn.linear(h, w_hh, {b_hh})
{indent(_text(kind), "        ")}
{moves}
        states.append(h)
    return {found}, {", ".join(kind.states)}
"""


def compiled(text: str) -> Any:
    """The graph of the function `run` of a text of TorchScript."""
    import torch  # here: optional, and whoever has a graph has it

    unit = torch.jit.CompilationUnit(text)  # a graph is its unit's until it is inlined
    graph = unit.run.graph
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_lower_all_tuples(graph)
    return graph
