"""The service's promises: native from the first request on, and no request is dropped, or answered by half of a model, while models change."""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def service():
    sys.path.insert(0, str(EXAMPLES))
    try:
        import service

        yield service
    finally:
        sys.path.remove(str(EXAMPLES))


def test_requests_are_answered_natively_and_by_the_newest_model(service, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(service, "BATCHES", (2, 2, 3, 4))
    rng = np.random.default_rng(0)
    images = rng.integers(0, 17, (40, 64))
    models = [[rng.normal(size=shape).astype(np.float32) for shape in ((64, 8), (8,), (8, 10), (10,))] for _ in range(2)]
    wanted = [service.classify(images.astype(np.float32) / 16, *weights).tolist() for weights in models]
    service.save(tmp_path / "m", models[0])
    made, model_of = [], service.Model
    monkeypatch.setattr(service, "Model", lambda *given: made.append(model_of(*given)) or made[-1])
    running = service.Service(tmp_path / "m", 0)
    threading.Thread(target=running.serve_forever, daemon=True).start()

    def ask(some):
        with urlopen(f"http://127.0.0.1:{running.server_port}", json.dumps({"images": some.tolist()}).encode()) as reply:
            return json.load(reply)

    def asks(number, until):
        while running.model.number < until:
            count = 2 + number % 7
            got = ask(images[:count])
            assert got["digits"] == wanted[got["model"] - 1][:count]
        return ask(images)

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(asks, number, 2) for number in range(2)]
        service.save(tmp_path / "m", models[1])
        assert [each.result() for each in asked] == [{"digits": wanted[1], "model": 2}] * 2
    for model in made:
        stats = model.plan.stats()
        assert stats.calls == stats.hits > 0
    with pytest.raises(HTTPError, match="400"):
        ask(np.zeros(2))
    (tmp_path / "m.tierup").write_bytes(b"half of a")
    time.sleep(0.1)
    assert ask(images)["model"] == 2
    running.shutdown()
    running.server_close()
