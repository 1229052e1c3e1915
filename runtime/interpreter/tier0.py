"""A program in tier 0: Python source, and what it takes to run it. Free of MLIR, and picklable."""

from __future__ import annotations

import itertools
import linecache
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tierup.dialect.base.records import cached_property, dataclass
from tierup.dialect.optable.kernels.arrays import quiet
from tierup.runtime.base.errors import Origin, RunsLong, locate
from tierup.runtime.interpreter.parameters import NATIVE, REAL, Parameter

Record = Callable[[int, object], object]
Fail = Callable[[str, int], bool]
COUNT_RUN = -1  # the slot that `tierup.count_run` reports to
EXIT = -2  # the slot that `tierup.exit` reports to

_serial = itertools.count()


@dataclass(eq=False)
class Tier0:
    """One entry function and all it calls, as Python source with one statement per op.

    `call(*leaves)` runs it: ndarrays for tensors, Python numbers for scalars; one result comes back as itself, several as a
    tuple, none as None; one that may be a tuple or None itself comes in a tuple of one. A result that shares memory with an argument or
    with another result is a view, as in torch and in NumPy. When `records`, a call needs the keyword `record`, called as
    `record(slot, value)` at every `tierup.profile`, and as
    `record(COUNT_RUN, None)` at a `tierup.count_run`. `record(EXIT, (index, values))` says that the function was left at a bailout
    (`tierup.exit`), and what the call returns then is to be thrown away; a call without a recorder raises GuardFailed there.

    When `fails`, a call needs the keyword `fail`, called as `fail(site, evaluation)` each time a guard or a bailout is reached: a true
    answer lets the assumption fail, whatever the value. `site` is `main:2` for the bailout of index 2 in @main and `main:guard0` for the
    first guard in its text; `evaluation` counts from 0 how often this call has reached it.
    """

    name: str  # the entry's symbol
    entry: str  # its name in the source
    source: str
    parameters: tuple[Parameter, ...]
    origins: Mapping[int, Origin]  # by line of the source
    bindings: Mapping[str, str]  # name in the source -> "module:attribute"
    constants: Mapping[str, Any] = field(default_factory=dict)  # name in the source -> array or other picklable object
    records: bool = False
    fails: bool = False
    detached: tuple[int, ...] = ()  # the results that PyTorch is to give detached
    sizing: frozenset[int] = frozenset()  # the int arguments that sizes hang on
    polls: bool = False  # a run can be left in its loops, and begun anew: `call_within`

    def __call__(self, *leaves: object, **hooks: Callable[..., object]) -> Any:
        """Run the program: see `call`."""
        return self.call(*leaves, **hooks)

    def line_of(self, line: int) -> Origin | None:
        """The op that a line of the source (from 1) came from; None for lines that are no op."""
        return self.origins.get(line)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The functions that the source calls, as "module:attribute"."""
        return tuple(self.bindings.values())

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The generated function itself: no line is added to its errors."""
        namespace: dict[str, Any] = {name: resolve(path) for name, path in self.bindings.items()}
        namespace.update(self.constants)
        namespace.update({"ndarray": np.ndarray, "dtypes": REAL, "all_dtypes": NATIVE, "inf": float("inf"), "nan": float("nan")})
        exec(compile(self.source, self._filename, "exec"), namespace)  # noqa: S102 - text that translate made, no user's
        # tracebacks print the generated line; the entry goes when this object does
        linecache.cache[self._filename] = (len(self.source), None, self.source.splitlines(keepends=True), self._filename)
        weakref.finalize(self, linecache.cache.pop, self._filename, None)
        made: Callable[..., Any] = namespace[self.entry]
        return made

    @cached_property
    def _filename(self) -> str:
        return f"<tierup {self.name} {next(_serial)}>"

    @cached_property
    def call(self) -> Callable[..., Any]:
        """Run the program: `call(*leaves)`, with the keyword `record` when `records`, and `fail` when `fails`.

        Under an error state that ignores, whatever the caller's is, as native code does. Raises TypeError and ValueError for arguments
        that do not fit, and what the program's ops raise, with the user's line added to the message.
        """
        function, failed = self.function, self._failed
        if self.fails:
            records = self.records

            def call_failing(*leaves: object, fail: Fail, **recorder: Record) -> Any:
                hooks = (recorder["record"], _counted(fail)) if records else (_counted(fail),)
                try:
                    with quiet:
                        return function(*hooks, *leaves)
                except Exception as error:
                    failed(error, leaves)
                    raise

            return call_failing

        if self.records:

            def call_recording(*leaves: object, record: Record) -> Any:
                try:
                    with quiet:
                        return function(record, *leaves)
                except Exception as error:
                    failed(error, leaves)
                    raise

            return call_recording

        return self._within(None) if self.polls else self._calling(function)

    def call_within(self, seconds: float, *leaves: object) -> Any:
        """As `call`, of a program that polls. Raises RunsLong in a loop after so many seconds of this thread's processor time: of the
        arguments that the program writes, parts may be written by then."""
        return self._within(time.thread_time() + seconds)(*leaves)

    def _within(self, until: float | None) -> Callable[..., Any]:
        """`function` with the hook that its loops call."""

        def poll() -> None:
            if until is not None and time.thread_time() > until:
                raise RunsLong

        return self._calling(partial(self.function, poll))

    def _calling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        failed = self._failed

        def call(*leaves: object) -> Any:
            try:
                with quiet:
                    return function(*leaves)
            except Exception as error:
                failed(error, leaves)
                raise

        return call

    def takes(self, leaves: tuple[object, ...]) -> bool:
        """Whether the arguments are of the kinds, dtypes and sizes that the program's types say."""
        try:
            for parameter, value in zip(self.parameters, leaves, strict=True):
                parameter.convert(value)
        except (TypeError, ValueError):
            return False
        return True

    def _failed(self, error: Exception, leaves: tuple[object, ...]) -> None:
        """Make an exception on its way out speak of the user's program."""
        line, traceback = None, error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self._filename:
                line = traceback.tb_lineno  # the innermost frame of ours wins
            traceback = traceback.tb_next
        if line is None:
            if len(leaves) != len(self.parameters):
                raise TypeError(self._wrong_count(len(leaves))) from None
            return
        origin = self.origins.get(line)
        if origin is None:
            return  # an argument check: it names the argument
        if origin.writes and isinstance(error, ValueError) and "read-only" in str(error):
            any(self.parameters[i].explain_read_only(leaves[i], error) for i in origin.writes)
        locate(error, origin)

    def _wrong_count(self, given: int) -> str:
        count = len(self.parameters)
        names = f" ({', '.join(p.name for p in self.parameters)})" if count else ""
        return f"{self.name}() takes {count} argument{'' if count == 1 else 's'}{names} but {given} {'was' if given == 1 else 'were'} given"


def _counted(fail: Fail) -> Callable[[str], bool]:
    """`fail` with the evaluations of each site in one call counted."""
    evaluations: Counter[str] = Counter()

    def asked(site: str) -> bool:
        evaluations[site] += 1
        return fail(site, evaluations[site] - 1)

    return asked


def resolve(path: str) -> Any:
    """What "module:name.name" names. Raises ImportError, AttributeError."""
    module, _, attribute = path.partition(":")
    found: Any = import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    return found
