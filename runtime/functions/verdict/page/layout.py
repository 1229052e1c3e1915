"""Where the page draws the ops of a graph: in rows, each below what makes its operands, with few crossings (K. Sugiyama, S. Tagawa and
M. Toda, "Methods for visual understanding of hierarchical system structures", 1981).

What takes nothing stands above its first user. A value that is used further down passes the rows between on a way of its own, which is
shared by all who use it. The rows are put in order by the mean of what is above, and of what is below, in turn, and neighbours swapped,
from several orders of the first; the order with the fewest crossings is kept. Then all move towards what they are connected with, in
that order.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from random import Random

Node = tuple[int, int]  # the op, and the row: further down than the op's own it is its way there
_SWEEPS = 12
_MOST_STARTS, _WORK = 24, 4000  # orders of the first row that are tried; lines that are looked at in all of them
_ROOM = 1.0  # of an op, in columns
_OF_WAY = 0.25


class Layout:
    """`columns`, `rows`: of each op; `ways`: by op, the columns at which its value passes the rows below it. `operands`: of each op, by the
    numbers of those before it."""

    def __init__(self, operands: Sequence[Iterable[int]]) -> None:
        self.rows: list[int] = []
        for sources in operands:
            self.rows.append(1 + max((self.rows[source] for source in sources), default=-1))
        users: dict[int, list[int]] = {}
        for op, sources in enumerate(operands):
            for source in sources:
                users.setdefault(source, []).append(self.rows[op])
        for op, used in users.items():
            if not self.rows[op]:
                self.rows[op] = min(used) - 1
        last = list(self.rows)  # the row down to which a value is seen
        self._up: dict[Node, list[Node]] = {}
        self._down: dict[Node, list[Node]] = {}
        for op, sources in enumerate(operands):
            for source in sources:
                last[source] = max(last[source], self.rows[op] - 1)
                self._connect((source, self.rows[op] - 1), (op, self.rows[op]))
        layers: list[list[Node]] = [[] for _ in range(1 + max(last, default=-1))]
        for op, row in enumerate(self.rows):
            for lower in range(row, last[op] + 1):
                layers[lower].append((op, lower))
                if lower > row:
                    self._connect((op, lower - 1), (op, lower))
        self._row = self.rows
        places = self._straightened(self._ordered(layers))
        self.columns = [round(places[op, row], 2) for op, row in enumerate(self.rows)]
        below = {op: range(row + 1, last[op] + 1) for op, row in enumerate(self.rows) if last[op] > row}
        self.ways = {op: [round(places[op, lower], 2) for lower in rows] for op, rows in below.items()}

    def _connect(self, upper: Node, lower: Node) -> None:
        self._down.setdefault(upper, []).append(lower)
        self._up.setdefault(lower, []).append(upper)

    def _ordered(self, layers: list[list[Node]]) -> list[list[Node]]:
        best, fewest, rng = layers, self.crossings(layers), Random(0)
        starts = max(1, min(_MOST_STARTS, _WORK // (1 + sum(map(len, self._down.values())))))
        for sweep in range(_SWEEPS * starts):
            if not fewest:
                break
            layers = [list(layer) for layer in layers]
            if sweep and sweep % _SWEEPS == 0:
                rng.shuffle(layers[0])
            toward, order = (self._up, range(1, len(layers))) if sweep % 2 == 0 else (self._down, range(len(layers) - 2, -1, -1))
            places = {node: i for layer in layers for i, node in enumerate(layer)}
            for row in order:
                layers[row].sort(key=lambda node: _mean([places[each] for each in toward.get(node, ())], places[node]))
                self._swap(layers[row], places)
            if (crossings := self.crossings(layers)) < fewest:
                best, fewest = layers, crossings
        return best

    def _swap(self, layer: list[Node], places: dict[Node, int]) -> None:
        """Neighbours, where their lines then cross less often; and note the places of all."""
        for i in (*range(len(layer) - 1), *range(len(layer) - 2, -1, -1)):
            a, b = layer[i], layer[i + 1]
            gain = 0
            for toward in (self._up, self._down):
                ends = [places[each] for each in toward.get(a, ())], [places[each] for each in toward.get(b, ())]
                gain += sum((x > y) - (x < y) for x, y in product(*ends))
            if gain > 0:
                layer[i : i + 2] = b, a
        places.update({node: i for i, node in enumerate(layer)})

    def crossings(self, layers: Sequence[Sequence[Node]]) -> int:
        """How many pairs of lines cross."""
        count = 0
        for upper, lower in zip(layers, layers[1:], strict=False):
            places = {node: i for i, node in enumerate(lower)}
            ends: list[int] = []  # of the lines from nodes further left, in order
            for node in upper:
                mine = sorted(places[each] for each in self._down.get(node, ()))
                count += sum(len(ends) - bisect_right(ends, end) for end in mine)
                for end in mine:
                    insort(ends, end)
        return count

    def _straightened(self, layers: Sequence[Sequence[Node]]) -> dict[Node, float]:
        places: dict[Node, float] = {}
        for layer in layers:
            self._set(layer, [0.0] * len(layer), places)
        for sweep in range(_SWEEPS):
            toward = self._up if sweep % 2 == 0 else self._down
            for layer in layers if sweep % 2 == 0 else reversed(layers):
                self._set(layer, [_mean([places[each] for each in toward.get(node, ())], places[node]) for node in layer], places)
        least = min(places.values(), default=0.0)
        return {node: place - least for node, place in places.items()}

    def _set(self, layer: Sequence[Node], wanted: Sequence[float], places: dict[Node, float]) -> None:
        """Each as near to where it is wanted as the room of those beside it lets: the mean of two places, of those who give way to
        the right and of those who give way to the left, keeps them apart as both do."""
        room = [_ROOM if self._row[op] == row else _OF_WAY for op, row in layer]
        right, left = list(wanted), list(wanted)
        for i in range(1, len(layer)):
            right[i] = max(right[i], right[i - 1] + (room[i - 1] + room[i]) / 2)
        for i in range(len(layer) - 2, -1, -1):
            left[i] = min(left[i], left[i + 1] - (room[i] + room[i + 1]) / 2)
        places.update({node: (a + b) / 2 for node, a, b in zip(layer, right, left, strict=True)})


def _mean(places: Sequence[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


def drawn(operands: Sequence[Iterable[int]]) -> Mapping[str, object]:
    """The layout as plain data."""
    made = Layout(operands)
    return {"positions": list(zip(made.columns, made.rows, strict=True)), "ways": made.ways}
