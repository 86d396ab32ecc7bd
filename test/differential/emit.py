"""Gives events to the OpenLineage Python client under one configuration after the other.

Each line of standard input is a JSON object:

    {"env": {...}, "dir": "working folder", "events": [...]}

and each line of standard output says what became of it:

    {"refused": "why the client could not be made", "failed": ["why an event was not taken"], "console": ["logged event"]}

Every configuration gets a process of its own, forked after the imports: the client writes into its environment and
reads the environment, the working folder and the home folder when it is made.
"""

import json
import logging
import os
import signal
import sys
import warnings

import httpx2  # noqa: F401  imported here so that each fork has it
import requests  # noqa: F401
from openlineage.client import OpenLineageClient, event_v2
from openlineage.client.facet_v2 import column_lineage_dataset, parent_run, tags_job, tags_run
from openlineage.client.transport import amazon_datazone, async_http, composite, datadog, file, http, transform  # noqa: F401

try:
    import boto3  # noqa: F401
except ModuleNotFoundError:
    pass  # the transport that needs it says so

LONGEST = 30  # seconds for one configuration


def facet(value, cls, **fields):
    """A facet of the client's own class, for those that the client itself looks into."""
    made = cls(**fields)
    made._producer, made._schemaURL = value["_producer"], value["_schemaURL"]
    return made


def parent(value):
    def made(cls, fields):
        return cls(**{"facets": None, **fields})  # without, the client adds an empty one

    root = value.get("root")
    return facet(
        value,
        parent_run.ParentRunFacet,
        run=made(parent_run.Run, value["run"]),
        job=made(parent_run.Job, value["job"]),
        root=root
        and parent_run.Root(run=made(parent_run.RootRun, root["run"]), job=made(parent_run.RootJob, root["job"])),
    )


def tags(value, cls, field):
    return facet(value, cls, tags=[field(**tag) for tag in value["tags"]])


def run_event(body):
    """The event as an integration would make it. What the client only passes on stays as it is."""
    run, job = body["run"]["facets"], body["job"]["facets"]
    if "parent" in run:
        run["parent"] = parent(run["parent"])
    if "tags" in run:
        run["tags"] = tags(run["tags"], tags_run.TagsRunFacet, tags_run.TagsRunFacetFields)
    if "tags" in job:
        job["tags"] = tags(job["tags"], tags_job.TagsJobFacet, tags_job.TagsJobFacetFields)
    return event_v2.RunEvent(
        eventTime=body["eventTime"],
        producer=body["producer"],
        eventType=event_v2.RunState[body["eventType"]],
        run=event_v2.Run(runId=body["run"]["runId"], facets=run),
        job=event_v2.Job(namespace=body["job"]["namespace"], name=body["job"]["name"], facets=job),
        inputs=[dataset(event_v2.InputDataset, d, "inputFacets") for d in body["inputs"]],
        outputs=[dataset(event_v2.OutputDataset, d, "outputFacets") for d in body["outputs"]],
    )


def lineage(value):
    def fields(given):  # without, the client adds empty lists, here and below
        return [column_lineage_dataset.InputField(**{"transformations": None, **field}) for field in given]

    return facet(
        value,
        column_lineage_dataset.ColumnLineageDatasetFacet,
        fields={
            column: column_lineage_dataset.Fields(inputFields=fields(of["inputFields"]))
            for column, of in value["fields"].items()
        },
        dataset=None,
    )


def dataset(cls, body, own):
    facets = body.get("facets") or {}
    if "columnLineage" in facets:
        facets["columnLineage"] = lineage(facets["columnLineage"])
    return cls(namespace=body["namespace"], name=body["name"], facets=body.get("facets"), **{own: body.get(own)})


class Console(logging.Handler):
    """What the console transport logs, which is nothing to see until an application sets logging up."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def attempt(case):
    os.environ.clear()
    os.environ.update(case["env"])
    os.chdir(case["dir"])
    logging.disable(logging.NOTSET)
    console = Console()
    log = logging.getLogger("openlineage.client.transport.console")
    log.setLevel(logging.INFO)
    log.addHandler(console)
    result = {"refused": "", "failed": [], "console": console.lines}
    try:
        client = OpenLineageClient()
    except Exception as error:
        result["refused"] = repr(error)
        return result
    event_v2.set_producer(case["events"][0]["producer"])  # as integrations do, for the facets that the client adds
    for body in case["events"]:
        try:
            client.emit(run_event(body))
        except Exception as error:
            result["failed"].append(repr(error))
    if not client.close(LONGEST / 2):
        result["failed"].append("close gave up")
    if hasattr(client.transport, "get_stats") and client.transport.get_stats()["failed"]:
        result["failed"].append("the transport counts failures")
    return result


def fork(case):
    """Runs one configuration in a process of its own and returns its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(LONGEST)
        with os.fdopen(writer, "w") as out:
            json.dump(attempt(case), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"refused": "", "failed": [f"no answer within {LONGEST} s"], "console": []}


def main():
    logging.getLogger("openlineage").addHandler(logging.NullHandler())
    warnings.simplefilter("ignore")  # of connections that are not verified, and some of them are not on purpose
    for line in sys.stdin:
        print(json.dumps(fork(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
