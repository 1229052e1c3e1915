"""Options: defaults, scopes, and errors that name the option."""

import threading

import pytest

from tierup.runtime.options import Options, Overrides, current, options, table


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


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"num_profiled_run": 2}, TypeError, "did you mean 'num_profiled_runs'"),
        ({"optimize": 1}, TypeError, "option optimize"),
        ({"num_profiled_runs": -1}, ValueError, "at least 0"),
        ({"num_profiled_runs": True}, TypeError, "whole number"),
        ({"level": 4}, ValueError, "option level: expected at most 3, got 4"),
        ({"entry": "fast"}, ValueError, "native, python"),
        ({"fusion_strategy": [("statc", 2)]}, ValueError, "static"),
        ({"fusion_strategy": 3}, TypeError, "fusion_strategy"),
    ],
)
def test_a_wrong_option_says_what_is_right(change, error, words):
    with pytest.raises(error, match=words), options(**change):
        pass


def test_the_strategy_says_the_kind_of_each_version():
    chosen = Options(fusion_strategy=[("static", 1), ("dynamic", 2)])
    assert [chosen.kind_of_version(i) for i in range(4)] == ["static", "dynamic", "dynamic", None]


def test_the_bailout_depth_caps_the_strategy():
    assert Options(bailout_depth=1).kind_of_version(1) is None


def test_every_option_has_a_meaning():
    assert all(meaning for _, _, meaning in table())
