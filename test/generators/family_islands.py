"""Statements that are not translated, beside those that are: what Python runs between native regions, and what both see of each other.

Only programs that ask for them have them (`Draft.islands`). `log` is a list that a program returns: the order of what happens.
"""

from __future__ import annotations

from draft import Draft, Lines, indented
from families import grow, statement

WEIGHTS = {"islands": 1.5, "writes": 1.5, "control": 0.6}


def _body(d: Draft, count: int, *, loop: bool = False) -> Lines:
    return d.inner(lambda block: grow(block, count, WEIGHTS), {"j": 0} if loop else None, loop=loop)


def _noted(d: Draft) -> str:
    x = d.array()
    return d.of(f"log.append(float({x}.sum()))", f"log.append(f'{{{x}.shape}}')", "log.append(len(log))", f"log.extend({x}.ravel().tolist()[:2])", f"log.append({x}.size)")


@statement("islands", 2)
def note(d: Draft) -> bool:
    return d.keep([_noted(d)])


@statement("islands", 1.5)
def caught(d: Draft) -> bool:
    """An exception that comes or not, out of the middle of statements whose values are seen afterwards."""
    x, v = d.array("fi", least=1), d.new()
    fails = d.of(f"{v} = {x}[{d.of(0, 1, 2, 5)}]", f"{v} = {x}.reshape(7, -1)", f"{v} = int({x}.sum()) // int(abs({x}).max() > 1)", f"{v} = {x} @ np.ones(3)", "raise ValueError('no')", f"{v} = {x} * 2")
    head, tail = _body(d, d.of(1, 2)), _body(d, 1)
    kinds = d.of("(ValueError, IndexError)", "ZeroDivisionError", "Exception", "Exception")
    lines = [f"{v} = {x} + 1", "try:", *indented([*head, fails, *tail]), f"except {kinds} as e_:", *indented([_noted(d), "log.append(type(e_).__name__)", *_body(d, 1)])]
    if d.chance.random() < 0.3:
        lines += ["else:", *indented(_body(d, 1))]
    if d.chance.random() < 0.4:
        lines += ["finally:", *indented([_noted(d)])]
    return d.keep(lines, lambda name: name == v)


@statement("islands", 1)
def accumulated_until_it_fails(d: Draft) -> bool:
    x, v = d.array("fi", least=1), d.new()
    step = d.of(f"{v} = {v} + {x}[j]", f"{v} += {x}[j].sum()", f"{v} = {v} + 1 // (2 - j)", f"{v} = {v} + {x}[2 * j].sum()")
    return d.keep([f"{v} = {d.of('0', '0.5', f'{x}[0] * 0')}", "j = -1", "try:", f"    for j in range({d.of('3', '6', f'len({x})')}):", f"        {step}", "except Exception as e_:", f"    log.append((j, type(e_).__name__, float(np.sum({v}))))"], lambda name: name == v)  # fmt: skip


@statement("islands", 1)
def suppressed(d: Draft) -> bool:
    return d.keep([f"with {d.of('contextlib.suppress(Exception)', 'contextlib.nullcontext()', 'contextlib.suppress(IndexError)')}:", *indented([*_body(d, d.of(1, 2)), _noted(d)])], lambda name: False)  # fmt: skip


@statement("islands", 1.5)
def closure(d: Draft) -> bool:
    """A function inside, which sees what it names as it is when it runs."""
    x, v, s = d.array("fi"), d.new(), d.new()
    if v == s:
        return False
    define = d.of([f"def g_(q): return q * {s} + 1"], [f"g_ = lambda q, k=2: q + {s} * k"], [f"def g_(q, *more, k=1):\n    r = q - {s}\n    return r * k"], [f"def g_(q):\n    log.append(1)\n    return q * {s}"])
    again = d.of([f"{s} = {s} + 1"], [f"{s} = {x} * 2"], [f"for j in range(3):\n    {s} = {s} + j\n    {v} = {v} + g_({x})"], [])
    lines = [f"{s} = {d.of('2', '0.5', f'{x}.sum()', f'{x}[...]')}", *define, f"{v} = g_({x})", *_body(d, 1), *again, f"{v} = {v} + g_({x})"]
    return d.keep("\n".join(lines).split("\n"), lambda name: name in (v, s))


@statement("islands", 0.7)
def counted(d: Draft) -> bool:
    x, v = d.array("fi", least=1), d.new()
    inner = ["    n_ = 0", "    def inc(k):", "        nonlocal n_", "        n_ += k", "        return n_", f"    {d.of('w_ = q * inc(2)', 'w_ = q * 2; inc(3)', 'w_ = q.sum() + inc(1)')}", "    for j in range(3):", "        inc(j)", "        w_ = w_ + n_", "    return w_ + n_"]
    return d.keep(["def outer(q):", *inner, f"{v} = outer({x})"], lambda name: name == v)


@statement("islands", 1)
def gathered(d: Draft) -> bool:
    """Dicts, sets and lists that loops change."""
    x, v, c = d.array("fi", least=1), d.new(), "c_"
    start, step, use = d.of(
        ("{}", f"{c}[j % 2] = {c}.get(j % 2, 0) + float({x}[j].sum())", f"sum({c}.values())"), ("set()", f"{c}.add(int({x}[j].sum()))", f"len({c})"),
        ("[]", f"{c}.append({x}[j]) if {x}[j].sum() > 0 else {c}.insert(0, {x}[j] * 2)", f"sum(float(np.sum(q)) for q in {c})"),
        ("[0, 0]", f"{c}[j % 2] += j", f"{c}[0] - {c}[1]"), ("[]", f"{c}.append(j) or {c}.reverse()", f"np.array({c}) * 1.0"),
    )  # fmt: skip
    return d.keep([f"{c} = {start}", f"for j in range(len({x})):", *indented([step, *_body(d, d.of(0, 1), loop=True)]), f"{v} = {use}"], lambda name: name == v)


@statement("islands", 0.8)
def shared(d: Draft) -> bool:
    """Two names of one list or array."""
    x, y, v = d.array("fi", least=1), d.array("fi"), d.new()
    return d.keep(d.of([f"a_ = [{x} * 2]", "b_ = a_", _noted(d), f"b_.append({y})", f"{v} = len(a_)"], [f"a_ = {x} * 2", "b_ = a_", _noted(d), "b_[0] = 7", f"{v} = a_ + 0"],
                       [f"a_ = {x} * 1", "b_ = a_[::-1]", _noted(d), "a_[0] = 5", f"{v} = b_ + 0"], [f"a_ = {{'k': {x}}}", "b_ = a_['k']", _noted(d), f"log.append(b_ is {x} or not np.ndim(b_))", f"{v} = b_"],
                       ["a_ = [[0, 1]] * 2", "a_[0].append(2)", _noted(d), f"{v} = len(a_[1])"]), lambda name: name == v)  # fmt: skip


@statement("islands", 0.8)
def in_objects(d: Draft) -> bool:
    x, v = d.array("fi"), d.new()
    return d.keep(["o_ = types.SimpleNamespace(n=0)", f"o_.a = {x} * 2", f"o_.n += {d.of('1', '2.5')}", *_body(d, 1), f"o_.a {d.of('+=', '*=', '-=')} o_.n", f"{v} = o_.a {d.of('+ 1', '* o_.n')}"], lambda name: name == v)  # fmt: skip


@statement("islands", 0.8)
def out_of_python(d: Draft) -> bool:
    """What only Python computes."""
    x, v = d.array("fi"), d.new()
    text = d.of(f"sorted({x}.ravel().tolist())[:2]", f"len(set({x}.ravel().tolist()))", f"sum(q for q in {x}.ravel().tolist())", f"max({x}.ravel().tolist(), key=abs, default=0)", f"len(repr({x}.shape))", f"int(str(int({x}.sum()))[-1])",
                f"next((q for q in {x}.ravel().tolist() if q > 0), -1.0)", f"functools.reduce(lambda p, q: p + q, {x}.ravel().tolist(), 0)")  # fmt: skip
    if text.startswith("sorted"):
        text = f"np.array({text} + [0.0])"
    return d.keep([f"{v} = {text}"])


@statement("islands", 0.7)
def bound_on_the_way(d: Draft) -> bool:
    x, v, w = d.array("fi", least=1), d.new(), d.new()
    if v == w:
        return False
    return d.keep(d.of([f"if ({w} := {x}.sum()) > 0:", f"    {v} = {w} * 2", "else:", f"    {v} = {x}.mean()", _noted(d)], [f"{w} = {x} * 2", f"{v} = {w} + 1", f"del {w}", _noted(d), f"{w} = 1"],
                       [f"{v} = {x} * 3", "for j in range(5):", f"    if j == {d.of(1, 3, 7)}: break", "else:", f"    {v} = {v} + 1", f"{w} = j"],
                       [f"match {x}.ndim:", "    case 1:", f"        {v} = {x} * 2", "    case k_:", f"        {v} = {x} + k_", f"{w} = {x}.ndim"]), lambda name: name in (v, w))  # fmt: skip


@statement("islands", 0.6)
def left_early(d: Draft) -> bool:
    """A return out of a block that Python runs."""
    if d.depth or d.loops:
        return False
    x = d.array("fi", least=1)
    text = d.of(f"{x}.max() > 1.5", f"{x}.sum() < -3", "len(log) > 4")
    if not d.keep([f"early_ = bool({text})"], lambda name: False):
        return False
    d.lines.pop()
    d.lines += d.of(["try:", f"    if {text}:", f"        return {x} * 2, log", "finally:", "    log.append('left')"], ["for j in range(2):", "    log.append(j)", f"    if {text}:", f"        return {x} + j, log"], ["with contextlib.nullcontext():", f"    if {text}: return [{x}], log"])  # fmt: skip
    return True
