"""What a deployment says of its runs: source, description, tags, owners, parameters, policy, and what started them.

    python deployments.py

Prefect 3. The deployments are made over the REST API, so that their code need not be cloned; the runs are worked off
here as a worker does it.
"""

import sys
import time
import uuid

from prefect import flow, get_client, tags, task
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow


@task(tags=["tier:gold", "nightly"])
def pay(amount):
    pass


@task(tags=["openlineage:off"])
def heartbeat():
    """Its author wants it not to be told of."""


@flow(name="Payments", description="Pays what is due.", flow_run_name="pay {amount}")
def payments(amount: int = 1, api_key: str = "", options: dict | None = None):
    pay(amount)
    heartbeat()


GITHUB = {
    "repository": "https://ada:hunter2@github.com/shop/payments.git",
    "branch": "main",
    "commit_sha": "3f786850e387550fdab836ed7e6dc881de23001b",
    "access_token": "{{ prefect.blocks.secret.github }}",
}

# What each deployment shows, and what its runs are given besides.
DEPLOYMENTS = {
    "from-git": {
        "description": "Pays every night.\n\nRun book: <https://wiki.example/payments>",
        "tags": ["owner:team-pay", "owner:ada", "domain:finance", "critical"],
        "version": "1.4.2",
        "parameters": {"amount": 3, "api_key": "hunter2", "options": {"dry_run": True, "token": "hunter2"}},
        "entrypoint": "flows/payments.py:payments",
        "pull_steps": [{"prefect.deployments.steps.git_clone": GITHUB}],
    },
    "from-a-folder-in-git": {
        "entrypoint": "payments.py:payments",
        "pull_steps": [
            {"prefect.deployments.steps.git_clone": {
                "id": "clone", "repository": "git@gitlab.example:shop/mono.git", "branch": "release/1"}},
            {"prefect.deployments.steps.set_working_directory": {"directory": "{{ clone.directory }}/jobs"}},
        ],
    },
    "with-a-namespace": {"job_variables": {"env": {"OPENLINEAGE_NAMESPACE": "finance"}}},
    "kept-back": {"tags": ["openlineage:off"]},
    "switched-off": {"job_variables": {"env": {"OPENLINEAGE_DISABLED": "true"}}},
}

AIRFLOW = "airflow/daily.pay/01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a11"
DAG = "airflow/daily/01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a22"


def deploy(client, name, **settings):
    flow_id = str(client.create_flow(payments))
    body = {"name": name, "flow_id": flow_id, "entrypoint": "deployments.py:payments", **settings}
    answer = client._client.post("/deployments/", json=body)
    answer.raise_for_status()
    return answer.json()["id"]


def work_off(run):
    run_flow(payments, flow_run=run)


def start(name, **run):
    work_off(run_deployment(f"Payments/{name}", timeout=0, as_subflow=False, **run))


def automated(client, deployment):
    """Lets an automation start a run, when an event comes."""
    client._client.post("/automations/", json={
        "name": "when an invoice arrives",
        "trigger": {"type": "event", "posture": "Reactive", "expect": ["invoice.arrived"], "threshold": 1, "within": 0},
        "actions": [{"type": "run-deployment", "source": "selected", "deployment_id": deployment}],
    }).raise_for_status()
    for _ in range(240):
        client._client.post("/events", json=[{
            "id": str(uuid.uuid4()), "event": "invoice.arrived", "resource": {"prefect.resource.id": "invoices"},
            "occurred": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "payload": {},
        }]).raise_for_status()
        time.sleep(0.5)  # the server loads its automations now and then
        for run in client.read_flow_runs(limit=200):
            if run.created_by and run.created_by.type == "AUTOMATION":
                return run
    sys.exit("the automation did nothing")


def main():
    with get_client(sync_client=True) as client:
        ids = {name: deploy(client, name, **settings) for name, settings in DEPLOYMENTS.items()}
        ids["from-outside"] = deploy(client, "from-outside")
        ids["by-automation"] = deploy(client, "by-automation")
        for name in DEPLOYMENTS:
            start(name)
        start("kept-back", tags=["openlineage:on"])  # the run's own tag counts before its deployment's
        env = {"OPENLINEAGE_PARENT_ID": AIRFLOW, "OPENLINEAGE_ROOT_PARENT_ID": DAG}
        start("from-outside", job_variables={"env": env})
        work_off(automated(client, ids["by-automation"]))
    with tags("ad hoc", "reason:refund"):
        payments(2)  # a run without a deployment has tags too


if __name__ == "__main__":
    main()
