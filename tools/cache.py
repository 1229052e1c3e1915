"""tierup-cache: the compiled code that is kept on disk: what there is, whether it holds, why it was not found, and how to empty it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict

from tierup.lowering.objects import entries, folder, store
from tierup.lowering.objects.entries import Entry
from tierup.tools.interrupts import interruptible

_OF_PROGRAMS = ("specialised", "code", "device", "start", "graph")
_SHOWN = 12  # characters of an entry's name
_DAY = 86400.0
_EPILOG = """\
ENTRY is the name of a function, for all entries that are of it, or how an entry's own name begins.

examples:
  tierup-cache list --kind code     versions of functions, the most recently used first
  tierup-cache explain layer        why code of the function `layer` was compiled, though some was there
  tierup-cache prune --to 64        keep the 64 MiB that were used last
  tierup-cache prune --unused 30    remove what nobody has used for 30 days

environment:
  TIERUP_CACHE_DIR=FOLDER    where entries are kept
  TIERUP_CACHE_SIZE=MIB      what they may take; what was used least recently goes
  TIERUP_CACHE=0             use none

docs/cache.md of the source says what is kept, what it is found by, and what is trusted.
"""


@interruptible("tierup-cache")
def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0; 1 after a message on stderr, and where `verify` finds an entry that cannot be used."""
    options = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (folder.Refused, OSError) as e:
        return _fail(str(e))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tierup-cache",
        description="The compiled code that is kept on disk, for later processes of the same user.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str, *, of: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False)
        added.set_defaults(run=run)
        if of:
            added.add_argument("entry", metavar="ENTRY", nargs=of, help="a function's name, or how the entry's begins")
        return added

    listing = command("list", _list, "entries, the most recently used first, with their kinds, sizes and what they are of")
    listing.add_argument("--kind", help="only those of this kind: code, specialised, device, ...")
    listing.add_argument("--json", action="store_true", help="all that is known of them, one a line, as JSON")
    command("stats", _stats, "where the cache is, how many bytes it holds, and its bound")
    command("show", _show, "all that is known of entries: the parts of what each is found by", of="+")
    command("explain", _explain, "in which parts an entry differs from what was there when it was made: why it was not found", of="*")
    verifying = command("verify", _verify, "read all entries: which could not be used, and why")
    verifying.add_argument("--remove", action="store_true", help="remove those; they would be made anew in any case")
    command("clear", _clear, "remove all entries; programs that run go on, and compile anew what they need")
    pruning = command("prune", _prune, "remove what was used least recently")
    pruning.add_argument("--to", type=_number, metavar="MIB", help="until so much is left; without it the bound of the cache")
    pruning.add_argument("--unused", type=_number, metavar="DAYS", help="also what was not used for so long")
    return parser


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text}")
    return value


def _fail(text: str) -> int:
    print(f"tierup-cache: error: {text}", file=sys.stderr)
    return 1


def _list(options: argparse.Namespace) -> int:
    found = [entry for entry in entries.entries() if options.kind in (None, entry.described.kind)]
    if options.json:
        for entry in found:
            print(json.dumps(asdict(entry)))
        return 0
    rows = [(e.name[:_SHOWN], e.described.kind or "unknown", _bytes(e.bytes), _ago(e.used), e.described.about) for e in found]
    _table(("entry", "kind", "size", "used", "of"), rows)
    return 0


def _stats(_options: argparse.Namespace) -> int:
    found = entries.entries()
    where = folder.folder()
    print(f"{where}: {_sum(found)}, of at most {_bytes(store.bound())}" + ("" if store.enabled() else "; TIERUP_CACHE=0: not used"))
    for kind, count in Counter(entry.described.kind for entry in found).most_common():
        print(f"  {kind or 'unknown'}: {_sum([entry for entry in found if entry.described.kind == kind], count)}")
    return 0


def _show(options: argparse.Namespace) -> int:
    for entry in _found(options.entry, entries.entries()):
        about = entry.described
        print(f"{entry.name}\n  {about.kind or 'unknown'}: {about.about}")
        print(f"  {_bytes(entry.bytes)}, made {_when(entry.made)}, used {_when(entry.used)}")
        _table(None, [(f"  {label}", digest, said) for label, digest, said in about.parts])
    return 0


def _explain(options: argparse.Namespace) -> int:
    everything = entries.entries()
    named = _found(options.entry, everything) if options.entry else [e for e in everything if e.described.kind in _OF_PROGRAMS]
    for entry in sorted(named, key=lambda e: e.made):
        print(f"{entry.name[:_SHOWN]} {entry.described.kind} {entry.described.about}, made {_when(entry.made)}: ", end="")
        before = entries.nearest(entry.described, everything, entry.made)
        if before is None:
            print("nothing of this kind and function was there")
            continue
        print(f"unlike {before.name[:_SHOWN]}, made {_when(before.made)}, in")
        for line in entries.differences(entry.described, before.described):
            print(f"  {line}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    found = entries.entries()
    faults = [(entry, why) for entry in found if (why := entries.fault(entry))]
    for entry, why in faults:
        print(f"{entry.name[:_SHOWN]}: {why}")
        if options.remove:
            store.remove(entry.path)
    what = " and were removed" if options.remove and faults else ""
    print(f"{_sum(found)}: {len(faults)} cannot be used{what}")
    return 1 if faults and not options.remove else 0


def _clear(_options: argparse.Namespace) -> int:
    print(f"{entries.clear()} entries removed from {folder.folder()}")
    return 0


def _prune(options: argparse.Namespace) -> int:
    place = folder.checked(folder.folder())
    most = store.bound() if options.to is None else int(options.to * 2**20)
    since = 0.0 if options.unused is None else time.time() - options.unused * _DAY
    count, size = store.prune(place, most, since) if place else (0, 0)
    print(f"{count} entries removed, {_bytes(size)}; {_sum(entries.entries())} left")
    return 0


def _found(words: Sequence[str], among: Sequence[Entry]) -> list[Entry]:
    """The entries that are named so. Raises Refused for a word that names none."""
    found: dict[str, Entry] = {}
    for word in words:
        fitting = [e for e in among if e.described.function == word] or [e for e in among if e.name.startswith(word)]
        if not fitting:
            raise folder.Refused(f"no entry's name begins with {word!r}, and none is of such a function: `tierup-cache list` has all")
        found |= {entry.name: entry for entry in fitting}
    return list(found.values())


def _sum(found: Sequence[Entry], count: int | None = None) -> str:
    number = len(found) if count is None else count
    return f"{number} {'entry' if number == 1 else 'entries'}, {_bytes(sum(entry.bytes for entry in found))}"


def _bytes(number: int) -> str:
    if number < 1024:
        return f"{number} bytes"
    return f"{number / 1024:.1f} KiB" if number < 2**20 else f"{number / 2**20:.1f} MiB"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else "at a time that it does not say"


def _ago(seconds: float) -> str:
    past = max(0.0, time.time() - seconds)
    for name, each in (("days", _DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if past >= 2 * each:
            return f"{past / each:.0f} {name} ago"
    return f"{past:.0f} s ago"


def _table(head: tuple[str, ...] | None, rows: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as what is in them; the last is as long as it is."""
    lines = [head, *rows] if head else list(rows)
    widths = [max(map(len, column), default=0) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
