"""A flow with a step: what the workers of the example run."""

import os
import time

from prefect import flow, task


@task
def step(number: int) -> str:
    time.sleep(0.2)
    return f"step {number} on {os.environ['DAVIT_ROLE']}"


@flow(log_prints=True)
def steps(count: int = 2) -> list[str]:
    done = [step(number) for number in range(count)]
    print(", ".join(done))
    return done
