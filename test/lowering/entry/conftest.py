"""Fixtures of the entry's tests."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["native", "python"])
def entry(request: pytest.FixtureRequest) -> str:
    return str(request.param)
