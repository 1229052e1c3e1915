"""How deep a text or a program nests, and how deep one may: MLIR's parser and printer, and many passes, call themselves once a level.

A text that nests too deep is refused before MLIR's parser sees it, which would end the process for lack of stack; a program, before a pass
walks it. `MAX_BRACKETS` and `MAX_REGIONS` are in docs/debugging.md.
"""

from __future__ import annotations

import re

from tierup.dialect.ir.structure import blocks
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.diagnostics import Diagnostic, Place

MAX_BRACKETS = 512
"""Brackets of any kind in one another. The parser's stack of 8 MiB is used up at some 5,000."""

MAX_RUN = 5_000
"""Characters of a sum, a product or a row of signs in an affine map without a comma or a bracket: these nest without any."""

MAX_REGIONS = 80
"""Branches and loops in one another, in a function. Of Python's 1,000 calls in one another passes take up to five for a level; the
source that tier 0 runs may be indented 100 levels."""

TOO_MANY_REGIONS = f"stands in more than {MAX_REGIONS} branches and loops; make a function of the inner ones, and call it"

_PLAIN = r'[^"/\-<>\[\](){}#!]*'  # skipped in one go, or each character would be tried as the start of a token
_TOKEN = re.compile(
    _PLAIN + r'(?P<token>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|//[^\n]*|->|[<>]=|(?:[\[({]|<(?!=))+|(?:[\])}]|>(?!=))+'
    r"|^(?P<alias>[#!][A-Za-z_$][\w$-]*)(?=\s*=)|[#!][A-Za-z_$][\w$-]*(?![\w$.-]|\s*<)|[#!/-])",
    re.MULTILINE,
)
_SIGNS = frozenset(("-", "#", "!", "/", "->", ">=", "<="))
_LONG = re.compile(rf"[^,%=]{{{MAX_RUN},}}")


def check_text(text: str, file: str = "-") -> Diagnostic | None:
    """What is wrong with MLIR text that must not reach the parser, None where nothing is. Takes time linear in the text: strings and
    comments are skipped whole, and what an alias stands for counts where it is used."""
    found = _too_deep(text)
    if found is None:
        return None
    offset, what = found
    place = Place(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
    return Diagnostic("error", place, f"{what}: MLIR's parser would run out of stack")


def _too_deep(text: str) -> tuple[int, str] | None:
    depth = end = 0
    alias, levels = "", dict[str, int]()  # the alias that was defined last and not used yet, and how deep each nests
    for token in _TOKEN.finditer(text):
        found = token["token"]
        if found in _SIGNS:
            continue
        start = token.start("token")
        if start - end > MAX_RUN and _LONG.search(text, end, start):
            return end, f"more than {MAX_RUN:,} characters without a comma or a bracket"
        end = token.end()
        if found[0] in "[({<":
            here = depth = depth + len(found)
        elif found[0] in "])}>":
            depth = max(depth - len(found), 0)
            continue
        elif token["alias"]:
            alias, levels[found] = found, 1
            continue
        elif found[0] in "#!":
            here = depth + levels.get(found, 0)
            alias = "" if found == alias else alias
        else:
            continue
        if here > MAX_BRACKETS:
            return start, f"brackets nested deeper than {MAX_BRACKETS} levels"
        if alias:
            levels[alias] = max(levels[alias], here + 1)
    if len(text) - end > MAX_RUN and _LONG.search(text, end):
        return end, f"more than {MAX_RUN:,} characters without a comma or a bracket"
    return None


def check_program(module: ir.Module) -> Diagnostic | None:
    """An error at the first op that stands in too many branches and loops, None where there is none."""
    pending = [(module.operation, 0)]
    while pending:
        op, depth = pending.pop()
        if depth > MAX_REGIONS + 2:  # those of the module and the function are none
            return diagnostics.at(op, "error", TOO_MANY_REGIONS)
        inner = [(view.operation, depth + 1) for block in blocks(op) for view in block.operations]
        pending += reversed(inner)
    return None
