"""NVIDIA's targets that kernels are made for: compute capabilities, and the version of PTX that each needs.

    target("sm_90") -> Target(name="sm_90", ptx=80)

A version is the least that knows the target and all that our kernels use, so that drivers as old as may be load it (NVIDIA, PTX ISA,
release notes: sm_70 6.0, sm_80 7.0, sm_90 7.8, sm_100 8.6); warp-synchronising shuffles and barriers need 6.0, bfloat16 arithmetic 7.8.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import closest


@dataclass(frozen=True)
class Target:
    """A GPU architecture, and the first version of PTX that knows it."""

    name: str  # "sm_90"
    ptx: int  # 80 is PTX 8.0

    @property
    def capability(self) -> int:
        """Ten times the compute capability."""
        return int(self.name.removeprefix("sm_"))

    @property
    def features(self) -> str:
        """As LLVM spells them."""
        return f"+ptx{self.ptx}"


_TARGETS = tuple(
    Target(name, ptx)
    for name, ptx in (
        ("sm_70", 63), ("sm_72", 63), ("sm_75", 63), ("sm_80", 70), ("sm_86", 71), ("sm_87", 74), ("sm_89", 78), ("sm_90", 78),
        ("sm_100", 86), ("sm_120", 87),
    )
)  # fmt: skip
NAMES = tuple(t.name for t in _TARGETS)
DEFAULT = "sm_80"
# Bytes of shared memory that a block may ask for at launch, from sm_80 on. 8.0 has 163 KB and 9.0 227, but 8.6, 8.9 and 12.0 have no more
# than this, and run what is made for those before them (NVIDIA, CUDA C++ Programming Guide, technical specifications).
MOST_SHARED = 99 << 10


def target(name: str) -> Target:
    """Raises ValueError for a name that is no target's."""
    for known in _TARGETS:
        if known.name == name:
            return known
    raise ValueError(f"no target is named {name!r}{closest(name, NAMES)}; there are {', '.join(NAMES)}")


def for_capability(major: int, minor: int) -> Target:
    """The best target whose code a device of this compute capability runs: PTX of a target is compiled for any later device.
    Raises ValueError for a device older than all."""
    fitting = [t for t in _TARGETS if t.capability <= 10 * major + minor]
    if not fitting:
        raise ValueError(f"compute capability {major}.{minor} is older than {NAMES[0]}, the first that has kernels")
    return fitting[-1]
