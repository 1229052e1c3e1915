"""Which kernel computes a matrix product, in tiles of which sizes: the one table, with its reasons.

A block computes rows x columns of the result at a time, its warps lie in down x across. Tiles of the operands are `steps` instructions
deep along k, and `stages` of them are on the way to shared memory or in it.

Shared memory of a block: stages x (rows + columns) x 32 bytes x steps, at most `targets.MOST_SHARED`.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products.product import Product, length
from tierup.lowering.cuda.targets import Target

_ROWS, _COLUMNS, _STEP_BYTES = 16, 8, 32  # of one mma; along k it is 32 bytes of elements deep
_MULTIPROCESSORS = 128  # in round numbers: 108 on an A100, 132 on an H100 and an H200
_CAPABILITY = 80
_FEW = 16  # rows or columns


@dataclass(frozen=True)
class Scheme:
    """Tiles for the tensor cores. `speed`: the share of the cores' peak that warps may reach, by counting what they fetch."""

    rows: int
    columns: int
    down: int
    across: int
    steps: int
    stages: int
    speed: float

    @property
    def threads(self) -> int:
        """How many threads a block has."""
        return gpu.WARP * self.down * self.across

    @property
    def blocks_down(self) -> int:
        """mma tiles of a warp along the rows."""
        return self.rows // self.down // _ROWS

    @property
    def blocks_across(self) -> int:
        """mma tiles of a warp along the columns."""
        return self.columns // self.across // _COLUMNS

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return self.stages * (self.rows + self.columns) * _STEP_BYTES * self.steps


# What a warp fetches from shared memory for 16 of k is 32 bytes for each of its rows and columns, in all (rows / 16) (columns / 8) mma. A
# multiprocessor of an A100 fetches 128 bytes and multiplies 1024 pairs of halves in a clock, one of an H100 some 1270 by mma.sync.
# LARGE: warps of 64 x 64 fetch 32 KB per step of 524288 products: 256 clocks of 512 on an A100, of 413 on an H100; 96 more take the
#   copies' writes there. Four stages are 96 KB, and the 128 sums of a thread and two steps' operands 192 registers: one block of eight
#   warps on a multiprocessor.
# TALL: the same for results that are less than 256 wide, or cut with less waste.
# MIDDLE: the same warps, but half as many in a block: 48 KB, two blocks on a multiprocessor. Per product a third more is copied, and where
#   there is one block only, each of the four schedulers has one warp and waits with it.
# SMALL: warps of 32 x 32, twice as much. 24 KB, so that five blocks of four warps fit and results of few tiles keep all multiprocessors
#   busy. It takes operands as they lie: others' lines begin at multiples of 16 bytes.
# TINY: for batches of small results, and results of few tiles: half the warps of a small tile, and a quarter of its zeros at the edges.
LARGE = Scheme(128, 256, 2, 4, 2, 4, 1.0)
TALL = Scheme(256, 128, 4, 2, 2, 4, 1.0)
MIDDLE = Scheme(128, 128, 2, 2, 2, 3, 0.8)
SMALL = Scheme(64, 64, 2, 2, 2, 3, 0.5)
TINY = Scheme(32, 32, 1, 2, 2, 4, 0.35)
# Few rows or columns: the other operand crosses the bus once whatever the tile, so bytes on the way count, not products. 3 of 4 stages of
# 32 x 256 bytes are 24 KB a block; 128 such blocks keep the 2 to 3 MB on the way that a bus of 3 to 5 TB/s and 600 ns takes (Little's law).
# A tile of 64 would have half as many blocks for the same columns and multiply zeros.
FEW_ROWS = Scheme(16, 32, 1, 2, 8, 4, 0.1)
FEW_COLUMNS = Scheme(32, 16, 2, 1, 8, 4, 0.1)

_BY_TIME = (LARGE, TALL, MIDDLE, SMALL, TINY)


@dataclass(frozen=True)
class RegisterScheme:
    """Tiles of a product without tensor cores: a thread has each_rows x each_columns numbers of a block's rows x columns. `speed`: the
    share of the device's peak that shared memory allows."""

    rows: int
    columns: int
    each_rows: int
    each_columns: int
    depth: int
    speed: float

    @property
    def threads(self) -> int:
        """How many threads a block has."""
        return self.rows // self.each_rows * (self.columns // self.each_columns)


# For one of k a warp fetches its threads' numbers of rows and of columns, 16 bytes of each thread at a time, in 4 clocks of shared memory;
# the multiprocessor's schedulers multiply 128 pairs in one (NVIDIA H100; 64 on an A100).
# WIDE: 8 x 8 numbers: 16 clocks of shared memory, and 16 of arithmetic for 64 products of 32 threads.
# NARROW: 4 x 4 numbers: 8 clocks, and 4 of arithmetic; four times as many blocks for small results.
# LITTLE: the same in blocks of two warps, for batches of small results and results of few tiles.
WIDE = RegisterScheme(128, 128, 8, 8, 8, 1.0)
NARROW = RegisterScheme(64, 64, 4, 4, 16, 0.5)
LITTLE = RegisterScheme(32, 32, 4, 4, 16, 0.45)
# Few rows or columns: as FEW_ROWS above. 64 threads load 32 columns x 64 of k while they multiply as many: 8 KB a block on the way, and a
# thread's four numbers take two fetches for each of k.
THIN_ROWS = RegisterScheme(8, 32, 4, 1, 64, 0.1)
THIN_COLUMNS = RegisterScheme(32, 8, 1, 4, 64, 0.1)

_REGISTERS_BY_TIME = (WIDE, NARROW, LITTLE)
_THIN = 8  # rows or columns


def multiplies_on_tensor_cores(product: Product, target: Target | None, *, tf32: bool) -> bool:
    """f16 and bf16 with f32 sums; f32 where `tf32` says so; from sm_80 on."""
    if target is None or not has_halves(target):
        return False
    x, y, out = (ir.ShapedType(buffer.type).element_type for buffer in product.op.buffers)
    if x != y or not isinstance(out, ir.F32Type):
        return False
    return isinstance(x, (ir.F16Type, ir.BF16Type)) or (tf32 and isinstance(x, ir.F32Type))


def has_halves(target: Target) -> bool:
    """Whether a target's tensor cores take f16, bf16 and tf32 by mma.sync, and cp.async copies to them."""
    return target.capability >= _CAPABILITY


def scheme_of(product: Product, *, straight: bool) -> Scheme:
    """`straight`: whether operands' lines surely begin at multiples of 16 bytes."""
    m, n, batch = (length(product.op, loops) for loops in (product.m, product.n, product.batch))
    return scheme_for(m, n, batch, straight=straight)


def scheme_for(m: int | None, n: int | None, batch: int | None, *, straight: bool) -> Scheme:
    """For so many rows, columns and products; None: known at run time only."""
    if m is not None and m <= _FEW:
        return FEW_ROWS
    if n is not None and n <= _FEW:
        return FEW_COLUMNS
    if not straight or m is None or n is None or batch is None:
        return SMALL
    return min(_BY_TIME, key=lambda scheme: _time(scheme, m, n, batch))


def has_symbolic_tiles(product: Product) -> bool:
    """Whether it hangs on symbolic sizes which scheme is best."""
    return any(length(product.op, loops) is None for loops in (product.m, product.n, product.batch))


def may_have_few_rows(product: Product) -> bool:
    """Whether the rows alone are symbolic, as where they are a batch's."""
    return length(product.op, product.m) is None and length(product.op, product.n) is not None


def has_few_rows(product: Product) -> Scalar:
    """Whether there are, at run time, so few rows that FEW_ROWS is for them."""
    sizes = product.op.sizes()
    return gpu.product([sizes[i] for i in product.m]) < _FEW + 1


def large_is_worth(product: Product) -> Scalar:
    """Whether, for sizes known at run time, LARGE takes less time than SMALL: `_time` says so from half a tile per multiprocessor on."""
    sizes = product.op.sizes()
    m, n, batch = (gpu.product([sizes[i] for i in loops]) for loops in (product.m, product.n, product.batch))
    tiles = gpu.product([gpu.ceil_div(m, LARGE.rows), gpu.ceil_div(n, LARGE.columns), batch])
    return b.index(_MULTIPROCESSORS // 2) < tiles


def register_scheme_of(product: Product) -> RegisterScheme:
    """For a product without tensor cores."""
    m, n, batch = (length(product.op, loops) for loops in (product.m, product.n, product.batch))
    return register_scheme_for(m, n, batch)


def register_scheme_for(m: int | None, n: int | None, batch: int | None) -> RegisterScheme:
    """For so many rows, columns and products; None: known at run time only."""
    if m is not None and m <= _THIN:
        return THIN_ROWS
    if n is not None and n <= _THIN:
        return THIN_COLUMNS
    if m is None or n is None or batch is None:
        return NARROW
    return min(_REGISTERS_BY_TIME, key=lambda scheme: _time(scheme, m, n, batch))


def _time(scheme: Scheme | RegisterScheme, m: int, n: int, batch: int) -> float:
    """Of the multiprocessor with most tiles."""
    tiles = -(-m // scheme.rows) * -(-n // scheme.columns) * batch
    return -(-tiles // _MULTIPROCESSORS) * scheme.rows * scheme.columns / scheme.speed
