"""Deletes the flow runs that ended more than DAYS days ago."""

import asyncio
import os
from datetime import datetime, timedelta, timezone

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterEndTime

MOST_AT_ONCE = 200


async def main() -> None:
    before = datetime.now(timezone.utc) - timedelta(days=float(os.environ.get("DAYS", "30")))
    ended = FlowRunFilter(end_time=FlowRunFilterEndTime(before_=before))
    forgotten = 0
    async with get_client() as client:
        while runs := await client.read_flow_runs(flow_run_filter=ended, limit=MOST_AT_ONCE):
            for run in runs:
                await client.delete_flow_run(run.id)
            forgotten += len(runs)
    print(f"forgot {forgotten} flow runs")


asyncio.run(main())
