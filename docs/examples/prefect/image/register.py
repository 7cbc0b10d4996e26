"""Registers the flow with both pools. Run again, it changes what it registered."""

from prefect import flow

for pool in ("small", "large"):
    flow.from_source(source="/app", entrypoint="flows.py:steps").deploy(
        name=pool,
        work_pool_name=pool,
        # A run a minute, made by the scheduler.
        interval=60 if pool == "small" else None,
        build=False,
        push=False,
    )
    print(f"registered steps/{pool}")
