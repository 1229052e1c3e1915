"""PyTorch's tensors in functions written for NumPy: no copies on the way in, tensors on the way out, PyTorch's autograd and traces.

python examples/torch_tensors.py
"""

from __future__ import annotations

import numpy as np
import torch

import tierup


@tierup.jit
def attention(q, k, v):
    """Softmax attention of one head, as one writes it for arrays."""
    scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


@tierup.jit
def clip_norm(x, limit):
    norm = np.sqrt((x * x).sum())
    if norm > limit:
        x = x * (limit / norm)
    return x


def main() -> dict[str, object]:
    """Compare with PyTorch call by call; what was found, for the test."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 5, 8).unbind(0)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    for _ in range(3):
        torch.testing.assert_close(attention(q, k, v), expected)
    print(f"tensors: {attention.stats().hits} of 3 calls native, results are {type(attention(q, k, v)).__name__}s")

    from_arrays = attention(q.numpy(), k.numpy(), v.numpy())
    print(f"arrays: the same version, results are {type(from_arrays).__name__}s")

    learned = q.clone().requires_grad_()
    attention(learned, k, v).sum().backward()
    reference = q.clone().requires_grad_()
    torch.nn.functional.scaled_dot_product_attention(reference, k, v).sum().backward()
    torch.testing.assert_close(learned.grad, reference.grad)
    print("gradients: PyTorch's, through a backward program of ours")

    traced = torch.jit.trace(lambda x: clip_norm(x, 1.0) * 2, (torch.ones(4),))
    for scale in (0.1, 10.0):
        x = torch.full((4,), scale)
        torch.testing.assert_close(traced(x), 2 * x * min(1.0, 1.0 / float(x.norm())))
    branches = len(traced.inlined_graph.findAllNodes("prim::If"))
    print(f"a trace: keeps the {branches} branch of clip_norm")

    try:
        attention(q, k.numpy(), v)
    except TypeError as e:
        print(f"mixed: {e}")
    return {"hits": attention.stats().hits, "versions": attention.stats().versions, "branches": branches}


if __name__ == "__main__":
    main()
