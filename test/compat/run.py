"""Runs served deployments while openlineage-prefect listens, and ends once it has nothing more to say.

Usage: run.py FILE, to which openlineage-prefect writes its events. Its own process and the one that serves the
deployments are this program again, with another first word.
"""

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from prefect import flow, serve, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import INPUTS
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound


@task
def extract_customers():
    create_table_artifact(
        key="customers", table=[{"database_uri": "duckdb:///customers_db", "table": "customers"}],
        description="ol-dataset_output",
    )
    return [1, 2, 3]


@task(name="Load Part")
def load_part(part):
    time.sleep(0.01 * part)  # it takes two starts at one microsecond for a run id, and tasks with one name share it
    return part


@task(name="load-feed")
def load_feed():
    return "a name that ends as a suffix does"


@task(task_run_name="load {day}")
def load_day(day):
    return day


@task(cache_policy=INPUTS, result_storage_key="lookup-{parameters[key]}", persist_result=True)
def lookup(key):
    return key


@task(retries=1, retry_delay_seconds=0)
def flaky():
    if flaky.failed:
        return
    flaky.failed = True
    raise ValueError("the first time")


flaky.failed = False


@flow(name="Update Customers")
def update_customers():
    load_part.map(extract_customers()).wait()
    load_feed()
    load_day("2024-01-01")
    lookup("k")
    lookup("k")
    flaky()


@task
def broken():
    raise ValueError("no table")


@flow(name='Nightly "Report", part.2 — Übung')
def nightly_report():
    broken()


NAMES = ["Update Customers/compat", 'Nightly "Report", part.2 — Übung/compat']


def serve_them():
    serve(update_customers.to_deployment("compat"), nightly_report.to_deployment("compat"))


def listen():
    from openlineage_prefect.prefect_adapter.listener import PrefectOpenLineageListener

    asyncio.run(PrefectOpenLineageListener().collect_and_process_runs())


def run_one(name, others):
    while all(other.poll() is None for other in others):
        try:
            return run_deployment(name, timeout=120, poll_interval=0.5).state.type.value
        except ObjectNotFound:  # it is not served yet
            time.sleep(0.3)
    return "one of the others has ended"


def main(path):
    transport = {
        "OPENLINEAGE__TRANSPORT__TYPE": "file", "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": path,
        "OPENLINEAGE__TRANSPORT__APPEND": "true", "OPENLINEAGE_NAMESPACE": "compat",
    }
    others = [
        subprocess.Popen([sys.executable, __file__, word], env={**os.environ, **transport})
        for word in ("listen", "serve")
    ]
    try:
        with ThreadPoolExecutor() as pool:
            print(list(pool.map(run_one, NAMES, [others, others])))
        size, since = -1, time.monotonic()
        while time.monotonic() - since < 5:  # its events come over a websocket, one after the other
            time.sleep(0.2)
            now = os.path.getsize(path) if os.path.exists(path) else 0
            if now != size:
                size, since = now, time.monotonic()
        if any(other.poll() is not None for other in others):
            sys.exit(f"the others ended with {[other.returncode for other in others]}")
    finally:
        for other in others:
            other.terminate()
        for other in others:
            other.wait()


if __name__ == "__main__":
    {"listen": listen, "serve": serve_them}.get(sys.argv[1], lambda: main(sys.argv[1]))()
