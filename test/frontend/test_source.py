"""Finding a function's syntax tree."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import importlib.util
import inspect
import linecache
import sys
import typing
import warnings
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import tierup
import tierup.runtime.functions.function
from tierup.frontend.python.building import source

FACTOR = 2


def double(x):
    return x + x


def calling(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) * FACTOR

    return inner


class Holder:
    __private = 3

    def method(self, x, *, scale: float = 1.5):
        "A docstring, a nested function, a private name and the class's own."
        terms = [x * k for k in range(1, 3)]
        return sum(terms) * self.__private + Holder.__private * scale

    @calling
    @tierup.jit
    def wrapped(self, x):
        return x + 1

    @staticmethod
    def closed(k):
        return lambda x: x * k - FACTOR, lambda x: x * k - 3 * FACTOR


def test_a_definition_that_ends_in_what_is_no_code_is_found_whole() -> None:
    def closes(x):
        return (
            x
            + 1
        )  # fmt: skip

    def passes(x):
        if x is None:
            return x
        return x * 2
        x.never = (
            3
        )  # fmt: skip

    for function in (closes, passes):
        np.testing.assert_array_equal(tierup.jit(function)(np.arange(3.0)), function(np.arange(3.0)))
    assert source.definition(closes).tree.end_lineno == closes.__code__.co_firstlineno + 4


def test_a_method_a_closure_and_a_wrapper_are_found_by_their_code() -> None:
    x, holder = np.arange(3.0), Holder()
    for f in (Holder.method, Holder.wrapped):
        np.testing.assert_array_equal(tierup.jit(f)(holder, x), f(holder, x))
    for f in (*Holder.closed(5), lambda x: x + 1, double):
        np.testing.assert_array_equal(tierup.jit(f)(x), f(x))


@calling
@tierup.jit
def decorated_twice(x):
    return x + 1


@tierup.jit
def calls_one_decorated_twice(x):
    return decorated_twice(x) - x


def test_a_wrapper_of_a_decorated_function_is_not_taken_for_it() -> None:
    for _ in range(3):
        np.testing.assert_array_equal(calls_one_decorated_twice(np.ones(2)), [3, 3])
    np.testing.assert_array_equal(tierup.jit(decorated_twice)(np.ones(2)), [4, 4])
    assert tierup.grad(decorated_twice)(2.0) == 2


def scaled(x, k=2, *, offset=1.0):
    return x * k + offset


def forwarding(*args, **kwargs):
    return scaled(*args, **kwargs)


forwarding.__signature__ = inspect.signature(scaled)


@pytest.mark.parametrize("options", [{}, {"entry": "python"}, {"strict": True}])
def test_a_signature_that_a_function_shows_does_not_decide_how_its_calls_bind(options) -> None:
    """Decorators of libraries set it for who reads documentation; Python's calls do not read it."""

    def within(function, x):
        return forwarding(x, 3) + function(x, k=5) + function(x=x, offset=2.0)

    itself, called = tierup.jit(forwarding, **options), tierup.jit(within, **options)
    for size in (3, 3, 3, 4, 5):
        x = np.arange(float(size))
        np.testing.assert_array_equal(itself(x), scaled(x))
        np.testing.assert_array_equal(itself(x, k=7, offset=x), scaled(x, 7, offset=x))
        np.testing.assert_array_equal(called(forwarding, x), within(forwarding, x))
    assert inspect.signature(itself) == inspect.signature(scaled)


@tierup.jit
@tierup.no_grad()
def constant(x):
    return x * 5


@functools.wraps(constant)
def adds_a_square(x):
    return constant(x) + x * x


def triple(x):
    return 3 * x


def test_what_is_noted_of_a_function_does_not_hold_for_its_wrapper() -> None:
    assert tierup.grad(constant)(3.0) == 0
    assert tierup.grad(adds_a_square)(3.0) == 6
    assert tierup.vjp(double, 1.0)[0] == 2
    assert tierup.vjp(functools.wraps(double)(triple), 1.0)[0] == 3


@pytest.mark.parametrize("edited", ["x * 300", "x * 2 if x.ndim else x", "x - 2", "x * 2.0", "np.abs(x)", "x *"])
def test_a_file_that_is_edited_while_its_functions_run_changes_nothing(edited: str, tmp_path: Path) -> None:
    path = tmp_path / "edited_while_running.py"
    path.write_text("import numpy as np, tierup\ndef plain(x):\n    return x * 2\n@tierup.jit\ndef f(x):\n    return x * 2\n")
    module = {"__name__": "edited_while_running"}
    exec(compile(path.read_text(), str(path), "exec"), module)
    assert module["f"](2.0) == 4
    path.write_text(path.read_text().replace("x * 2", edited))
    assert module["f"](np.ones(2)).tolist() == [2, 2]  # another graph: the code is read again
    linecache.checkcache(str(path))  # as tracebacks do
    with pytest.warns(tierup.NoSourceWarning, match="not its definition.* has not changed since it was imported"):
        assert module["f"](np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]
    with pytest.warns(tierup.NoSourceWarning, match="not its definition"):
        assert tierup.jit(module["plain"])(np.ones(2)).tolist() == [2, 2]


def test_parsing_is_tried_again_when_another_thread_of_python_311_was_parsing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = ["before=51, after=72"] * 3

    def parse(text: str, file: str) -> ast.Module:
        if failures:
            raise SystemError(f"AST constructor recursion depth mismatch ({failures.pop()})")
        return ast.parse(text, file)

    monkeypatch.setattr(source, "ast", type("Parsing", (), {**vars(ast), "parse": staticmethod(parse)}))
    np.testing.assert_array_equal(tierup.jit(double)(np.arange(3.0)), [0, 2, 4])
    assert not failures


def test_parsing_that_never_succeeds_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str, file: str) -> ast.Module:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(source, "ast", type("Parsing", (), {**vars(ast), "parse": staticmethod(parse)}))
    with pytest.raises(SystemError, match="recursion depth"):
        tierup.jit(double)(np.arange(3.0))


@pytest.mark.parametrize("module", [argparse, dataclasses, typing, np.lib._function_base_impl, tierup.runtime.functions.function], ids=lambda m: m.__name__)
def test_functions_that_other_people_wrote_are_found_by_their_code(module: ModuleType) -> None:
    owners = (module, *(v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__))
    functions = [f for o in owners for f in vars(o).values() if isinstance(f, FunctionType) and Path(f.__code__.co_filename).exists()]
    for f in functions:
        if not f.__code__.co_flags & inspect.CO_GENERATOR:
            found, lines, first = source.parse(f).tree, linecache.getlines(f.__code__.co_filename), f.__code__.co_firstlineno
            assert found.name == f.__code__.co_name
            whole = source._definition(inspect.getblock(lines[first - 1 :]), first, f.__code__.co_filename)
            assert whole is None or ast.dump(found, include_attributes=True) == ast.dump(whole, include_attributes=True)
    assert len(functions) > 30


SPELLED = {
    "tabs": "if 1:\n\tif 1:\n\t\t@tierup.jit\n\t\tdef f(x):\n\t\t\ty = x * 7\n\t\t\treturn y\n",
    "CRLF": "@tierup.jit\r\ndef f(x):\r\n    s = '''a\r\nb'''\r\n    return x * 7 + len(s) - 3\r\n",
    "no end of line": "@tierup.jit\ndef f(x): return x * 7",
    "two statements on a line": "def g(x): return x; y = 1\n@tierup.jit\ndef f(x): y = x; return y * 7\n",
    "a dedented comment and docstring": "@tierup.jit\n# c\ndef f(x):\n    '''d\nd'''\n# c\n    return x * 7\n",
    "private": "class _A__b:\n    __k = 7\n    @tierup.jit\n    def __m(self, __x): return __x * self.__k\n    def go(self, x): return self.__m(x)\n"
    "f = _A__b().go\n",
    "a class's own name": "class C:\n    k = 7\n    @staticmethod\n    @tierup.jit\n    def f(x): return x * C.k\nf = C.f\n",
    "lambdas": "g, f = tierup.jit(lambda x: x * 6), tierup.jit(lambda x: x * 7)\n",
    "a module under other names": "import numpy as np\nxp = np\nfrom numpy import linalg as la\n@tierup.jit\n"
    "def f(x): return x * 7 + int(xp.abs(0) + la.norm(xp.zeros(2)))\n",
    "the second of a name": "def f(x): return x * 6\ndef f(x): return x * 7\nf = tierup.jit(f)\n",
    "super outside of a class": "@tierup.jit\ndef f(x):\n    assert super(int, x).__doc__\n    return x * 7\n",
    "an underscore": "_ = 7\n@tierup.jit\ndef f(x): return x * _\n",
}


@pytest.mark.parametrize("text", SPELLED.values(), ids=SPELLED)
def test_a_definition_is_found_however_it_is_spelled(text: str, tmp_path: Path) -> None:
    path = tmp_path / "spelled.py"
    path.write_bytes(b"import tierup\n" + text.encode())
    module: dict[str, typing.Any] = {"__name__": "spelled"}
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tierup.NoSourceWarning)
        assert module["f"](2) == 14


def test_what_python_warns_of_is_said_to_stand_where_it_does(tmp_path: Path) -> None:
    path = tmp_path / "escaped.py"
    path.write_text("import tierup\nif 1:\n    @tierup.jit\n    def f(x):\n        return x * len('\\d')\n")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        module: dict[str, typing.Any] = {"__name__": "escaped"}
        exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), module)
        assert module["f"](2) == 4
    assert said and {(w.filename, w.lineno) for w in said} == {(str(path), 5)}


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated where they stand")
def test_annotations_that_nobody_evaluates_may_name_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "deferred.py"
    path.write_text(
        "import tierup\ndef helper(x: Nothing): return x + 1\n@tierup.jit\ndef f(x: Unknown, n: 1 / 0 = 2) -> 'a': return helper(x) * n\n"
    )
    module: dict[str, typing.Any] = {"__name__": "deferred"}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), module)
    for _ in range(3):
        np.testing.assert_array_equal(module["f"](np.arange(3.0)), [2, 4, 6])
    assert module["f"].stats().versions == 1
    with pytest.raises(NameError, match="Unknown"):
        _ = module["f"].__annotations__


def test_a_function_has_the_annotations_of_what_it_was_made_of() -> None:
    def f(x: np.ndarray, n: int = 2) -> float:
        return x * n

    jitted = tierup.jit(f)
    assert jitted.__annotations__ == f.__annotations__ and typing.get_type_hints(jitted) == typing.get_type_hints(f)
    assert inspect.signature(jitted) == inspect.signature(f)


def lambdas(k):
    return (lambda v: v * k), [lambda v: v + w for w in (k,)], (lambda v, f=lambda v: v - 1: f(v) * k)  # fmt: skip


inside_another = (lambda k: (lambda v: v * k))(3.0)
of_two_alike = [lambda k: (lambda v: v + k), lambda k: (lambda v: v + k + 1)][1](2.0)


@pytest.mark.parametrize("helper", [inside_another, of_two_alike, lambdas(2.0)[2]], ids=["inside another", "of two", "with one in its defaults"])
def test_a_lambda_inside_another_on_its_line_is_the_one_that_is_called(helper):
    @tierup.jit(weigh=False)
    def f(x):
        return helper(x) + 1

    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), helper(x) + 1)
    assert f.stats().hits == 2, f.explain()


def test_what_pythons_compiler_warns_of_is_said_once_when_the_code_is_imported(tmp_path):
    (tmp_path / "warned.py").write_text(
        "import re\n\nimport numpy as np\n\n\ndef f(x, s):\n    y = np.tanh(x)\n    n = len(re.findall('\\d+', s))\n    if n is 3:\n        y = y + 1\n    return y * n\n"
    )
    spec = importlib.util.spec_from_file_location("warned", tmp_path / "warned.py")
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spec.loader.exec_module(module)
    assert len(said) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filters = list(warnings.filters)
        jitted = tierup.jit(module.f, weigh=False)
        for _ in range(4):
            np.testing.assert_array_equal(jitted(np.ones(2), "1 22 333"), module.f(np.ones(2), "1 22 333"))
        assert warnings.filters == filters
    assert "re.findall" in jitted.explain()


def with_functions_inside(x, shown):
    class Inside:
        def method(self): ...

    print(end="")
    shown += [Inside, Inside.method, lambda: x, with_functions_inside.__qualname__]
    return np.tanh(x) + 1


def test_what_is_made_inside_a_function_that_is_cut_is_called_as_undecorated():
    found = []
    for function in (tierup.jit(with_functions_inside, weigh=False), with_functions_inside):
        shown = []
        function(np.ones(2), shown)
        found.append([one if isinstance(one, str) else (one.__qualname__, one.__module__) for one in shown])
    assert found[0] == found[1]


def test_a_file_with_many_lambdas_is_parsed_once_and_each_call_has_a_tree_of_its_own(monkeypatch):
    parsed, parse = [], source._parsed
    monkeypatch.setattr(source, "_parsed", lambda text, *more: parsed.append(text) or parse(text, *more))
    source._lambdas.cache_clear()
    trees = [source.parse(f).tree for f in (*Holder.closed(2), *Holder.closed(3))]
    assert sum("def double(x):" in text for text in parsed) == 1
    assert len({id(tree) for tree in trees}) == 4 and [ast.dump(tree) for tree in trees[:2]] == [ast.dump(tree) for tree in trees[2:]]
