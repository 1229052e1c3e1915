"""Options: defaults, scopes, and errors that name the option."""

import re
import threading
from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import pytest

from tierup.runtime.base.options import Options, Overrides, current, options, table


def test_a_block_changes_options_and_restores_them():
    with options(num_profiled_runs=3):
        assert current().num_profiled_runs == 3
        with options(max_versions=2):
            assert (current().num_profiled_runs, current().max_versions) == (3, 2)
    assert current() == Options()


def test_a_block_that_raises_restores_options():
    with pytest.raises(KeyError), options(optimize=False):
        raise KeyError
    assert current().optimize


def test_a_block_is_not_seen_by_another_thread():
    seen = []
    with options(optimize=False):
        thread = threading.Thread(target=lambda: seen.append(current().optimize))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_functions_own_options_win():
    with options(max_versions=2):
        assert Overrides({"max_versions": 5}).current().max_versions == 5


_FLAGS = ("optimize", "profile", "strict", "testing", "libraries", "tf32", "release_graphs")
_COUNTS = {"num_profiled_runs": 0, "bailout_depth": 0, "max_versions": 1, "max_graphs": 1, "threads": 0, "level": 0}
_WORDS = ("speculate", "compile", "entry", "executor", "backend")
_WRONG = [
    ({"num_profiled_run": 2}, TypeError, "did you mean 'num_profiled_runs'"),
    ({"level": 4}, ValueError, "option level: expected at most 3, got 4"),
    ({"threads": 65}, ValueError, "option threads: expected at most 64, got 65"),
    ({"threads": 10**9}, ValueError, "option threads: expected at most 64"),
    ({"entry": "fast"}, ValueError, "option entry: expected one of native, python, got 'fast'"),
    ({"target": "sm_91"}, ValueError, "option target: expected one of '', sm_70, "),
    ({"target": 90}, TypeError, "option target: expected one of"),
    ({"weigh": "no"}, TypeError, "option weigh: expected True or False"),
    ({"worker": 1}, TypeError, "option worker: expected True or False"),
    ({"cache": "off"}, TypeError, "option cache: expected True or False"),
    ({"pickle_code": 1}, TypeError, "option pickle_code: expected True or False"),
    ({"compile_budget": -1}, ValueError, "option compile_budget: expected at least 0"),
    ({"compile_limit": 0}, ValueError, "option compile_limit: expected at least 0.001"),
    ({"release_delay": -0.5}, ValueError, "option release_delay: expected at least 0"),
    ({"release_delay": float("nan")}, ValueError, "option release_delay: expected at least 0"),
    ({"release_delay": float("inf")}, ValueError, "option release_delay: expected at most 1000000000, got inf"),
    ({"release_delay": "60"}, TypeError, "option release_delay: expected a number, got '60'"),
    ({"release_delay": True}, TypeError, "option release_delay: expected a number"),
    ({"release_delay": None}, TypeError, "option release_delay: expected a number"),
    *[({name: value}, TypeError, f"option {name}: expected True or False") for name in _FLAGS for value in (1, "True", None)],
    *[({name: value}, TypeError, f"option {name}: expected a whole number") for name in _COUNTS for value in (1.0, True, "1", None)],
    *[({name: least - 1}, ValueError, f"option {name}: expected at least {least}") for name, least in _COUNTS.items()],
    *[({name: Options.__dataclass_fields__[name].default.upper()}, ValueError, f"option {name}: expected one of") for name in _WORDS],
    *[({name: value}, TypeError, f"option {name}: expected one of") for name in _WORDS for value in (True, None, [], np.array(["cpu", "cpu"]))],
    *[
        ({"fusion_strategy": value}, TypeError, 'option fusion_strategy: expected a list like [("static", 2), ("dynamic", 10)], got')
        for value in (
            3, None, "static", True, [("static",)], [("static", 2, 3)], [("static", 1.5)], [("static", "2")], [("static", True)], [(1, 2)],
            {"static": 2}, ["ab"],
        )
    ],
    ({"fusion_strategy": [("statc", 2)]}, ValueError, 'expected ("static", n) or ("dynamic", n) with n >= 0, got'),
    ({"fusion_strategy": [("static", -1)]}, ValueError, 'expected ("static", n) or ("dynamic", n) with n >= 0, got'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "error", "words"), _WRONG, ids=lambda part: str(part) if isinstance(part, dict) else "")
@pytest.mark.parametrize("where", ["block", "function"])
def test_a_wrong_option_says_what_is_right(change, error, words, where):
    with pytest.raises(error, match=re.escape(words)):
        with options(**change) if where == "block" else nullcontext():
            Overrides(change)
    assert current() == Options()


def test_every_option_is_tried_with_wrong_values():
    assert {f.name for f in fields(Options)} == {name for change, _, _ in _WRONG for name in change} - {"num_profiled_run"}


def test_a_strategy_may_be_written_as_in_pytorch():
    assert Options(fusion_strategy=[("STATIC", 1), ("Dynamic", 2)]).fusion_strategy == (("static", 1), ("dynamic", 2))


def test_a_huge_strategy_costs_nothing():
    huge = Options(bailout_depth=10**12, fusion_strategy=[("static", 10**11), ("dynamic", 0)])
    assert (huge.depth, huge.is_dynamic) == (10**11, False)
    assert Options(bailout_depth=10**12, fusion_strategy=[("static", 10**11), ("dynamic", 1)]).is_dynamic
    assert not Options(bailout_depth=2, fusion_strategy=[("static", 2), ("dynamic", 10)]).is_dynamic


def test_the_strategy_says_the_kind_of_each_version():
    chosen = Options(fusion_strategy=[("static", 1), ("dynamic", 2)])
    assert [chosen.kind_of_version(i) for i in range(4)] == ["static", "dynamic", "dynamic", None]


def test_the_bailout_depth_caps_the_strategy():
    assert Options(bailout_depth=1).kind_of_version(1) is None


def test_every_option_has_a_meaning():
    assert all(meaning for _, _, meaning in table())
