"""A device for tests: the real runtime on a stand-in of the driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_driver import FakeDriver

from tierup.runtime.cuda import devices


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The stand-in, in the place of NVIDIA's bindings."""
    fake = FakeDriver()
    monkeypatch.setattr(devices, "bindings", lambda: fake)
    devices.forget()
    yield fake
    fake.check_zones()
    devices.forget()


@pytest.fixture
def on(api: FakeDriver) -> devices.Device:
    return devices.device()
