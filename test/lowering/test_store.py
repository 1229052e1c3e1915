"""Who may put something into the store of compiled code: its user, under the name that it is kept by, with the folder's key. Nothing else."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import random
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import IS_EXHAUSTIVE

from tierup.lowering.objects import store

NAME, OTHER, PAYLOAD = "a" * 64, "b" * 64, b"code that will be run"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another owner can be given by root alone")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is reported."""
    told: list[str] = []
    monkeypatch.setattr(store, "listener", told.append)
    return told


@pytest.fixture
def folder(said: list[str]) -> Path:
    """The store, with an entry in it."""
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) == PAYLOAD and said == []
    return Path(store.folder())


def entry(folder: Path, name: str = NAME) -> Path:
    return folder / (name + store.SUFFIX)


def test_the_folder_and_all_in_it_are_made_for_their_owner_alone(folder: Path) -> None:
    previous = os.umask(0)
    try:
        store.write(OTHER, PAYLOAD)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == dict.fromkeys(
        (store.KEY, NAME + store.SUFFIX, OTHER + store.SUFFIX), 0o600
    )


def test_folders_on_the_way_are_made_as_well(said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "a" / "b" / "c"))
    previous = os.umask(0o002)  # which makes folders that the group can write
    try:
        store.write(NAME, PAYLOAD)
    finally:
        os.umask(previous)
    assert store.read(NAME) == PAYLOAD and said == []


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The user's group, as the system describes it: one that has another member, too."""
    me = pwd.getpwuid(os.geteuid())
    group = SimpleNamespace(gr_gid=me.pw_gid, gr_name=me.pw_name, gr_mem=[me.pw_name, "another"])
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)
    return group


@pytest.mark.parametrize("who, used", [
    ({"gr_mem": []}, True), ({"gr_mem": [pwd.getpwuid(os.geteuid()).pw_name]}, True), ({}, False), ({"gr_mem": [], "gr_name": "staff"}, False),
    ({"gr_mem": [], "gr_gid": 12345}, False),
])  # fmt: skip
def test_a_group_of_the_users_own_is_nobody_else(who: dict[str, object], used: bool, folder: Path, groups: SimpleNamespace) -> None:
    """Where each user has such a group, folders are made for the group to write."""
    vars(groups).update(who)
    for path in (folder, folder.parent):
        path.chmod(0o770)
        assert (store.read(NAME) == PAYLOAD) is used
        path.chmod(0o772)
        assert store.read(NAME) is None
        path.chmod(0o700)


def test_an_access_list_may_name_anybody(folder: Path, groups: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    groups.gr_mem = []
    folder.chmod(0o770)
    assert store.read(NAME) == PAYLOAD
    monkeypatch.setattr(os, "listxattr", lambda path, follow_symlinks: ["system.posix_acl_access"], raising=False)
    assert store.read(NAME) is None


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(mode: int, folder: Path, said: list[str], groups: SimpleNamespace) -> None:
    folder.chmod(mode)
    assert store.read(NAME) is None and not store.usable()
    store.write(OTHER, PAYLOAD)
    assert not entry(folder, OTHER).exists()
    assert len(said) == 1 and str(folder) in said[0] and "chmod go-w" in said[0]
    folder.chmod(0o755)  # others may look
    assert store.read(NAME) == PAYLOAD


@pytest.mark.parametrize("mode, used", [(0o777, False), (0o770, False), (0o1777, True), (0o755, True)])
def test_nor_one_that_others_could_replace_unless_a_sticky_bit_forbids_it(
    mode: int, used: bool, folder: Path, said: list[str], groups: SimpleNamespace
) -> None:
    folder.parent.chmod(mode)
    assert (store.read(NAME) == PAYLOAD) is used
    assert used or str(folder.parent) in said[0]


@needs_root
@pytest.mark.parametrize("what", ["folder", "parent", "entry", "key"])
def test_what_belongs_to_another_user_is_not_used(what: str, folder: Path, said: list[str]) -> None:
    path = {"folder": folder, "parent": folder.parent, "entry": entry(folder), "key": folder / store.KEY}[what]
    os.chown(path, 12345, -1)
    assert store.read(NAME) is None
    assert len(said) == 1 and str(path) in said[0] and "belongs to user 12345" in said[0]
    store.write(NAME, PAYLOAD)
    assert (store.read(NAME) == PAYLOAD) is (what in ("entry", "key"))  # these are made anew


@needs_root
def test_root_does_not_use_the_folder_of_a_user(said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sudo` with the user's home: what the user put there would run as root."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, -1)
    monkeypatch.delenv("TIERUP_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    store.write(NAME, PAYLOAD)
    assert list(home.iterdir()) == [] and "belongs to user 12345" in said[0]


@needs_root
def test_a_user_may_trust_what_lies_below_roots_folders_but_uses_none_of_roots_own() -> None:
    code = (
        "import os, sys; sys.path[:] = sys.argv[2:]; os.environ['TIERUP_CACHE_DIR'] = sys.argv[1]\n"
        "from tierup.lowering.objects import store\n"
        "os.setgid(12345); os.setuid(12345)\n"
        "store.write('a', b'mine')\n"
        "assert store.read('a') == b'mine' and not store.reports(), store.reports()\n"
        "os.environ['TIERUP_CACHE_DIR'] = os.path.join(sys.argv[1], '..', '..', 'roots')\n"
        "assert store.read('a') is None and 'belongs to user 0' in store.reports()[0], store.reports()\n"
    )
    with tempfile.TemporaryDirectory(dir="/tmp") as roots:
        os.chmod(roots, 0o711)
        (Path(roots) / "roots").mkdir()
        mine = Path(roots) / "mine"
        mine.mkdir(mode=0o700)
        os.chown(mine, 12345, 12345)
        subprocess.run([sys.executable, "-c", code, str(mine / "cache"), *sys.path], check=True)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_can_write_is_made_anew(mode: int, folder: Path, said: list[str]) -> None:
    entry(folder).chmod(mode)
    assert store.read(NAME) is None and str(entry(folder)) in said[0]
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) == PAYLOAD


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_could_read_is_made_anew_and_opens_nothing(mode: int, folder: Path, said: list[str]) -> None:
    (folder / store.KEY).chmod(mode)
    old = (folder / store.KEY).read_bytes()
    assert store.read(NAME) is None and "key" in said[0]
    store.write(OTHER, PAYLOAD)
    assert (folder / store.KEY).read_bytes() != old
    assert store.read(NAME) is None and store.read(OTHER) == PAYLOAD


@pytest.mark.parametrize("key", [b"", b"short", bytes(33)])
def test_a_key_of_another_length_is_made_anew(key: bytes, folder: Path, said: list[str]) -> None:
    (folder / store.KEY).write_bytes(key)
    assert store.read(NAME) is None and ("cut short" in said[0] or "33 bytes" in said[0])
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) == PAYLOAD


def test_who_makes_the_key_second_takes_that_of_the_first(folder: Path) -> None:
    (folder / store.KEY).unlink()
    assert store._new_key(str(folder)) == store._new_key(str(folder))
    assert sorted(path.name for path in folder.iterdir()) == [NAME + store.SUFFIX, store.KEY]


def test_two_entries_that_changed_places_are_both_refused(folder: Path, said: list[str]) -> None:
    store.write(OTHER, b"of another program")
    one, two = entry(folder), entry(folder, OTHER)
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)
    assert store.read(NAME) is None and store.read(OTHER) is None
    assert len(said) == 2 and all("not written under this name" in text for text in said)


def test_an_entry_of_another_folder_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "other"))
    store.write(NAME, b"by another key")
    entry(Path(store.folder())).write_bytes(entry(folder).read_bytes())
    assert store.read(NAME) is None and "this folder's key" in said[0]


def test_a_folder_that_was_copied_whole_is_used(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a layer of a container is."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
        (copy / path.name).chmod(0o600)
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(copy))
    assert store.read(NAME) == PAYLOAD


STRANGE = ["a FIFO", "a symbolic link", "a folder", "a sparse file", "a dangling link", "an empty file", "a socket"]


def _put(kind: str, path: Path, aside: Path) -> None:
    path.unlink()
    if kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a symbolic link":
        path.symlink_to(aside)
    elif kind == "a dangling link":
        path.symlink_to(aside.with_name("nowhere"))
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    else:
        with open(path, "wb") as file:
            file.truncate(0 if kind == "an empty file" else 3 << 30)


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_entry_is_refused_at_once_and_replaced(kind: str, folder: Path, tmp_path: Path, said: list[str]) -> None:
    aside = tmp_path / "aside"
    aside.write_bytes(entry(folder).read_bytes())  # it would be taken
    _put(kind, entry(folder), aside)
    answers: list[bytes | None] = []
    reading = threading.Thread(target=lambda: answers.append(store.read(NAME)), daemon=True)
    reading.start()
    reading.join(200)
    assert answers == [None], "it waits" if not answers else answers
    assert len(said) == 1 and NAME in said[0] and {"a sparse file": f"has {3 << 30} bytes", "a FIFO": "is no regular file"}.get(kind, "") in said[0]
    for _ in range(2):
        store.write(NAME, PAYLOAD)
        assert (store.read(NAME) == PAYLOAD) is (kind != "a folder")  # which nobody but its owner may take away
    assert said[1:] == [f"{entry(folder)} is a folder, and no entry can be kept in its place: remove it"] * (kind == "a folder")


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_key_is_refused_and_replaced(kind: str, folder: Path, tmp_path: Path, said: list[str]) -> None:
    aside = tmp_path / "aside"
    aside.write_bytes((folder / store.KEY).read_bytes())
    aside.chmod(0o600)
    _put(kind, folder / store.KEY, aside)
    assert store.read(NAME) is None and "key" in said[0]
    store.write(NAME, PAYLOAD)
    assert (store.read(NAME) == PAYLOAD) is (kind != "a folder")




@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_entry_changed_in_any_way_is_refused(folder: Path, data: st.DataObject) -> None:
    path = entry(folder)
    store.write(NAME, PAYLOAD)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = data.draw(
        st.one_of(
            st.builds(lambda bit: whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :], st.integers(0, 7)),
            st.just(whole[:at]),
            st.builds(lambda more: whole[:at] + more + whole[at:], st.binary(min_size=1, max_size=40)),
            st.builds(lambda gone: whole[:at] + whole[at + gone :], st.integers(1, 40)),
            st.binary(max_size=100),
        ).filter(lambda changed: changed != whole)
    )
    path.write_bytes(changed)
    assert store.read(NAME) is None


@pytest.mark.parametrize("payload", [b"", b"\0" * 70_000, bytes(range(256)) * 4000], ids=len)
def test_any_payload_comes_back(payload: bytes) -> None:
    store.write(NAME, payload)
    assert store.read(NAME) == payload


def test_what_is_too_large_is_not_kept(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGEST_ENTRY", 1000)
    store.write(NAME, bytes(2000))
    assert store.read(NAME) is None and "2000 bytes" in said[0]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("call", ["write", "open", "replace", "mkdir"])
def test_a_disk_that_is_full_or_cannot_be_written_is_reported_and_no_exception(
    call: str, number: int, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        for name in (NAME, OTHER, NAME):
            store.write(name, PAYLOAD)
    assert [os.strerror(number) in text for text in said if "nothing can be kept" in text] == [True]  # once, and not for each entry
    assert call == "mkdir" or [path.name for path in Path(store.folder()).iterdir() if path.name != store.KEY] == []
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) == PAYLOAD


def test_a_key_that_cannot_be_read_for_now_is_kept(folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    key = (folder / store.KEY).read_bytes()

    def open_(path: str, *args: int, opened=os.open) -> int:
        if path.endswith(store.KEY):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return opened(path, *args)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_)
        store.write(OTHER, PAYLOAD)
        assert store.read(NAME) is None and len(said) == 2
    assert (folder / store.KEY).read_bytes() == key and store.read(NAME) == PAYLOAD


def test_a_disk_that_fills_in_the_middle_of_an_entry_leaves_none(folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def half(handle: int, data: memoryview, write=os.write) -> int:
        if len(data) < 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        store.write(OTHER, PAYLOAD * 10)
    assert "No space left" in said[0]
    assert sorted(path.name for path in folder.iterdir()) == [NAME + store.SUFFIX, store.KEY]


@pytest.mark.parametrize("bytes_", [b"caf\xe9", b"\xff\xfe", "日本".encode(), b"with\nline"])
def test_the_folders_name_may_be_any_bytes(bytes_: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", os.path.join(str(tmp_path), os.fsdecode(bytes_)))
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) == PAYLOAD and said == []
    entry(Path(store.folder())).write_bytes(b"")
    assert store.read(NAME) is None and len(said) == 1 and said[0].encode()


def test_without_a_home_nothing_is_kept_and_it_is_said_so(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIERUP_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it gives without an entry in passwd
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) is None and not store.usable()
    assert len(said) == 1 and "HOME" in said[0]


@pytest.mark.parametrize("place", ["file", "file/below", "loop"])
def test_a_folder_that_is_none_is_reported(place: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / place))
    store.write(NAME, PAYLOAD)
    assert store.read(NAME) is None and said


def test_what_was_used_least_recently_goes_beyond_the_bound(folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE_SIZE", "0.0625")  # 64 KiB
    names = [letter * 64 for letter in "abcd"]
    for age, name in enumerate(names):
        store.write(name, bytes(15_000))
        os.utime(entry(folder, name), (1000 + age, 1000 + age))
    assert store.read(names[0]) is not None  # it was written first, and is used last
    store.write("e" * 64, bytes(15_000))
    assert {path.name[0] for path in folder.glob("*.artifact")} == set("acde") and said == []
    store.write("f" * 64, bytes(40_000))
    assert {path.name[0] for path in folder.glob("*.artifact")} == set("ef")
    monkeypatch.setenv("TIERUP_CACHE_SIZE", "0")
    store.write(NAME, PAYLOAD)
    assert not list(folder.glob("*.artifact")) and store.read(NAME) is None and said == []


def test_processes_killed_at_any_moment_beside_others_leave_whole_entries_or_none(tmp_path: Path) -> None:
    """They write, read and evict the same few entries. Each entry holds its own name, again and again."""
    code = (
        "import random, sys; sys.path[:] = sys.argv[2:]\n"
        "from tierup.lowering.objects import store\n"
        "draw = random.Random(sys.argv[1])\n"
        "while True:\n"
        "    name = str(draw.randrange(12)) * 64\n"
        "    if draw.random() < 0.5:\n"
        "        store.write(name, name.encode() * draw.randrange(1, 300), b'{}')\n"
        "    found = store.read(name)\n"
        "    assert found is None or found.replace(name.encode(), b'') == b'', (name, found)\n"
        "    assert not store.reports(), store.reports()\n"
        "    print('.', flush=True)\n"
    )
    environment = {**os.environ, "TIERUP_CACHE_SIZE": "0.05"}
    draw = random.Random(7)
    running: list[subprocess.Popen[str]] = []
    rounds = 0
    while rounds < (100 if IS_EXHAUSTIVE else 10):
        command = [sys.executable, "-c", code, str(rounds), *sys.path]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        if len(running) == 3:
            process = running.pop(draw.randrange(3))
            assert process.stdout is not None and process.stdout.readline() == ".\n", process.communicate()[1]
            time.sleep(draw.random() / 10)
            process.kill()
            assert process.communicate()[1] == ""
            rounds += 1
    for process in running:
        process.kill()
        assert process.communicate()[1] == ""
    left = 2 * 300 * 2 * 64  # the last two, killed between what they wrote and making room for it
    assert sum(path.stat().st_size for path in Path(store.folder()).glob("*.artifact")) < 60_000 + left
    for n in range(12):
        found = store.read(str(n) * 64)
        assert found is None or found.replace(str(n).encode() * 64, b"") == b""
    assert [path for path in Path(store.folder()).iterdir() if not path.name.endswith((store.SUFFIX, store.UNFINISHED)) and path.name != store.KEY] == []


def test_processes_that_make_the_folder_at_once_agree_on_its_key(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:] = sys.argv[2:]\n"
        "from tierup.lowering.objects import store\n"
        "sys.stdin.read(1)\n"
        "store.write(sys.argv[1], b'x' * 1000)\n"
        "assert not store.reports(), store.reports()\n"
    )
    names = [f"{i:064}" for i in range(6)]
    running = [subprocess.Popen([sys.executable, "-c", code, name, *sys.path], stdin=subprocess.PIPE) for name in names]
    for process in running:
        process.communicate(b"x")
    assert [process.returncode for process in running] == [0] * 6
    assert [store.read(name) for name in names] == [b"x" * 1000] * 6
    assert sorted(path.name for path in Path(store.folder()).iterdir()) == sorted([*(name + store.SUFFIX for name in names), store.KEY])
