"""Flows of every kind that the listener must tell about, run by the end-to-end tests against a real server.

    python kinds.py NAME...     runs these, in one process, and prints "done NAME" after each
    python kinds.py --list

Each function below whose name does not begin with an underscore is one case. A case may leave failed runs behind; it
must not raise. The tests run them on Prefect 2, early and late Prefect 3: a case that a version cannot run is not in
its list.
"""

import asyncio
import contextlib
import importlib.util
import os
import signal
import sys
import threading
import time
import uuid

from prefect import flow, get_client, task
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State, StateType
from prefect.states import Cancelled, Completed, Crashed

try:
    from prefect.cache_policies import INPUTS
    from prefect.futures import wait as _wait

    BY_INPUTS = {"cache_policy": INPUTS}
    PREFECT_2 = False
except ImportError:
    from prefect.tasks import task_input_hash

    BY_INPUTS = {"cache_key_fn": task_input_hash}
    PREFECT_2 = True

    def _wait(futures):
        for future in futures:
            future.wait()


def _dataset(direction, table, uri="duckdb:///warehouse", key=None):
    create_table_artifact(
        key=key or table.replace("_", "-").replace(".", "-"),
        table=[{"database_uri": uri, "table": table}],
        description=f"ol-dataset_{direction}",
    )


def _quietly(call, *args, **kwargs):
    with contextlib.suppress(BaseException):
        return call(*args, **kwargs)


# --- tasks ---------------------------------------------------------------------------------------------------------


@task
def extract(n=3):
    _dataset("output", "raw_orders")
    return list(range(n))


@task
def transform(rows):
    create_table_artifact(
        key="both",
        table={"database_uri": ["duckdb:///warehouse", "duckdb:///warehouse"], "table": ["raw_orders", "rates"]},
        description="What it reads. OL-Dataset_Input",
    )
    create_table_artifact(
        key="made",
        table=[
            {"database_uri": "duckdb:///warehouse", "table": "orders", "rows": None, "fresh": True},
            {"database_uri": "postgresql://etl:secret@db.example/shop", "table": "public.orders"},
            {"database_uri": "duckdb:///warehouse", "table": "orders"},
        ],
        description="ol-dataset_output",
    )
    return len(rows)


@task(name="Check It!")
def check(count=None):
    return count


@task(task_run_name="load-{country}")
def load(country):
    return country


@task
def one(i):
    return i


@task(**BY_INPUTS)
def cached(x):
    return x


@task
def inner():
    return 2


@task
def outer():
    return inner()


@task
def broken():
    raise ValueError("cannot reach postgresql://etl:secret@db.example/shop")


@task(timeout_seconds=0.3)
def slow():
    time.sleep(2)


# --- flows ---------------------------------------------------------------------------------------------------------


@flow(name="Orders", description="Loads the orders.")
def _orders():
    rows = extract.submit()
    count = transform.submit(rows)
    check(count, wait_for=[rows])
    load("eu")
    load("é / 'quoted'")


def plain():
    _orders()


@flow(name="Mapped")
def _mapped(n):
    _wait(one.map(range(n)))


def mapped():
    _mapped(5)


def mapped_300():
    _mapped(300)


@flow(name="Cached")
def _cached_flow(x):
    cached(x)
    cached(x)


def cache():
    _cached_flow(uuid.uuid4().hex)


@flow(name="Nested Tasks")
def _nested_tasks():
    outer()


def nested_tasks():
    _nested_tasks()


@flow(name="Leaf")
def _leaf(x):
    _dataset("output", "leaf_table")
    return check(x)


@flow(name="Middle")
def _middle(x):
    return _leaf(x)


@flow(name="Top")
def _top():
    first = check(1)
    result = _middle(first)
    check.submit(result).result()


def subflows():
    _top()


@flow(name="Failing")
def _failing():
    _dataset("input", "watched")
    broken()


def failing():
    _quietly(_failing)


@flow(name="Timed Out")
def _timed_out():
    slow(return_state=True)


def timed_out():
    _quietly(_timed_out)  # on Prefect 2 a flow that returns nothing fails with its tasks


_tries = {"task": 0, "flow": 0}


@task(retries=2, retry_delay_seconds=1)
def flaky():
    _tries["task"] += 1
    if _tries["task"] % 3 != 0:
        raise ValueError("not yet")
    _dataset("output", "tried_hard")


@flow(name="Task Retries")
def _task_retries():
    flaky()


def task_retries():
    _tries["task"] = 0
    _task_retries()


@flow(name="Flow Retries", retries=1, retry_delay_seconds=1)
def _flow_retries():
    _tries["flow"] += 1
    check(_tries["flow"])
    if _tries["flow"] % 2 == 1:
        raise ValueError("first time")


def flow_retries():
    _tries["flow"] = 0
    _flow_retries()


@flow(name="Partial")
def _partial():
    check(1)
    return Completed(message="three of four", name="Partial")


def named_state():
    _partial()


@flow(name="Cancelled Midway")
def _cancelled():
    check(1)
    return Cancelled(message="enough")


def cancelled():
    _quietly(_cancelled)


@flow(name="Crashing")
def _crashing():
    check(1)
    raise KeyboardInterrupt


def crashed():
    _quietly(_crashing)


@flow(name="Never Started")
def _never():
    pass


def never_started():
    """Two runs that end without having run: cancelled while scheduled, crashed on submission."""

    async def make():
        async with get_client() as client:
            for state in (Cancelled(message="not today"), Crashed(message="no pod")):
                run = await client.create_flow_run(_never, state=State(type=StateType.SCHEDULED))
                await client.set_flow_run_state(run.id, state, force=True)

    asyncio.run(make())


def standalone():
    """A task that is called outside a flow."""
    extract()


@task
def background(x):
    _dataset("output", "in_the_background")
    return x


def background_task():
    """A task that is handed to a task worker."""
    try:
        from prefect.task_worker import TaskWorker
    except ImportError:
        from prefect.task_server import TaskServer as TaskWorker

    async def serve():
        await TaskWorker(background).start()

    signal.signal = lambda *_: None  # the worker wants to install a handler, which only the main thread may do
    run = background.submit(7) if PREFECT_2 else background.delay(7).task_run_id
    threading.Thread(target=lambda: _quietly(asyncio.run, serve()), daemon=True).start()
    _until_ended(run.id if PREFECT_2 else run)


def _until_ended(task_run_id):
    async def ended():
        async with get_client() as client:
            for _ in range(600):
                run = await client.read_task_run(task_run_id)
                if run.state and run.state.is_final():
                    return
                await asyncio.sleep(0.1)
        raise SystemExit(f"the task run {task_run_id} did not end")

    asyncio.run(ended())


@flow(name="Flow Artifacts")
def _flow_artifacts():
    for n in range(3):  # a loop may reuse a key: every version counts
        create_table_artifact(
            key="looped",
            table=[{"database_uri": "duckdb:///warehouse", "table": f"part_{n}"}],
            description="ol-dataset_output",
        )
    _dataset("input", "seed")
    create_table_artifact(key="unrelated", table=[{"a": 1}], description="just a table")
    create_table_artifact(key="odd", table=[{"table": None}, {"x": 1}], description="ol-dataset_input")


def flow_artifacts():
    _flow_artifacts()


def assets():
    """Assets leave no artifact: they show in Prefect's events."""
    from prefect.assets import materialize

    @materialize("s3://lake/raw/orders.parquet")
    def land():
        return 3

    @materialize("s3://lake/clean/orders.parquet", asset_deps=["postgres://warehouse.example:5432/shop/sales/customers"])
    def clean(count):
        return count

    @flow(name="Assets")
    def made():
        clean(land())

    made()


@flow(name="Deployed")
def _deployed():
    extract()


def deployed():
    """A run of a deployment, with a namespace from its job variables, executed by a runner in this process."""
    from prefect.deployments import run_deployment

    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # older versions serve only what lies below
    signal.signal = lambda *_: None  # serve() wants to install a handler, which only the main thread may do
    threading.Thread(
        target=_deployed.serve,
        kwargs={"name": "nightly", "tags": ["team:orders", "critical"], "description": "Every night."},
        daemon=True,
    ).start()
    _until_deployed("Deployed/nightly")
    run_deployment("Deployed/nightly", timeout=300, job_variables={"env": {"OPENLINEAGE_NAMESPACE": "orders-team"}})


def _until_deployed(name):
    async def there():
        async with get_client() as client:
            for _ in range(1200):
                with contextlib.suppress(Exception):
                    return await client.read_deployment_by_name(name)
                await asyncio.sleep(0.1)
        raise SystemExit(f"{name} was never deployed")

    asyncio.run(there())


def _is_case(name, value):
    return not name.startswith("_") and type(value) is type(_is_case) and value.__module__ == __name__


CASES = {name: value for name, value in list(globals().items()) if _is_case(name, value)}
if not importlib.util.find_spec("prefect.assets"):
    del CASES["assets"]
if PREFECT_2:  # it calls tasks from flows only
    del CASES["nested_tasks"]

if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        sys.exit()
    for name in sys.argv[1:]:
        CASES[name]()
        print("done", name, flush=True)
    sys.stdout.flush()
    os._exit(0)  # background threads of served things do not hold up the test
