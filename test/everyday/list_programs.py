"""Ordinary programs of Python's lists alone, as books on algorithms have them: lists of numbers, of lists and of tuples come in."""

from __future__ import annotations

from everyday_programs import Programs, registered

PROGRAMS: Programs = {}
program = registered(PROGRAMS)


@program(lambda r: (r.integers(-50, 50, 200).tolist(), 7))
def pairs_with_sum(numbers, target):
    found = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == target:
                found += 1
    return found


@program(lambda r: (r.random(150).tolist(),))
def longest_rise(prices):
    longest = [1] * len(prices)
    for i in range(len(prices)):
        for j in range(i):
            if prices[j] < prices[i] and longest[j] + 1 > longest[i]:
                longest[i] = longest[j] + 1
    return max(longest)


@program(lambda r: (r.integers(-9, 10, 300).tolist(),))
def largest_run(numbers):
    best = current = numbers[0]
    for x in numbers[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best


@program(lambda r: ([1, 2, 5, 10, 20, 50, 100, 200, *map(int, r.integers(300, 900, 10))], 900))
def ways_to_change(coins, amount):
    ways = [1] + [0] * amount
    for coin in coins:
        for left in range(coin, amount + 1):
            ways[left] += ways[left - coin]
    return ways[amount]


@program(lambda r: (r.random((16, 16)).tolist(), r.random((16, 16)).tolist()))
def product_of_lists(a, b):
    made = [[0.0] * len(b[0]) for _ in a]
    for i in range(len(a)):
        for j in range(len(b[0])):
            total = 0.0
            for k in range(len(b)):
                total += a[i][k] * b[k][j]
            made[i][j] = total
    return made


@program(lambda r: ([(int(r.integers(30)), int(r.integers(30)), float(r.random())) for _ in range(150)], 30))
def shortest_from_first(edges, n):
    distance = [float("inf")] * n
    distance[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for u, v, w in edges:
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            break
    return distance


@program(lambda r: ((r.random((24, 24)) < 0.3).astype(int).tolist(),))
def next_generation(cells):
    rows, columns = len(cells), len(cells[0])
    made = []
    for i in range(rows):
        row = []
        for j in range(columns):
            around = 0
            for a in (-1, 0, 1):
                for b in (-1, 0, 1):
                    if a != 0 or b != 0:
                        around += cells[(i + a) % rows][(j + b) % columns]
            row.append(1 if around == 3 or (around == 2 and cells[i][j] == 1) else 0)
        made.append(row)
    return made


@program(lambda r: ([sorted({int(v) for v in r.integers(0, 60, 5)}) for _ in range(60)], 0))
def steps_from(neighbours, start):
    steps = [-1] * len(neighbours)
    steps[start] = 0
    queue, at = [start], 0
    while at < len(queue):
        node = queue[at]
        at += 1
        for other in neighbours[node]:
            if steps[other] < 0:
                steps[other] = steps[node] + 1
                queue.append(other)
    return steps
