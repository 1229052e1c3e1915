"""Lists, tuples and dicts of arrays and numbers."""

from __future__ import annotations

from draft import Draft, Nothing, is_array
from families import statement


@statement("containers", 1)
def grown_list(d: Draft) -> bool:
    """A list that a loop appends to, and what is made of it."""
    v, l, x = d.new(), d.new(), d.array("fi", least=1)
    item = d.of(f"{x}[j] * 2", f"{l}[-1] + {x}[j]", f"{x}[j]", f"{x} * j", f"{l}[-1] * 2", f"{x}.sum() + j")
    start = d.of(f"[{x}[0]]", f"[{x}[0] * 1]", "[]", f"[{x}]")
    use = d.of(f"np.stack({l})", f"{l}[-1]", f"{l}[0] + {l}[-1]", f"len({l})", f"np.concatenate({l})", f"np.array({l})", f"sum({l})")
    count = d.of(f"len({x})", "3", f"1, len({x})", "0")
    if l == v:
        return False
    return d.keep([f"{l} = {start}", f"for j in range({count}):", f"    {l}.append({item})", f"{v} = {use}"], lambda name: name == v)


@statement("containers", 0.8)
def pair(d: Draft) -> bool:
    x, y, v, w = d.array(), d.array(), d.new(), d.new()
    if v == w:
        return False
    return d.keep(d.of([f"{v}, {w} = {x}, {y}"], [f"{v}, {w} = {y} * 2, {x}"], [f"{x}, {y} = {y}, {x}"], [f"t_ = ({x}, {y})", f"{v} = t_[0] + t_[1]"],
                       [f"t_ = [{x}, {y}]", f"{v} = t_[-1] * 1"], [f"t_ = {{'a': {x}, 'b': {y}}}", f"{v} = t_['a'] * t_['b']"]), lambda name: name in (v, w))  # fmt: skip


@statement("containers", 0.5)
def comprehension(d: Draft) -> bool:
    x, v = d.array(least=1), d.new()
    return d.keep([f"{v} = " + d.of(f"np.stack([{x}[j] * 2 for j in range(2)])", f"sum([{x}[j] for j in range(2)])", f"[{x}[j] * j for j in range(3)][-1]")])


@statement("containers", 0.4)
def unpack(d: Draft) -> bool:
    x = d.pick(lambda v: is_array(v) and v.ndim and len(v) == 2)
    v, w = d.new(), d.new()
    if v == w:
        raise Nothing
    return d.keep([f"{v}, {w} = {x}"])
