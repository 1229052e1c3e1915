"""The soak, in short: what is counted, not what the system's allocator makes of it."""

from __future__ import annotations

from itertools import islice

import pytest
import soak_memory


def test_no_more_code_is_loaded_than_there_are_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    samples = list(soak_memory.soak(150, every=30))  # which compares what is loaded with the versions there are
    assert [s.loaded for s in samples] == [16] * 5
    *_, first, _, last = samples  # by the first of these what is kept within bounds is there
    assert last.objects - first.objects < 20 * 60, "Python objects stay behind"  # events and such are kept, so many


def test_shapes_are_new_and_ranks_change() -> None:
    shapes = list(islice(soak_memory.shapes(), 10_000))
    assert len(set(shapes)) == 10_000 and [len(s) for s in shapes[:5]] == [1, 2, 3, 4, 1]
    assert max(len(s) for s in shapes) == 4 and min(min(s) for s in shapes) == 2


@pytest.mark.parametrize(("kilobytes", "grown"), [([100, 150, 150], 0.0), ([100, 150, 190], 0.5)])
def test_growth_is_measured_after_the_first_fifth(kilobytes: list[int], grown: float) -> None:
    samples = [soak_memory.Sample(done, 0.0, k, 4, 0) for done, k in zip((10, 20, 100), kilobytes)]
    assert soak_memory.growth(samples) == grown
