"""The fixture of conftest.py: what a test draws without a seed of its own is the same in every run, alone or behind others."""

import os
import random
import zlib

import numpy as np


def _expected(nodeid: str, seed: str) -> tuple[float, float]:
    number = zlib.crc32(f"{seed} {nodeid}".encode())
    return random.Random(number).random(), np.random.RandomState(number).random()


DRAWN = (random.random(), np.random.random())


def test_draws_of_a_file_hang_on_its_name_alone(request):
    assert _expected(request.node.parent.nodeid, os.environ.get("TIERUP_SEED", "0")) == DRAWN


def test_draws_hang_on_the_name_of_the_test_alone(request):
    assert (random.random(), np.random.random()) == _expected(request.node.nodeid, os.environ.get("TIERUP_SEED", "0"))
