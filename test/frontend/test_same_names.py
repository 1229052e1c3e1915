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
        def __init__(self, *blocks):
            self.blocks = blocks

        @decorate
        def forward(self, x):
            for block in self.blocks:
                x = block.forward(x)
            return x

    return Network(Block(2), Network(Layer(7), Network(Block(4), Network())), Layer(3))


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


class Node:
    def __init__(self, next_=None):
        self.next = next_ or self

    @tierup.jit
    def total(self, x):
        return x if self.next is None else self.next.total(x) + 1


def test_an_object_that_holds_itself_is_a_recursion_and_a_chain_is_none() -> None:
    with tierup.options(strict=True), pytest.raises(tierup.UnsupportedSyntax, match="recursive call of `total`; write a loop"):
        Node().total(np.ones(2))
    chain = last = Node()
    for _ in range(5):
        chain = Node(chain)
    last.next = None
    assert [chain.total(np.ones(2))[0] for _ in range(3)] == [6] * 3
    chain.next.next, chain.next.next.next.next = chain.next.next.next, None
    assert [chain.total(np.ones(2))[0] for _ in range(3)] == [4] * 3


@tierup.jit
def total(tree):
    return tree if isinstance(tree, np.ndarray) else sum([total(part) for part in tree])


def test_a_tree_is_walked_by_recursion() -> None:
    for tree in ([np.ones(2), (np.arange(2.0),)], [[np.ones(2)], [[np.ones(2)], np.ones(2)]], [np.ones(2), (np.arange(2.0),)]):
        leaves = [np.ones(2), np.arange(2.0)] if isinstance(tree[-1], tuple) else [np.ones(2)] * 3
        np.testing.assert_array_equal(total(tree), sum(leaves))


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
