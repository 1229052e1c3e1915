"""Every rule of differentiation against central differences in float64, first and second order, in tier 0."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from gradient_cases import CASES
from gradient_harness import Case, array, captures_read, case, check, check_dtypes, differentiated, program, runner
from sampling import drawn

from tierup.dialect import optable
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.ops import gradients
from tierup.dialect.optable.core import Kind
from tierup.dialect.passes.autodiff.differentiability import gradient_of

FORMULAS = {rule.apply for rule in gradients.table().values()}


def _op(given: Case) -> str:
    return given.op


def test_what_rules_emit_has_rules_itself() -> None:
    """So that gradients can be differentiated again."""
    without = set()
    for given in drawn("emitted", CASES, 8, kind=_op):
        module = parse_module(differentiated(program(given), [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"]))
        for op in walk(module.operation):
            name = ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name.removeprefix("torch.")
            row = optable.lookup(name)
            if row is not None and row.kind is not Kind.SCALAR and gradient_of(row) is None:
                without.add((given.op, name))
    assert not without


def test_every_rule_has_a_case() -> None:
    """The rules of ops that are formulas are closures of one: each op's gradient is also judged by PyTorch's samples (test/oracle)."""
    tried = {rule.apply.__code__ for op in {*_OF_MORE_THAN_AN_OP, *(given.op for given in CASES)} if (rule := gradients.lookup(op)) is not None}
    assert not {formula.__qualname__ for formula in FORMULAS if formula.__code__ not in tried}


# Of the steps before it, too: test/frontend/test_linear_algebra.py. Without second derivatives: test/dialect/kernels/test_gamma_torch.py
_OF_MORE_THAN_AN_OP = ("tierup.linalg_as_pinv", "aten.digamma", "tierup.trigamma")


def _with_orders() -> list[tuple[Case, int]]:
    """The first cases of an op twice differentiated, all others once: PyTorch judges the second derivatives of all."""
    seen: Counter[str] = Counter()
    found = []
    for given in CASES:
        seen[given.op] += 1
        found.append((given, 2 if seen[given.op] <= 4 else 1))
    return found


@pytest.mark.parametrize(
    ("given", "orders"), [pytest.param(given, orders, id=str(given)) for given, orders in drawn("central", _with_orders(), 8, kind=lambda c: c[0].op)]
)
def test_gradients_agree_with_central_differences(given: Case, orders: int) -> None:
    check(given, orders=orders)


@pytest.mark.parametrize("given", drawn("typed", CASES, 24), ids=str)
def test_gradients_of_typed_programs_do_too(given: Case) -> None:
    """Sizes and dtypes that are known leave ops out."""
    check(given, typed=True)


@pytest.mark.parametrize("op", drawn("dtypes", sorted({given.op for given in CASES}), 2))
def test_each_operand_gets_a_gradient_of_its_own_dtype(op: str) -> None:
    for given in {(c.numpy, *((a.dtype.kind, not a.ndim) for a in c.arrays)): c for c in reversed(CASES) if c.op == op}.values():
        if not _takes_one_dtype(given):
            check_dtypes(given)


def _takes_one_dtype(given: Case) -> bool:
    """Whether the op refuses operands of several dtypes."""
    arrays = [a.astype(np.float32) if not i else a for i, a in enumerate(given.arrays)]
    try:
        runner(program(given))(*arrays)
    except TypeError:
        return True
    return False


def test_a_rank_0_that_is_reduced_over_its_dim_has_a_gradient_where_its_rank_is_known() -> None:
    for op in ("aten.sum.dim_IntList", "aten.mean.dim"):
        check(case(op, array(), [-1], False, None), typed=True)


def test_a_rule_reads_what_it_says_that_it_captures_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a number is read only where it is no constant. Cases that are not drawn are tried until all captures of their op are read."""
    unread: dict[str, set[str]] = {}
    sample = {id(given) for given in drawn("captures", CASES, 12, kind=_op)}
    for given in CASES:
        if unread.get(given.op) == set() and id(given) not in sample:
            continue
        captures, read = captures_read(given, monkeypatch)
        assert read <= captures, f"{given} reads {read - captures}, which its rule does not name"
        rule = gradients.lookup(given.op)
        assert rule is not None
        arrays = [any(isinstance(w, np.ndarray) for w in (v if isinstance(v, list) else [v])) for v in given.operands]
        numbers = {name for name, is_array in zip(rule.operands, arrays, strict=False) if not is_array}
        unread[given.op] = unread.get(given.op, captures) - read - numbers
    of_second_results = {"tierup.linalg_slogdet": {"a"}}  # cases ask for the gradient of the first
    assert {op: names for op, names in unread.items() if names} == of_second_results
