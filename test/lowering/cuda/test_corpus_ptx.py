"""Every program of the corpus that has native code for the CPU has PTX that ptxas takes for sm_80 and sm_90, or is listed with its reason.
`make test` takes a sample, `make test-ptx` all. What ptxas takes has been assembled, not run."""

from __future__ import annotations

import pytest
from corpus import PROGRAMS, Program
from corpus_requests import NO_KERNELS, kernels, requests, sample

from tierup.lowering.cuda.assembling import ptxas

pytestmark = pytest.mark.skipif(ptxas.find() is None, reason="ptxas is not installed: no PTX was assembled")


@pytest.mark.parametrize("program", sample("ptx"), ids=lambda p: p.name)
def test_ptxas_takes_every_kernel(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = requests(program, monkeypatch)
    assert asked
    made = [kernels(program, each) for each in asked]
    assert (None in made) == (program.name in NO_KERNELS)
    for artifact in made:
        if artifact is not None:
            known = {report.kernel for report in ptxas.assemble(artifact.ptx, "sm_80").report}
            assert known == set(artifact.host.kernels)
            for report in ptxas.assemble(artifact.ptx, "sm_90").report:
                assert report.shared <= 48 << 10  # bytes that every device grants a block


def test_the_list_names_programs_of_the_corpus() -> None:
    assert set(NO_KERNELS) <= {p.name for p in PROGRAMS if p.native}
