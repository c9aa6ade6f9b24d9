"""The process that reads untrusted bundles: what it can still do, as every user, and its verdicts on bundles."""

import ctypes
import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import taken_over
from test_both_schemes import PRESET as BOTH
from test_both_schemes import SHAPE, program
from test_mistakes import checked_by

import latticino as lt
from latticino.common import rights
from latticino.serve import checker
from latticino.serve.confined import NOBODY
from latticino.serve.models import file_of, open_model
from running import until

HERE = Path(__file__).resolve().parent
STORE = "postgresql+psycopg://service:password@db/service"
ABOVE = {"read_the_environment_above", "open_the_memory_above", "read_the_memory_above", "trace_the_process_above"}
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")  # forbids some of these for every process
ANYWAY = {"open_the_memory_above", "read_the_memory_above", "trace_the_process_above"} if (
    YAMA.exists() and int(YAMA.read_text())) else set()


def tried(mode):
    """The results of each attempt of the user 2000."""
    with tempfile.TemporaryDirectory() as folder:  # not below a folder that only root can enter
        done = subprocess.run([sys.executable, "-W", "ignore", str(HERE / "taken_over.py"), mode, folder], capture_output=True,
                              text=True, env={**os.environ, "LATTICINO_STORE": STORE}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def seen_from_outside():
    """What Linux tells other processes about a confined process, which cannot find out itself."""
    code = "import sys; from latticino.serve.confined import confine; confine(0); print(flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"\n"
    told = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":\t" in line)
    process.communicate()
    assert process.returncode == 0
    return told


def test_its_user_is_nobody():
    """Without root it stays the user that it was."""
    told, user = seen_from_outside(), NOBODY if os.geteuid() == 0 else os.getuid()
    group = NOBODY if os.geteuid() == 0 else os.getgid()
    assert (told["Uid"].split(), told["Gid"].split()) == ([str(user)] * 4, [str(group)] * 4)
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")


def test_a_process_that_was_taken_over_can_do_nothing():
    """Each attempt works in a process that is free. The service runs as a user of its own, to which all files belong."""
    free, found = tried("free"), tried("confined")
    assert set(free) == set(found) == set(taken_over.names()) and len(free) > 40
    for name, came in free.items():
        assert came == (errno.ENOENT if name == "become_a_program" else "done") or name in ANYWAY, name
    assert set(found.values()) == {errno.EPERM}, {name: came for name, came in found.items() if came != errno.EPERM}


def test_processes_of_a_service_are_closed_to_their_own_user():
    found = tried("hidden")
    assert {name for name, came in found.items() if came in (errno.EPERM, errno.EACCES)} == ABOVE


ROLE = """
import json, os, sys
sys.path.insert(0, {here!r})
from taken_over import become_user
from latticino.serve import blobs, checker, front, process, service, traffic, worker
import uvicorn
become_user({folder!r})
blobs.Blobs("{folder}/blobs")  # which `latticino serve` makes before it starts its processes
config = process.Config("sqlite:///{folder}/s.sqlite", "{folder}/blobs")
if {role!r} == "service":
    service.Service(config, 0, None, 1.0).run()
else:
    sys.argv = ["process", {role!r}]
    sys.exit(process.main())
"""
READ = """
import sys
sys.path.insert(0, {here!r})
from taken_over import become_user
become_user()
for name in ("environ", "mem", "maps"):
    try: print(len(open(f"/proc/{pid}/{{name}}", "rb").read(1)))
    except PermissionError: print("closed")
    except OSError: print("open")  # where nothing is mapped
"""


@pytest.mark.parametrize("role", ["service", "front", "checker", "worker"])
def test_each_role_closes_itself(role):
    """Another process of its user, which owns the process, must not read secrets of its environment and memory."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log, socket.create_server(("", 0)) as port:
        process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", ROLE.format(here=str(HERE), folder=folder, role=role)],
                                   stdin=subprocess.PIPE, stderr=log, env={**os.environ, "LATTICINO_STORE": STORE},
                                   pass_fds=[port.fileno()])

        def seen():
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", READ.format(here=str(HERE), pid=process.pid)],
                                  capture_output=True, text=True)
            assert done.returncode == 0 and process.poll() is None, done.stderr + Path(log.name).read_text()
            return done.stdout.split()

        try:
            if role != "service":  # the other roles close after they have read their configuration
                until(lambda: seen()[::2] == ["1", "1"], "a process of that user")
                process.stdin.write(json.dumps({"store": f"sqlite:///{folder}/s.sqlite", "blobs": f"{folder}/blobs",
                                                "socket": port.fileno()}).encode() + b"\n")
                process.stdin.flush()
            until(lambda: seen() == ["closed"] * 3, "a process that is closed")
        finally:
            process.kill()
            process.wait()
            process.stdin.close()


# ---- the filter ----


def numbers_of(machine):
    """The calls of a machine by their numbers, as the headers of Linux have them."""
    paths = {"x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
             "aarch64": ("/usr/include/asm-generic/unistd.h",)}[machine]
    path = next((Path(p) for p in paths if Path(p).exists()), None)
    if path is None:
        pytest.skip(f"no headers of Linux for {machine}")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s", path.read_text())
    return {int(number): name for name, number in found if name not in ("syscalls", "arch_specific_syscall")}


def verdict(code, number, word, *arguments):
    """The decision of Linux's filter (classic BPF) for a call."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number if number < 1 << 31 else number - (1 << 32), word, 0, *values)
    at = held = 0
    while True:
        operation, yes, no, k = code[at]
        at += 1
        if operation == rights._LOAD:
            held, = struct.unpack_from("<I", data, k)
        elif operation == rights._EQUAL:
            at += yes if held == k else no
        elif operation == rights._ANY_BIT:
            at += yes if held & k else no
        else:
            assert operation == rights._RETURN
            return k


@pytest.mark.parametrize("machine", rights.MACHINES)
def test_the_filter_allows_what_it_names(machine):
    """All numbers of both machines, by the headers of Linux: the names are those of the table, and no more."""
    calls, own = numbers_of(machine), rights.MACHINES[machine]
    code = rights.filter_of(own)
    assert len(code) < 4096 and all(max(yes, no) < 256 for _, yes, no, _ in code)
    allowed = {calls.get(n, n) for n in range(1 << 11) if verdict(code, n, own.word, 1, 0, 0, 0x22) == rights.ALLOW}
    assert allowed == {*rights.CALLS, "write", "mmap", "mprotect"} and "openat" not in allowed
    other = next(m for name, m in rights.MACHINES.items() if name != machine)
    assert {verdict(code, n, word, 1) for n in range(1 << 11) for word in (other.word, 0x4000_0003)} == {rights.KILL}
    by_name = {name: number for number, name in calls.items()}

    def of(name, *arguments):
        return verdict(code, by_name[name], own.word, *arguments) == rights.ALLOW

    assert [of("write", file) for file in (0, 1, 2, 3, 0xFFFF_FFFF)] == [False, True, True, False, False]
    assert [of("mprotect", 0, 0, kind) for kind in range(8)] == [True] * 4 + [False] * 4
    assert [of("mmap", 0, 0, kind, 0x22) for kind in range(8)] == [True] * 4 + [False] * 4
    assert [of("mmap", 0, 0, 3, flags) for flags in (0x21, 0x20, 0x1, 0x2, 0x3, 0x8002)] == [True] * 2 + [False] * 4
    if machine == "x86_64":  # the numbers of x32 are its own with one more bit
        assert {verdict(code, n | 1 << 30, own.word, 1, 0, 0, 0x22) for n in range(1 << 11)} == {rights.REFUSE}


# ---- a system without the means to confine ----


def without_filters(code):
    """Code that a process runs before it becomes a program, so that the call `seccomp` returns this there."""
    own = rights.MACHINES[os.uname().machine]
    block = [(rights._LOAD, 0, 0, 0), (rights._EQUAL, 0, 1, own.seccomp), (rights._RETURN, 0, 0, code),
             (rights._RETURN, 0, 0, rights.ALLOW)]
    program = rights._Program(len(block), b"".join(struct.pack("=HBBI", *each) for each in block))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(own.seccomp, 1, 0, ctypes.byref(program)) == 0

    return install


ERROR = 0x0005_0000  # SECCOMP_RET_ERRNO with 0: the call claims success and has done nothing


@pytest.mark.parametrize("code, said", [(ERROR | errno.ENOSYS, "without filters of calls"), (ERROR | errno.EINVAL, "without filters of calls"),
                                        (ERROR, "lets a process open a folder"), (0x8000_0000, f"status {-signal.SIGSYS}")])
def test_a_service_does_not_start_where_nothing_can_be_confined(tmp_path, code, said):
    context = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    lt.save_program(tmp_path / "p.lt", lambda x: x + 1.0, context, lt.Shape((8,)))
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "latticino", "serve", f"m={tmp_path / 'p.lt'}", "--folder",
                           str(tmp_path / "s"), "--port", "0", "--device", "cpu"], capture_output=True, text=True, timeout=120,
                          preexec_fn=without_filters(code))
    assert done.returncode == 1 and said in done.stderr and "bundles of strangers" in done.stderr, done.stderr
    assert "serving" not in done.stdout and not (tmp_path / "s").exists()


def test_other_systems_and_processors_are_refused(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(lt.UnsupportedError, match="riscv64 of 64 bits.*needs Linux with seccomp"):
        rights.keep_few_calls()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "darwin")
    for give_up in (rights.keep_few_calls, rights.hide):
        with pytest.raises(lt.UnsupportedError, match="the system darwin"):
            give_up()


def test_a_bundle_is_not_to_blame_where_nothing_was_confined(tmp_path, monkeypatch, capsys):
    """The log says so, and the check is repeated."""
    row = checked_by(f"exit {rights.UNREADY}", tmp_path, monkeypatch)()
    assert (row.state, row.reason) == ("uploaded", None) and "gave up no rights" in capsys.readouterr().err


# ---- verdicts on bundles ----


def models(folder):
    """A file of each kind of model, and a client's keys for it."""
    leveled, boot = (lt.Context(name, "cpu", threads=1) for name in ("test-n10-leveled-insecure", BOTH))
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    lt.save_program(folder / "leveled", lambda x, rate: x * x * rate, leveled, lt.Shape((8,)), rate=lt.Scalar(0, 1))
    lt.save_program(folder / "tables", program, boot, SHAPE, SHAPE)
    lt.save_program(folder / "exact", lambda a, b: a + b, exact, *(lt.tfhe.Shape((3,), "u8"),) * 2)
    for name, context in (("leveled", leveled), ("tables", boot), ("exact", exact)):
        (folder / f"{name}.client").write_bytes(lt.load_program(folder / name).client_bytes())
        client = lt.keygen(context)
        keys = client.server_keys(*([] if name == "exact" else [lt.load_program(folder / name).plan]))
        yield name, lt.to_bytes(keys)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return folder, dict(models(folder))


@pytest.mark.parametrize("kind", ["leveled", "tables", "exact"])
def test_its_verdicts_are_those_of_a_process_with_all_rights(kinds, kind, tmp_path):
    """Refusing a bundle opens no file either. Each reason is the same as that of a reader that may open files."""
    folder, bundles = kinds
    model, whole = open_model(file_of(folder / kind), "cpu", threads=1), bundles[kind]
    others = [data for name, data in bundles.items() if name != kind]
    rng = np.random.default_rng(1)
    flipped = [whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :]
               for at in (30, *(int(p) for p in rng.integers(len(whole), size=2)))]
    given = [whole, b"", whole[: len(whole) // 2], whole[:-1], whole + b"x", b"LTNNFILE" + bytes(1000), *others, *flipped]
    refused = 0
    for data in given:
        (tmp_path / "bundle").write_bytes(data)
        with (tmp_path / "bundle").open("rb") as file:
            done = subprocess.run(checker._command(str(folder / f"{kind}.client")), stdin=file, capture_output=True, env=checker._environment())
        assert done.returncode == 0, done.stderr.decode()
        found = json.loads(done.stdout)
        with (tmp_path / "bundle").open("rb") as file:
            try:
                keys = model.load_keys(file)
                want = {"id": keys.id, "bytes": keys.bytes} if not file.read(1) else None
            except lt.Error as why:
                want = {"refused": str(why)}
        assert found == want or (want is None and "bytes behind the bundle" in found["refused"])
        refused += "refused" in found
    assert refused == len(given) - 1


def test_it_gets_the_part_of_clients_and_no_path(tmp_path, monkeypatch):
    """The path would reveal where the store of a service is, so it gets the open file. Code that takes the process over
    finds no weights in it."""
    check = checked_by(f"""printf '%s ' "$@" > {tmp_path}/words; cat "$3" > {tmp_path}/read; printf %s '{{"id": "a", "bytes": 1}}'""",
                       tmp_path, monkeypatch)
    assert check().state == "ready"
    assert str(tmp_path) not in (tmp_path / "words").read_text()
    assert (tmp_path / "read").read_bytes() == b"part of clients"


def test_a_part_that_is_gone_is_no_fault_of_the_bundle(tmp_path, monkeypatch, capsys):
    check = checked_by("exit 0", tmp_path, monkeypatch)
    for path in (tmp_path / "blobs" / "models").rglob("*"):
        if path.is_file():
            path.unlink()
    assert (check().state, check().state) == ("uploaded", "uploaded") and "FileNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["modules", "none::modules", os.pathsep])
def test_modules_in_folders_that_are_named_from_the_current_one(path, tmp_path, monkeypatch):
    """The process starts in another folder. A service of a checkout, with PYTHONPATH=python, finds its modules there."""
    folder = tmp_path if path == os.pathsep else tmp_path / "modules"
    folder.mkdir(exist_ok=True)
    (folder / "only_here.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setattr(checker, "_command", lambda *_: [sys.executable, "-c", "import only_here"])
    checker.require_confined()
    monkeypatch.setenv("PYTHONPATH", "")  # is none
    with pytest.raises(lt.UnsupportedError, match="only_here"):
        checker.require_confined()
