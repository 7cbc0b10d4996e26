"""Registers the flow with both pools. Run again, it changes what it registered."""

import time

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound

PATIENCE_SECONDS = 120


def wait_for(pool: str) -> None:
    """A worker is healthy some time before it has made its pool."""
    with get_client(sync_client=True) as client:
        for _ in range(PATIENCE_SECONDS):
            try:
                client.read_work_pool(pool)
                return
            except ObjectNotFound:
                time.sleep(1)
    raise SystemExit(f"no worker has made the pool {pool}")


for pool in ("small", "large"):
    wait_for(pool)
    flow.from_source(source="/app", entrypoint="flows.py:steps").deploy(
        name=pool,
        work_pool_name=pool,
        # A run a minute, made by the scheduler.
        interval=60 if pool == "small" else None,
        build=False,
        push=False,
    )
    print(f"registered steps/{pool}")
