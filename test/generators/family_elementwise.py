"""Elementwise functions and operators of all dtypes, casts, scalars."""

from __future__ import annotations

from draft import Draft, is_array
from families import statement

UNARY = (
    "np.tanh(X)", "np.exp(-np.abs(X))", "np.sin(X)", "np.cos(X)", "np.sqrt(np.abs(X))", "np.log1p(np.abs(X))", "np.abs(X)", "-X", "+X", "np.sign(X)",
    "np.square(X)", "np.floor(X)", "np.ceil(X)", "np.trunc(X)", "np.rint(X)", "np.isnan(X)", "np.isfinite(X)", "np.signbit(X)", "np.logical_not(X)", "~X", "np.round(X)",
    "np.reciprocal(X)", "np.exp2(X)", "np.expm1(X)", "np.arctan(X)", "np.sinh(X)", "np.arcsinh(X)", "np.clip(X, -1, 2)", "X.clip(0, 1)", "np.nan_to_num(X)",
    "np.fabs(X)", "np.degrees(X)", "X * X", "X + X", "X - X", "np.where(X > 0, X, 0)", "np.where(X, 1.5, X)", "X.copy()", "np.array(X)", "X * 1", "X + 0", "abs(X)", "X / X",
)  # fmt: skip
BINARY = (
    "X + Y", "X - Y", "X * Y", "X / Y", "X // Y", "X % Y", "X < Y", "X <= Y", "X > Y", "X >= Y", "X == Y", "X != Y", "X & Y", "X | Y", "X ^ Y", "np.maximum(X, Y)",
    "np.minimum(X, Y)", "np.fmax(X, Y)", "np.fmin(X, Y)", "np.arctan2(X, Y)", "np.copysign(X, Y)", "np.logical_and(X, Y)", "np.logical_or(X, Y)",
    "np.where(X > Y, X, Y)", "np.where(X == Y, X + 1, Y - 1)", "np.fmod(X, Y)", "np.logaddexp(X, Y)", "X * 2 + Y", "X - Y * X", "np.power(X, 2) + Y", "(X > 0) & (Y > 0)",
    "np.where(X > 0, Y, -Y)", "X << (Y & 3)", "X >> (Y & 3)", "np.power(X, np.abs(Y))", "X ** Y",
)  # fmt: skip
NUMBERS = ("2", "-1", "0", "3", "0.5", "-1.5", "2.0", "1", "True", "0.0", "np.float32(1.5)", "np.int64(2)", "1e3")
DTYPES = ("np.float32", "np.float64", "np.int64", "np.int32", "bool", "np.uint8", "np.int8", "np.int16", "np.float16", "float", "int")
SCALARS = (
    "int(X.sum())", "float(X.sum())", "bool(X.sum() > 0)", "int(X.size)", "X.ndim", "X.shape[-1]", "len(X)", "float(X.ravel()[0])", "int(np.argmax(X))",
    "float(X.max())", "int(np.count_nonzero(X))", "X.ravel()[-1].item()", "bool(np.any(X))", "int(X.min())",
)  # fmt: skip
NUMERIC = (
    "A + B", "A - B", "A * B", "A / B", "A // B", "A % B", "max(A, B)", "min(A, B)", "abs(A)", "-A", "A < B", "A == B", "float(A)", "int(A)", "bool(A)", "A ** 2", "A if A > B else B", "A and B", "A or B", "not A", "A ** B", "A > 0 and B > 0", "1 if A else 2", "(A, B)[0]",
)  # fmt: skip


def operand(d: Draft) -> str:
    """An array, a number by name, or a literal."""
    roll = d.chance.random()
    if roll < 0.6:
        return d.array()
    if roll < 0.75:
        return d.pick(lambda v: isinstance(v, (bool, int, float)) or is_array(v))
    return d.of(*NUMBERS)


def filled(d: Draft, text: str, x: str, y: str) -> str:
    return text.replace("X", x).replace("Y", y)


@statement("elementwise", 4)
def unary(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d, d.of(*UNARY), d.array(), '')}"])


@statement("elementwise", 6)
def binary(d: Draft) -> bool:
    x, y = d.array(), operand(d)
    if d.chance.random() < 0.3:
        x, y = y, x
    return d.keep([f"{d.new()} = {filled(d, d.of(*BINARY), x, y)}"])


@statement("elementwise", 0.5)
def beside_a_sequence(d: Draft) -> bool:
    """A NumPy scalar, small since it may be a number of repetitions, or an array; and a list or tuple of Python's."""
    some = d.of("(X.ravel()[0] % 4)", "(X.max() % 4)", "(X % 4)").replace("X", d.array())
    sequence = d.of("[1, 2]", "(1, 2)", "[2]", "[0.5, 3]")
    operands = d.of((some, sequence), (sequence, some))
    return d.keep([f"{d.new()} = {operands[0]} {d.of('*', '*', '+', '/')} {operands[1]}"])


@statement("elementwise", 1.5)
def cast(d: Draft) -> bool:
    x = d.array()
    value, dtype = d.env[x], d.of(*DTYPES)
    safe = f"np.nan_to_num({x}, nan=0.0, posinf=3.0, neginf=-3.0)" if value.dtype.kind == "f" and "float" not in dtype else x
    if "int" in dtype and value.dtype.kind == "f":
        safe = f"np.clip({safe}, {'0' if 'uint' in dtype else '-100'}, 100)"
    return d.keep([f"{d.new()} = {safe}.astype({dtype})"])


@statement("scalars", 1)
def read_number(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {filled(d, d.of(*SCALARS), d.array(), '')}"])


@statement("scalars", 1)
def numeric(d: Draft) -> bool:
    a = d.number_((int, float, bool))
    b = d.of(a, d.number_((int, float, bool)), "2", "3.0", "-1", "0")
    return d.keep([f"{d.new()} = {d.of(*NUMERIC).replace('A', a).replace('B', b)}"])
