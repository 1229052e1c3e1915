"""What is not translated: an error that names file, line, construct, and what to write instead."""

import linecache
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from frontend_oracle import graph, jit

import tierup
from tierup.frontend.errors import UnsupportedSyntax

X = np.arange(12, dtype=np.float32).reshape(3, 4)

# source of the body -> what the message must say
REFUSED = {
    "return [(lambda: v) for v in (1, 2)][0]()": "a function inside that is kept, and reads a name of the comprehension around it",
    "@jit\ndef g(): pass": "NameUnanswerable",
    "class A: pass": "a class inside the function",
    "import os": "an import inside the function; import at the top",
    "global K": "`global`; return the new value",
    "try:\n    return x + 1\nexcept ValueError:\n    return x": "`try` around what only the run computes; check the condition before",
    "try:\n    y = 1\nfinally:\n    y = 2": "`finally`; check",
    "with open('f') as f: pass": "`with`; do what it is for outside the function; np.errstate and tierup.no_grad are",
    "print(x)": "`print`; return the value and print it outside",
    "return {1, 2}": "a set; use a tuple",
    "return np.cros(x, x)": "module 'numpy' has no attribute",
    "return np.fft.fft(x[0])": "`np.fft.fft` is not translated; NumPy's code for it calls",
    "return np.random.normal(size=3)": "draw random numbers outside and pass them in",
    "return np.hypot.accumulate(x)": "`np.hypot.accumulate` is not translated; call it outside",
    "return np.hypot.reduce(x)": "`np.hypot.reduce` is not translated",
    "return np.add(x, 1, where=x > 0)": "`where` of np.add without `out`; write np.where",
    "return np.random.default_rng(0).random(3)": "draw random numbers outside",
    "out = []\nfor i in range(1000):\n    out.append(x[0] * i)\nreturn out": "this loop has 1000 rounds: of at most 512 each may be written out",
    "return np.linalg.eig(x)": "`np.linalg.eig` is not translated",
    "return x.tolist()": "the array method `.tolist`",
    "return x.summ()": "has no attribute",
    "return np.prod(x, where=x > 0)": "the argument `where` of np.prod",
    "return x.sum(out=x)": "`out=`; assign to it",
    "return np.zeros(3, dtype=np.longdouble)": "programs hold bool, uint8",
    "return np.zeros(x)": "an array in a shape; write int(...) around it",
    "return x + b'1'": "a bytes constant",
    "x.attr = 1": "assignment to the attribute `.attr`",
    "out = []\nfor i in range(x.shape[0]):\n    out.append(x[i])\nreturn out": "changing a list inside a branch or loop that the run decides; make an array with np.empty",
    "return [i * x for i in range(x.shape[0])]": "as many items as only the run knows",
    "items = [x, x]\nreturn items[x.shape[0] - 2]": "as the index of a list",
    "if x.sum() > 0:\n    z = x\nreturn z": "`z` may have no value here: only one branch of the `if`",
    "for i in range(x.shape[0]):\n    if i > 1:\n        break\n    z = x\nreturn z": "`z` may have no value",
    "y = 0\nfor i in range(x.shape[0]):\n    if i > 1:\n        y = (1, 2)\nreturn x": "give `y` the same kind of value on both",
    "raise 3": "raising something else than an exception",
    "raise Exception_": "name 'Exception_' is not defined",
    "yield x": "generators and coroutines are not translated",
    "return x[True]": "a bool as an index",
    "return f'{x}'": "a value in an f-string known only at run time",
    "match x:\n    case _: return x": "`match`; use if and elif",
    "return x + 'a'": "`+` of an array and the constant 'a'",
    "return x is x.T": "`is` of",
    "return x in (1, 2)": "`in` of an array",
    "return np.dot(x[None], x)": "np.dot of arrays of rank 3 and more; use @",
    "y = x[::-1]\nx[0] = 1\nreturn y": "keeping a reversed view",
    "x[::-1].fill(1)": "writing through a reversed view",
    "x[::-1][0] = 1": "writing through a reversed view",
    "PARAMETERS.append(x)": "changing a list from outside the function",
}


def compiled(body, name, tmp_path):
    """The function f(x) with this body, from a file of its own."""
    path = tmp_path / f"{name}.py"
    path.write_text("import numpy as np\n\nPARAMETERS = [1.0]\n\n\ndef f(x):\n" + textwrap.indent(body, "    ") + "\n")
    namespace = {"__name__": name}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    linecache.checkcache(str(path))
    return namespace["f"], path


def test_coroutines_are_named(tmp_path):
    path = tmp_path / "later.py"
    path.write_text("async def f(x):\n    return x\n")
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(UnsupportedSyntax, match="coroutines are not translated"):
        graph(namespace["f"], np.zeros(3))


@pytest.mark.parametrize("body", REFUSED, ids=[b.split("\n")[0] for b in REFUSED])
def test_refused(body, tmp_path):
    function, path = compiled(body, "refused", tmp_path)
    built_error = None
    try:
        built, *_ = graph(function, X)
    except UnsupportedSyntax as e:
        built_error = e
    if built_error is None:  # what Python itself raises there is raised when the program runs
        assert "RaiseException" in str(built.module) and REFUSED[body] in str(built.module).replace("\\22", '"')
        return
    assert REFUSED[body] in str(built_error)
    assert type(built_error) is UnsupportedSyntax
    assert built_error.filename == str(path) and built_error.lineno >= 6
    assert str(path) in str(built_error)


def test_the_line_and_column_are_the_users(tmp_path):
    function, path = compiled("y = x + 1\nz = (y,\n     np.resize(y, (3, 2)))\nreturn z", "located", tmp_path)
    with pytest.raises(UnsupportedSyntax) as caught:
        graph(function, X)
    assert (caught.value.lineno, caught.value.offset) == (9, 10)
    assert "np.resize(y, (3, 2))" in caught.value.text
    assert str(caught.value).startswith(f"{path}:9: ")


def test_no_source():
    namespace = {}
    exec("def f(x): return x", namespace)
    with pytest.raises(UnsupportedSyntax, match="source of f.. is not available .* put the function in a .py file"):
        graph(namespace["f"], X)


def test_source_that_changed(tmp_path):
    function, path = compiled("return x", "changed", tmp_path)
    path.write_text("\n" * 5 + "def g(y):\n    return y\n")
    linecache.checkcache(str(path))
    with pytest.raises(UnsupportedSyntax, match="is not its definition"):
        graph(function, X)


def test_lambdas_are_found_on_their_line():
    f = jit(lambda x: x * 2)
    built, *_ = graph(f, X)
    assert "aten.mul.Scalar" in str(built.module)
    for f, constant in ((lambda x: x * 0.0), "float 0.0"), ((lambda x: x * -0.0), "float -0.0"):  # their code tells them apart
        assert constant in str(graph(f, X)[0].module)


def test_arguments_that_programs_cannot_take():
    def f(x):
        return x

    for value, message in (
        (2**70, "does not fit in 64 bits"),
        (np.ma.array([1]), "pass numpy.asarray"),
        ([np.zeros(1), {"k": 2**70}], r"x\[1\]\['k'\]"),
    ):
        with pytest.raises(TypeError, match=message):
            graph(f, value)


def test_building_does_not_import_the_generated_op_classes():
    graph(lambda_free, X)
    assert not [m for m in sys.modules if m.startswith("torch_mlir.dialects._torch_ops_gen")]


def lambda_free(x):
    return np.tanh(x @ x.T + 1) if x.sum() > 0 else x @ x.T


def test_what_the_runtime_reads_is_free_of_mlir():
    code = "import sys, tierup.frontend, tierup.frontend.ops, tierup.runtime.arguments.trees, tierup.runtime.arguments.hidden; print('torch_mlir' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


@pytest.mark.parametrize("thing", [None, 3, np.tanh, "f"])
@pytest.mark.parametrize("options", [{}, {"max_versions": 2}])
def test_what_is_no_python_function_is_refused_where_it_is_decorated(thing, options):
    with pytest.raises(TypeError, match=f"tierup.jit takes a Python function, not {type(thing).__name__}"):
        tierup.jit(thing, **options)
    with pytest.raises(TypeError, match=f"tierup.jit takes a Python function, not {type(thing).__name__}"):
        tierup.jit(**options)(thing)
