"""Graphs that an earlier process kept: which changes outside of a function make them another's."""

from __future__ import annotations

import dataclasses
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.frontend.python.kept.contents import NotDescribed, Things, described
from tierup.frontend.python.kept.graphs import Graphs
from tierup.lowering.objects import entries

TEXT = """
import numpy as np
import tierup
from numpy import tanh as shaped

RATE = 0.5
TABLE = np.arange(3.0)
SIZES = [1, 2]
NAMES = {"a": 1.0, "b": 2.0}

class Layer:
    def __init__(self):
        self.scale, self.w = 2.0, np.ones(3)
    def apply(self, x):
        return x * self.scale + self.w
    @property
    def twice(self):
        return self.scale * 2
    def __call__(self, x):
        return x * 8.0

LAYER = Layer()
OTHER = LAYER

def helper(x, k=3.0):
    return x * k + RATE

@tierup.jit
def inner(x):
    return x - 1

def loss(x):
    return (x * x).sum()

def made(c):
    def f(x, *, plus=1.0):
        y = shaped(x) + helper(x) + inner(x) + TABLE + SIZES[1] + NAMES["a"] + c + plus
        y = y + LAYER.apply(x) + LAYER.twice + LAYER(x) + tierup.grad(loss)(x)
        if LAYER is OTHER:
            y = y + 10
        return y, "a", np.float32, {"y": y}
    return f

f = made(1.5)
"""
NOT_FOUND = {
    "a number": ("RATE = 0.5", "RATE = 0.25"),
    "the rank of an array": ("TABLE = np.arange(3.0)", "TABLE = np.ones((1, 3))"),
    "an item of a list": ("SIZES = [1, 2]", "SIZES = [1, 5]"),
    "the length of a list": ("SIZES = [1, 2]", "SIZES = [1, 2, 3]"),
    "a value of a dict": ('{"a": 1.0,', '{"a": 4.0,'),
    "a function of NumPy's": ("tanh as shaped", "sinh as shaped"),
    "a helper's code": ("x * k + RATE", "x / k + RATE"),
    "a helper's default": ("k=3.0", "k=5.0"),
    "a decorated helper's code": ("x - 1", "x - 3"),
    "a decorated helper's decorator": ("@tierup.jit\n", "\n"),
    "a method": ("x * self.scale", "x / self.scale"),
    "a property": ("self.scale * 2", "self.scale * 6"),
    "how an object is called": ("x * 8.0", "x * 9.0"),
    "an attribute": ("self.scale, self.w = 2.0,", "self.scale, self.w = 4.0,"),
    "which objects are one": ("OTHER = LAYER", "OTHER = Layer()"),
    "what is differentiated": ("(x * x)", "(x * x * x)"),
    "a value from around": ("made(1.5)", "made(2.5)"),
    "the code": ('+ NAMES["a"]', '- NAMES["a"]'),
    "a name that is gone": ("SIZES = [1, 2]", "del shaped"),
    "where it stands": ("RATE = 0.5\n", "\nRATE = 0.5\n"),
}
FOUND = {
    "nothing": ("", ""),
    "what an array holds": ("TABLE = np.arange(3.0)", "TABLE = np.arange(3.0) * 2"),
    "what an attribute that is an array holds": ("OTHER = LAYER", "LAYER.w = np.zeros(3); OTHER = LAYER"),
    "what nobody reads": ('"b": 2.0}\n', '"b": 2.0}; X = 7\n'),
    "a default, which is an argument": ("plus=1.0", "plus=3.0"),
}

PROGRAMS: dict[str, tuple[str, list[tuple[str, str]]]] = {  # and what is changed in each
    "object argument": (
        "class M:\n"
        "    def __init__(s): s.k=2.0\n"
        "    def go(s,x): return x*s.k\n"
        "def f(x,m=None):\n"
        "    m=M0 if m is None else m\n"
        "    return m.go(x)\n"
        "M0=M()\n",
        [("x*s.k", "x/s.k"), ("s.k=2.0", "s.k=4.0")],
    ),
    "static and class methods": (
        "class M:\n"
        "    R=3.0\n"
        "    @staticmethod\n"
        "    def a(x): return x+1\n"
        "    @classmethod\n"
        "    def b(cls,x): return x*cls.R\n"
        "def f(x): return M.a(x)+M.b(x)\n",
        [("x+1", "x+2"), ("R=3.0", "R=4.0"), ("x*cls.R", "x-cls.R")],
    ),
    "inheritance": (
        "class A:\n    def g(s,x): return x+1\nclass B(A):\n    pass\nO=B()\ndef f(x): return O.g(x)\n",
        [("x+1", "x+2"), ("    pass", "    def g(s,x): return x*5")],
    ),
    "function in a dict": (
        "def a(x): return x+1\ndef b(x): return x+2\nD={'k':a}\ndef f(x): return D['k'](x)\n",
        [("'k':a", "'k':b"), ("x+1", "x+7")],
    ),
    "functions in a list": (
        "def a(x): return x+1\ndef b(x): return x*2\nL=[a,b]\ndef f(x):\n    for g in L: x=g(x)\n    return x\n",
        [("[a,b]", "[b,a]"), ("[a,b]", "[a,b,a]"), ("[a,b]", "[a,a]")],
    ),
    "two closures": (
        "def make(k):\n    def h(x): return x*k\n    return h\nH=make(2.0)\nG=make(3.0)\ndef f(x): return H(x)+G(x)*10\n",
        [("H=make(2.0)", "H=make(4.0)"), ("G=make(3.0)", "G=H"), ("G=make(3.0)", "G=make(5.0)")],
    ),
    "types": (
        "T=np.float32\nD=np.dtype('f4')\ndef f(x): return x.astype(T), np.zeros(2,D)\n",
        [("np.float32", "np.float64"), ("'f4'", "'i8'")],
    ),
    "np scalar": (
        "K=np.float32(2)\ndef f(x): return x*K\n",
        [("np.float32(2)", "np.float64(2)"), ("np.float32(2)", "np.float32(3)"), ("np.float32(2)", "2")],
    ),
    "bool/int": (
        "K=1\ndef f(x): return x*K\n",
        [("K=1", "K=True"), ("K=1", "K=1.0"), ("K=1", "K=-1")],
    ),
    "which of two alike": (
        "class A: pass\nP=A()\nQ=A()\nR=P\ndef f(x):\n    y=x if P is Q else x+1\n    return y if R is P else y*2\n",
        [("R=P", "R=Q")],
    ),
    "minus zero": (
        "K=0.0\ndef f(x): return x*0+K\n",
        [("K=0.0", "K=-0.0")],
    ),
    "missing attr": (
        "class A: pass\nO=A()\ndef f(x):\n    return x if not hasattr(O,'k') else x+1\n",
        [("O=A()", "O=A(); O.k=1")],
    ),
    "getattr default": (
        "class A: pass\nO=A()\ndef f(x):\n    return x*getattr(O,'k',2.0)\n",
        [("O=A()", "O=A(); O.k=5.0")],
    ),
    "kw default helper": (
        "def g(x,*,k=2.0): return x*k\ndef f(x):\n    return g(x)\n",
        [("k=2.0", "k=3.0"), ("*,k=2.0", "*,k=2.0,j=1")],
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    r: float=1.0\n    n: int=2\nK=C()\ndef f(x):\n    return x*K.r+K.n\n",
        [("r: float=1.0", "r: float=4.0"), ("K=C()", "K=C(n=9)")],
    ),
    "shadowed builtin": (
        "N = 1\ndef f(x):\n    return abs(x)\n",
        [("N = 1", "N = 1; abs=np.negative")],
    ),
    "class attr function": (
        "def a(x): return x+1\ndef b(x): return x*9\nclass C:\n    g=staticmethod(a)\nO=C()\ndef f(x): return O.g(x)\n",
        [("staticmethod(a)", "staticmethod(b)"), ("x+1", "x+3")],
    ),
}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has a graph kept as soon as it is built, and notes which functions had one built."""
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_START", "1")
    found: list[str] = []
    to_keep = Graphs.to_keep

    def keeping(self: Graphs, *given: Any) -> Any:
        keep = to_keep(self, *given)
        if self._target.__name__ == "f":
            found.append("f")
        if keep is not None:
            keep()
        return keep

    monkeypatch.setattr(Graphs, "to_keep", keeping)
    return found


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Runs a text as the module `kept_graphs_module`, always the same file."""

    def run(text: str) -> ModuleType:
        path = tmp_path / "kept_graphs_module.py"
        path.write_text(text)
        linecache.checkcache(str(path))
        made = ModuleType("kept_graphs_module")
        monkeypatch.setitem(sys.modules, made.__name__, made)
        exec(compile(text, str(path), "exec"), vars(made))
        linecache.cache.pop(str(path), None)
        return made

    return run


def _same(given: Any, wanted: Any) -> None:
    np.testing.assert_allclose(given[0], wanted[0], rtol=1e-14)
    assert given[1:3] == wanted[1:3]
    np.testing.assert_array_equal(given[3]["y"], given[0])


@pytest.mark.parametrize("what", [*NOT_FOUND, *FOUND])
def test_a_graph_is_right_where_all_that_it_was_made_of_is_what_it_was(
    what: str, built: list[str], module: Callable[[str], ModuleType]
) -> None:
    x = np.array([0.5, -1.0, 2.0])
    first = module(TEXT)
    _same(tierup.jit(first.f, optimize=False)(x), first.f(x))
    assert built == ["f"]
    old, new = {**NOT_FOUND, **FOUND}[what]
    assert TEXT.count(old) == 1 or not old
    later = module(TEXT.replace(old, new) if old else TEXT)
    again = tierup.jit(later.f, optimize=False)
    if what == "a name that is gone":
        with pytest.raises(NameError):
            again(x)
    else:
        wanted = later.f(x)
        _same(again(x), wanted)
    assert built == (["f"] if what in FOUND else ["f", "f"])
    if what in NOT_FOUND:
        return
    vars(later)["RATE"] = 2.0  # what was found is asked at every call, as a graph of this process
    _same(again(x), later.f(x))
    assert built == ["f", "f"]


@pytest.mark.parametrize(
    ("name", "old", "new"), [(name, *change) for name in drawn("changes outside", list(PROGRAMS), 6) for change in PROGRAMS[name][1]]
)
def test_a_change_outside_is_never_missed(name: str, old: str, new: str, built: list[str], module: Callable[[str], ModuleType]) -> None:
    x, text = np.array([0.5, -1.0, 2.0]), f"import numpy as np\n{PROGRAMS[name][0]}"
    assert old in text
    for now in (text, text, text.replace(old, new, 1)):
        later = module(now)
        given, wanted = tierup.jit(later.f, optimize=False)(x), later.f(x)
        for one, other in zip(given, wanted, strict=True) if isinstance(wanted, tuple) else [(given, wanted)]:
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
    assert built == ["f", "f"]


def test_states_of_what_stands_outside_are_kept_beside_one_another(built: list[str], module: Callable[[str], ModuleType]) -> None:
    x = np.array([0.5, -1.0, 2.0])
    for rate in (0.5, 0.25, 0.5, 0.25):
        later = module(TEXT.replace("RATE = 0.5", f"RATE = {rate}"))
        _same(tierup.jit(later.f, optimize=False)(x), later.f(x))
    assert built == ["f", "f"]
    assert len([entry for entry in entries.entries() if (entry.described.kind, entry.described.about) == ("graph", "f")]) == 1


def test_an_error_names_its_line(built: list[str], module: Callable[[str], ModuleType]) -> None:
    text = "def f(x, i):\n    y = x + 1\n    return y[i]\n"
    for _ in range(2):
        with pytest.raises(IndexError) as raised:
            tierup.jit(module(text).f, optimize=False)(np.ones(3), 5)
        assert "kept_graphs_module.py:3" in "".join(raised.value.__notes__)
    assert built == ["f"]


class Sized:
    __slots__ = ("n",)


@dataclasses.dataclass(frozen=True)
class Rates:
    low: float = 0.5

    class Inside:
        __repr__ = object.__repr__


class Counting(type):
    pass


class Other(metaclass=Counting):
    pass


def around(n: int) -> Callable[[int], int]:
    return lambda x: x + n


def test_what_a_description_says() -> None:
    assert described(np) == "module numpy"
    assert described(np.tanh) == "numpy:tanh"
    assert described(len) == "builtins:len"
    assert described(int) == "builtins:int"
    assert described(around(1)) == described(around(2))  # what is read from around is noted apart
    assert described(Sized()) == described(Sized()) != described(Sized)
    assert described(Rates(1.0)) == described(Rates(2.0))  # and so are attributes
    for nothing in (np.frompyfunc(len, 1, 1), Other, Other(), np.random.rand, [].append, object(), {1, 2}, ModuleType("elsewhere")):
        with pytest.raises(NotDescribed):
            described(nothing)
    things = Things()
    one, two = Sized(), Sized()
    assert [things.index(thing) for thing in (one, two, one, tierup.jit(around), around)] == [0, 1, 0, 3, 2]


def test_functions_that_are_translated_in_part_are_built_in_every_process(built: list[str], module: Callable[[str], ModuleType]) -> None:
    text = "import numpy as np\ndef f(x):\n    y = x * 2\n    print(y, end='')\n    return y + 1\n"
    for _ in range(2):
        np.testing.assert_array_equal(tierup.jit(module(text).f)(np.ones(2)), [3, 3])
    assert not any(entry.described.kind == "graph" for entry in entries.entries())
