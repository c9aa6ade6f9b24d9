"""The commands of ./latticino that check: test with its options, lint and docs. Each ends with a count, `N passed, N failed`.

`launcher` is the file latticino itself, which sets up and builds.
"""

import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from launcher import (
    ALL_ARCHITECTURES,
    FETCHED,
    PYTHON,
    ROOT,
    VENV,
    Step,
    add_requirements,
    build,
    clang_with_fuzzer,
    cuda_arguments,
    die,
    environment,
    from_distribution,
    gpu,
    make_environment,
    must,
    nvcc,
    pip_install,
    python_headers,
    quiet,
    say,
    setup,
    stream,
)

import browser_client
import fuzz_files
import sanitizer_record
import tidy
import tiers
import wheels
from sanitizer_record import SanitizerRecord, errors_in, racecheck_parts


def test(arguments):
    for option, run in (("--sanitize", run_sanitizers), ("--fuzz", run_fuzzers), ("--secrets", run_secrets),
                        ("--more", run_more)):
        if option in arguments:
            return run([word for word in arguments if word != option])
    return run_tests(arguments)


def run_tests(arguments):
    """The tests of C++ and of Python. All arguments except --quick are pytest's."""
    quick = "--quick" in arguments
    folder = setup(testing=True)
    program, options = os.path.join(VENV, "bin", "ctest"), tiers.QUICK if quick else []
    parts = [tiers.timed("C++", tiers.ctest, program, folder, options)]
    if not quick and gpu() and cuda_arguments()[0] == "cuda":
        say("the tests of CKKS and switching again, on the GPU")
        parts.append(tiers.timed("C++ on the GPU", tiers.ctest, program, folder, tiers.ON_THE_GPU,
                                 dict(os.environ, LATTICINO_TEST_DEVICE="cuda")))
    options = [*(["-m", "quick"] if quick else []), *(word for word in arguments if word != "--quick")]
    parts.append(tiers.timed("Python", tiers.pytest, PYTHON, folder, options))
    return int(tiers.summary(parts).failed > 0)


def try_fuzz():
    """Two minutes of libFuzzer, for all readers of files together."""
    failed, readers = run_fuzzers(["--minutes", "2"]), len(fuzz_files.READERS)
    return tiers.Counts(readers - failed, failed)


def try_secrets():
    """memcheck and MemorySanitizer on what clients do with secrets. memcheck runs on one core while the build for
    MemorySanitizer takes the others."""
    secrets_tests()  # built first, because it downloads what both builds need, and they must not do so at the same time
    with ThreadPoolExecutor(min(2, tiers.processes())) as both:
        results = list(both.map(lambda check: check(), (memcheck, memory_sanitizer)))
    return tiers.Counts(results.count(True), results.count(False), results.count(None))


def try_programs():
    """Random programs on encrypted values for each scheme: half a minute on an idle machine. They are always the same
    programs, because claims are checked by their distribution, for which a certain number is needed."""
    setup(testing=True)
    count = tiers.processes()
    threads = max(1, (os.cpu_count() or 1) // count)
    command = [PYTHON, "-m", "latticino", "fuzz", "--device", "cpu", "--seed", "1", "--threads", str(threads)]
    parts = {"ckks": 640, "tfhe": 320, "switching": 80, "saved": 60, "program-files": 1000}

    def part(name):
        return quiet([*command, "--part", name, "--programs", str(parts[name])])

    failed = 0
    with ThreadPoolExecutor(count) as several:
        for done in several.map(part, parts):
            print(done.stdout, end="", flush=True)
            failed += done.returncode != 0
    return tiers.Counts(len(parts) - failed, failed)


def try_package():
    """The sdist, and a wheel out of it, installed where there is no compiler: alone, with extras, and as the Containerfile does
    it. The container has [serve]."""
    add_requirements("package")
    with tempfile.TemporaryDirectory() as folder:
        # `cuda` compiles the extension's CUDA part; here only the installation matters.
        _, made = wheels.make(folder, [sys.executable], cuda=False)
        results = [*(not wheel.failed for wheel in made), wheels.try_container(made[0].path),
                   *(wheels.try_extra(made[0].path, sys.executable, extra) for extra in ("cluster", "demo"))]
    return tiers.Counts(results.count(True), results.count(False))


def wheel(arguments):
    """The sdist and wheels into a folder, each installed and tried."""
    parser = argparse.ArgumentParser(prog="./latticino wheel", description="Builds the source distribution and wheels, and "
                                     "installs each where no compiler is found.")
    parser.add_argument("--cuda", action="store_true", help="with the CUDA backend, for GPUs of "
                        + ALL_ARCHITECTURES.replace(";", ", ") + " (needs nvcc; about half an hour on two cores)")
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="an interpreter to build for, or to try a "
                        "wheel of the stable ABI with; may be repeated (default: the one that runs this)")
    parser.add_argument("--out", default=os.path.join(ROOT, "dist"), metavar="FOLDER")
    parser.add_argument("--record", metavar="FILE", help="sizes and times as JSON")
    chosen = parser.parse_args(arguments)
    if chosen.cuda and not nvcc():
        die("wheel --cuda: no nvcc was found; install the CUDA toolkit or set CUDACXX")
    add_requirements("package")
    os.makedirs(chosen.out, exist_ok=True)
    source, made = wheels.make(chosen.out, chosen.python or [sys.executable], chosen.cuda)
    if chosen.record:
        sanitizer_record.write_package(chosen.record, source, made, chosen.cuda)
    return int(any(w.failed for w in made))


def try_cuda():
    """Compiles the CUDA code, for one architecture. On a machine with a GPU, `test` has done so already."""
    if not nvcc():
        say("no nvcc: compiling the CUDA backend was left out")
        return tiers.Counts(skipped=1)
    environment()
    arguments = ["-DLATTICINO_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={os.environ.get('LATTICINO_CUDA_ARCH') or '90'}",
                 f"-DCMAKE_CUDA_COMPILER={nvcc()}"]
    sources = sorted(Path(ROOT, "src", "backend", "cuda").rglob("*.c[cu]"))
    objects = [f"CMakeFiles/latticino.dir/{path.relative_to(ROOT)}.o" for path in sources]
    build("cuda-compile", arguments, False, target=objects)
    say(f"compiled {len(sources)} files of the CUDA backend")
    return tiers.Counts(passed=1)


def try_service():
    """The service: its queue on SQLite and PostgreSQL, real processes that are killed, and nginx before it; and programs over
    many processes, with Dask."""
    folder = setup()
    add_requirements("serve")
    add_requirements("cluster")
    if not distribution_has("sbin/nginx"):
        from_distribution(["nginx-light", "openssl"], "nginx")
        if not distribution_has("sbin/nginx"):
            die("nginx is missing; install it with: sudo apt-get install -y nginx-light openssl")
    if not postgresql():
        from_distribution(["postgresql"], "PostgreSQL")
        if not postgresql():
            die("PostgreSQL is missing; install it with: sudo apt-get install -y postgresql")
    report = Path(folder, "pytest-service.xml")
    report.unlink(missing_ok=True)
    environ = dict(os.environ, LATTICINO_SERVICE_TESTS="1", OPENBLAS_NUM_THREADS="1")
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}",
               *tiers.in_processes(tiers.processes()), "tests/service"]
    return tiers.counted(report, subprocess.call(command, cwd=ROOT, env=environ))


def postgresql():
    """Whether there are PostgreSQL's programs."""
    return shutil.which("initdb") or distribution_has("lib/postgresql/*/bin/initdb")


def distribution_has(pattern):
    """Whether the distribution has installed such a file below /usr, or `from_distribution` has unpacked it."""
    return any(glob.glob(os.path.join(top, pattern)) for top in ("/usr", os.path.join(FETCHED, "usr")))


def try_conformance():
    """The CPU's vector code against the plain code at both ends of large sets of each degree and prime system."""
    folder = setup(testing=True)
    return tiers.ctest(os.path.join(VENV, "bin", "ctest"), folder, ["-R", r"^conformance\.CpuConformanceSystems\."],
                       dict(os.environ, LATTICINO_LARGE_SETS="1"))


# Tests that are left out where pandas or PyTorch is not installed.
WITH_TORCH = ["tests/python/arrays/test_layout.py", "tests/python/arrays/test_joint.py::test_dlpack_with_torch"]


def try_networks():
    """Model graphs against PyTorch on random layers and models, the recipes, and arrays of pandas and PyTorch, in an environment of
    its own."""
    folder = setup()
    asked = Path(ROOT, "requirements", "networks.txt")
    environ_folder = os.path.join(FETCHED, "networks")
    python, stamp = os.path.join(environ_folder, "bin", "python"), Path(environ_folder, "latticino-stamp")
    wanted = hashlib.sha256(asked.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        with Step("PyTorch (.deps/networks)"):
            python = make_environment(environ_folder)
            stream([*pip_install(python), "-r", str(asked)], f"installing {asked.name}")
            stamp.write_text(wanted)
    environ = dict(os.environ, PYTHONWARNINGS="ignore", PYTHONPATH=os.path.join(ROOT, "python"))
    total = tiers.Counts()
    for program in ("make_torch_cases.py", "try_recipes.py"):
        done = quiet([python, os.path.join(ROOT, "tests", "python", "nn", program)], env=environ)
        print(done.stdout, end="")
        line = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
        total += tiers.Counts(int(line[1]), int(line[2])) if line else tiers.Counts(failed=1)
    report = Path(folder, "pytest-networks.xml")
    report.unlink(missing_ok=True)
    status = subprocess.call([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *WITH_TORCH],
                             cwd=ROOT, env=environ)
    counts = tiers.counted(report, status)
    # No test may be skipped here.
    return total + tiers.Counts(counts.passed, counts.failed + counts.skipped, 0, counts.gpu)


# Packages that these parts of `test --more` install.
WHERE_NAMED = {"networks": "7 GB of PyTorch", "browser": "232 MB of Emscripten and Chromium"}


def run_more(arguments):
    """Runs every part to its end, or those that are named. Parts that install much run only if they are named."""
    known = {"fuzz": try_fuzz, "secrets": try_secrets, "programs": try_programs, "package": try_package,
             "service": try_service, "cuda": try_cuda, "conformance": try_conformance, "browser": browser_client.try_browser,
             "networks": try_networks}
    if set(arguments) - set(known):
        die(f"test --more takes {', '.join(known)}, not {' '.join(arguments)}")

    def part(name):
        try:
            return known[name]()
        except SystemExit as end:  # a part also fails if something could not be built or installed
            print(end, file=sys.stderr)
            return tiers.Counts(failed=1)

    chosen = arguments or [name for name in known if name not in WHERE_NAMED]
    if not arguments:
        for name, size in WHERE_NAMED.items():
            say(f"test --more: {name} is left out, as it installs {size}: ./latticino test --more {name}")
    return int(tiers.summary([tiers.timed(name, part, name) for name in chosen]).failed > 0)


def tests_named(program):
    """The number of tests that a filter leaves, because GoogleTest reports no error if it runs none."""
    listed = must([*program, "--gtest_list_tests"], "listing tests", cwd=ROOT).splitlines()
    return sum(line.startswith("  ") for line in listed)


def checked(command):
    """Runs a test program and shows its output. Returns its status, the skipped tests, and its summary lines."""
    say(" ".join(command))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    skipped, summaries = 0, []
    for line in process.stdout:
        skipped += "SKIPPED" in line
        if "SUMMARY" in line:
            summaries.append(line)
        print(line, end="", flush=True)
    if skipped:
        say("tests were left out: see above")
    return process.wait(), skipped, summaries


def run_sanitizers(arguments):
    """ASan and UBSan on the CPU code; all architectures compiled; compute-sanitizer on a GPU."""
    if arguments and (len(arguments) != 2 or arguments[0] != "--record"):
        die(f"test --sanitize takes --record FILE, not {' '.join(arguments)}")
    record = SanitizerRecord(arguments[1] if arguments else None)
    environment()
    folder = build("sanitize", ["-DLATTICINO_SANITIZE=ON", "-DLATTICINO_CUDA=OFF"], True)
    environ = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1",
                   UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")
    failed = tiers.ctest(os.path.join(VENV, "bin", "ctest"), folder, [], environ).failed
    record.add("asan_ubsan", "all", failed)
    if not nvcc():
        say("no nvcc: the CUDA part of the sanitizer run was left out")
        return failed
    arguments = ["-DLATTICINO_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={ALL_ARCHITECTURES}",
                 f"-DCMAKE_CUDA_COMPILER={nvcc()}"]
    folder = build("all-architectures", arguments, True)
    say("compiled for every architecture: " + ALL_ARCHITECTURES.replace(";", ", "))
    if not gpu():
        say("no GPU: compute-sanitizer was left out")
        record.add("architectures", "none", 0, architectures=ALL_ARCHITECTURES.split(";"))
        return failed
    device = quiet(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).stdout.splitlines()[0]
    sanitizer = shutil.which("compute-sanitizer") or os.path.join(os.path.dirname(nvcc()), "compute-sanitizer")
    # Checks every kernel that ships for wrong addresses. Checks for races at the two largest degrees, and TFHE's
    # kernels at their own.
    program = os.path.join(folder, "conformance_tests")
    runs = [("memcheck", "CudaSanitize.EveryKernelThatShips", [])]
    runs += [("racecheck", tests, kernels) for tests, kernels in racecheck_parts()]
    for tool, tests, options in runs:
        if not tests_named([program, "--gtest_filter=" + tests]):
            die(f"no test is called {tests}")
        status, skipped, summaries = checked([sanitizer, "--tool", tool, "--error-exitcode", "9", *options, program,
                                              "--gtest_filter=" + tests])
        record.add(tool, tests, status, errors=errors_in(summaries), left_out=skipped, device=device,
                   architectures=ALL_ARCHITECTURES.split(";"), options=options)
        failed = failed or int(status != 0 or skipped > 0)
    return failed


def run_fuzzers(arguments):
    """libFuzzer's targets: those of C++ under ASan and UBSan, those of Python under Atheris."""
    fuzz_files.arguments_of(arguments)  # checked before anything is built
    setup(testing=True)
    add_requirements("fuzz")
    add_requirements("serve")
    compiler = f"-DCMAKE_CXX_COMPILER={clang_with_fuzzer()}"
    folder = build("fuzz", ["-DLATTICINO_FUZZ=ON", "-DLATTICINO_CUDA=OFF", compiler], False, sources=["tests"])
    return fuzz_files.main(folder, PYTHON, arguments)


def valgrind():
    """The program, its CMake argument and environment: an installed one, or one unpacked under .deps/."""
    unpacked = os.path.join(FETCHED, "usr")
    if not shutil.which("valgrind") and not os.path.exists(os.path.join(unpacked, "bin", "valgrind")):
        from_distribution(["valgrind"], "valgrind")
    environ, found = dict(os.environ), shutil.which("valgrind")
    if not found:
        found = os.path.join(unpacked, "bin", "valgrind")
        environ["VALGRIND_LIB"] = os.path.join(unpacked, "libexec", "valgrind")
    return found, f"-DLATTICINO_VALGRIND={found}", environ


def run_secrets(arguments):
    """Checks how the code of clients uses secrets, and measures its times."""
    seconds = arguments[1] if len(arguments) == 2 and arguments[0] == "--seconds" else None if arguments else "10"
    try:
        positive = seconds is not None and float(seconds) > 0
    except ValueError:
        positive = False
    if not positive:
        die(f"test --secrets takes --seconds N, N > 0, not {' '.join(arguments)}")
    checks = {"memcheck": memcheck, "timing": lambda: secrets_timing(seconds), "MemorySanitizer": memory_sanitizer}
    failed = [name for name, check in checks.items() if check() is False]
    say(f"secrets: {', '.join(failed)} found something" if failed else "secrets: nothing found")
    return 1 if failed else 0


def secrets_tests():
    """The program that memcheck runs, built."""
    return os.path.join(setup(testing=True, also=[valgrind()[1]], target="secrets_tests"), "secrets_tests")


def memcheck():
    """Whether valgrind's memcheck finds nothing in the library as it is built for users."""
    say("memcheck")
    program, _, environ = valgrind()
    # The program has its own operator new, which valgrind would replace.
    command = [program, "--quiet", "--leak-check=no", "--error-limit=no", "--soname-synonyms=somalloc=nouserintercepts"]
    done = quiet([*command, secrets_tests(), "--all"], env=environ)
    print(done.stdout, end="", flush=True)
    return not done.returncode


def secrets_timing(seconds):
    say("timing")
    return not subprocess.call([secrets_tests(), "--timing", seconds])


def memory_sanitizer():
    """The same for kernels that valgrind cannot run; None if there is no clang."""
    clang = shutil.which("clang++")
    if not clang:
        say("no clang++: MemorySanitizer, and with it the AVX-512 kernels, were left out")
        return None
    environment()
    arguments = ["-DLATTICINO_CUDA=OFF", "-DLATTICINO_MEMORY_SANITIZER=ON", f"-DCMAKE_CXX_COMPILER={clang}"]
    folder = build("memory-sanitizer", arguments, True, target="secrets_tests")
    tests = os.path.join(folder, "secrets_tests")
    # Only what the program marks is undefined. A report does not stop the program, and sets the status at the end.
    environ = dict(os.environ, MSAN_OPTIONS="poison_in_malloc=0:halt_on_error=0:exit_code=9")
    say("MemorySanitizer")
    seen = subprocess.run([tests, "--leak"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if seen.returncode != 9:
        say(f"MemorySanitizer did not report a leak that is there: status {seen.returncode}, not 9")
        return False
    return not subprocess.call([tests, "--all"], env=environ)


def tracked(*suffixes):
    """Files of the checkout with these endings; those that git tracks if this is a git checkout."""
    listed = quiet(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    if listed.returncode:
        die("lint needs a git checkout")
    names = {name for name in listed.stdout.split() if name.endswith(suffixes)}
    return sorted(name for name in names if Path(ROOT, name).is_file())


def local_paths():
    """Whether no file contains an absolute path of a developer's machine."""
    pattern = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/\w")
    endings = (".cc", ".h", ".cu", ".cuh", ".py", ".cmake", ".md", ".ipynb", ".toml", ".txt", ".json", ".sh", ".yml", "/run",
               "latticino")
    found = [f"{name}: {match.group()}" for name in tracked(*endings)
             for match in pattern.finditer(Path(ROOT, name).read_text(errors="ignore"))]
    print(*found, sep="\n", end="\n" if found else "")
    return not found


def lint(arguments):
    """Runs every check to its end. Returns status 1 if one of them found something."""
    if arguments[:1] == ["--tidy"]:
        return run_tidy(arguments[1:])
    if arguments not in ([], ["--fix"]):
        die(f"lint takes --fix or --tidy, not {' '.join(arguments)}")
    add_requirements("lint")
    python, cpp = tracked(".py"), tracked(".cc", ".h", ".cu", ".cuh")
    workflows = [name for name in tracked(".yml") if name.startswith(".github/workflows/")]

    def run(*command):
        return not subprocess.call([os.path.join(VENV, "bin", command[0]), *command[1:]], cwd=ROOT)

    if arguments == ["--fix"]:
        run("ruff", "check", "--no-cache", "--fix", "--quiet", "--exit-zero", "latticino", *python)
        run("clang-format", "-i", *cpp)

    checks = {"ruff": lambda: run("ruff", "check", "--no-cache", "latticino", *python), "mypy": lambda: run("mypy"),
              "clang-format": lambda: run("clang-format", "--dry-run", "-Werror", *cpp),
              "workflows": lambda: run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows),
              "local paths": local_paths}
    failed = []
    for name, check in checks.items():
        say(name)
        if not check():
            failed.append(name)
    say(f"lint: {', '.join(failed)} found something" if failed else "lint: nothing found")
    print(tiers.Counts(len(checks) - len(failed), len(failed)))
    return 1 if failed else 0


def run_tidy(arguments):
    """clang-tidy with the checks of .clang-tidy, on the compiler's commands. Only headers are needed: nothing is built."""
    record = None
    if "--record" in arguments:
        at = arguments.index("--record")
        record, arguments = arguments[at + 1:at + 2], arguments[:at] + arguments[at + 2:]
        if not record:
            die("--record takes a file")
    add_requirements("tidy")
    # A folder of its own, because clang cannot read the precompiled headers of another compiler.
    folder = build("tidy", ["-DLATTICINO_PYTHON=ON", "-DLATTICINO_CUDA=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
                            "-DLATTICINO_UNITY=OFF", *python_headers()], False, compile=False)
    checker = tidy.Tidy(ROOT, folder, os.path.join(VENV, "bin", "clang-tidy"))
    chosen = [os.path.join(ROOT, name) for name in arguments or tracked(".cc")]
    chosen = [path for path in chosen if path in checker.commands]
    if not chosen:
        die("no file to check: name files of src or python/bindings that the set-up compiles")
    found, seconds = checker.check(chosen, int(os.environ.get("LATTICINO_JOBS") or os.cpu_count() or 1))
    if record:
        sanitizer_record.write_tidy(record[0], found=len(found), files=len(chosen), seconds=seconds)
    say(f"clang-tidy: {len(found)} found in {len(chosen)} files")
    return int(bool(found))


def docs(arguments):
    """Compares the page on the papers with its records and commands, and builds the site, where a warning is an error."""
    if arguments:
        die(f"docs takes nothing, not {' '.join(arguments)}")
    # The page on the papers names commands, which are compared with the package's: any build of it will do.
    if not glob.glob(os.path.join(ROOT, "python", "latticino", "_native*.so")):
        setup()
    add_requirements("docs")
    papers = subprocess.call([PYTHON, os.path.join(ROOT, "docs", "make_papers.py"), "--check"], cwd=ROOT)
    environ = dict(os.environ, NO_MKDOCS_2_WARNING="1", DISABLE_MKDOCS_2_WARNING="true")
    command = [PYTHON, "-m", "mkdocs", "build", "--strict", "-f", os.path.join(ROOT, "mkdocs.yml")]
    status = subprocess.call(command, cwd=ROOT, env=environ)
    say("docs: build/docs/index.html" if not status else "docs: failed")
    passed = [papers, status].count(0)
    print(tiers.Counts(passed, 2 - passed))
    return int(passed < 2)
