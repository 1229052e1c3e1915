"""Functions inside the function, comprehensions and what takes their items, and Python's math."""

from __future__ import annotations

from draft import Draft, Nothing
from families import statement

BODIES = ("T * K", "T + K", "T - K * 2", "T if K else K", "np.abs(T) + K", "K", "(T + 1) * K", "T", "max(0, K) + T")
DEFINED = (
    ["def F(t_):", "    return BODY"], ["F = lambda t_: BODY"], ["def F(t_, k_=K, *, m_=2):", "    return BODY * m_ + k_"], ["F = lambda t_, k_=K: BODY - k_"],
    ["def F(t_):", "    def inner_(u_):", "        return u_ + K", "    return inner_(BODY)"], ["def F(t_):", "    if K:", "        return BODY", "    return t_"],
    ["def made_(c_):", "    return lambda t_: BODY + c_", "F = made_(K)"], ["def twice_(f_):", "    return lambda t_: f_(f_(t_))", "F = twice_(lambda t_: BODY)"],
    ["F = [lambda t_: BODY, lambda t_: t_][0]"], ["def F(t_):", "    s_ = t_", "    for i_ in range(2):", "        s_ = s_ + K", "    return s_"],
)  # fmt: skip
BETWEEN = ([], ["K = K + 1"], ["K = 0.5"], ["K = K * 2 if K else 3"], ["for i_ in range(3):", "    K = K + i_"], ["log_ = [F(1), F(2.5)]"])
ELEMENTS = ("e_", "e_ * 2", "float(e_)", "e_ * K", "e_ > K", "1", "K", "i_", "(i_, e_)", "F(e_)", "e_ if e_ > 0 else K", "abs(float(e_)) ** 0.5", "math.sin(float(e_) % 3)")
LOOPS = ("for i_, e_ in enumerate(A)", "for i_, e_ in enumerate(A) if e_ > 0", "for i_ in range(len(A)) for e_ in [A[i_]]", "for i_, e_ in zip(range(9), A)", "for i_, e_ in enumerate(A) if i_ % 2 if e_ < 1")
TAKEN = ("[E L]", "sum(E L)", "sum([E L])", "any(E L)", "all(E L)", "max([0, *[E L]])", "len([E L])", "sum((E L), K)", "np.array([E L])", "list(E L)", "max((E L), default=K)", "min([E L] or [K])",
         "functools.reduce(lambda p_, q_: p_ + q_, [E L], 0)", "list(map(lambda e_: e_, [E L]))", "[w_ for w_ in [E L]]", "sorted([E L])[:2]", "tuple(E L)")  # fmt: skip
MATH = ("math.sin(N)", "math.exp(N % 5)", "math.log(abs(N) + 1)", "math.atan2(N, K)", "math.tanh(N)", "math.sqrt(abs(N))", "math.floor(N % 50)", "math.pow(abs(N) % 4 + 1, 1.5)", "math.log2(N)", "math.acos(N)",
        "math.isfinite(N)", "math.erf(N)", "math.degrees(N)", "math.cosh(N % 3)", "math.trunc(N % 9)")  # fmt: skip


@statement("functions", 2)
def inside(d: Draft) -> bool:
    """A function inside, what happens to what it reads, and calls of it."""
    x, k, v, f = d.array("fi"), d.number_((int, float)), d.new(), f"f{d.number[0]}_"
    define = [line.replace("BODY", d.of(*BODIES).replace("T", "t_")) for line in d.of(*DEFINED)]
    use = d.of([f"{v} = F({x})"], [f"{v} = F({x}) + F(2)"], [f"{v} = {x}", f"for j_ in range({d.of('3', f'len({x})')}):", f"    {v} = {v} + F(j_)"], [f"{v} = [F(j_) for j_ in (1, {x})][1]"], [f"{v} = sum([F(1.5), F(2)])"])
    if v == k:
        raise Nothing
    lines = [line.replace("K", k).replace("F", f) for line in [*define, *([] if d.loops else d.of(*BETWEEN)), *use]]  # in a loop the name may be what ends it
    return d.keep(lines, lambda name: name == v)


@statement("functions", 2)
def taken(d: Draft) -> bool:
    """A comprehension, and what takes its items."""
    x, k, v = d.array("fi", least=1, most=d.of(1, 1, 1, 2)), d.number_((int, float)), d.new()
    text = d.of(*TAKEN).replace("E", d.of(*ELEMENTS).replace("F(e_)", "(lambda q_: q_ * K)(e_)")).replace("L", d.of(*LOOPS)).replace("A", x).replace("K", k)
    return d.keep([f"{v} = {text}"])


@statement("functions", 1)
def of_numbers(d: Draft) -> bool:
    n, k, v = d.number_((int, float, bool)), d.number_((int, float)), d.new()
    text = d.of(*MATH).replace("N", n).replace("K", k)
    if d.of(True, False):
        x = d.array("f", least=1, most=1)
        body = d.of(*MATH).replace("N", "float(e_)").replace("K", k)
        return d.keep([f"{v} = 0.0", f"for e_ in {x}:", f"    {v} = {v} * 0.5 + {body}"], lambda name: name == v)
    return d.keep([f"{v} = {text}"])
