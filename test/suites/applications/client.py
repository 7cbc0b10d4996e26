"""Clients of an agent server by the published langgraph-sdk. The last line that each prints is its result as JSON."""

import asyncio
import json
import sys
import time

import httpx
from langgraph_sdk import get_client

ENDED = ("success", "error", "timeout", "interrupted")
CONFIG = {"recursion_limit": 1000}


async def patiently(call, until, seen):
    """What `call` answers; connections that break, and answers 5xx, are tried again until the time `until`."""
    while True:
        try:
            return await call()
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            status = getattr(getattr(error, "response", None), "status_code", 0)
            if 400 <= status < 500 or time.monotonic() > until:
                raise
            seen.append(f"{type(error).__name__} {status}")
            await asyncio.sleep(0.5)


async def stream(client, steps):
    """One run on a thread, streamed: the entries that came, and those that the thread keeps."""
    thread = await client.threads.create()
    came = []
    given = {"steps": steps, "seconds": 0.1}
    async for part in client.runs.stream(thread["thread_id"], "agent", input=given, stream_mode="updates", config=CONFIG):
        if part.event == "updates":
            came += [entry["number"] for entry in part.data["step"]["done"]]
    state = await client.threads.get_state(thread["thread_id"])
    return {"came": came, "kept": [entry["number"] for entry in state["values"]["done"]]}


async def load(client, runs, steps, seconds, within):
    """`runs` runs in the background, each on its own thread: how each ended, and who did its steps."""
    until = time.monotonic() + within
    broken = []
    given = {"steps": steps, "seconds": seconds}

    async def begin():
        thread = await patiently(client.threads.create, until, broken)
        run = await patiently(
            lambda: client.runs.create(thread["thread_id"], "agent", input=given, config=CONFIG), until, broken
        )
        return thread["thread_id"], run["run_id"]

    async def follow(thread, run):
        again = 0
        while True:
            status = "pending"
            while status not in ENDED and time.monotonic() < until:
                await asyncio.sleep(1)
                status = (await patiently(lambda: client.runs.get(thread, run), until, broken))["status"]
            state = await patiently(lambda: client.threads.get_state(thread), until, broken)
            values = state["values"] or {}
            if status != "error" or again == 1:
                return {"status": status, "done": values.get("done", []), "again": again}
            # As a user would, once: from the step that the thread has, or from the beginning if it has none.
            again += 1
            start = {"checkpoint_id": state["checkpoint"]["checkpoint_id"]} if "steps" in values else {"input": given}
            run = (
                await patiently(lambda: client.runs.create(thread, "agent", config=CONFIG, **start), until, broken)
            )["run_id"]

    begun = await asyncio.gather(*(begin() for _ in range(runs)))
    print("begun", flush=True)
    return {"runs": await asyncio.gather(*(follow(*one) for one in begun)), "broken": len(broken)}


async def main():
    url, what, *numbers = sys.argv[1:]
    client = get_client(url=url)
    result = await {"stream": stream, "load": load}[what](client, *(int(number) for number in numbers))
    print(json.dumps(result), flush=True)


asyncio.run(main())
