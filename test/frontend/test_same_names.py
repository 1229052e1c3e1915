"""Functions of one name that call one another, as the `forward` methods of layers, blocks and networks do. The oracle: the same, undecorated."""

from __future__ import annotations

import numpy as np
import pytest

import tierup


def network(decorate):
    class Layer:
        def __init__(self, scale):
            self.scale = scale

        @decorate
        def forward(self, x):
            return x * self.scale

    class Block:
        def __init__(self, scale):
            self.first, self.second = Layer(scale), Layer(scale + 1)

        @decorate
        def forward(self, x):
            return self.second.forward(self.first.forward(x)) + 1

    class Network:
        def __init__(self):
            self.blocks = Block(2), Block(4), Layer(3)

        @decorate
        def forward(self, x):
            for block in self.blocks:
                x = block.forward(x)
            return x

    return Network()


def test_methods_of_one_name_call_one_another() -> None:
    decorated, plain = network(tierup.jit), network(lambda f: f)
    for x in (np.ones(3), np.ones(3), np.arange(3.0)):
        np.testing.assert_array_equal(decorated.forward(x), plain.forward(x))
    assert decorated.forward.stats().hits == 2

    def forward(x):
        return decorated.forward(x).sum()

    value, gradient = tierup.value_and_grad(forward)(np.arange(3.0))
    assert value == plain.forward(np.arange(3.0)).sum()
    np.testing.assert_array_equal(gradient, plain.forward(np.ones(3)) - plain.forward(np.zeros(3)))  # it is linear


def closing(name, inner, by):
    """`inner`, and `by` added: a decorated function of this name."""
    def function(x):
        return inner(x) + by

    function.__name__ = name
    return tierup.jit(function)


@pytest.mark.parametrize("names", [("f_0", "f", "f_0"), ("f_1", "f_0", "f"), ("f", "f", "f", "f"), ("gradient_of_f_0_1", "f", "f")])
def test_symbols_of_functions_are_their_own_whatever_these_are_called(names: tuple[str, ...]) -> None:
    f = tierup.jit(lambda x: (x * x).sum())
    for i, name in enumerate(names):
        f = closing(name, f, 10**i)
    for _ in range(3):
        assert f(np.ones(2)) == 2 + sum(10**i for i in range(len(names)))
    np.testing.assert_array_equal(tierup.grad(f)(np.ones(2)), [2, 2])
