"""The measured training step: its gradients are those written by hand, it is one native plan, and a pullback holds little. No times."""

from __future__ import annotations

import pytest

import tierup
from benchmarks import gradients


def test_the_step_by_hand_is_the_step():
    params, x, y = gradients.problem(batch=4, width=8)
    step = tierup.jit(gradients.step)  # versions of its own
    for _ in range(3):
        gradients.agree(step(params, x, y), gradients.by_hand(params, x, y))
    stats = step.stats()
    assert (stats.hits, stats.compiles, stats.versions) == (2, 1, 1)
    assert "in tier 0: aten" not in step.explain()


def test_the_weights_update_needs_no_temporary():
    params, x, y = gradients.problem(batch=8, width=32)
    step = tierup.jit(gradients.step)
    for _ in range(2):
        step(params, x, y)
    buffers = step.plan("buffers")
    assert "alloc() {alignment = 64 : i64} : memref<8x32xf32>" in buffers  # what one layer hands to the next
    assert "alloc() {alignment = 64 : i64} : memref<32x32xf32>" not in buffers and "memref.copy" not in buffers


def test_a_wrong_step_has_no_speed():
    params, x, y = gradients.problem(batch=4, width=8)
    value, new = gradients.by_hand(params, x, y)
    with pytest.raises(AssertionError):
        gradients.agree((value, new), (value, [(w + 1, b) for w, b in new]))


def test_a_pullback_holds_an_activation_per_layer():
    """Of relu its result, which is the next layer's input; of the loss the error."""
    params, x, y = gradients.problem(batch=4, width=8, layers=5)
    _, pullback = tierup.vjp(gradients.loss, params, x, y)
    assert sum(c.bytes for c in pullback.captured if c.source != "argument") <= 1.1 * 5 * 4 * 8 * 4
