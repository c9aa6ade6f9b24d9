"""The tables of a service, for SQLite and PostgreSQL. Times are seconds since 1970."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import sqlalchemy as sa

MAX_TEXT = 2000  # characters of an error that are stored
VERSION = 3  # version of this layout, stored in `facts`
OLDER = (1, 2)  # older versions that only lack tables, which are then made

metadata = sa.MetaData()

facts = sa.Table(  # the version of the layout; the clock of the fair share; whether the service is stopping
    "facts", metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Double, nullable=False))

tenants = sa.Table(
    "tenants", metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("weight", sa.Double, nullable=False),  # weight of its share
    sa.Column("most_bytes", sa.BigInteger, nullable=False),
    sa.Column("most_jobs", sa.Integer, nullable=False),
    sa.Column("most_seconds", sa.Double, nullable=False),
    sa.Column("finish_tag", sa.Double, nullable=False))  # of its last job, on the clock of the fair share

tokens = sa.Table(
    "tokens", metadata,
    sa.Column("hash", sa.Text, primary_key=True),  # SHA-256 of a token of 256 random bits
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), nullable=False, index=True),
    sa.Column("models", sa.Text),  # a JSON list of names; NULL: all
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False))

models = sa.Table(
    "models", metadata,
    sa.Column("digest", sa.Text, primary_key=True),  # SHA-256 of the file
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("active", sa.Boolean, nullable=False),  # at most one active model of a name
    sa.Column("facts", sa.Text, nullable=False),  # models.Facts as JSON
    # seconds of a job: first predicted, then approaching the measured time
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("created", sa.Double, nullable=False))

bundles = sa.Table(
    "bundles", metadata,
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("model", sa.Text, sa.ForeignKey("models.digest"), primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),  # SHA-256 of the manifest
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False, index=True),  # uploading, uploaded, checking, ready or refused
    sa.Column("reason", sa.Text),
    sa.Column("key_id", sa.Text),  # stated by its sender
    sa.Column("device_bytes", sa.BigInteger),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("used", sa.Double, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("lease", sa.Text),
    sa.Column("lease_until", sa.Double))

chunks = sa.Table(
    "chunks", metadata,
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("stored", sa.Boolean, nullable=False))

uses = sa.Table(  # how many bundles of a tenant have a chunk, so that none of their manifests is read for it
    "uses", metadata,
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sqlite_with_rowid=False)

jobs = sa.Table(
    "jobs", metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("idempotency", sa.Text, nullable=False),
    sa.Column("model", sa.Text, sa.ForeignKey("models.digest"), nullable=False),
    sa.Column("bundle", sa.Text, nullable=False),
    sa.Column("input", sa.Text, nullable=False),  # SHA-256 of the body
    sa.Column("input_size", sa.BigInteger, nullable=False),
    sa.Column("final", sa.Boolean, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # queued, running, done, failed, cancelled, expired or poisoned
    sa.Column("error", sa.Text),
    sa.Column("result", sa.Text),  # SHA-256; NULL after it was deleted
    sa.Column("result_size", sa.BigInteger, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),  # predicted seconds
    sa.Column("real_seconds", sa.Double),
    sa.Column("start_tag", sa.Double, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("deadline", sa.Double),
    sa.Column("finished", sa.Double),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("lease", sa.Text),
    sa.Column("lease_until", sa.Double),
    sa.Column("progress", sa.Double, nullable=False),
    sa.Column("cancel", sa.Boolean, nullable=False),
    sa.UniqueConstraint("tenant", "idempotency"),
    # an index, so that sums over a long queue read no rows
    sa.Index("jobs_in_order", "state", "start_tag", "id", "seconds"),
    sa.Index("jobs_of_tenant", "tenant", "state", "seconds", "input_size", "result_size"))

# Rows of jobs that have ended stay for a week, so a tenant may have millions. No request and no cleanup reads all of
# them: the sum of a tenant's results, results that are too old, jobs that ended long ago, and a tenant's latest jobs.
_WITH_RESULT: dict[str, Any] = dict.fromkeys(("sqlite_where", "postgresql_where"), jobs.c.result.is_not(None))
sa.Index("jobs_with_result", jobs.c.tenant, jobs.c.result_size, jobs.c.result, **_WITH_RESULT)
sa.Index("jobs_by_age_of_result", jobs.c.finished, **_WITH_RESULT)
sa.Index("jobs_by_end", jobs.c.finished)
sa.Index("jobs_by_age", jobs.c.tenant, jobs.c.created.desc(), jobs.c.id)

spent = sa.Table(  # idempotency keys whose jobs no longer have a row
    "spent", metadata,
    sa.Column("tenant", sa.Text, sa.ForeignKey("tenants.id"), primary_key=True),
    sa.Column("idempotency", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("until", sa.Double, nullable=False, index=True),  # when the last token that may have sent it expires
    sqlite_with_rowid=False)  # the primary key is the table, so its text is stored once

workers = sa.Table(
    "workers", metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seen", sa.Double, nullable=False),
    sa.Column("device", sa.Text, nullable=False),
    sa.Column("counters", sa.Text, nullable=False))  # JSON


def make(c: Any) -> None:
    """Makes the tables, and the indexes that those of an older release lack."""
    metadata.create_all(c)
    for index in jobs.indexes:
        index.create(c, checkfirst=True)


def count_uses(c: Any) -> None:
    """Fills `uses` in a store of an older version, which lacked it."""
    found = Counter((row.tenant, hash_) for row in c.execute(sa.select(bundles.c.tenant, bundles.c.manifest))
                    for hash_ in set(json.loads(row.manifest)["chunks"]))
    if found:
        c.execute(uses.insert(), [{"tenant": tenant, "hash": hash_, "count": count}
                                  for (tenant, hash_), count in found.items()])


def storable(text: str) -> str:
    """A text from outside, in a form that every database accepts: not too long, without NUL and unpaired surrogates."""
    return text[:MAX_TEXT].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
