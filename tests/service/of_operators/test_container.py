"""The commands of docs/production.md for a container, with this checkout in place of the image's library. `./latticino test --more
package` carries out the steps of the Containerfile as well."""

import os
import stat
import sys
from pathlib import Path

import pytest

import latticino as lt

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests"))
from container import Container  # noqa: E402

PAGE, FILE = (ROOT / "docs/production.md").read_text(), (ROOT / "Containerfile").read_text()


def installed(folder):
    """Programs that stand for those of the image's environment."""
    found = folder / "opt" / "bin"
    found.mkdir(parents=True)
    library = Path(lt.__file__).parents[1]
    start = "from latticino.cli import main; raise SystemExit(main())"
    for name, more in (("python", ""), ("latticino", f" -c '{start}'")):
        path = found / name
        path.write_text(f'#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH={library} exec {sys.executable}{more} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.slow
def test_a_tenant_of_the_container_gets_an_answer(tmp_path):
    container = Container(installed(tmp_path))
    assert [words[:3] for words in container.commands] == [["latticino", "tenants", "add"], ["latticino", "tenants", "token"]]
    assert container.answers() is None
    assert (tmp_path / "token").stat().st_size > 20
    assert os.listdir(container.places["/var/lib/latticino"]) == ["latticino-service"]


@pytest.mark.slow
@pytest.mark.parametrize("file, page, failure", [
    (FILE.replace("ENV PATH=/opt/latticino/bin:$PATH\n", ""), PAGE, "No such file or directory: 'latticino'"),
    (FILE, PAGE.replace("podman exec score latticino tenants add hospital-a\n", ""), "no tenant"),
    (FILE, PAGE.replace("--models digits --days 30 > token", "--models other --days 30 > token"), "ServiceError")],
    ids=["no command in the path", "no tenant", "a token for another model"])
def test_a_page_that_does_not_work_is_found(file, page, failure, tmp_path):
    assert (file, page) != (FILE, PAGE)
    failed = Container(installed(tmp_path), file, page).answers()
    assert failed is not None and failure in failed


def test_pages_and_files_that_do_not_fit(tmp_path):
    for file, page in ((FILE, PAGE.replace("exec score", "exec other", 1)), (FILE, PAGE.replace("-v service:/var/lib/latticino ", "")),
                       (FILE, PAGE.replace(" --read-only", "")), (FILE.replace("WORKDIR /var/lib", "WORKDIR /srv"), PAGE)):
        assert (file, page) != (FILE, PAGE)
        with pytest.raises(AssertionError):
            Container(tmp_path, file, page)


@pytest.mark.slow
def test_files_elsewhere_are_found(tmp_path, monkeypatch):
    """In a container whose other folders are read-only, such files could not be written."""
    container = Container(installed(tmp_path))
    tried = container._tried

    def writing(*given):
        (tmp_path / "opt" / "written").write_text("")
        return tried(*given)

    monkeypatch.setattr(container, "_tried", writing)
    assert "it changed what the page does not mount" in container.answers()
