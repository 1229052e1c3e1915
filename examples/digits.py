"""Train a classifier of handwritten digits with NumPy code under `tierup.jit`, and watch what tierup does with it.

    python examples/digits.py [--epochs 20]

Below is (1) the program, plain NumPy, (2) the training loop with a table of the calls at which something happened, (3) the
same loop without tierup, for accuracy and speed. Numbers are of this machine and this run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's matrix products on one thread, as tierup's are by default

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from console import Screen

import tierup

BATCH, HIDDEN, CLASSES, HELD_OUT = 64, 64, 10, 360
REPEATS = 25  # of the measurement at the end
CLASS = np.arange(CLASSES)
Parameters = Sequence[np.ndarray]


# 1. The program: two layers, softmax, cross entropy; the gradient is written by hand. Nothing here knows of tierup.


def train_step(w1, b1, w2, b2, x, labels, rate):
    """One step of gradient descent on the images x, float32 of [n, 64]. Returns the new parameters and the mean loss."""
    hidden = np.tanh(x @ w1 + b1)
    logits = hidden @ w2 + b2

    shifted = logits - np.max(logits, axis=1, keepdims=True)
    exps = np.exp(shifted)
    totals = np.sum(exps, axis=1, keepdims=True)
    truth = labels[:, None] == CLASS
    loss = np.mean(np.log(totals)) - np.sum(np.where(truth, shifted, 0)) / x.shape[0]

    d_logits = (exps / totals - truth) / x.shape[0]
    d_hidden = (d_logits @ w2.T) * (1 - hidden * hidden)
    return (
        w1 - rate * (x.T @ d_hidden),
        b1 - rate * np.sum(d_hidden, axis=0),
        w2 - rate * (hidden.T @ d_logits),
        b2 - rate * np.sum(d_logits, axis=0),
        loss,
    )


def predict(w1, b1, w2, b2, x):
    return np.argmax(np.tanh(x @ w1 + b1) @ w2 + b2, axis=1)


# 2. Data, training, and the table.


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, held-out images and labels: 1437 and 360 of the 1797, shuffled with a fixed seed."""
    table = np.loadtxt(Path(__file__).parent / "data" / "digits.csv.gz", delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(0).permutation(len(table))]
    images, labels = table[:, :64] / 16, table[:, 64].astype(np.int64)
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def start() -> Parameters:
    rng = np.random.default_rng(1)
    w1 = rng.normal(0, 1 / 8, (64, HIDDEN)).astype(np.float32)
    w2 = rng.normal(0, 1 / HIDDEN**0.5, (HIDDEN, CLASSES)).astype(np.float32)
    return w1, np.zeros(HIDDEN, np.float32), w2, np.zeros(CLASSES, np.float32)


def batches(images: np.ndarray, labels: np.ndarray, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """1437 = 22 * 64 + 29: the last batch of an epoch is short, and tierup's assumption of 64 fails there."""
    order = np.random.default_rng(epoch).permutation(len(images))
    for i in range(0, len(order), BATCH):
        yield images[order[i : i + BATCH]], labels[order[i : i + BATCH]]


class Watch:
    """Calls `step` and prints a row for each call at which something happened, and for the first native call after it."""

    def __init__(self, step: Callable[..., tuple[np.ndarray, ...]], screen: Screen) -> None:
        self.step, self.screen = step, screen
        self.before = step.stats()
        self.news: list[tierup.events.Event] = []
        self.curious = True

    def __call__(self, *args: object) -> tuple[np.ndarray, ...]:
        self.news.clear()
        begin = time.perf_counter()
        result = self.step(*args)
        milliseconds = 1e3 * (time.perf_counter() - begin)
        now, before = self.step.stats(), self.before
        hit = now.hits > before.hits
        if self.news or self.curious:
            tier = "native" if hit or now.compiles > before.compiles else "interpreter"
            why = [describe(event) for event in self.news] or ["the guards of a version held" if hit else "-"]
            self.screen.row(str(now.calls), tier, f"{milliseconds:.2f}", why[0])
            for more in why[1:]:
                self.screen.row("", "", "", more)
            self.curious = bool(self.news)
        self.before = now
        return result


def describe(event: tierup.events.Event) -> str:
    """What happened: the guard that did not hold, or what was done."""
    if event.guard and event.expected:
        return f"{event.kind.value}: {event.guard} expected {event.expected}, got {event.actual}"
    took = f" ({event.milliseconds:.0f} ms)" if event.milliseconds else ""
    return (f"{event.kind.value}: {event.reason.sentence}" if event.reason else event.action) + took


def train_epoch(step: Callable, p: Parameters, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    loss = np.float32(0)
    for x, y in pairs:
        *p, loss = step(*p, x, y, 0.5)
    return [*p, loss]


def train(step: Callable, data: tuple[np.ndarray, ...], epochs: int, report: Callable[..., object] = lambda *_: None) -> Parameters:
    images, labels, _, _ = data
    p = start()
    for epoch in range(epochs):
        *p, loss = train_epoch(step, p, batches(images, labels, epoch))
        report(epoch + 1, epochs, p, loss)
    return p


# 3. Everything together.


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20, help="passes over the training images")
    epochs = parser.parse_args().epochs
    data = load()
    held_out, truth = data[2:]

    fast_step, fast_predict = tierup.jit(train_step), tierup.jit(predict)

    def accuracy(p: Parameters) -> float:
        return float(np.mean(fast_predict(*p, held_out) == truth))

    print(f"{len(data[0])} images to learn from in batches of {BATCH}, {len(truth)} held out\n")
    screen = Screen(("call", "tier", "ms", "why"), (-5, 11, -7))
    watch = Watch(fast_step, screen)
    with tierup.events.subscribe(lambda e: watch.news.append(e) if e.function == "train_step" else None):
        p = train(
            watch, data, epochs,
            lambda done, total, p, loss: screen.progress(done, total, f"loss {float(loss):.3f}, held-out accuracy {accuracy(p):.1%}"),
        )  # fmt: skip
    s = fast_step.stats()
    print(f"\n{s.calls} calls: {s.hits} hits, {s.misses} misses, {s.profiled_runs} profiled; {s.versions} versions, {s.compiles} compiles")

    ordinary = train(train_step, data, epochs)
    same = np.mean(predict(*p, held_out) == predict(*ordinary, held_out))
    of_numpy = np.mean(predict(*ordinary, held_out) == truth)
    print(f"held-out accuracy {accuracy(p):.1%}; plain NumPy {of_numpy:.1%}, same answer on {same:.1%}")

    seconds: dict[str, list[float]] = {"numpy": [], "tierup": []}
    prepared = list(batches(data[0], data[1], 0))
    for _ in range(REPEATS):  # in turns, so that whatever else the machine does disturbs both
        for name, step in (("numpy", train_step), ("tierup", fast_step)):
            begin = time.perf_counter()
            train_epoch(step, p, prepared)
            seconds[name].append(time.perf_counter() - begin)
    numpy, ours = (1e3 * statistics.median(t) for t in seconds.values())
    print(f"the {len(prepared)} steps of an epoch: NumPy {numpy:.2f} ms, tierup {ours:.2f} ms: {numpy / ours:.2f} times as fast\n")
    print(fast_step.explain())


if __name__ == "__main__":
    main()
