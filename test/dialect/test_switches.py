"""Environment variables that are 1 or 0."""

import logging

import pytest

from tierup.dialect.base.switches import is_on


@pytest.mark.parametrize(("value", "unset", "on"), [("1", False, True), ("0", True, False), ("", True, True), ("", False, False)])
def test_a_variable_is_1_or_0(value, unset, on, monkeypatch, caplog):
    monkeypatch.setenv("TIERUP_SWITCH", value)
    assert is_on("TIERUP_SWITCH", unset) is on and not caplog.records


def test_what_is_neither_is_said_once_and_counts_as_not_set(monkeypatch, caplog):
    monkeypatch.setenv("TIERUP_SWITCH", "yes")
    with caplog.at_level(logging.WARNING, "tierup"):
        assert [is_on("TIERUP_SWITCH"), is_on("TIERUP_SWITCH", False)] == [True, False]
    assert [r.getMessage() for r in caplog.records] == ["TIERUP_SWITCH=yes is ignored: it is 0 or 1"]
