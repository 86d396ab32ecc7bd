"""Runs the flows of docs/parents.md, which lie beside a folder of stand-ins for dbt-ol and spark-submit.

Usage: run.py FOLDER. Writes down there in started.json the id of each flow run, by the way in which it was started, and
in seen.ndjson what the stand-ins were given.
"""

import json
import os
import runpy
import sys
import time
from uuid import uuid4

FOLDER = sys.argv[1]
sys.path.insert(0, FOLDER)
os.environ["PATH"] = os.path.join(FOLDER, "bin") + os.pathsep + os.environ["PATH"]
os.environ["SEEN"] = os.path.join(FOLDER, "seen.ndjson")
os.environ["OPENLINEAGE_NAMESPACE"] = "lake house"

import flows  # noqa: E402
from prefect.client.orchestration import get_client  # noqa: E402
from prefect.deployments import run_deployment  # noqa: E402
from prefect.flow_engine import run_flow  # noqa: E402

AIRFLOW = "airflow/daily.start_nightly/01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a11"
DAG = "airflow/daily/01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a22"


def context():
    def run(text):
        namespace, name, run_id = text.split("/")
        return {"run": {"runId": run_id}, "job": {"namespace": namespace, "name": name}}

    return json.dumps({"parent": {**run(AIRFLOW), "root": run(DAG)}})


WAYS = {
    "parent": {"OPENLINEAGE_PARENT_ID": AIRFLOW},
    "root": {"OPENLINEAGE_PARENT_ID": AIRFLOW, "OPENLINEAGE_ROOT_PARENT_ID": DAG},
    "context": {"OPENLINEAGE_CONTEXT": context()},
    "broken": {"OPENLINEAGE_PARENT_ID": "airflow/daily.start_nightly/17"},
}


def work_off(run):
    """Does what a worker does with a run that waits."""
    run_flow(flows.nightly, flow_run=run)
    return str(run.id)


def automated(client, deployment):
    client._client.post("/automations/", json={
        "name": "when orders arrive",
        "trigger": {"type": "event", "posture": "Reactive", "expect": ["orders.arrived"], "threshold": 1, "within": 0},
        "actions": [{"type": "run-deployment", "source": "selected", "deployment_id": str(deployment)}],
    }).raise_for_status()
    for _ in range(120):
        client._client.post("/events", json=[{
            "id": str(uuid4()), "event": "orders.arrived", "resource": {"prefect.resource.id": "orders"},
            "occurred": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "payload": {},
        }]).raise_for_status()
        time.sleep(0.5)  # the server loads its automations now and then
        for run in client.read_flow_runs(limit=200):
            if run.created_by and run.created_by.type == "AUTOMATION":
                return run
    sys.exit("the automation did nothing")


def main():
    ids = {}
    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(
            client.create_flow(flows.nightly), "prod", entrypoint="flows.py:nightly",
            # The parent of some other run: it must not count.
            job_variables={"env": {"OPENLINEAGE_PARENT_ID": "stale/job/01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a99"}},
        )
        for way, env in WAYS.items():
            ids[way] = work_off(run_deployment("Nightly/prod", job_variables={"env": env}, timeout=0))
        ids["guide"] = work_off(runpy.run_path(os.path.join(FOLDER, "start.py"))["run"])
        ids["deployment"] = work_off(run_deployment("Nightly/prod", timeout=0))
        ids["automation"] = work_off(automated(client, deployment))
    with open(os.path.join(FOLDER, "started.json"), "w", encoding="utf-8") as started:
        json.dump(ids, started)


main()
