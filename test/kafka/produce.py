"""Produces with librdkafka, and with the OpenLineage Python client, and says where each record went.

Standard input is a JSON object, {"bootstrap": ..., "topic": ..., "partitioners": [...], "keys": [...], "events": [...]};
so is standard output: {"keys": {partitioner: {key: partition}}, "events": [[key, partition], ...]}.
"""

import json
import sys

from confluent_kafka import Producer
from openlineage.client import event_v2
from openlineage.client.facet_v2 import parent_run
from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport


def where(config, topic, keys):
    found = {}
    producer = Producer(config)
    for key in keys:
        producer.produce(topic, key=key, value=b"{}", on_delivery=lambda err, msg, key=key: found.update({key: msg.partition()}))
    producer.flush()
    return found


def run_event(body):
    facets = {}
    parent = body["run"]["facets"].get("parent")
    if parent:
        root = parent.get("root")
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(**parent["run"]),
            job=parent_run.Job(**parent["job"]),
            root=root and parent_run.Root(run=parent_run.RootRun(**root["run"]), job=parent_run.RootJob(**root["job"])),
        )
    return event_v2.RunEvent(
        eventTime=body["eventTime"],
        eventType=event_v2.RunState[body["eventType"]],
        run=event_v2.Run(runId=body["run"]["runId"], facets=facets),
        job=event_v2.Job(namespace=body["job"]["namespace"], name=body["job"]["name"]),
        producer="https://example.com/producer",
    )


class Noting:
    """The client's producer, of which it is noted where its records go."""

    def __init__(self, producer):
        self.producer, self.went = producer, []

    def produce(self, topic, key, value, on_delivery):
        self.producer.produce(topic, key=key, value=value, on_delivery=lambda err, msg: self.went.append([key, msg.partition()]))

    def flush(self, timeout):
        return self.producer.flush(timeout)


def main():
    task = json.load(sys.stdin)
    config = {"bootstrap.servers": task["bootstrap"]}
    keys = {p: where({**config, "partitioner": p}, task["topic"], task["keys"]) for p in task["partitioners"]}
    transport = KafkaTransport(KafkaConfig.from_dict({"config": config, "topic": task["topic"]}))
    transport.producer = noting = Noting(transport.producer)
    for event in task["events"]:
        transport.emit(run_event(event))
    json.dump({"keys": keys, "events": noting.went}, sys.stdout)


if __name__ == "__main__":
    main()
