"""The graph's own form: types, attributes, locations, output trees."""

import re

import numpy as np
from frontend_oracle import check, graph

from tierup.dialect.mlir import ir
from tierup.frontend.python.build import build, shape_from_annotations
from tierup.runtime.arguments.trees import Output, OutputNode

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def reads(x, n):
    y = np.exp(x)
    return y * n


def writes(x):
    x += 1
    return x


def test_values_are_vtensors_unless_something_is_written():
    text = str(graph(reads, X, 2)[0].module)
    assert "!torch.vtensor" in text and "!torch.tensor" not in text
    built, *_ = graph(writes, X)
    assert "!torch.tensor" in str(built.module) and "!torch.vtensor" not in str(built.module)
    assert built.writes


def test_ops_of_arrays_carry_numpys_promotion_and_scalars_do_not():
    def f(x, n):
        return x * (n + n)

    text = str(graph(f, X, 2.0)[0].module)
    assert re.search(r'aten.mul.Scalar .*tierup.promotion = "numpy"', text)
    assert re.search(r"aten.add.float %\w+, %\w+ :", text)


def test_names_and_source_attributes():
    def f(params, x, n):
        return params["w"] + params["b"][0] + x + n

    built, *_ = graph(f, {"w": X, "b": [X]}, X, 2)
    text = str(built.module)
    names = re.findall(r'tierup\.name = "([^"]*)"', text)
    assert names == ["params['w']", "params['b'][0]", "x", "n"]
    assert 'tierup.source = "jit"' in text and built.entry == "f"
    assert [name for name, _ in built.leaves] == names


def test_locations_are_file_line_and_column():
    built, *_ = graph(reads, X, 2)
    first = reads.__code__.co_firstlineno
    found = []

    def visit(op):
        if op.name == "torch.aten.exp":
            found.append(str(op.location))
        return ir.WalkResult.ADVANCE

    built.module.operation.walk(visit)
    assert found == [f'loc("{__file__}":{first + 1}:9)']


def test_output_trees():
    def f(x):
        return x, [x.sum(), 2], {"n": x.shape[0], "none": None, "name": "a"}, ()

    built, *_ = graph(f, X)
    assert built.output == OutputNode(
        "tuple",
        (
            Output("array"),
            OutputNode("list", (Output("array", True), Output("const", value=2))),
            OutputNode("dict", (Output("int"), Output("const"), Output("const", value="a")), ("n", "none", "name")),
            OutputNode("tuple", ()),
        ),
    )
    check(f, X)


def test_no_result():
    def f(x):
        x[0] = 1

    assert check(f, X) is None


def test_a_graph_before_any_call_follows_the_annotations():
    def f(x, n: int, p: float = 0.5, flag: bool = True):
        return x * n * p if flag else x

    built = build(f, shape_from_annotations(f))
    assert [(name, leaf.kind, leaf.ndim) for name, leaf in built.leaves] == [
        ("x", "array", None),
        ("n", "int", None),
        ("p", "float", None),
        ("flag", "bool", None),
    ]


def test_constants_stand_at_the_top_and_unused_ones_are_gone():
    def f(x):
        y = x if x.sum() > 3 else x * 7
        return y + 3

    text = str(graph(f, X)[0].module)
    body = text[text.index("func.func") :]
    assert body.index("constant.int 7") < body.index("prim.If")
    assert body.count("constant.int 3") == 1
    assert "constant.none" in body  # x.sum()'s dtype


def test_building_twice_gives_the_same_text():
    assert str(graph(reads, X, 2)[0].module) == str(graph(reads, X, 2)[0].module)


def test_products_say_the_ranks_that_are_known():
    def f(x, w):
        return x @ w

    assert re.search(r"aten.matmul .*tierup.ranks = array<i64: 2, 1>", str(graph(f, X, X[0])[0].module))
    assert "tierup.ranks" not in str(graph(f, X, X[0], ranks=False)[0].module)
