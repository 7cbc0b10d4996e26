"""A graph that counts. Each step sleeps and notes which worker did it, so a run that has moved shows it."""

import asyncio
import os
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    """`steps` of `seconds` each; `done` has an entry for each step that has ended."""

    steps: int
    seconds: float
    done: Annotated[list[dict], add]


async def step(state: State) -> dict:
    await asyncio.sleep(state.get("seconds", 0.1))
    entry = {
        "number": len(state.get("done", [])),
        "worker": os.environ.get("HOSTNAME", ""),
        "version": os.environ.get("GRAPH_VERSION", ""),
        "greeting": os.environ.get("GREETING", ""),
    }
    return {"done": [entry]}


def what_next(state: State) -> str:
    return "step" if len(state["done"]) < state["steps"] else END


builder = StateGraph(State)
builder.add_node("step", step)
builder.add_edge(START, "step")
builder.add_conditional_edges("step", what_next, ["step", END])
graph = builder.compile()
