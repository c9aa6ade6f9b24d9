"""Progress of long steps: when it is shown, and that short steps and pipes show nothing."""

import io
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import latticino as lt
from latticino.common import progress_bar
from latticino.common.progress_bar import Task, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(progress_bar, "DELAY", 0.02)
    monkeypatch.setattr(progress_bar._Lines, "every", 0.02)
    monkeypatch.delenv(progress_bar.VARIABLE, raising=False)
    before = progress_bar._State.asked
    yield
    progress_bar._State.asked = before


def until_shown(step):
    """Waits for the thread that shows a step: on a busy machine it may begin much later than its delay."""
    end = time.monotonic() + 60
    while progress_bar._State.shown is not step:
        assert time.monotonic() < end, f"{step.title} is not shown"
        time.sleep(0.005)


def long_step(title="a step", count=5, shown=False, **options):
    """A step of several delays. One that should be `shown` does not end before it is."""
    with Task(title, count, **options) as step:
        for _ in range(count):
            time.sleep(0.03)
            step.advance()
        if shown:
            until_shown(step)


def test_a_pipe_stays_clean_unless_asked(capsys):
    long_step()
    assert capsys.readouterr().err == ""
    with lt.progress(True):
        long_step(shown=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and all(line.startswith("a step: ") for line in lines) and "5 of 5" in lines[-1]
    long_step()
    assert capsys.readouterr().err == ""


def test_short_steps_are_silent(capsys, monkeypatch):
    monkeypatch.setattr(progress_bar, "DELAY", 120.0)
    with lt.progress(True):
        start = time.monotonic()
        long_step(count=1)
    assert capsys.readouterr().err == "" and time.monotonic() - start < 60, "the end does not wait for the delay"


def test_the_environment_and_the_call_decide(capsys, monkeypatch):
    monkeypatch.setenv(progress_bar.VARIABLE, "1")
    long_step(shown=True)
    assert "a step" in capsys.readouterr().err
    with lt.progress(False):
        long_step()
        assert capsys.readouterr().err == ""
        long_step(show=True, shown=True)
        assert "a step" in capsys.readouterr().err
    monkeypatch.setenv(progress_bar.VARIABLE, "perhaps")
    with pytest.raises(lt.ValueError, match="LATTICINO_PROGRESS"):
        long_step()
    with pytest.raises(lt.ValueError, match="progress"):
        lt.progress("yes")


def test_a_terminal_shows_a_bar_and_clears_it(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    long_step("on a terminal", count=12, shown=True)
    assert "on a terminal" in out.getvalue()
    quiet = Terminal()
    monkeypatch.setattr(sys, "stderr", quiet)
    with lt.progress(False):
        long_step()
    assert quiet.getvalue() == ""


def test_a_notebook_gets_html_without_widgets(monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, thing):
            shown.append(thing)

    def display(thing, display_id):
        shown.append(thing)
        return Handle()

    module = types.ModuleType("IPython.display")
    module.HTML, module.display = str, display
    package = types.ModuleType("IPython")
    package.get_ipython, package.display = (lambda: types.SimpleNamespace(kernel=object())), module
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(progress_bar._Notebook, "every", 0.02)
    long_step("<step>", shown=True)
    assert "<progress" in shown[0] and "&lt;step&gt;" in shown[0] and "5 of 5" in shown[-1]
    assert capsys.readouterr().err == ""


def test_one_step_is_shown_at_a_time(capsys):
    with lt.progress(True), Task("outer", 2) as outer:
        until_shown(outer)
        long_step("inner")
        thread = threading.Thread(target=long_step, args=("beside",))
        thread.start()
        thread.join()
        outer.advance(2)
    err = capsys.readouterr().err
    assert "outer" in err and "inner" not in err and "beside" not in err


def test_an_error_ends_the_step(capsys):
    with lt.progress(True):
        with pytest.raises(ZeroDivisionError):
            for i in track(range(3), "failing"):
                time.sleep(0.05)
                1 / (1 - i)
        assert progress_bar._State.shown is None
        long_step("after", shown=True)
    assert "after" in capsys.readouterr().err


def test_a_broken_terminal_does_not_end_the_work(monkeypatch):
    class Broken(Terminal):
        def write(self, text):
            raise OSError("gone")

    monkeypatch.setattr(sys, "stderr", Broken())
    long_step()


def test_keys_files_plans_and_encryptions_tell(ctx, client, monkeypatch, tmp_path):
    titles = []

    class Noted(Task):
        def __enter__(self):
            titles.append(self.title)
            return super().__enter__()

        def __exit__(self, *what):
            super().__exit__(*what)
            if self.total is not None:
                assert 0 <= self.total - self.done <= 256, self.title  # checks at the end are not counted

    for module in ("ckks.client", "ckks.context", "ckks.encoding", "ckks.encrypting", "files.bundles", "files.saving",
                   "tfhe.client", "files.saving_tfhe"):
        monkeypatch.setattr(sys.modules[f"latticino.{module}"], "Task", Noted)
    x = np.zeros(17 * ctx.slots)
    ctx.use(client.server_keys(lambda a: a * a, np.zeros(8)))
    client.encrypt(x)
    client.encrypt(x[:8])
    lt.save_server_keys(tmp_path / "one", ctx, ctx.keys, one_file=True)
    lt.load_server_keys(tmp_path / "one", ctx)
    ctx.matrix_product(np.ones((256, 64)), 512, 2)
    exact = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu")
    keys = lt.keygen(exact).server_keys()
    lt.from_bytes(lt.to_bytes(keys), exact, kind=lt.tfhe.ServerKeys)
    assert titles == ["planning", "generating keys", "encrypting", "writing keys", "reading keys",
                      "encoding a matrix of shape (256, 64)", "generating keys", "writing keys", "reading keys"]


def test_a_program_on_a_pipe_prints_nothing_of_its_own(child_environment):
    code = ("import latticino as lt, numpy as np; ctx = lt.Context('test-n12-boot-insecure', 'cpu'); c = lt.keygen(ctx);"
            "c.server_keys(lambda a: a.bootstrap(), lt.Shape((2048,), 3))")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True,
                          env=child_environment, check=True)
    assert done.stdout == done.stderr == ""
