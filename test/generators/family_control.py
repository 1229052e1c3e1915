"""Branches and loops, with break, continue and return in them."""

from __future__ import annotations

from draft import Draft, Lines, Nothing, indented, is_array
from families import grow, statement
from family_elementwise import operand

WEIGHTS = {"writes": 1.6, "control": 0.5, "containers": 0.6}
SUMS = ("{x}.sum() > {t}", "np.any({x} > {t})", "{x}.max() > {t}", "{x}.mean() < {t}", "np.all({x} == {x})", "{x}.shape[0] > 3", "{x}.size > 4", "len({x}) % 2 == 0", "{x}.ravel()[0] > {t}",
        "{x}.ravel()[:{t}]", "{x}[{x} > {t}][:1]", "{x}.ravel()[0] > {t} or (len({x}) > 1 and {x}.ravel()[0])")


def condition(d: Draft) -> str:
    """Something with a truth value, of arrays or of numbers."""
    if d.chance.random() < 0.35:
        try:
            a = d.number_((int, float, bool))
            return d.of(f"{a} > 1", f"{a} == 2", f"not {a}", a, f"{a} < 0 or {a} > 2", f"0 < {a} < 3")
        except Nothing:
            pass
    x = d.array("fiub", least=1)
    return d.of(*SUMS).format(x=x, t=d.of("0", "1", "2.5", "-1", "10"))


def body(d: Draft, count: int, extra: dict[str, object] | None = None, *, loop: bool = False) -> Lines:
    return d.inner(lambda block: grow(block, count, WEIGHTS), extra, loop=loop)


def old(d: Draft) -> set[str]:
    return set(d.env)


@statement("control", 2)
def branch(d: Draft) -> bool:
    first, second = body(d, d.of(1, 2, 3)), body(d, d.of(1, 2))
    lines = [f"if {condition(d)}:", *indented(first)]
    roll = d.chance.random()
    if roll < 0.6:
        lines += ["else:", *indented(second)]
    elif roll < 0.7:
        lines += [f"elif {condition(d)}:", *indented(second)]
    return d.keep(lines, lambda name: False)


@statement("control", 1.8)
def choose(d: Draft) -> bool:
    """Both arms give one name a value."""
    v, x, y = d.new(), d.array(), d.array()
    arms = d.of(("{x}", "{y}"), ("{x} * 2", "{x} - 1"), ("{x}", "{x} * 2"), ("{x}[0]", "{x}[-1]"), ("{x}[1:]", "{x}[:-1]"), ("{x}.copy()", "{x}"), ("1", "2"), ("{x}.T", "{x}"))
    a, b = (arm.format(x=x, y=y) for arm in arms)
    if d.chance.random() < 0.3:
        return d.keep([f"{v} = {a} if {condition(d)} else {b}"])
    return d.keep([f"if {condition(d)}:", f"    {v} = {a}", "else:", f"    {v} = {b}"])


@statement("control", 1.2)
def exchange(d: Draft) -> bool:
    """Names change places where a condition holds."""
    x = d.array()
    alike = d.names(lambda v: is_array(v) and (v.dtype, v.ndim) == (d.env[x].dtype, d.env[x].ndim))
    if len(alike) < 2:
        raise Nothing
    found = d.chance.sample(alike, min(len(alike), d.of(2, 2, 3)))
    return d.keep([f"if {condition(d)}:", f"    {', '.join(found)} = {', '.join(found[1:] + found[:1])}"])


@statement("control", 0.5)
def early(d: Draft) -> bool:
    """A return that is seldom taken as the program was drawn."""
    if d.depth or d.loops:
        return False
    names = d.names(lambda v: is_array(v))
    if not names:
        raise Nothing
    result = d.chance.choice(names) + d.of("", " * 2", " + 1")
    text = condition(d)
    if d.keep([f"early_ = bool({text})"], lambda name: False):
        d.lines.pop()
        d.lines += [f"if {text}:", f"    return {result}"]
        return True
    return False


@statement("control", 0.7)
def bound_inside(d: Draft) -> bool:
    """A name that an expression binds, maybe in a part of it that does not run; or one that a loop's test binds anew in each round."""
    x, text, q, v = d.array("fi", least=1), condition(d), d.new(), d.new()
    if q == v:
        return False
    bound = d.of(f"{x} * 2", f"{x}.sum()", f"{x}[0]", f"{x}[1:]", f"len({x})", "2", f"{x}.max() > 1")
    one = d.of(
        [f"{v} = ({q} := {bound}) + {q}"], [f"{v} = {q} * 2 if np.all(({q} := {bound})) else {q}"], [f"{v} = ({x}, {q} := {bound})[0]"],
        [f"{q} = 1", f"{v} = 5 if {text} else ({q} := 3)"], [f"{q} = 1.5", f"{v} = bool({text}) and ({q} := 2.5) > 1"], [f"{q} = 1", f"{v} = 0 < len({x}) < ({q} := 4)"],
        [f"{v} = [({q} := {bound}) for _ in range(2)][0] + {q}"], [f"{q} = 1", f"{v} = [({q} := {q} + k) for k in range(3) if k < 2][-1] * {q}"],
        [f"{v} = np.add(({q} := {bound}), {q})"], [f"{v} = {x}[({q} := 0)] + {q}"], [f"{q} = {x}", f"if ({text}) or ({q} := {x} * 2).sum() > 1:", f"    {v} = {q} + 1", "else:", f"    {v} = {q}"],
    )  # fmt: skip
    step = d.of(f"{q} - 1", f"{q} // 2", f"{q} - max(len({x}), 1)")
    lines = _with_exits(d, [d.of(f"{v} = {v} + {q}", f"{v} = {v} + {x}[0] * {q}", f"{v} = {q}")], "")
    many = [f"{q} = {d.of('3', '0', f'len({x})', '7')}", f"{v} = {d.of('0', '0.5', f'{x}[0] * 0')}", f"while ({q} := {step}) > {d.of('0', f'len({x})')}:", *indented(lines)]
    return d.keep(d.of(one, one, many), lambda name: name in (q, v))


@statement("control", 1.6)
def for_range(d: Draft) -> bool:
    i = f"i{d.depth}"
    count = d.of("2", "3", "0", "1", "len(X)", "X.shape[-1]", "1, len(X)", "len(X) - 1, -1, -1", "0, len(X), 2").replace("X", d.array(least=1))
    try:
        count = d.of(count, count, d.number_((int,)))
    except Nothing:
        pass
    lines = _with_exits(d, body(d, d.of(1, 2, 3), {i: 0}, loop=True), i)
    return d.keep([f"for {i} in range({count}):", *indented(lines), *otherwise(d)], lambda name: False)


@statement("control", 1)
def for_rows(d: Draft) -> bool:
    row, x = f"r{d.depth}", d.array(least=1)
    if not len(d.env[x]):
        return False
    text = d.of(f"for {row} in {x}:", f"for k{d.depth}, {row} in enumerate({x}):", f"for {row}, _{row} in zip({x}, {x}):", f"for {row} in reversed({x}):")
    lines = body(d, d.of(1, 2), {row: d.env[x][0]}, loop=True)
    return d.keep([text, *indented(_with_exits(d, lines, ""))], lambda name: False)


@statement("control", 1)
def accumulate(d: Draft) -> bool:
    """What loops are written for: an array that each iteration changes, or writes one part of."""
    v, x, y = d.new(), d.array("fi", least=1), operand(d)
    start = d.of(f"{x} * 0", f"{x}.copy()", f"{x}[0] * 0", f"np.zeros_like({x})", x)
    step = d.of(f"{v} = {v} + {x}[j]", f"{v} = {v} * 0.5 + {y}", f"{v}[j] = {x}[j] * 2", f"{v}[j] += {v}[j - 1]", f"{v} += {x}[j]", f"{v} = np.maximum({v}, {x}[j])",
                f"{v}[j] = -1", f"{v} = {v} + j", f"{v} = {x}[j]", f"{v} = {v}[::1] + {x}")  # fmt: skip
    return d.keep([f"{v} = {start}", f"for j in range(len({x})):", *indented(_with_exits(d, [step], "j"))], lambda name: name != "j")


@statement("control", 1.2)
def accumulate_numbers(d: Draft) -> bool:
    """A number that becomes an array where some elements are added to it, and what is made of it."""
    v, x = d.new(), d.array("fiu", least=1)
    item = d.of(f"{x}[j]", f"{x}[j]", f"{x}[j] * 2", f"{x}[-1 - j]", "0.5", "1")
    step = d.of(f"{v} += {item}", f"{v} = {v} + {item}", f"{v} = {item}", f"{v} = max({v}, {item})", f"{v} = {v} * {item} - 1")
    test = d.of(f"{x}[j].sum() > {d.of('0', '1', '-1', '3')}", f"j % 2 == {d.of('0', '1')}", f"{v} < {d.of('1', '3')}", "j > 99", condition(d))
    lines = [f"if {test}:", *indented([step])]
    if d.chance.random() < 0.3:
        lines += ["else:", *indented([d.of(f"{v} = {v} * 0.5", f"{v} -= 1", f"{v} = {v}")])]
    head = d.of(f"for j in range(len({x})):", f"for j in range(len({x})):", "for j in range(3):", f"for _, j in zip({x}, range(len({x}))):")
    if d.chance.random() < 0.3:
        head, lines = f"for k_ in range({d.of('2', f'len({x})')}):", [head, *indented(lines)]
    start = d.of("0.0", "0", "1", "-1.5", "True", f"{x}[0]")
    end = d.of([], [f"{v} = {v} + 1"], [f"{v} = {v} > 1"], [f"{v} = np.sqrt(abs({v}))"])
    return d.keep([f"{v} = {start}", head, *indented(_with_exits(d, lines, "j")), *end], lambda name: name not in ("j", "k_", "_"))


@statement("control", 0.8)
def while_(d: Draft) -> bool:
    i = f"w{d.depth}"
    text = condition(d)
    head = d.of(f"while {i} < 3:", f"while {i} < 4 and ({text}):", "while True:", f"while ({text}) or {i} < 2:", f"while ({i} := {i} + 1) < 4:", f"while ({i} := {i} + 1) < 5 and ({text}):")
    lines = body(d, d.of(1, 2), {i: 0}, loop=True)
    if ":= " in head:  # it counts whatever the rest does
        return d.keep([f"{i} = 0", head, *indented(_with_exits(d, lines, i))], lambda name: name == i)
    lines = [*_with_exits(d, lines, i), f"{i} = {i} + 1"]
    if "True" in head or " or " in head:
        lines += [f"if {i} > 3:", "    break"]
    if any(line.strip() == "continue" for line in lines):  # it would skip the counting
        lines = [line.replace("continue", "break") for line in lines]
    return d.keep([f"{i} = 0", head, *indented(lines), *otherwise(d)], lambda name: name == i)


def otherwise(d: Draft) -> Lines:
    """The `else` of a loop, now and then."""
    return ["else:", *indented(body(d, 1))] if d.chance.random() < 0.12 else []


def returned(d: Draft) -> str:
    """A return out of a loop, as what stands in its place while the program is drawn (numpy_programs.py)."""
    names = d.names(lambda v: is_array(v) or type(v) in (int, float, bool))
    if not names:
        return "break"
    name = d.chance.choice(names)
    return f"break  # return {d.of(name, name, f'{name} * 2', 'None', f'({name}, 1)', '7', '0.5')}"


def _with_exits(d: Draft, lines: Lines, i: str) -> Lines:
    """Break and continue on conditions, somewhere between the statements of a block."""
    for word in ("break", "continue", returned(d)):
        if d.chance.random() < 0.15:
            places = [k for k, line in enumerate(lines) if not line.startswith(" ") and not line.startswith(("else", "elif"))] + [len(lines)]
            at = d.chance.choice(places)
            text = f"{i} == 1" if i and d.chance.random() < 0.5 else condition(d)
            inside = [word]
            if "return" not in word and d.chance.random() < 0.3:
                inside = d.of(["try:", f"    {word}", "except ZeroDivisionError:", "    pass"], ["with np.errstate(all='ignore'):", f"    {word}"], ["try:", "    j_ = (1, 2)[2]", "except IndexError:", f"    {word}"])
            lines = [*lines[:at], f"if {text}:", *indented(inside), *lines[at:]]
    return lines
