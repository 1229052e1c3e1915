"""A module's ops go with it: who takes one apart holds it. Ops of a module that nobody held were walked after it was gone, and the process ended."""

from __future__ import annotations

import ast

from sources import trees

MADE_BY = ("Module.parse", "Module.create", "parse_module")


def test_no_module_is_taken_apart_that_nobody_holds() -> None:
    found = []
    for name, tree in trees(r"(Module\.parse|Module\.create|parse_module)\("):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in ("operation", "body") and isinstance(node.value, ast.Call):
                if ast.unparse(node.value.func).endswith(MADE_BY):
                    found.append(f"{name}:{node.lineno}")
    assert not found
