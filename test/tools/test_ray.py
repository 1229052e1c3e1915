"""`tierup.ray` on real processes, one of which is killed in the middle: results are complete, and compiles are few."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")

PROGRAM = """
import importlib.util, os, signal, sys, time
import numpy as np, ray, tierup, tierup.ray

SCALE = 2.0
@tierup.jit(threads=1)
def relax(x):
    y = np.tanh(x) * SCALE
    return y - y.mean(axis=0)

@tierup.jit(threads=1)
def slow(x, seconds):
    time.sleep(seconds)
    return relax(x)

@tierup.jit
def shifted(x):
    return x + SCALE

def loss(params, x, y):
    w, b = params
    return np.mean((np.tanh(x @ w) + b - y) ** 2)

def plain_gradients(params, x, y):
    w, b = params
    h = np.tanh(x @ w)
    d = 2 * (h + b - y) / y.size
    return np.mean((h + b - y) ** 2), (x.T @ (d * (1 - h * h)), d.sum(0))

if __name__ == "__main__":
    SCALE = 3.0
    draw = np.random.default_rng(0)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True, object_store_memory=10**8)
    data = draw.random((900, 4)) - 0.5
    blocks = [data[i : i + 30] for i in range(0, 900, 30)]
    first = tierup.ray.map_blocks(relax, [(block,) for block in blocks])
    np.testing.assert_allclose(np.concatenate(ray.get(first)), np.concatenate([relax.__wrapped__(b) for b in blocks]), rtol=1e-12, atol=1e-15)
    pending = tierup.ray.map_blocks(slow, [(block, 0.05) for block in blocks])
    doomed = ray.get(ray.remote(lambda: os.getpid()).remote())
    time.sleep(0.3)
    os.kill(doomed, signal.SIGKILL)
    np.testing.assert_allclose(np.concatenate(ray.get(pending)), np.concatenate([relax.__wrapped__(b) for b in blocks]), rtol=1e-12, atol=1e-15)
    assert '"sizes":[30,4]' in tierup.ray.profile(relax, 4).replace(" ", "")

    params, target = (draw.random((4, 3)), draw.random(3)), draw.random((900, 3))
    parts = [ray.put((data[i : i + n], target[i : i + n])) for i, n in ((0, 400), (400, 400), (800, 100))]
    update = lambda params, gradients: tuple(p - 0.5 * g for p, g in zip(params, gradients))
    found, values = tierup.ray.train(loss, params, parts, update, steps=3, threads=1)
    for value in values:
        expected, gradients = plain_gradients(params, data, target)
        np.testing.assert_allclose(value, expected, rtol=1e-9)
        params = update(params, gradients)
    for one, other in zip(found, params):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    if importlib.util.find_spec("pyarrow") and importlib.util.find_spec("pandas"):
        rows = ray.data.from_numpy([data]).repartition(3)
        column = tierup.ray.map_batches(shifted, rows, ["data"], "y", batch_size=300).to_pandas()
        np.testing.assert_allclose(np.stack(column["y"]), np.stack(column["data"]) + 3.0)
    print("complete")
"""


def test_blocks_and_training_are_complete_though_a_worker_is_killed_and_one_worker_compiles_for_all(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), "TIERUP_CACHE": "1", "TIERUP_LOG": "compiles", "RAY_DEDUP_LOGS": "0"}
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "complete"
    compiled = [line for line in (done.stdout + done.stderr).splitlines() if "tierup: " in line and "-> compiled " in line]
    assert len([line for line in compiled if "relax" in line]) <= 2, compiled  # one shape; one more where the killed one was at it
    assert len([line for line in compiled if "value_and_grad(loss)" in line]) <= 3, compiled  # two numbers of rows, then any
