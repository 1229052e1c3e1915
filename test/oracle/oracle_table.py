"""The page docs/torch-coverage.md: every OpInfo of PyTorch, what of its samples passes, and in which tier.

    python test/oracle/oracle_table.py                      all samples; writes the page (`make oracle`)
    python test/oracle/oracle_table.py --samples 8          at most 8 of each op and dtype, drawn by TIERUP_SEED
    python test/oracle/oracle_table.py --only 'nn.*pad*'    prints the verdicts that are none of "passed", writes nothing
    ... --keep FILE                                         goes on where a run with this file stopped; with --only writes into it

Entries are judged in processes of their own, since each compile costs memory for good.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from tierup.dialect.base.dtypes import ALL

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "torch-coverage.md"
SEED = os.environ.get("TIERUP_SEED", "0")


@dataclass(frozen=True)
class Sizes:
    """At most how many samples of an op and dtype: in tier 0, of these in native code, and of gradients in both. `dtypes`: in how many dtypes
    of an op native code and gradients are asked for."""

    samples: int
    native: int
    gradients: int
    dtypes: int


@dataclass
class Row:
    """What came of one entry. Counts by tier and verdict: "tier0 passed", "gradient native passed", ..."""

    entry: str
    dtypes: list[str]
    counts: Counter[str] = field(default_factory=Counter)
    whys: dict[str, str] = field(default_factory=dict)  # the first of each count that is none of passed
    lines: list[str] = field(default_factory=list)

    def of(self, tier: str) -> tuple[int, int]:
        """Passed, and tried."""
        passed, wrong = self.counts[f"{tier} passed"], sum(self.counts[f"{tier} {k}"] for k in ("failed", "not native", "no rule"))
        return passed, passed + wrong

    @property
    def kind(self) -> str:
        """claimed: all runs by tierup's own kernels. by torch: PyTorch has a part in tier 0. skipped: not asked."""
        if self.counts["tier0 by torch"] or "UnsupportedProgram" in self.whys.get("tier0 failed", ""):
            return "by torch"
        return "claimed" if self.of("tier0")[1] else "skipped"


def drawn(cases: Iterator[T], most: int, name: str) -> list[T]:
    """At most so many, by the seed and a name, in order."""
    found = list(cases)
    chosen = sorted(random.Random(f"{SEED}/{name}").sample(range(len(found)), min(most, len(found))))
    return [found[i] for i in chosen]


def judged(job: tuple[str, Sizes]) -> Row:
    """Judge one entry."""
    import oracle_cases
    import oracle_judge
    import oracle_skips
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    entry, sizes = job
    row = Row(entry, oracle_cases.dtypes_of(entry))
    reason = oracle_skips.entry(entry)
    if reason is not None:
        row.counts["tier0 skipped"] += 1
        row.whys["tier0 skipped"] = reason
        return row
    compiled = drawn(iter(row.dtypes), sizes.dtypes, f"dtypes {entry}")
    for dtype in row.dtypes:
        most = 1 if row.kind == "by torch" else sizes.samples  # PyTorch against itself: no more than that it runs
        cases = drawn(oracle_cases.cases(entry, dtype), most, f"{entry}/{dtype}")
        most = sizes.native if dtype in compiled else 0
        native = {c.index for c in drawn(iter(cases), most, f"native {entry}/{dtype}")}
        for case in cases:
            _count(row, case.name, "", oracle_judge.judge(case, case.index in native))
    if row.kind != "claimed":
        return row
    for dtype in drawn(iter(oracle_cases.gradient_dtypes_of(entry)), sizes.dtypes, f"gradient dtypes {entry}"):
        for case in drawn(oracle_cases.cases(entry, dtype, gradients=True), sizes.gradients, f"gradient {entry}/{dtype}"):
            _count(row, case.name, "gradient ", oracle_judge.judge_gradient(case, True))
    return row


def _count(row: Row, name: str, prefix: str, verdicts: dict[str, object]) -> None:
    for tier, verdict in verdicts.items():
        key = f"{prefix}{tier} {verdict.kind}"  # type: ignore[attr-defined]
        row.counts[key] += 1
        if verdict.kind != "passed":  # type: ignore[attr-defined]
            row.whys.setdefault(key, verdict.why)  # type: ignore[attr-defined]
            row.lines.append(f"{name}: {prefix}{tier} {verdict.kind}: {verdict.why}")  # type: ignore[attr-defined]


# --- the page ------------------------------------------------------------------------------------------------------------


def _cell(pair: tuple[int, int]) -> str:
    passed, tried = pair
    return f"{passed}/{tried}" if tried else "-"


def _dtypes(names: Sequence[str]) -> str:
    return "all" if len(names) == len(ALL) else " ".join(names)


def page(rows: Sequence[Row], sizes: Sizes, version: str) -> str:
    """The text of the page."""
    claimed = [r for r in rows if r.kind == "claimed"]
    by_torch = [r for r in rows if r.kind == "by torch"]
    skipped = [r for r in rows if r.kind == "skipped"]
    passed, tried = (sum(r.of("tier0")[i] for r in claimed) for i in (0, 1))
    native = [r for r in claimed if r.of("native")[0] and r.of("native")[0] == r.of("native")[1]]
    partly = [r for r in claimed if r.of("native")[0] and r not in native]
    derived = [r for r in claimed if r.of("gradient tier0")[0] and r.of("gradient tier0")[0] == r.of("gradient tier0")[1]]
    derived_native = [r for r in derived if r.of("gradient native")[0] == r.of("gradient native")[1]]
    drawn_ = "all samples" if sizes.samples >= 10**6 else f"at most {sizes.samples} samples of each op and dtype"
    in_dtypes = "" if sizes.dtypes >= len(ALL) else f", both in at most {sizes.dtypes} dtypes of each op"
    out = [
        "# PyTorch's ops",
        "",
        "Generated by `make oracle`; tests check that the list is current, and samples of it.",
        "",
        f"PyTorch {version} is the judge: its own operator samples (the OpInfo entries of `torch.testing._internal`), each traced as a program of",
        "its tensors, run by `tierup.torch.from_torchscript` and compared with eager PyTorch: dtypes, sizes, values, what is written to arguments.",
        f"Asked were {drawn_}, of these at most {sizes.native} in native code, and the gradients of at most {sizes.gradients}{in_dtypes}, by a seed.",
        "",
        f"* **{len(claimed)} ops are claimed**: all that their samples run is computed by tierup's own kernels.",
        f"  {passed} of {tried} samples pass in tier 0: {100 * passed / max(tried, 1):.2f} %.",
        f"* **{len(native)} of them are native**: every sample that was asked was answered by a version, compiled as a whole; {len(partly)} more are partly so.",
        f"* Gradients of {len(derived)} agree with autograd's in tier 0, of {len(derived_native)} of these in native code.",
        f"* {len(by_torch)} run with PyTorch's part in tier 0 ([below](#by-pytorch)); {len(skipped)} are not asked ([why](#not-asked)).",
        "",
        "Cells are samples passed/asked. A native sample that did not pass ran in tier 0 instead: its value is right.",
        "",
        "| op | dtypes | tier 0 | native | gradient | gradient, native |",
        "|---|---|---|---|---|---|",
    ]
    tiers = ("tier0", "native", "gradient tier0", "gradient native")
    out += [f"| `{r.entry}` | {_dtypes(r.dtypes)} | " + " | ".join(_cell(r.of(t)) for t in tiers) + " |" for r in claimed]
    out += ["", "## What did not pass", ""]
    wrong = [line for r in rows if r.kind != "skipped" for line in r.lines if ": tier0 failed" in line or "gradient tier0 failed" in line or "native failed" in line]
    out += [f"* `{line.split(': ', 1)[0]}`: {_plain(line.split(': ', 1)[1])}" for line in wrong] or ["Nothing."]
    out += ["", "## Not native", "", "The first reason of each op; the program is split around it, or runs in tier 0.", "", "| op | why |", "|---|---|"]
    out += [f"| `{r.entry}` | {_plain(r.whys['native not native'])} |" for r in claimed if "native not native" in r.whys]
    out += ["", "## No gradient", "", "| op | why |", "|---|---|"]
    out += [f"| `{r.entry}` | {_plain(r.whys['gradient tier0 no rule'])} |" for r in claimed if "gradient tier0 no rule" in r.whys]
    out += ["", "## By PyTorch", "", "Ops without a kernel of ours: tier 0 calls PyTorch for them, on the same memory.", ""]
    out += ["| op | samples right | first op |", "|---|---|---|"]
    out += [f"| `{r.entry}` | {_torch_cell(r)} | {_plain(r.whys.get('tier0 by torch', r.whys.get('tier0 failed', '')))} |" for r in by_torch]
    out += ["", "## Not asked", "", "| op | why |", "|---|---|"]
    out += [f"| `{r.entry}` | {r.whys.get('tier0 skipped', 'no samples on this machine')} |" for r in skipped]
    return "\n".join(out) + "\n"


def _torch_cell(row: Row) -> str:
    right = row.counts["tier0 passed"] + row.counts["tier0 by torch"]
    return f"{right}/{right + row.counts['tier0 failed']}"


def _plain(why: str) -> str:
    for start in ("NotOptimized: program has no native code as a whole: ", "UnsupportedProgram: "):
        why = why.removeprefix(start)
    return why.replace("|", "\\|").replace("<", "&lt;")[:160]


# --- running -------------------------------------------------------------------------------------------------------------


def run(entries: Sequence[str], sizes: Sizes, jobs: int, keep: Path | None) -> dict[str, Row]:
    """Judge entries, with a bar."""
    rows: dict[str, Row] = {}
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=60) as pool:
        for i, row in enumerate(pool.imap_unordered(judged, [(e, sizes) for e in entries]), 1):
            rows[row.entry] = row
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps(vars(row)) + "\n")
            bar = "#" * (40 * i // len(entries))
            sys.stderr.write(f"\r[{bar:<40}] {i}/{len(entries)} {row.entry:<50.50}")
            sys.stderr.flush()
    sys.stderr.write("\n")
    return rows


def kept(path: Path | None) -> dict[str, Row]:
    """What earlier runs wrote, the last of each entry."""
    if path is None or not path.exists():
        return {}
    found = map(json.loads, path.read_text().splitlines())
    return {r["entry"]: Row(**{**r, "counts": Counter(r["counts"])}) for r in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--native", type=int, default=3)
    parser.add_argument("--gradients", type=int, default=3)
    parser.add_argument("--dtypes", type=int, default=len(ALL), help="native code and gradients in at most so many dtypes of an op")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="a pattern over entries, or several between commas")
    parser.add_argument("--keep", type=Path, help="a file of verdicts, one line per entry")
    arguments = parser.parse_args()
    import oracle_cases
    import torch

    sizes = Sizes(arguments.samples, arguments.native, arguments.gradients, arguments.dtypes)
    before = kept(arguments.keep)
    every = sorted(oracle_cases.entries())
    if arguments.only is not None:
        patterns = arguments.only.split(",")
        rows = run([e for e in every if any(fnmatchcase(e, p) for p in patterns)], sizes, arguments.jobs, arguments.keep)
        for row in rows.values():
            print(f"{row.entry}: {row.kind}, {dict(row.counts)}", *row.lines, sep="\n    ")
        return
    rows = {**before, **run([e for e in every if e not in before], sizes, arguments.jobs, arguments.keep)}
    PAGE.write_text(page([rows[e] for e in every], sizes, torch.__version__.split("+")[0]))


if __name__ == "__main__":
    main()
