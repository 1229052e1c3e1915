"""Writes: op=, stores by every kind of index, through views, to arguments, to locals, to copies."""

from __future__ import annotations

from draft import Draft, is_array
from families import statement
from family_elementwise import operand
from family_indexing import advanced_index, basic_index

OPERATORS = ("+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=")


def _written(d: Draft, least: int = 0) -> str:
    return d.pick(lambda v: is_array(v) and hasattr(v, "flags") and v.ndim >= least and type(v).__name__ == "ndarray")


@statement("writes", 2.5)
def update(d: Draft) -> bool:
    return d.keep([f"{_written(d)} {d.of('+=', '+=', '*=', '-=', *OPERATORS)} {operand(d)}"])


@statement("writes", 3)
def store(d: Draft) -> bool:
    x = _written(d, 1)
    index = basic_index(d, x) if d.chance.random() < 0.65 else advanced_index(d, x)
    how = d.of("=", "=", "=", "+=", "*=")
    value = d.of(operand(d), operand(d), f"{x}[{index}] * 2", f"{x}[0]", "1", "-1.5", "7", "[1, 2]", "[[2]]", "None")
    return d.keep([f"{x}[{index}] {'=' if value == 'None' else how} {value}"])


@statement("writes", 1)
def through_view(d: Draft) -> bool:
    """A view is made, and one of the two is written."""
    x, v = _written(d, 1), d.new()
    made = d.of(f"{x}[{basic_index(d, x, backwards=False)}]", f"{x}.T", f"{x}[...]", f"{x}.reshape(-1)", f"{x}[0]", f"{x}[1:]", f"{x}.copy()", f"{x}.ravel()", f"{x} * 1")
    target = d.of(v, v, x)
    write = d.of(f"{target} += {operand(d)}", f"{target}[0] = {operand(d)}", f"{target}[...] = {operand(d)}", f"{target}[:] = {operand(d)}", f"{target} *= 2")
    return d.keep([f"{v} = {made}", write])


@statement("writes", 0.5)
def reversed_view(d: Draft) -> bool:
    """A reversed view that something holds while the array is written."""
    x, v = _written(d, 1), d.new()
    held = d.of(f"[{x}[::-1]]", f"({x}[1:][::-1], 1)", f"{{0: np.flip({x})}}", f"[{x}] + [{x}[::-1]]", f"[y_[::-1] for y_ in ({x},)]")
    write = d.of(f"{x} += {operand(d)}", f"{x}[0] = {operand(d)}", f"{x} *= h_[-1]" if held[0] == "[" else f"{x} *= 2")
    return d.keep([f"h_ = {held}", write, f"{v} = h_[{d.of(0, -1) if held[0] == '[' else 0}] * 1"], lambda name: name == v)


@statement("writes", 1)
def fill_out(d: Draft) -> bool:
    """A local array made by a factory, and written bit by bit."""
    v, x = d.new(), d.array(least=1)
    made = d.of(f"np.zeros({x}.shape, {x}.dtype)", f"np.zeros_like({x})", f"np.ones({x}.shape)", f"np.zeros({x}.shape[0])", "np.zeros(3, np.float32)", f"np.empty_like({x})")
    lines = [f"{v} = {made}"]
    if "empty" in made:
        lines.append(f"{v}[...] = {d.of('1', '1' if v == x else x)}")  # v may be a name that is taken: it holds by then what nobody wrote
    lines.append(d.of(f"{v} += {operand(d)}", f"{v}[0] = {operand(d)}", f"{v}[1:] = {operand(d)}", f"for j in range(len({v})):\n    {v}[j] = {operand(d)}",
                      f"for j in range(len({x})):\n    {v}[j] += {x}[j]"))  # fmt: skip
    return d.keep("\n".join(lines).split("\n"), lambda name: name != "j")


@statement("writes", 0.5)
def method(d: Draft) -> bool:
    x = _written(d, 1)
    return d.keep([d.of(f"{x}.fill({d.of('1', '2.5', '0')})", f"np.add.at({x}, [0, 0], 1)")])
