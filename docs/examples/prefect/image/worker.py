"""A worker that drains: once it is told to end, it takes no more flow runs, and ends when those that it has have ended.

Prefect's own worker interrupts its flow runs on SIGTERM, so a rollout would end them half done.
"""

import asyncio
import signal
import sys
import warnings

from prefect.workers.process import ProcessWorker

MOST_AT_ONCE = 20

# Prefect warns that there are two workers of the type "process" now: the pool's runs are for either.
warnings.filterwarnings("ignore", message="Type 'DrainingWorker'")


class DrainingWorker(ProcessWorker):
    is_draining = False
    polls = 0

    async def get_and_submit_flow_runs(self):
        if self.is_draining:
            return []
        self.polls += 1
        try:
            return await super().get_and_submit_flow_runs()
        finally:
            self.polls -= 1

    @property
    def is_busy(self) -> bool:
        return self.polls > 0 or (self.is_setup and self.limiter.borrowed_tokens > 0)


async def main(pool: str) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    worker = DrainingWorker(work_pool_name=pool, limit=MOST_AT_ONCE)
    working = asyncio.create_task(worker.start(with_healthcheck=True))
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        waiting.cancel()
        return await working
    worker.is_draining = True
    print("told to end: takes no more flow runs", flush=True)
    while worker.is_busy:
        await asyncio.sleep(0.2)
    working.cancel()
    await asyncio.wait((working,))
    print("no flow run is left", flush=True)


asyncio.run(main(sys.argv[1]))
