"""The one list of reasons: why something was not compiled, why a call missed, why a version was left or dropped.

Each is a constant with a sentence for people. Events, `explain()`, reports and tests name reasons from here and no others.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """`name` is for programs, `value` is the sentence for people."""

    # why a call ran in tier 0, or was not left there
    PROFILING = "first calls run in tier 0, which records types and sizes"
    RUNS_LONG = "a loop of the call runs long in tier 0, where native code takes a fraction of that"
    OPTIMIZE_OFF = "the option optimize is off"
    PROFILE_OFF = "the option profile is off, so there is nothing to speculate on"
    NOT_SEEN_BEFORE = "these argument types were not seen before; a version is compiled when they come again"
    DEPTH_EXHAUSTED = "the fusion strategy allows no further version"
    RELEASED = "what compiling needs was released; versions that exist go on, and reset() starts again"
    NOT_IN_PLAN = "the plan has no version for such arguments, and none is made in this process"
    COMPILING = "a version is being compiled in the background"
    OVER_BUDGET = "the seconds of compile_budget are used up; versions are made in the background from now on"
    BACKING_OFF = "the last compiles came to nothing, so the next waits for some more calls"
    ARGUMENT_UNSUPPORTED = "an argument is of a kind that native code does not take"
    NO_DEVICE = "there is no device to run kernels on, so the CPU answers"
    BROKEN_LIBRARY = "NVIDIA's library for matrix products is installed but cannot be used, so our own kernels multiply"
    NO_GRADIENT = "the program has no gradient of what requires one; PyTorch ran it, under its autograd"
    NOT_TRANSLATED = "the program has what is not translated; PyTorch ran it"
    NO_ARRAY = "a tensor is of a kind that no array can stand for; PyTorch ran the program"
    WATCHED = "PyTorch watches the thread's operations one by one; it ran the program, so that it sees them"
    OTHER_LAYOUT = "a tensor lies in memory in another way than the program was exported for; PyTorch ran it"
    NESTED = "the program makes a nested tensor, for which no array can stand; PyTorch ran it"
    DEFAULT_DTYPE = "PyTorch's default dtype is another than float32, which graphs are made for; it ran the program"
    ERROR_SITE = "a check in native code failed; tier 0 took the call over to raise the exception"
    HANDED_OVER = "native code has no answer for these values, and tier 0 gave the result"
    INT_TOO_LARGE = "an int has more than 64 bits, which native code has not, and tier 0 gave the result"

    # why a guard did not hold
    WRONG_TYPE = "the argument is not a plain numpy.ndarray or Python scalar of the expected kind"
    WRONG_DTYPE = "the dtype differs"
    WRONG_RANK = "the rank differs"
    WRONG_SIZE = "a size differs"
    UNEQUAL_SIZES = "two sizes that the program needs equal differ"
    SMALL_SIZE = "a symbolic size is 0 or 1, which broadcast differently"
    WRONG_LAYOUT = "the strides differ from those compiled for"
    MISALIGNED = "the array is misaligned or not in native byte order"
    READ_ONLY = "the program writes this argument, but it is read-only"
    OVERLAP = "the program writes an argument that overlaps another in memory"
    WRONG_VALUE = "a scalar whose value was assumed has another value"
    ASSUMPTION_FAILED = "a value in mid-program is not what the version was made for; the rest of the program goes on elsewhere"
    REQUIRES_GRAD = "the gradients of other arguments are wanted"
    CONSTANT_CHANGED = "a global that was compiled in as a constant now holds another object"

    # why a program, or a part of it, has no native code
    NO_LOWERING = "the op has no native code; it runs in tier 0 between native regions"
    TYPE_UNKNOWN = "the type, rank or a size of a value is not known, so no code can be made for it"
    MUTATION = "a write to an array could not be turned into a value"
    ACTS = "the program prints, or changes a list, a dict or its module: tier 0 does that, once a call"
    LOOP_WRITES = "a loop around an op without native code writes parts of an array; split, it would copy the array each time"
    VIEW_RESULT = "a result is a view whose strides are not known when compiling"
    PROGRAM_RAISES = "the program raises for these types; tier 0 raises the exception"
    GROUP_TOO_SMALL = "too few ops to be worth a native region"
    CUSTOM_PASS_FAILED = "a pass that was registered by the user failed; nothing was compiled"
    COMPILE_FAILED = "the compiler failed (with TIERUP_DUMP_DIR=folder a reproducer is written there)"
    NOT_LOADED = "the plan's code cannot be loaded in this process"
    NO_RESOURCES = "memory, files, threads or processes ran out while it was compiled; it is tried again"
    PYTHON_ENTRY = "the option entry is 'python'"
    ENTRY_UNAVAILABLE = "the native entry failed its self-probe on this interpreter"

    # why a function, or a part of it, stays the user's own Python
    STAYS_PYTHON = "some statements are not translated; Python runs them, in their order, between native regions"
    NOT_WORTH_IT = "nothing in the function is worth native code"
    PYTHON_IS_QUICKER = "the Python function takes less time than what was made of it"

    # what became of versions
    GENERALISED = "a size that varied became symbolic"
    ASSUMPTION_DROPPED = "an assumption in mid-program failed too often; the version was made again without it"
    EVICTED = "the bound on versions was reached; the least used one was dropped"
    STRIDES = "how an operand lies in memory decides whether there is a view of it, which native code does not follow"
    GRAPH_EVICTED = "the bound on graphs was reached; the least used one was dropped"
    LIST_IS_FULL = "a list got more items than its graph has room for, and Python answered; the next graph has room for more"
    NUMBER_CHANGED = "a number from outside changed from graph to graph; it is read at every call from then on"
    PAIR_EVICTED = "the bound on gradients was reached; the pair of programs that was used longest ago was dropped"
    PLAN_EVICTED = "the bound on plans was reached; the one that was used longest ago was dropped"
    SITE_GIVEN_UP = "this assumption came to nothing before and is not made again"

    __hash__ = object.__hash__  # Enum's is a line of Python, and every miss counts a reason

    @property
    def sentence(self) -> str:
        """The reason in words, for people."""
        return self.value
