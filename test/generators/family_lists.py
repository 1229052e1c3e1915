"""Lists of numbers, of lists and of tuples of numbers that are arguments: read, looked through, changed, returned, handed on."""

from __future__ import annotations

from draft import Draft, Nothing
from families import statement

# L: a list of numbers; V: what is made; w, a_, b_: local names
OF_NUMBERS = (
    "V = 0\nfor w in L:\n    V = V + w", "V = 0\nfor a_ in range(len(L)):\n    for b_ in range(a_):\n        if L[a_] > L[b_]:\n            V = V + 1", "V = L[-1]", "V = L[1:]",
    "V = L[::-1]", "V = [w * 2 for w in L if w > 0]", "V = sum(L)", "V = max(L)", "V = len(L)", "V = sorted(L)", "V = L.count(L[0])", "V = L.index(L[-1])", "V = 3 in L",
    "V = np.array(L)", "V = np.array(L) + 1", "V = L + [1]", "V = L + L", "V = tuple(L)", "L[0] = 2", "L.append(1)", "V = L", "V = L.copy()\nV.append(L[0])", "V = L == list(L)",
    "V = [w for w in reversed(L)]", "V = any(w > 1 for w in L)", "V = dict(enumerate(L))", "L.sort()", "L.reverse()", "V = L.pop()", "V, *b_ = L", "V = L if len(L) > 20 else [1]",
    "V = 0\nwhile V < len(L) and L[V] < 1:\n    V = V + 1", "V = [L[0]] * len(L)", "V = []\nfor w in L:\n    V.append(w + 1)", "V = list(map(abs, L))", "V = [a_ * b_ for a_, b_ in zip(L, L[1:])]",
    "V = 0\nfor a_, b_ in enumerate(L):\n    if b_ > 0:\n        V = a_\n        break", "V = L[len(L) // 2]", "V = L[len(L)]", "V = not L", "V = (L[0], L[-1])", "V = L[0] / L[1]", "V = L[0] // L[1]",
    "g_ = lambda k: L[k] + 1\nV = g_(0) + g_(-1)", "V = np.arange(70.0)[L]", "L[1], L[0] = L[0], L[1]", "V = [L, len(L)]", "V = np.zeros(len(L)) + L", "V = min(L, default=0)",
    "for a_ in range(len(L)):\n    L[a_] = L[a_] + 1", "for a_ in range(1, len(L)):\n    b_ = a_\n    while b_ > 0 and L[b_] < L[b_ - 1]:\n        L[b_], L[b_ - 1] = L[b_ - 1], L[b_]\n        b_ -= 1",
    "V = L\nfor a_ in range(len(L) - 1):\n    V[a_] = L[a_ + 1]", "for a_ in range(len(L) + 1):\n    L[a_] = L[a_] * 2", "for a_ in range(len(L)):\n    L[a_] *= -1\nV = [L, sum(L)]",
    "a_, b_ = 0, len(L) - 1\nwhile a_ < b_:\n    L[a_], L[b_] = L[b_], L[a_]\n    a_, b_ = a_ + 1, b_ - 1\nV = L", "for a_, b_ in enumerate(L):\n    if b_ > 1:\n        L[a_] = L[0]",
    "V = []\nfor w in L:\n    if w > 0:\n        V.insert(len(V) // 2, w)\n    elif V:\n        V.pop(0)", "V = L[:]\nV.sort()", "V = sorted(L, reverse=True)", "V = L if L[0] > 0 else L[1:]", "V = [w for w in L if w > 0]\nV.sort(reverse=True)",
    "V = L[:]\nfor w in L:\n    if w in V and w < 2:\n        V.remove(w)", "V = L[1:]\na_ = 0\nwhile a_ < len(V):\n    if V[a_] > 0:\n        del V[a_]\n    else:\n        a_ += 1", "V = L[:]\nwhile len(V) > 3:\n    V.pop(len(V) // 2)",
    "V = []\nfor a_ in range(len(L)):\n    V.extend(L[a_:])\n    if len(V) > 50:\n        V.clear()", "V = []\nfor w in L:\n    V += [w, w]\n    if len(V) > 7:\n        del V[-3]\nV += L[:2]", "V = L[:]\nV.insert(-2, L[0])\nV.insert(99, L[0])\nV.pop(1)",
    "V = [3]\nfor w in L:\n    V.append(V.pop(0) + 1)\n    V.insert(w, 2)\nV.remove(2)", "V = []\nfor w in L:\n    if V and V[-1] == w:\n        V.pop(-1)\n    else:\n        V += sorted(V[-2:])\n        V.append(w)",
    "V = [0] * len(L)\nfor a_ in range(len(L)):\n    V[a_] += L[a_] * 0.5\n    V[a_ // 2] -= 1", "V = [0]\nfor w in L:\n    V.append(V[-1] + w / 2)\nb_ = sum(V) + max(V)", "V = [False] * len(L)\nfor a_, w in enumerate(L):\n    if w > 1:\n        V[a_] = w / 4\n    elif w:\n        V[a_] = a_",
    "V = [[0] * 3 for _ in range(4)]\nfor a_ in range(len(L)):\n    V[a_ % 4][a_ % 2] += L[a_] / 2\n    V[0][2] = max(V[0][2], L[a_])", "V = []\nfor w in L:\n    V.append(w if w > 0 else 0)\nV = np.array(V)", "V = [1]\nfor w in L:\n    V.append(V[-1] // 2 if w > 0 else V[-1] * 0.75)\n    V[0] -= V[-1] > 0\nV = [w for w in V if w][:9], min(V), 1 in V, V.count(0)",
    "V = [0, 0]\nfor w in L:\n    V[w > 0] += w\n    V = [V[1], V[0]]", "V = []\nfor a_, w in enumerate(L):\n    V.append((a_, 0 if w > 1 else w + 0.5))\nb_ = [w for _, w in V]", "V = [0] * 5\nb_ = [1.5] * 5\nfor a_, w in enumerate(L):\n    V[a_ % 5] = w\n    V, b_ = b_, V\nV = V == b_, V, b_",
    "def g_(v, k):\n    v[k] = v[k - 1]\n    return v[k]\nV = g_(L, 1) + g_(L, -1)", "V = L[1:]\nfor a_ in range(len(V)):\n    L[a_] = V[a_]",
)  # fmt: skip
OF_LISTS = (
    "V = 0\nfor b_ in L:\n    for w in b_:\n        V = V + w", "V = L[1][-1]", "V = [sum(b_) for b_ in L]", "V = [b_[:] for b_ in L]", "V = len(L[0])", "V = L[0]", "V = np.array(L)", "L[0][0] = 1",
    "V = [[L[b_][a_] for b_ in range(len(L))] for a_ in range(len(L[0]))]", "V = L[0]\nfor b_ in L:\n    if b_ and b_[0] > V[0]:\n        V = b_", "V = L[1:]", "V = L[0] + L[1]", "V = L",
    "V = 0\nfor a_ in range(1, len(L)):\n    for b_ in range(len(L[a_])):\n        if b_ < len(L[a_ - 1]) and L[a_][b_] > L[a_ - 1][b_]:\n            V = V + 1", "V = [max(b_, default=0) for b_ in L]",
    "V = [list(b_) for b_ in L]\nV[0][0] = V[1][1]", "L[0].append(1)", "V = [w for b_ in L for w in b_ if w]", "V = [len(b_) for b_ in L]", "V = L[1][1:]", "V = sorted(L[0])", "V = list(zip(*L))",
    "for b_ in L:\n    for a_ in range(len(b_)):\n        b_[a_] = b_[a_] * 2", "for a_ in range(1, len(L)):\n    for b_ in range(len(L[a_])):\n        if b_ < len(L[a_ - 1]):\n            L[a_][b_] += L[a_ - 1][b_]",
    "V = L[0]\nV[0] = L[1][0]", "V = []\nfor b_ in L:\n    V.append(b_[:])\n    if len(V) > 2:\n        V.pop(0)",
    "V = [[] for _ in L]\nfor a_ in range(len(L)):\n    V[a_].extend(L[a_])\n    V[a_].sort()\n    V[a_].insert(0, 1)\n    if len(V[a_]) > 3:\n        del V[a_][1]", "for a_ in range(len(L)):\n    L[a_][a_] = L[a_][0]\nV = L", "L[0], L[1] = L[1], L[0]",
)  # fmt: skip
OF_TUPLES = (
    "V = 0\nfor a_, b_, w in L:\n    V = V + a_ * w - b_", "V = L[0]", "V = [w for _, _, w in L]", "V = L[-1][2]", "V = [0.0] * 9\nfor a_, b_, w in L:\n    V[a_] = V[a_] + w", "V = sorted(L)", "V = L[1:3]",
    "V = max(w for _, _, w in L)", "V = [b_ for b_ in L if b_[0] > 1]", "V = np.array(L)", "V = {a_: w for a_, _, w in L}", "V = L\nV.append(V[0])", "V = len(L)", "a_, b_ = L[0]\nV = a_", "V = L[0] + L[1]",
    "for a_ in range(len(L)):\n    L[a_] = (L[a_][1], L[a_][0], L[a_][2] + 1)", "L[0], L[1] = L[1], L[0]\nV = L", "V = L[:]\nwhile len(V) > 3:\n    V.insert(0, V.pop(2))\n    V.pop(1)", "for a_, (b_, _, w) in enumerate(L):\n    if w > b_:\n        L[a_] = (b_, b_, w)",
)  # fmt: skip


def _kind(value: object) -> tuple[str, ...]:
    """Which statements a list takes: by what its first item is."""
    if type(value) is not list or not value:
        return ()
    return {list: OF_LISTS, tuple: OF_TUPLES}.get(type(value[0]), OF_NUMBERS)


@statement("lists")
def of_a_list(d: Draft) -> bool:
    name = d.pick(lambda v: bool(_kind(v)))
    v = d.new()
    if v == name:
        raise Nothing
    text = d.of(*_kind(d.env[name])).replace("L", name).replace("V", v)
    return d.keep(text.splitlines(), lambda n: n == v)
