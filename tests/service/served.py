"""A saved program over HTTP, whatever its arguments and results are: checks that all of them must pass."""

import numpy as np
import pytest

import latticino as lt
from latticino.saved import messages
from running import Running


def beside_a_direct_run(path, folder, values, numbers, right, final=True, unfit=None):
    """Serves a program to two tenants. Results are those of direct runs, byte for byte, also in parts, and the values
    are `right`. Bodies of other lengths, another key's inputs, changed files and another tenant's requests are refused.
    `unfit` makes a bundle for a client that lacks keys of the program; the service refuses it."""
    running = Running(folder / "service", [f"score={path}"])
    try:
        tokens = [running.tenant(name) for name in "ab"]
        service, program = lt.connect(running.url, tokens[0]), lt.load_program(path)
        clients = [lt.keygen(service.context("cpu")) for _ in range(2)]
        keys = service.part.keys(clients[0])
        remote, link = service.use(clients[0], keys), service._link
        body = service.part.encrypt(clients[0], values, numbers)
        assert len(body) == service.facts["request_bytes"]
        job = remote.send(body, final=final)
        data = job.data(600)
        session = clients[0].context.bind(keys)
        inputs, at = [], 0
        for port in program.inputs:
            inputs.append(lt.from_bytes(body[at : at + port.bytes], session))
            at += port.bytes
        assert data == messages.result_to_bytes(program.run(session, *inputs, **numbers), final)
        assert link.send("GET", f"/v1/jobs/{job.id}/result", headers={"Range": "bytes=8-39"}) == data[8:40]
        assert right(job.result()) and right(remote.run(*values, **numbers))
        assert service.use(clients[0]).bundle == remote.bundle  # it is found by the client's key
        for wrong in (body[:-16], body + b"x", body[1:]):
            with pytest.raises(lt.ServiceError, match="bytes") as why:
                remote.send(wrong)
            assert why.value.status in (400, 413)
        with pytest.raises(lt.ServiceError, match=r"failed \(KeyError.*an object under key"):
            remote.send(service.part.encrypt(clients[1], values, numbers)).data(600)
        rng = np.random.default_rng(1)
        for at in (0, 9, *rng.integers(program.inputs[0].bytes, size=4)):
            changed = body[:at] + bytes([body[at] ^ 1 << int(rng.integers(8))]) + body[at + 1 :]
            with pytest.raises(lt.ServiceError, match=r"failed \((FileError|ContextError)"):
                remote.send(changed).data(600)
        if unfit is not None:
            with pytest.raises(lt.ServiceError, match="a bundle without .* keys"):
                service.push(unfit(clients[0]))
        _objects_of_another_tenant(link, lt.connect(running.url, tokens[1])._link, job, remote, body)
        return service
    finally:
        assert running.stop() == 0


def _objects_of_another_tenant(own, other, job, remote, body):
    """All of them give 404."""
    model = {"model": "score"}
    asked = [("GET", f"/v1/jobs/{job.id}/result", None, {}), ("GET", f"/v1/jobs/{job.id}", None, {}),
             ("GET", f"/v1/bundles/{remote.bundle}", None, model),
             ("POST", "/v1/jobs", body, {**model, "bundle": remote.bundle})]
    for method, path, data, query in asked:
        assert own.send(method, path, data, query, {"Idempotency-Key": "own"})
        with pytest.raises(lt.ServiceError) as why:
            other.send(method, path, data, query, {"Idempotency-Key": "own"})
        assert why.value.status == 404
