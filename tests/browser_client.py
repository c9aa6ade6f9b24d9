"""`./latticino test --more browser`: the client half as WebAssembly, in Node and in headless Chromium (docs/browser.md).

`launcher` is the file latticino itself.
"""

import os
import shutil
import subprocess
from pathlib import Path

from launcher import PYTHON, ROOT, add_requirements, build, die, environment, from_distribution, setup

import tiers

TOOLCHAIN = "cmake/Modules/Platform/Emscripten.cmake"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed(names, package, missing):
    """The path of the first of these programs that is installed. If none is, root installs the package, and other users
    are told the command for it."""
    def found():
        return next(filter(None, map(shutil.which, names)), None)

    if not found():
        if os.geteuid() != 0:
            die(f"{missing} is missing; install it with: sudo apt-get install -y --no-install-recommends {package}")
        from_distribution([package], missing)
    return found() or die(f"{missing} is missing although {package} was installed; install {names[0]} in PATH")


def toolchain():
    """CMake's file of Emscripten beside the compiler: the distribution's, or an SDK's in PATH."""
    compiler = Path(installed(["em++"], "emscripten", "Emscripten's compiler em++")).resolve()
    path = compiler.parent / TOOLCHAIN
    return path if path.exists() else die(f"{compiler} has no {TOOLCHAIN} beside it; install a whole Emscripten")


def try_browser():
    """Builds the module under its limit of bytes, and runs its tests against the native library and on a page."""
    environment()
    add_requirements("browser")
    add_requirements("serve")
    browser, compiler = installed(BROWSERS, "chromium", "Chromium"), toolchain()
    installed(["node"], "nodejs", "Node")
    folder = build("wasm", ["-DLATTICINO_WASM=ON", f"-DCMAKE_TOOLCHAIN_FILE={compiler}"], False, sources=["web"])
    setup()
    web = os.path.join(folder, "web")
    paths = os.pathsep.join(os.path.join(ROOT, *words) for words in (("python",), ("bench", "service")))
    environ = dict(os.environ, LATTICINO_WASM_FOLDER=web, LATTICINO_CHROMIUM=browser, PYTHONPATH=paths)
    report = Path(folder, "pytest-browser.xml")
    report.unlink(missing_ok=True)
    checks = [f"tests/browser/{name}_checks.py" for name in ("client", "page")]
    status = subprocess.call([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *checks],
                             cwd=ROOT, env=environ)
    counts = tiers.counted(report, status)
    # No test may be skipped here.
    return tiers.Counts(counts.passed, counts.failed + counts.skipped)
