"""A device for tests: the real runtime on a stand-in of the driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_driver import FakeDriver

from tierup.runtime.cuda.device import cublas, devices


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The stand-in, in the place of NVIDIA's bindings."""
    fake = FakeDriver()
    monkeypatch.setattr(devices, "bindings", lambda: fake)
    monkeypatch.setattr(cublas, "load", _no_library)  # this machine's could do nothing with the stand-in
    devices.forget()
    yield fake
    fake.check_zones()
    devices.forget()


def _no_library(path: str) -> None:
    raise OSError(f"{path}: no library in tests")


@pytest.fixture
def on(api: FakeDriver) -> devices.Device:
    return devices.device()
