"""The program that measures the rate of jobs (`bench service-load --part rate`)."""

import argparse
import re

import pytest

import load
import rate


def test_each_step_is_told_when_it_begins(tmp_path, capsys):
    """With a large set of parameters minutes pass before the first result: keys, their file, and the first run."""
    (row,), good = next(rate.measured(tmp_path, "square", 2))
    said = capsys.readouterr().out.splitlines()
    times, steps = zip(*(re.fullmatch(r"square, ([\d.]+) s: (.+)", line).groups() for line in said[:-1]))
    assert list(map(float, times)) == sorted(map(float, times)) and float(times[0]) < 1
    for step, word in zip(steps, ("planning", "keys and a request", "loading the keys", "first run", "1 runs without", "a service",
                                  "jobs of each worker", "2 jobs", "1 more runs"), strict=True):
        assert word in step
    assert good and row["value"] > 0 and "of the rate" in said[-1] and row["tenant_changes"] == 0


def test_jobs_of_two_tenants_run_in_turn(tmp_path):
    (row,), good = next(rate.measured(tmp_path, "square", 6, tenants=2))
    assert good and row["params"]["tenants"] == 2 and row["tenant_changes"] >= 3


def test_a_rate_needs_two_jobs(capsys):
    """A rate follows from the time between the first and the last job, so one job is too few. Earlier this was only
    noticed at the end."""
    parser = argparse.ArgumentParser()
    load.add_options(parser)
    assert parser.parse_args(["--jobs", "2"]).jobs == 2
    with pytest.raises(SystemExit):
        parser.parse_args(["--jobs", "1"])
    assert "--jobs" in capsys.readouterr().err
