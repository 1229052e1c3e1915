"""A service that classifies handwritten digits with a plan: native from its first request on, without a compiler, and new models come in
while it answers.

    python examples/service.py train model [--epochs 3]      # model.tierup and model.npz
    python examples/service.py serve model [--port 8000]
    curl -d '{"images": [[0, 0, 5, ..., 0]]}' localhost:8000      # {"digits": [3], "model": 1}

Train again while it serves: the next requests are the new model's. A model is a plan, which is code, and its weights, which are data. Who
serves needs NumPy alone (and the wheel scipy-openblas32, for the matrix products).
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

import tierup

BATCHES = (1, 1, 2, 2, 3, 4)  # of the calls that are saved: one version for single images, one for any number
LOOK_EVERY = 0.5  # seconds


def classify(x, w1, b1, w2, b2):
    """The digits on the images x, float32 of [n, 64], from 0 to 1."""
    return np.argmax(np.tanh(x @ w1 + b1) @ w2 + b2, axis=1)


def save(path: Path, weights: Sequence[np.ndarray]) -> None:
    """A model for this function and these weights: its plan is written last, which is what a service looks at."""
    function = tierup.jit(classify)
    for count in BATCHES:
        function(np.zeros((count, 64), np.float32), *weights)
    with open(path.with_suffix(".new"), "wb") as file:
        np.savez(file, *weights)
    os.replace(path.with_suffix(".new"), path.with_suffix(".npz"))
    function.save(path.with_suffix(".tierup"))


class Model:
    """A plan and its weights, ready: it has answered a call."""

    def __init__(self, path: Path, number: int) -> None:
        self.number, self.stamp = number, stamp_of(path)
        self.plan = tierup.load_plan(path.with_suffix(".tierup"), on_miss="error")  # in a service no call is to be slow unseen
        with np.load(path.with_suffix(".npz")) as found:
            self.weights = list(found.values())
        self.answer(np.zeros((2, 64), np.float32))

    def answer(self, images: np.ndarray) -> list[int]:
        return self.plan(images, *self.weights).tolist()


def stamp_of(path: Path) -> tuple[int, int]:
    """What differs when a plan was written anew."""
    about = path.with_suffix(".tierup").stat()
    return about.st_mtime_ns, about.st_ino


class Service(ThreadingHTTPServer):
    """Answers with the newest model; a request that has begun keeps the one it began with."""

    daemon_threads = True

    def __init__(self, path: Path, port: int) -> None:
        self.path, self.model, self.ends = path, Model(path, 1), threading.Event()
        super().__init__(("127.0.0.1", port), Request)
        threading.Thread(target=self.look, daemon=True).start()

    def look(self) -> None:
        """Take a new model when there is one. Where it cannot be loaded the old one goes on."""
        while not self.ends.wait(LOOK_EVERY):
            try:
                if stamp_of(self.path) != self.model.stamp:
                    self.model = Model(self.path, self.model.number + 1)
            except (OSError, ValueError, tierup.NotOptimized) as e:  # it is being written, is not whole, or does not fit its weights
                print(f"model {self.model.number} goes on: {e}", flush=True)

    def server_close(self) -> None:
        self.ends.set()
        super().server_close()


class Request(BaseHTTPRequestHandler):
    """One request: JSON in, JSON out."""

    server: Service

    def do_POST(self) -> None:
        model = self.server.model
        try:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            images = np.array(given["images"], np.float32).reshape(-1, 64) / 16
            self.reply(200, {"digits": model.answer(images), "model": model.number})
        except (KeyError, TypeError, ValueError) as e:
            self.reply(400, {"error": str(e)})

    def reply(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "serve"))
    parser.add_argument("model", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.what == "serve":
        service = Service(options.model, options.port)
        print(f"http://127.0.0.1:{service.server_port}/ answers with {options.model}", flush=True)
        service.serve_forever()
    import digits  # here: who serves needs no data

    images, labels, held_out, truth = digits.load()
    weights: Sequence[np.ndarray] = digits.start()
    step = tierup.jit(digits.train_step)
    for _ in range(options.epochs):
        for begin in range(0, len(images), digits.BATCH):
            *weights, _ = step(*weights, images[begin : begin + digits.BATCH], labels[begin : begin + digits.BATCH], np.float32(0.5))
    save(options.model, weights)
    print(f"saved {options.model}: {np.mean(classify(held_out, *weights) == truth):.1%} of the held-out images are right")


if __name__ == "__main__":
    main()
