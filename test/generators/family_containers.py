"""Lists, tuples and dicts of arrays and numbers."""

from __future__ import annotations

from draft import Draft, Nothing, indented, is_array
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


@statement("containers", 0.8)
def iterator(d: Draft) -> bool:
    """An iterator with a name, which may be used again when it is used up or left."""
    x, v, i = d.array("fi", least=1), d.new(), d.new()
    if v == i:
        raise Nothing
    made = d.of(f"iter({x})", f"enumerate({x})", f"zip({x}, range(3))", f"reversed({x})", "iter([1.0, 2.0])", f"range(len({x}))", f"map(abs, {x})")
    item = "b_[0]" if "enumerate" in made or "zip" in made else "b_"
    loop = [f"for b_ in {i}:", f"    {v} = {v} + {item}", *d.of([], ["    break"], [f"    for c_ in {i}:", f"        {v} = {v} * 2"])]
    return d.keep([f"{v} = 0", f"{i} = {made}", *loop, *d.of(loop, [f"{v} = {v} + len(list({i}))"], [])], lambda name: name == v)


ITEMS = ("float(E)", "E", "I", "float(E) * 2 + I", "(I, float(E))", "E > 0", "complex(E, I)", "(E, (I, E > 1))", "1.5")
STEPS = (
    "L.append(T)", "if E > 0:\n    L.append(T)", "if E > 0:\n    L.append(T)\nelse:\n    L += [T]", "if len(L) > 2:\n    break\nL.append(T)", "L.extend([T, T])",
    "L.append(T)\nif len(L) > 1:\n    L[-2] = T", "if I % 2:\n    continue\nL.append(T)", "for _ in range(I):\n    L.append(T)", "L.append(T)\nif L and E < 0:\n    L[0] = L[-1]",
)  # fmt: skip
AFTERWARDS = (
    "V = len(L)", "V = np.array(L)", "V = L[-1] if L else 0", "V = [len(L), L]", "V = tuple(L)", "V = L", "V = 0\nfor w in L:\n    V = V + 1", "L.append(L[0])\nV = len(L)", "V = bool(L)", "V = np.array(L)[1:]",
)  # fmt: skip


@statement("containers", 1.5)
def growing(d: Draft) -> bool:
    """A list that a loop appends to, and what is asked of it then."""
    x, name, found, i = d.array("fi", least=1), d.new(), d.new(), d.new()
    if len({name, found, i}) < 3:
        return False
    element = f"{x}[{i}]" + ".sum()" * (d.env[x].ndim > 1)
    texts = [d.of(*STEPS), d.of(*AFTERWARDS)]
    item = d.of(*ITEMS)
    filled = [t.replace("T", item).replace("E", element).replace("I", i).replace("L", name).replace("V", found) for t in texts]
    start = d.of("[]", "[]", "[]", f"[{d.of('1.0', '0', 'True')}]")
    lines = [f"{name} = {start}", f"for {i} in range(len({x})):", *indented(filled[0].splitlines()), *filled[1].splitlines()]
    return d.keep(lines, lambda n: n not in (i, "w", "_"))
