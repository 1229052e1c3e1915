"""How results lie in memory, of PyTorch's samples whose tensors lie otherwise than in rows: as eager's do in tier 0, or in rows."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's samples import

import oracle_skips as skips
from oracle_cases import Case, cases, dtypes_of
from oracle_table import PAGE, SEED
from sampling import IS_EXHAUSTIVE

from tierup.runtime.base.errors import NotOptimized
from tierup.torch import UnsupportedProgram, from_torchscript

pytestmark = pytest.mark.torch
Tensor = torch.Tensor

ENTRIES = sorted(re.findall(r"^\| `([^`]+)` \| [^|]+ \| [1-9]", PAGE.read_text(), re.M))
SURE = ("nn.functional.logsigmoid", "nn.functional.one_hot", "ravel", "float")  # were otherwise once
# In rows, where eager's are channels last, or as an index array's places are; dims of one element have other strides
IN_ROWS = (
    "__getitem__", "addr", "nn.functional.*pool*", "nn.functional.conv*", "nn.functional.channel_shuffle", "nn.functional.glu",
    "nn.functional.interpolate.area", "nn.functional.pad.*", "nn.functional.pixel_shuffle",
)  # fmt: skip


def transposed(t: Tensor) -> Tensor:
    return t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() >= 2 else t


def channels_last(t: Tensor) -> Tensor:
    return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else transposed(t)


def expanded(t: Tensor) -> Tensor:
    return t[:1].expand(t.shape) if t.dim() >= 2 and t.shape[0] > 1 else t


def every_other(t: Tensor) -> Tensor:
    return torch.stack([t, t], -1)[..., 0] if t.dim() >= 2 else t


def drawn(entries: list[str]) -> list[str]:
    return entries if IS_EXHAUSTIVE else sorted({*SURE, *random.Random(f"layouts {SEED}").sample(entries, 5)})


def with_dims(t: Tensor) -> Tensor:
    return t.reshape(2, -1, t.numel() // 4) if t.dim() == 1 and t.numel() and t.numel() % 4 == 0 else t


def samples(entry: str) -> list[tuple[Case, Callable[[], list[Tensor]]]]:
    """Two at most that have a tensor with dims to put in another order; vectors become one."""
    found = []
    for case in cases(entry, next(d for d in ("f32", *dtypes_of(entry)) if d in dtypes_of(entry))):
        if skips.case(case.name) or skips.keyword(case.sample.kwargs):
            continue
        several = any(t.dim() > 1 and t.numel() > 1 for t in case.tensors())
        tensors = case.tensors if several else (lambda case=case: [with_dims(t) for t in case.tensors()])
        if all(t.numel() for t in tensors()) and any(t.dim() > 1 for t in tensors()):
            found.append((case, tensors))
    return found if IS_EXHAUSTIVE else random.Random(f"{SEED} {entry}").sample(found, min(2, len(found)))


def strides(results: object) -> list[tuple[int, ...]]:
    tensors = results if isinstance(results, (list, tuple)) else [results]
    return [tuple(s if n > 1 else 0 for n, s in zip(t.shape, t.stride(), strict=True)) for t in tensors if 0 not in t.shape]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lay", [transposed, channels_last, expanded, every_other])
@pytest.mark.parametrize("entry", drawn(ENTRIES))
def test_results_lie_as_eagers_do(entry: str, lay: Callable[[Tensor], Tensor]) -> None:
    for case, tensors in samples(entry):
        given = lambda tensors=tensors: [lay(t) for t in tensors()]
        try:
            with warnings.catch_warnings(), torch.no_grad():
                eager = [t.detach() for t in case(*given())]
                program = torch.jit.trace(lambda *t, case=case: case(*t), tuple(tensors()), check_trace=False)
        except Exception:  # noqa: BLE001, S112 - whatever PyTorch refuses of these
            continue
        rows = strides([t.contiguous() for t in eager])
        for options in ({"optimize": False}, {"num_profiled_runs": 0, "strict": True}):
            try:
                found = from_torchscript(program, foreign="error", **options)(*given())
            except (UnsupportedProgram, NotOptimized):
                continue
            assert [t.shape for t in (found if isinstance(found, (list, tuple)) else [found])] == [t.shape for t in eager]
            is_free = "strict" in options or any(fnmatchcase(entry, pattern) for pattern in IN_ROWS)
            for ours, theirs, row in zip(strides(found), strides(eager), rows, strict=True):
                assert ours == theirs or (is_free and ours == row), f"{case.name} {options}: {ours}, not {theirs}"
