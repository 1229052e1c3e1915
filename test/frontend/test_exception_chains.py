"""What an exception was raised from, and while handling what: as in plain Python, whoever raises it and however often the program was begun."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checking import plain
from running import function_of

import tierup

BODIES = {
    "from another": "if n > 2:\n    raise ValueError('a') from KeyError('b')\nreturn x * 2",
    "from a number": "try:\n    raise ValueError('a') from 5\nexcept TypeError as e:\n    return str(e)",
    "from a class that is no exception": "try:\n    raise ValueError('a') from int\nexcept TypeError as e:\n    return str(e)",
    "from None": "if n > 2:\n    raise ValueError('a') from None\nreturn x * 2",
    "from None after a write": "x[0] = 3\nif n > 2:\n    raise ValueError('a') from None\nreturn x * 2",
    "in a handler": "try:\n    k = (1, 2)[5]\nexcept IndexError:\n    raise ValueError('no')\nreturn x * k",
    "in a handler, from what it handles": "try:\n    k = (1, 2)[5]\nexcept IndexError as e:\n    raise ValueError('no') from e\nreturn x * k",
    "in a handler, from None": "try:\n    k = (1, 2)[5]\nexcept IndexError as e:\n    raise ValueError('no') from None\nreturn x * k",
    "by what a handler does": "try:\n    k = (1, 2)[5]\nexcept IndexError as e:\n    k = (1,)[6]\nreturn x * k",
    "once more": "try:\n    k = (1, 2)[5]\nexcept IndexError:\n    raise\nreturn x * k",
    "behind a handler": "try:\n    k = (1, 2)[5]\nexcept IndexError:\n    k = 3\nif n > 2:\n    raise ValueError('later')\nreturn x * k",
    "in a handler in a try": "try:\n    try:\n        k = (1, 2)[5]\n    except IndexError:\n        raise ValueError('no') from None\nexcept ValueError:\n    raise KeyError('k')\nreturn x",
    "in a handler that is Python's": "try:\n    y = x[n]\nexcept IndexError as e:\n    if n > 2:\n        raise ValueError('three') from e\n    y = x * 2\nreturn y",
    "by a region": "try:\n    y = x[n]\nexcept IndexError as e:\n    raise\nreturn y * 2",
    "by an op": "y = x * 2\nreturn y[n] + x.sum()",
}  # fmt: skip


def chain(e: BaseException | None) -> Any:
    return None if e is None else (type(e), str(e), e.__suppress_context__, chain(e.__cause__), chain(e.__context__))


def outcome(function: Any, n: int) -> Any:
    x = np.arange(1.0, 3.0)
    try:
        return "gave", np.asarray(function(x, n)).tolist(), x.tolist()
    except Exception as e:  # noqa: BLE001 - what this is about
        return chain(e), x.tolist()


@pytest.mark.parametrize("options", [{}, {"weigh": False}, {"optimize": False}, {"weigh": False, "speculate": "bailout"}], ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_an_exception_has_the_cause_and_context_that_python_gives_it(body: str, options: dict[str, Any], tmp_path: Path) -> None:
    source = f"def f(x, n):\n{textwrap.indent(BODIES[body], '    ')}\n"
    python = plain(source)
    f = tierup.jit(function_of(source, tmp_path), **options)
    for n in (3, 3, 1, 3):
        assert outcome(f, n) == outcome(python, n), n


@pytest.mark.parametrize("expression", ["undefined_name", "x.no_such", "np.no_such", "[1].no_such()", "np.ones(n).no_such"])
def test_an_exception_knows_the_name_and_the_object_that_python_says(expression: str, tmp_path: Path) -> None:
    """By which Python suggests another name."""
    source = f"import numpy as np\ndef f(x, n):\n    return {expression}\n"
    python, f = plain(source), tierup.jit(function_of(source, tmp_path))

    def told(function: Any) -> tuple[Any, ...]:
        with pytest.raises((NameError, AttributeError)) as raised:
            function(np.ones(2), 3)
        error = raised.value
        return type(error), error.args, error.name, type(getattr(error, "obj", None))

    for _ in range(3):
        assert told(f) == told(python)
