"""What a function asks of a value, and does with it, is answered as in Python whatever kind of value comes, after calls with others."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import types

import numpy as np
import pytest
from running import function_of
from sampling import drawn

import tierup

Pair = collections.namedtuple("Pair", "x y")


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Data:
    x: float
    y: np.ndarray


class Lists(list): ...


class Dicts(dict): ...


class Ints(int): ...


class Texts(str): ...


VALUES = [
    lambda: np.ones(2), lambda: np.ones(2, int), lambda: np.array(3.0), lambda: np.array(True), lambda: np.zeros((0,)), lambda: np.array(["a"]), lambda: np.array([None]),
    lambda: np.float64(3), lambda: np.int8(3), lambda: np.uint64(2**63), lambda: np.bool_(True), lambda: np.complex64(1j), lambda: np.float16(1.5), lambda: np.longdouble(1.5),
    lambda: np.str_("ab"), lambda: np.datetime64("2020-01-01"), lambda: np.timedelta64(1, "D"), lambda: np.ma.masked_array([1, 2], [0, 1]), lambda: np.dtype("f4"),
    lambda: 3, lambda: 2.5, lambda: -0.0, lambda: math.nan, lambda: math.inf, lambda: True, lambda: 2j, lambda: 2**70, lambda: None, lambda: ..., lambda: slice(1, 2), lambda: range(3),
    lambda: "abc", lambda: b"ab", lambda: bytearray(b"ab"), lambda: array.array("d", [1, 2]), lambda: [], lambda: (), lambda: {}, lambda: [1, 2], lambda: (1, 2), lambda: {"a": 1},
    lambda: {1: 2}, lambda: {(0, 1): 2.0}, lambda: {"a": np.ones(2)}, lambda: [np.ones(2)], lambda: [[1, 2], [3]], lambda: ["a", 1.5], lambda: [None, 1], lambda: (1, [2.0, {"k": 3}]),
    lambda: list(range(30)), lambda: [0.5] * 20, lambda: [True, False] * 10, lambda: [*range(30), 0.5], lambda: tuple(range(30)), lambda: [2**64] * 20, lambda: [math.nan] * 18,
    lambda: collections.OrderedDict(a=1), lambda: collections.Counter("aab"), lambda: collections.defaultdict(int, a=1), lambda: collections.deque([1, 2]), lambda: {1, 2},
    lambda: frozenset([1]), lambda: Pair(1, 2.0), lambda: Pair(np.ones(2), 3), lambda: Colour.RED, lambda: Level.LOW, lambda: Data(1.0, np.ones(2)), lambda: types.SimpleNamespace(x=1.0),
    lambda: Lists([1, 2]), lambda: Dicts(a=1), lambda: Ints(3), lambda: Texts("ab"), lambda: fractions.Fraction(1, 3), lambda: decimal.Decimal("1.5"), lambda: datetime.date(2020, 1, 1),
    lambda: np.float32, lambda: int, lambda: len, lambda: np.sin, lambda: math, lambda: NotImplemented,
]  # fmt: skip
NAMES = ("append", "dtype", "shape", "keys", "real", "__len__", "__array__", "tolist", "x", "copy", "nope", "T", "size", "_fields", "items", "item", "count", "__float__", "value")
BODIES = [
    "return type(u).__name__, type(u) is list, type(u) == dict, u is None, callable(u)",
    "return isinstance(u, (list, tuple)), isinstance(u, dict), isinstance(u, np.ndarray), isinstance(u, (int, float)), isinstance(u, np.generic), isinstance(u, bool)",
    "return isinstance(u, collections.abc.Sequence), isinstance(u, collections.abc.Mapping), isinstance(u, numbers.Number), isinstance(u, numbers.Real)",
    f"return [hasattr(u, n) for n in {NAMES}], getattr(u, 'ndim', 0), getattr(u, 'nope', None)",
    *(f"return hasattr(u, {name!r}), 1" for name in NAMES), *(f"return u.{name}" for name in ("x", "shape", "nope", "dtype", "T", "real")),
    "return len(u)", "return 'yes' if u else 'no'", "return not u", "return [v for v in u]", "a, b = u\nreturn b, a", "return u == 3, u == 'abc', u == None, u != 2.5",
    "return u[0]", "return u[-1]", "return u['a']", "return u[1.5]", "return 1 in u", "return u + u", "return u * 2", "return 2 * u", "return -u", "return ~u", "return abs(u)",
    "return float(u)", "return int(u)", "return complex(u)", "return bool(u)", "return u < 2", "return u ** 2", "return u / 2", "return u % 2", "return round(u)", "return divmod(u, 2)",
    "return np.asarray(u).dtype, np.asarray(u).shape", "return np.sin(u)", "return np.sum(u)", "return np.shape(u), np.ndim(u), np.size(u)", "return math.floor(u)", "return math.sqrt(u)",
    "return [u, (u, 1)], {'k': u}", "return list(u), tuple(u)[:1]", "return max(u)", "return sum(u)", "return sorted(u)", "u[0] = 5\nreturn u", "u['a'] = 5\nreturn u",
    "return u.copy()", "return (lambda *a: len(a))(*u)", "return (lambda **k: sorted(k))(**u)", "return u(1)", "return [(i, v) for i, v in enumerate(u)]", "return list(zip(u, u))",
    "return u and 1, u or 2", "return [(k, v) for k, v in u.items()]", "u += 1\nreturn u", "u += [1]\nreturn u", "del u[0]\nreturn u", "return operator.index(u)", "return u @ u",
]  # fmt: skip


def _shown(value):
    """What there is to see of a value, in the types of its parts."""
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.shape, repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [_shown(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(_shown(key), _shown(item)) for key, item in value.items()]
    if isinstance(value, (Data, types.SimpleNamespace)):
        return type(value), _shown(vars(value))
    return type(value), repr(value)


def _outcome(function, value):
    given = value()
    try:
        return _shown(function(given)), _shown(given)
    except Exception as e:  # noqa: BLE001 - whatever it raises
        return type(e), str(e), _shown(given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", drawn("kinds of values", BODIES, 16))
def test_a_value_is_what_it_is_in_python(body, tmp_path):
    indented = body.replace("\n", "\n    ")
    function = function_of(f"import collections.abc, math, numbers, operator\n\n\ndef f(u):\n    {indented}\n", tmp_path)
    jitted = tierup.jit(function, optimize=False)
    with np.errstate(all="ignore"):
        for number in (0, 0, *range(len(VALUES)), 0):
            assert _outcome(jitted, VALUES[number]) == _outcome(function, VALUES[number]), f"{body} of {VALUES[number]()!r}"
