"""Built-in functions, lists, tuples, dicts, ranges and strings in programs: as the undecorated function, error for error."""

import textwrap

import numpy as np
import pytest
from frontend_oracle import check

import tierup

X = np.array([[1.0, -2.0, 3.0], [0.0, 5.0, -6.0]])
V = np.array([3, -1, 2])

# the body of `def f(x, v, n, s)`, with x: float64[2, 3], v: int64[3], n: the int 3, s: the float -1.5
BODIES = {
    # built-in functions
    "any and all of numbers that the run knows": "return any([n > 2, s > 0]), all([n > 2, s > 0]), any([n, 0]), all((n, s))",
    "any and all of constants": "return any([]), all([]), any([0, 0.0, False]), all([1, True, 2.5]), any((0, n)), all((n, 0))",
    "any and all of a generator": "return any(w > 1 for w in (n, s)), all(w > 1 for w in (n, s))",
    "any decided by a constant": "return any([False, x[0, 0] > 0, True]), all([True, x[0, 1] > 0, False])",
    "list of a tuple, a range and a zip": "return list((n, s)), list(range(3)), list(zip((1, 2), (s, n))), list()",
    "tuple of a list": "return tuple([n, s]), tuple(())",
    "tuples that are the same object": "t = (n, s)\nu = tuple([n])\nreturn tuple(t) is t, t[:] is t, t + () is t, () + t is t, t * 1 is t, tuple(u) is u, t[::-1], t[:1]",
    "len of containers": "return len(()), len([n]), len({'a': 1}), len(x), len(x.shape), len(range(n)), len(range(5, n)), len('abc')",
    "len of a scalar array": "return len(np.sum(x))",
    "bool of containers": "return bool([]), bool((n,)), bool({}), bool({'a': n}), not [], not (n,), bool('')",
    "containers as conditions": "a = 1 if [n] else 2\nb = 1 if () else 2\nc = 1 if {} else 2\nreturn a, b, c, [n] and n, () or s",
    "min and max of numbers": "return min(n, 2), max(s, 0.5), min([n, 7]), max((1, n)), min(4, 4.0), max(True, 1)",
    "min of nothing": "return min([])",
    "sum of numbers and of arrays": "return sum([n, 2, s]), sum((x, x)), sum([]), sum([x[0], x[1]], n), sum(i * s for i in range(4))",
    "sum of constants": "return sum([1, 2, 3]), sum((1, 2.5)), sum(range(5))",
    "abs, int, float, bool of numbers": "return abs(s), abs(n), abs(-7), int(s), int(2.9), float(n), bool(n), bool(0.0), int(True), float(False)",
    "divmod": "return divmod(n, 2), divmod(s, 1), divmod(-7, 2), divmod(x, 2), divmod(n, s)",
    "pow": "return pow(n, 2), pow(s, 3), pow(2, 5), pow(x, 2), pow(n, -1), pow(2.0, s)",
    "floor and ceil": "return math.floor(s), math.ceil(s), math.floor(n), math.ceil(n), math.floor(2.5), math.ceil(-0.5)",
    "sqrt of a negative number": "return math.sqrt(s)",
    "isinstance": "return isinstance(n, int), isinstance(s, float), isinstance(n, (float, str)), isinstance(x, np.ndarray), isinstance('a', str)",
    "isinstance decides a branch": "if isinstance(s, int):\n    return x\nreturn x * 2",
    # what objects are
    "type": "return type(n) is int, type(s) is float, type((n,)) is tuple, type([s]), type('a'), type({}), type(x) is np.ndarray",
    "issubclass": "return issubclass(type(s), (int, float)), issubclass(bool, int)",
    "getattr and hasattr": "return getattr(x, 'shape'), getattr(x, 'nothing', n), hasattr(x, 'sum'), hasattr(s, 'nothing')",
    "an attribute that is not there": "return getattr(x, 'nothing')",
    "slice": "return x[slice(1)], x[slice(None), slice(0, 2)], x[slice(None, None, -1)].copy(), v[slice(n)]",
    "f-strings with formats": "return f'{1.5:.3f} {7!r:>4} {\"a\"!r}'",
    # try
    "a try that cannot fail": "try:\n    k = 2\nexcept TypeError:\n    k = 3\nelse:\n    k += 10\nreturn x * k",
    "a try that fails": "try:\n    k = len(7)\nexcept (ValueError, TypeError):\n    k = 3\nreturn x * k",
    "a try that fails otherwise": "try:\n    k = len(7)\nexcept ValueError:\n    k = 3\nreturn x * k",
    "a try that raises": "try:\n    raise KeyError('a')\nexcept LookupError:\n    k = 5\nreturn x * k",
    "an exception raised again": "try:\n    k = [1][4]\nexcept IndexError:\n    raise\nreturn x * k",
    "a try in a branch of the run": "k = 1\nif n > 2:\n    try:\n        k = len(7)\n    except TypeError:\n        k = 9\nreturn x * k",
    "an error in a branch of the run, inside a try": "try:\n    k = 1\n    z = x if len((1,)) else len(7)\nexcept TypeError:\n    k = 2\nreturn z * k",
    # lists
    "extend, insert, pop and reverse": "a = [n]\na.extend([s, 1])\na.insert(1, x)\nb = a.pop()\nc = a.pop(0)\na.reverse()\nreturn a, b, c",
    "append and count": "a = []\na.append(n)\na.append(x)\nreturn a, len(a)",
    "list added in place": "a = [n]\na += [s]\na += (1, 2)\nreturn a",
    "list repeated and joined": "return [n] * 2, [n] + [s], (n,) + (s, 1), 2 * (n,)",
    "items stored": "a = [n, s, 1]\na[0] = x\na[-1] = 7\nreturn a",
    "numbers updated in lists and dicts": "a = [n, 1.5]\nd = {'k': s}\na[0] += 1\na[1] *= 2\nd['k'] -= n\nreturn a, d",
    "items updated": "a = [n, s]\na[0] = a[0] + 2\na[1] = a[1] * a[0]\nreturn a",
    "an item of a tuple stored": "a = (n, s)\na[0] = 1\nreturn a",
    "an item beyond the list stored": "a = [n]\na[3] = 1\nreturn a",
    "an item beyond the list": "return [n, s][2]",
    "an item of a tuple by a wrong type": "return (n, s)['a']",
    "pop of nothing": "a = []\nreturn a.pop()",
    "pop beyond the list": "a = [n]\nreturn a.pop(4)",
    "slices of lists and tuples": "a = [n, s, 1, 2]\nt = (n, s, 1, 2)\nreturn a[1:], a[::-1], t[:2], t[-1:], a[1:3:2], a[5:]",
    "list deleted": "a = [n]\ndel a\nreturn n",
    "membership in a set": "return 2 in {1, 2}, n in {3, 4}, 'a' not in {'b', 'c'}, s in {0, 1}",
    "membership": "return 2 in (1, 2), 'a' in ['b'], 'a' not in {'a': n}, 'b' in 'abc', n in (1, 3), n not in [1, 2]",
    "equality of containers": "a = [n]\nb = [n]\nreturn a == b, (n, s) == (n, s), [n] != [s], [n] == (n,), () == ()",
    "a number and a string": "return n == 'a', n != 'a', n == None, n is None, n is not None, (n,) == 'a'",
    # dicts
    "dict items stored": "d = {'a': n}\nd['b'] = s\nd['a'] = d['a'] + 1\ne = d\ne['c'] = x\nreturn d, len(d)",
    **{f"{function} of a {kind}": f"return {function}({text})" for function in ("abs", "int", "float", "math.sqrt", "math.floor", "math.ceil")
       for kind, text in (("list", "[n]"), ("tuple", "(s,)"), ("shape", "x.shape"), ("list of arrays", "[x]"))},
    "a name bound in a comprehension": "y = [w := x * k for k in range(3)][-1] + w\nreturn y, w",
    "a name bound in a comprehension in a loop": "w = x\nfor i in range(n):\n    y = {k: (w := w + k) for k in range(2)}\nreturn y, w",
    "a name bound in a comprehension in a comprehension": "y = [[(w := j) + k for j in range(k)] for k in range(3) if (v := k)]\nreturn y, w, v",
    "a comprehension's own name": "k = s\ny = [x * k for k in range(2)]\nreturn y, k",
    "a comprehension that raises": "k = s\ntry:\n    y = [(1, 2)[k] for k in range(3)]\nexcept IndexError:\n    y = k\nreturn y",
    "a filter behind one that does not pass": "return [x * k for k in range(3) if k if 6 / k > 2]",
    "dict items stored in a comprehension's": "d = {k: n for k in ('a', 'b')}\nd['c'] = s\nreturn d",
    "get, keys, values and items": "d = {'a': n, 'b': s}\nreturn d.get('a'), d.get('c'), d.get('c', 7), list(d.keys()), list(d.values()), list(d.items())",
    "dicts read": "d = {'a': n}\ne = {'a': n + 1, 'b': s}\nreturn d['a'], d, e['a'] + d['a']",
    "dict spread into another": "d = {'a': n}\nreturn {**d, 'b': s}, {'a': 0, **d}",
    "a key that is not there": "d = {'a': n}\nreturn d['b']",
    "unpacking a dict": "d = {'a': n, 'b': s}\np, q = d\nreturn p, q",
    "iterating a dict": "d = {'a': n, 'b': s}\nt = 0.0\nfor k in d:\n    t = t + d[k]\nfor k, w in d.items():\n    t = t * 2 + w\nreturn t",
    # unpacking
    "unpacking": "a, (b, c) = n, (s, 1)\n(d, *e), g = (1, 2, 3), 4\n*h, i = [n, s]\nreturn a, b, c, d, e, g, h, i",
    "unpacking rows": "a, b = x\nreturn b, a",
    "unpacking too few": "a, b, *c = (n,)\nreturn a",
    "unpacking too many": "a, b = (1, 2, 3)\nreturn a",
    "unpacking a scalar": "a, b = np.sum(x)\nreturn a",
    "unpacking a shape": "a, b = x.shape\nreturn a + b",
    # ranges and loops
    "range of a step of zero": "t = 0\nfor i in range(0, 3, 0):\n    t += i\nreturn t",
    "ranges": "t = 0\nfor i in range(n):\n    t += i\nfor i in range(n, 0, -1):\n    t = t * 2 + i\nfor i in range(1, 8, n):\n    t = t - i\nreturn t",
    "range reversed": "t = 0\nfor i in reversed(range(n)):\n    t = t * 10 + i\nfor i in reversed(range(4)):\n    t = t * 10 + i\nfor w in reversed([n, 1]):\n    t = t + w\nreturn t",
    "enumerate with a start": "t = 0.0\nfor i, row in enumerate(x, 1):\n    t = t + i * row.sum()\nfor i, w in enumerate((n, s), start=n):\n    t = t + i * w\nreturn t",
    "zip of the shorter": "t = 0.0\nfor a, b in zip(v, x[0]):\n    t = t + a * b\nfor a, b in zip((1, 2), (n, s, 7)):\n    t = t + a * b\nfor a, i in zip(v, range(2)):\n    t = t + a * i\nreturn t",
    "a loop over a scalar": "t = 0\nfor a in np.sum(x):\n    t += a\nreturn t",
    "a loop that names what follows": "for i in range(3):\n    last = i\nreturn last, i",
    "while": "t = 1\nwhile t < 50:\n    t = t * n\nreturn t",
    "annotated names": "a: int = n\nb: float\nb = s\nreturn a, b",
    "statements that do nothing": "pass\n'text'\n...\nn\nreturn n",
    "assert that holds and one that fails": "assert n == 3, 'n'\nassert s > 0, 's must be positive'\nreturn n",
    "chained and multiple assignment": "a = b = n\na += 1\nreturn a, b, 1 < n < 5, 1 < n > 5",
    "walrus": "return (a := n + 1) * a, [b := s, b * 2]",
    "conditional expressions": "return n if n > 2 else 7, (x if n > 2 else x * 2), 'a' if True else 'b'",
    # strings
    "f-strings of constants": "a = 'k'\nd = {f'{a}1': n}\nreturn d, f'{a}{1}'",
    "strings joined": "return 'a' + 'b', 'a' * 2, 'abc'[1], 'a' < 'b', 'a' == 'a'",
    # numbers
    "bits of ints": "return n & 1, n | 4, n ^ 1, ~n, n << 2, n >> 1, True & (n > 2), True | False, True ^ (n > 2), (n > 2) & (s > 0)",
    "shifts by a negative number": "return n >> (1 - n)",
    "signs": "return +n, -n, +True, -True, +s, not n, not s, ~True",
    "division by zero": "return n // (n - 3)",
    "floor division and remainder": "return n // 2, -n // 2, n % 2, -n % 2, s // 1, s % 1, 7 // -2, 7 % -2, 7.5 // -2",
    # NumPy's functions
    "fliplr and flipud": "return np.fliplr(x) + 0, np.flipud(x) * 1, np.flip(v).copy()",
    "an array of a number": "return np.asarray(n), np.array(s), np.float32(n), np.int8(n), np.array(n, dtype=np.float32)",
    "functions of numbers": "return np.add(n, 1), np.sqrt(4), np.exp(s), np.maximum(n, s), np.abs(s), np.floor(s), np.sign(n), np.floor(n), np.negative(n)",
    "concatenate of nothing": "return np.concatenate([])",
    "concatenate of scalars": "return np.concatenate([np.sum(x), np.sum(x)])",
    "split in none": "return np.split(v, 0)",
    "split in less than none": "return np.split(v, -1)",
    "split in less than none, unevenly": "return np.split(v, -2)",
    "pad of wrong pairs": "return np.pad(x, ((1, 1), (1, 1), (1, 1)))",
    "pad": "return np.pad(x, 1), np.pad(x, (1, 2)), np.pad(v, ((2, 0),)), np.pad(x, ((0, 1), (1, 0)), constant_values=n)",
    "pad by less than nothing": "return np.pad(x, -1)",
    "diff": "return np.diff(v), np.diff(x, axis=0), np.diff(x > 0)",
    "counts": "return np.count_nonzero(x), np.count_nonzero(x > 0, axis=0)",
    "linspace and eye": "return np.linspace(0, 1, 5), np.linspace(n, s, 4), np.eye(3), np.eye(2, 3), np.full((2,), n), np.full(2, s, dtype=np.float32)",
    "nonzero of a scalar": "return np.nonzero(np.sum(x))",
    "reshape without a shape": "return x.reshape()",
    "two ellipses": "return x[..., ...]",
    "a slice of step zero": "return x[::0]",
    "attributes": "return x.real, x.T, x.ndim, x.size, x.shape, x.dtype == np.float64, np.sum(x).ndim",
}


def function_of(body: str):
    namespace = {"np": np, "math": __import__("math")}
    source = "def f(x, v, n, s):\n" + textwrap.indent(body, "    ")
    name = f"<{abs(hash(body))}>"
    __import__("linecache").cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


NEED_RANKS = ("diff", "fliplr and flipud", "pad", "pad of wrong pairs", "pad by less than nothing", "attributes", "getattr and hasattr")


@pytest.mark.parametrize("what", BODIES)
def test_a_construct_does_what_python_does(what):
    check(function_of(BODIES[what]), X, V, 3, -1.5, unranked=what not in NEED_RANKS)


def pairs(xs, y):
    return max((x, i) for i, x in enumerate(xs))


def flattened(xs, y):
    return sum([[x, y] for x in xs], [])


def power_of_a_list(xs, y):
    return pow(xs, 2)


@pytest.mark.parametrize("function", [pairs, flattened, power_of_a_list])
def test_tuples_and_lists_are_no_arrays_to_built_in_functions(function):
    def outcome(f, *args):
        try:
            return f(*args)
        except TypeError as e:
            return str(e)

    xs, y = [1.5, 3.5, 2.5], np.arange(3.0)
    jitted = tierup.jit(function)
    for _ in range(3):
        np.testing.assert_equal(outcome(jitted, xs, y), outcome(function, xs, y))
