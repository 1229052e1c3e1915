"""The options: one table of name, type, default and meaning. Settable per function and by a context manager.

    with tierup.options(num_profiled_runs=2):      # for this thread (and tasks started in it), while the block runs
        f(x)
    f = tierup.jit(fn, max_versions=4)              # for one function: wins over the context manager
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tierup.dialect.base.records import cached_property, dataclass
from tierup.lowering.cuda import targets

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges

Strategy = tuple[tuple[str, int], ...]


def _choice(default: str, choices: tuple[str, ...], meaning: str) -> Any:
    return field(default=default, metadata={"choices": choices, "meaning": meaning})


def _count(default: float, least: float, meaning: str, most: float | None = None) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "meaning": meaning})


def _flag(default: bool, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Options:
    """All options with their defaults. `table()` lists them with their meaning."""

    CODE: ClassVar = (
        "executor", "speculate", "backend", "level", "threads", "forcible", "device_target", "device_libraries", "device_tf32",
    )  # fmt: skip

    optimize: bool = _flag(True, "False: every call runs in tier 0 and nothing is recorded")
    profile: bool = _flag(True, "False: nothing new is recorded or compiled; versions that exist are still used")
    num_profiled_runs: int = _count(
        1, 0, "calls that are recorded before the first version is compiled; 0: assume the first call's own types"
    )
    fusion_strategy: Strategy = field(
        default=(("static", 2), ("dynamic", 10)),
        metadata={"meaning": 'how many versions of each kind, in order: [("static", 2), ("dynamic", 10)]; in capitals too'},
    )
    bailout_depth: int = _count(
        20, 0, "a cap on the sum of fusion_strategy's counts, one less after a bailout; 0: no version is made, and what fits none "
        "runs, never recorded, in tier 0 after the passes that need no record"
    )  # fmt: skip
    max_versions: int = _count(16, 1, "versions kept for each graph of a function; beyond it the least used is dropped")
    max_graphs: int = _count(
        64, 1, "graphs kept per function (one for each call structure: ranks, trees, strings); beyond it the least used is dropped"
    )
    speculate: str = _choice(
        "versioned",
        ("versioned", "bailout"),
        "what is assumed: versioned: arguments, and values between native regions, with a fallback for each region; "
        "bailout: also values in mid-program; where one fails the run goes on from there",
    )
    compile: str = _choice("blocking", ("blocking", "background"), "who waits for a compile: the call that needs it, or nobody")
    worker: bool = _flag(
        True,
        "False: a call that waits for its compile does it in this process, which a compiler that crashes would take along; so for all "
        "functions with TIERUP_WORKER=0 in the environment",
    )
    cache: bool = _flag(True, "False: code is neither taken from the cache on disk nor kept there; for all functions TIERUP_CACHE=0")
    pickle_code: bool = _flag(
        False,
        "True: a pickle of a function that is pickled by value has the code of its versions, for processes with another cache",
    )
    compile_limit: float = _count(
        300.0, 0.001, "seconds after which a compile is given up; in this process it ends with the pass that runs then", most=1e6
    )
    compile_budget: float = _count(
        0.0, 0, "seconds that the calls of a function wait for its compiles, all together; what takes longer is made in the background, "
        "and tier 0 answers meanwhile; 0: as long as it takes", most=1e6
    )  # fmt: skip
    weigh: bool = _flag(
        True,
        "False: native code answers what it can; True: where the Python function, or the statements of a region, take less time, they "
        "answer: the two take turns for some calls, timed",
    )
    entry: str = _choice("native", ("native", "python"), "who checks guards: the compiled dispatcher or its pure-Python twin")
    executor: str = _choice(
        "profiling", ("profiling", "specializing"), "the life cycle: profile, speculate, guard; or a plan per spec, without profiles"
    )
    backend: str = _choice(
        "cpu",
        ("cpu", "cuda", "cuda-or-cpu"),
        "what code is made for: cuda: kernels on an NVIDIA device, an error where there is none; cuda-or-cpu: the CPU where there is none",
    )
    target: str = _choice(
        "",
        ("", *targets.NAMES),
        'the device that kernels are made for: by backend="cuda", and by plan(stage="ptx"), which needs no device; '
        f'"": the one that is there, for plan else {targets.DEFAULT}',
    )
    libraries: bool = _flag(
        True,
        "False: kernels do without NVIDIA's libraries, cuBLAS for large matrix products and libdevice for some functions, "
        "which are used where they are installed",
    )
    tf32: bool = _flag(
        False,
        "True: on a device f32 matrix products run on the tensor cores, from sm_80 on, their operands rounded to 10 bits of mantissa; "
        "sums stay f32",
    )
    threads: int = _count(
        0, 0, "threads that share a loop of native code with much to do, or a matrix product; 0: as many as NumPy's BLAS takes, which "
        "OPENBLAS_NUM_THREADS or OMP_NUM_THREADS says, else one for each CPU that the process may use", most=64
    )  # fmt: skip
    level: int = _count(2, 0, "LLVM's optimisation level", most=3)
    strict: bool = _flag(
        False,
        "True: what is not native as a whole is an error that names all that stands in the way, where it would be split, or stay Python in "
        "part or whole; with num_profiled_runs=0 every call that native code does not answer is one",
    )
    testing: bool = _flag(
        False, "True: assumptions in mid-program can be made to fail on purpose (tierup.testing); code with such assumptions is slower"
    )
    release_graphs: bool = _flag(False, "True: records and graphs, which only compiling needs, are let go once a function has versions")
    release_delay: float = _count(60.0, 0, "seconds from a function's last compile until release_graphs lets go; 0: at once", most=1e9)

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, _checked(f.name, f.metadata, f.default, getattr(self, f.name)))

    @cached_property
    def code(self) -> tuple[object, ...]:
        """What compiled code depends on: calls under options that differ in it have versions of their own."""
        return tuple(getattr(self, name) for name in self.CODE)

    @property
    def forcible(self) -> bool:
        """Whether code is made so that its assumptions in mid-program can be made to fail on purpose."""
        return self.testing and self.speculate == "bailout"

    @property
    def device_target(self) -> str:
        """The target that code for a device is made for."""
        return "" if self.backend == "cpu" else self.target

    @property
    def device_libraries(self) -> bool:
        """Whether code for a device may use NVIDIA's libraries."""
        return self.backend != "cpu" and self.libraries

    @property
    def device_tf32(self) -> bool:
        """Whether code for a device may round operands of f32 products to tf32."""
        return self.backend != "cpu" and self.tf32

    @property
    def in_background(self) -> bool:
        """Whether compiles are begun behind the calls: nobody waits for them, or not longer than `compile_budget`."""
        return (self.compile == "background" or self.compile_budget > 0) and not self.strict

    @cached_property
    def depth(self) -> int:
        """How many versions a program may ever get."""
        return min(self.bailout_depth, sum(count for _, count in self.fusion_strategy))

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether versions with symbolic sizes are wanted at all."""
        left = self.bailout_depth
        for kind, count in self.fusion_strategy:
            if left > 0 and count > 0 and kind == "dynamic":
                return True
            left -= count
        return False

    @cached_property
    def is_static_first(self) -> bool:
        """Whether the first version is to be a static one."""
        return next((kind == "static" for kind, count in self.fusion_strategy if count > 0), False)

    @property
    def is_assertion(self) -> bool:
        """Whether a call that native code does not answer is an error."""
        return self.strict and self.num_profiled_runs == 0

    def kind_of_version(self, index: int) -> str | None:
        """"static" or "dynamic" for the index-th version of a function, None when the strategy allows no more."""
        if index >= self.bailout_depth:
            return None
        for kind, count in self.fusion_strategy:
            if index < count:
                return kind
            index -= count
        return None


def _checked(name: str, metadata: Mapping[str, Any], default: object, value: object) -> object:
    if name == "fusion_strategy":
        return _strategy(value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise TypeError(f"option {name}: expected True or False, got {value!r}")
    elif isinstance(default, int):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"option {name}: expected a whole number, got {value!r}")
        _check_bounds(name, metadata, value)
    elif isinstance(default, float):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError(f"option {name}: expected a number, got {value!r}")
        _check_bounds(name, metadata, value)
        return float(value)
    elif not isinstance(value, str):
        raise TypeError(f"option {name}: expected one of {_choices(metadata)}, got {value!r}")
    elif value not in metadata["choices"]:
        raise ValueError(f"option {name}: expected one of {_choices(metadata)}, got {value!r}")
    return value


def _choices(metadata: Mapping[str, Any]) -> str:
    return ", ".join(choice or "''" for choice in metadata["choices"])


def _check_bounds(name: str, metadata: Mapping[str, Any], value: float) -> None:
    if not value >= metadata["least"]:  # a NaN is not
        raise ValueError(f"option {name}: expected at least {metadata['least']}, got {value}")
    if metadata["most"] is not None and value > metadata["most"]:
        raise ValueError(f"option {name}: expected at most {metadata['most']:.12g}, got {value}")


def _strategy(value: object) -> Strategy:
    try:
        pairs = tuple((kind, count) for kind, count in value)  # type: ignore[attr-defined]  # the except says it
        if not all(isinstance(kind, str) and isinstance(count, int) and not isinstance(count, bool) for kind, count in pairs):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f'option fusion_strategy: expected a list like [("static", 2), ("dynamic", 10)], got {value!r}') from None
    for kind, count in pairs:
        if kind.lower() not in ("static", "dynamic") or count < 0:
            raise ValueError(f'option fusion_strategy: expected ("static", n) or ("dynamic", n) with n >= 0, got {(kind, count)!r}')
    return tuple((kind.lower(), count) for kind, count in pairs)


_current: contextvars.ContextVar[Options] = contextvars.ContextVar("tierup_options", default=Options())


def current() -> Options:
    """The options in force here."""
    return _current.get()


class Overrides:
    """A function's own options, which win over those in force where it is called.

    Raises TypeError or ValueError for a wrong name or value.
    """

    def __init__(self, changes: Mapping[str, Any]) -> None:
        check_names(changes)
        self._changes = dict(changes)
        base = _current.get()
        self._merged = (base, replace(base, **self._changes))

    @property
    def changes(self) -> dict[str, Any]:
        """A copy of the function's own options, by name."""
        return dict(self._changes)

    def base(self) -> Options:
        """The options of a call outside of every `with options(...)`."""
        return replace(Options(), **self._changes)

    def current(self) -> Options:
        """The options in force here, with these on top."""
        base, merged = self._merged  # one read: another thread may put in its own
        if base is not (now := _current.get()):
            merged = replace(now, **self._changes)
            self._merged = (now, merged)
        return merged


class Changed(Overrides):
    """The options of a function as a part of it sees them: `change` gives them of the function's own."""

    def __init__(self, above: Overrides, change: Callable[[Options], Options]) -> None:
        self._above, self._change = above, change
        self._made: tuple[Options, Options] | None = None

    def base(self) -> Options:
        """The changed options of a call outside of every `with options(...)`."""
        return self._change(self._above.base())

    def current(self) -> Options:
        """The changed options of the function, as they are in force here."""
        now, made = self._above.current(), self._made  # one read: another thread may put in its own
        if made is None or made[0] is not now:
            made = self._made = (now, self._change(now))
        return made[1]


def check_names(names: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that is no option, saying which is close."""
    known = [f.name for f in fields(Options)]
    for name in names:
        if name not in known:
            from tierup.dialect.base.spelling import nearest  # here: only on the way to an error message

            close = nearest(name, known)
            raise TypeError(
                f"unknown option {name!r}" + (f"; did you mean {close[0]!r}?" if close else f"; options are {', '.join(known)}")
            )


@contextmanager
def options(**changes: Unpack[OptionChanges]) -> Iterator[Options]:
    """Set options while a `with` block runs, in this thread. Raises TypeError or ValueError for a wrong name or value."""
    check_names(changes)
    token = _current.set(replace(_current.get(), **dict[str, Any](changes)))
    bypasses = [strict for strict, names in ((False, _BYPASSED), (True, {"strict", "weigh"})) if names & changes.keys()]
    for strict in bypasses:
        bypass(True, strict)
    try:
        yield _current.get()
    finally:
        _current.reset(token)
        for strict in bypasses:
            bypass(False, strict)


@contextmanager
def assert_optimized() -> Iterator[None]:
    """Let calls of tierup functions in the block raise `NotOptimized`, naming the ops, unless native code answers them as a whole.

    A program that was not compiled yet is compiled for the first call's own types, so a call fails alike in every tier, the first
    included. An exception of the program's own is raised as ever.
    """
    with options(strict=True, num_profiled_runs=0):
        yield


# What the compiled dispatcher does not look at: while one of these is changed, calls go through Python.
_BYPASSED = frozenset({"optimize", "entry", "executor", "backend", "speculate", "level", "threads", "testing", "target"})
_bypass_hooks: list[Callable[[bool, bool], object]] = []


def on_bypass(hook: Callable[[bool, bool], object]) -> None:
    """Call `hook(True, strict)` when a `with options(...)` block begins that calls must see though a version fits, `hook(False, strict)` at
    its end. `strict`: only those must that plain Python answers."""
    _bypass_hooks.append(hook)


def bypass(start: bool, strict: bool = False) -> None:
    """Let calls look at the options, or no longer (see `on_bypass`). Every start has its end."""
    for hook in _bypass_hooks:
        hook(start, strict)


def table() -> list[tuple[str, object, str]]:
    """(name, default, meaning) of every option."""
    return [(f.name, f.default, f.metadata["meaning"]) for f in fields(Options)]
