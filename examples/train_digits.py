"""Train a network of two layers on handwritten digits with `tierup.value_and_grad`, and draw its learning curve.

    python examples/train_digits.py [--epochs 25]

Loss and prediction are plain NumPy; nobody writes a gradient. The training step, that is the loss, its gradients and the update with
momentum, is one `tierup.jit` function, and becomes one native plan for each size of batch.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from console import curve
from digits import CLASS, batches, load, predict, start

import tierup

RATE, MOMENTUM = 0.2, 0.9


def loss(params, x, labels):
    """Mean cross entropy of the images x, float32 of [n, 64]."""
    (w1, b1), (w2, b2) = params
    logits = np.tanh(x @ w1 + b1) @ w2 + b2
    shifted = logits - tierup.stop_gradient(np.max(logits, axis=1, keepdims=True))
    of_truth = np.sum(np.where(labels[:, None] == CLASS, shifted, 0), axis=1)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - of_truth)


@tierup.jit
def train_step(params, speeds, x, labels, rate):
    """One step of gradient descent with momentum: the loss, new parameters, new speeds."""
    value, grads = tierup.value_and_grad(loss)(params, x, labels)
    new_params, new_speeds = [], []
    for layer, speed, grad in zip(params, speeds, grads, strict=True):
        moved = [MOMENTUM * v - rate * g for v, g in zip(speed, grad, strict=True)]
        new_speeds.append(moved)
        new_params.append([p + v for p, v in zip(layer, moved, strict=True)])
    return value, new_params, new_speeds


def train(epochs: int) -> tuple[list[float], list[float]]:
    """Mean loss and held-out accuracy after each epoch."""
    images, labels, held_out, truth = load()
    w1, b1, w2, b2 = start()
    params = [[w1, b1], [w2, b2]]
    speeds = [[np.zeros_like(p) for p in layer] for layer in params]
    losses, accuracies = [], []
    for epoch in range(epochs):
        rate = np.float32(RATE * (1 - epoch / epochs))
        seen = []
        for x, y in batches(images, labels, epoch):
            value, params, speeds = train_step(params, speeds, x, y, rate)
            seen.append(float(value))
        losses.append(float(np.mean(seen)))
        accuracies.append(float(np.mean(predict(*params[0], *params[1], held_out) == truth)))
    return losses, accuracies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=25, help="passes over the training images")
    epochs = parser.parse_args().epochs
    begin = time.perf_counter()
    losses, accuracies = train(epochs)
    seconds = time.perf_counter() - begin
    print(curve("mean loss of an epoch, logarithmic", losses, logarithmic=True))
    print(curve("accuracy on held-out images", accuracies))
    s = train_step.stats()
    print(f"held-out accuracy {accuracies[-1]:.1%} after {epochs} epochs in {seconds:.1f} s, compiles included")
    print(f"{s.calls} training steps: {s.hits} in native code; {s.versions} versions, {s.compiles} compiles")


if __name__ == "__main__":
    main()
