"""PyTorch's operator samples, a part of them drawn by TIERUP_SEED; `make oracle` asks all, and writes docs/torch-coverage.md."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's samples import

import oracle_cases
import oracle_skips
from oracle_cases import Case, cases, dtypes_of, gradient_dtypes_of
from oracle_errors import refused
from oracle_judge import FAILED, NO_RULE, NOT_NATIVE, PASSED, SKIPPED, judge, judge_gradient
from oracle_table import PAGE, SEED, drawn
from sampling import IS_EXHAUSTIVE
from sampling import drawn as drawn_of

from tierup.dialect import optable
from tierup.dialect.optable import kernels
from tierup.torch import from_torchscript

pytestmark = pytest.mark.torch

TEXT = PAGE.read_text()
_ROW = re.compile(r"^\| `(?P<op>[^`]+)` \| [^|]+ \| (?P<tier0>\S+) \| (?P<native>\S+) \| (?P<gradient>\S+) \| (?P<gradient_native>\S+) \|$", re.M)
CLAIMED = {m["op"]: m.groupdict() for m in _ROW.finditer(TEXT)}
WHOLE = ("where", "sum", "cat", "mm", "gather", "nn.functional.layer_norm")
NATIVE = (
    "abs", "add", "addmv", "argsort", "block_diag", "bmm", "cartesian_prod", "clamp", "cummax", "div.floor_rounding", "erfc", "exp", "fliplr", "index_add", "index_copy", "isin",
    "kron", "kthvalue", "linalg.cross", "linalg.matrix_power", "linspace", "matmul", "mean", "median", "msort", "mul",
    "nn.functional.gelu",
    "nn.functional.glu", "nn.functional.grid_sample", "nn.functional.interpolate.bicubic", "nn.functional.interpolate.linear",
    "nn.functional.layer_norm", "nn.functional.multi_margin_loss", "nn.functional.unfold", "nn.functional.linear", "nn.functional.mse_loss", "nn.functional.pad.reflect",
    "nn.functional.pixel_shuffle", "nn.functional.silu", "quantile", "searchsorted", "softmax", "sort", "sub", "sum", "take", "tanh", "tensordot", "trapezoid", "unfold", "vstack", "where",
)  # fmt: skip
DERIVED = ("addmv", "cat", "cummin", "diff", "dstack", "median", "nn.functional.cosine_similarity", "nn.functional.glu",
           "nn.functional.grid_sample", "nn.functional.interpolate.bilinear", "nn.functional.unfold", "quantile", "unfold", "vstack")  # made of others, some of lists


def _all(cell: str) -> bool:
    """Whether all that the page says was asked passed."""
    return cell != "-" and len(set(cell.split("/"))) == 1


def _some(ops: list[str], most: int) -> list[str]:
    return ops if IS_EXHAUSTIVE else sorted(random.Random(SEED).sample(ops, min(most, len(ops))))


@cache
def _chosen(entry: str, gradients: bool) -> tuple[Case, ...]:
    """One sample, in one dtype."""
    names = gradient_dtypes_of(entry) if gradients else dtypes_of(entry)
    dtype = random.Random(f"{SEED}/{entry}").choice(names)
    return tuple(drawn(cases(entry, dtype, gradients), 1, f"test {entry}/{dtype}"))


def _check(case: Case, verdicts: dict, native: bool) -> None:
    """`native`: it must be."""
    for tier, verdict in verdicts.items():
        allowed = {PASSED, SKIPPED} | (set() if native else {NOT_NATIVE, NO_RULE})
        assert verdict.kind in allowed, f"{case.name}, {tier}: {verdict.kind}: {verdict.why}"


@pytest.mark.parametrize("entry", _some(sorted(CLAIMED), 12))
def test_a_sample_passes_in_tier_0_and_in_native_code(entry: str) -> None:
    for case in _chosen(entry, False):
        _check(case, judge(case, native=True), False)


@pytest.mark.parametrize("entry", drawn_of("native samples", NATIVE, 2))
def test_a_sample_is_native(entry: str) -> None:
    for case in _chosen(entry, False):
        _check(case, judge(case, native=True), True)


@pytest.mark.parametrize("entry", sorted({*DERIVED, *_some([op for op in sorted(CLAIMED) if _all(CLAIMED[op]["gradient"])], 6)}))
def test_a_gradient_is_autograds(entry: str) -> None:
    for case in _chosen(entry, True):
        _check(case, judge_gradient(case, native=True), False)


@pytest.mark.parametrize("entry", WHOLE)
def test_all_samples_of_an_op_pass(entry: str) -> None:
    for dtype in drawn_of(entry, dtypes_of(entry), 6):
        for case in cases(entry, dtype):
            _check(case, judge(case, native=False), False)


def _refused() -> Iterator[str]:
    yield from _some([op for op in sorted(CLAIMED) if oracle_cases.entries()[op].error_inputs_func is not None], 10)


@pytest.mark.parametrize("entry", _refused())
def test_what_pytorch_refuses_is_refused(entry: str) -> None:
    for case, program in refused(entry):
        try:
            program(*case.tensors())
            continue  # an error of eager's Python alone
        except (RuntimeError, torch.jit.Error):
            pass
        for options in ({"optimize": False}, {"num_profiled_runs": 0}):
            with pytest.raises((ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError)):
                from_torchscript(program, foreign="error", **options)(*case.tensors())


def test_a_wrong_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(cases("mm", "f32"))
    assert judge(case, native=False)["tier0"].kind == PASSED
    row = optable.lookup("aten.mm")
    assert row is not None
    right = kernels.resolve(row.kernel)
    monkeypatch.setattr(row, "tier0", lambda x, y: right(x, y) + 1)
    assert judge(case, native=False)["tier0"].kind == FAILED


# --- the page ------------------------------------------------------------------------------------------------------------


def test_the_page_has_every_op_of_pytorch_once() -> None:
    version = re.search(r"^PyTorch (\S+) is the judge", TEXT, re.M)
    assert version is not None
    if not torch.__version__.startswith(version[1]):
        pytest.skip(f"the page is about PyTorch {version[1]}")
    tables = [TEXT.split("\n## ", 1)[0], *(part for part in TEXT.split("\n## ") if part.startswith(("By PyTorch", "Not asked")))]
    listed = [op for table in tables for op in re.findall(r"^\| `([^`]+)` \|", table, re.M)]
    assert sorted(listed) == sorted(oracle_cases.entries()), "run `make oracle`"


def test_the_page_shows_how_much_is_claimed() -> None:
    tier0 = [tuple(map(int, row["tier0"].split("/"))) for row in CLAIMED.values()]
    passed, tried = (sum(pair[i] for pair in tier0) for i in (0, 1))
    assert len(CLAIMED) >= 250 and passed >= 0.98 * tried
    assert sum(_all(row["native"]) for row in CLAIMED.values()) >= 180


@pytest.mark.parametrize("table", ["ENTRIES", "CASES", "GRADIENTS"])
def test_every_skip_has_a_reason_and_skips_something(table: str) -> None:
    for pattern, why in getattr(oracle_skips, table).items():
        assert why
        entry = pattern.split("/", 1)[0]
        assert any(oracle_skips.fnmatchcase(name, entry) for name in oracle_cases.entries()), pattern
