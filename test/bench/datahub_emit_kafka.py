"""Sends proposals with DataHub's own Kafka emitter and prints how long that took: datahub_emit_kafka.py BOOTSTRAP REGISTRY TOPIC FILE."""

import json
import sys
import time

from datahub.emitter.kafka_emitter import DatahubKafkaEmitter, KafkaEmitterConfig
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import DatasetPropertiesClass

bootstrap, registry, topic, path = sys.argv[1:]
proposals = []
with open(path) as lines:
    for line in lines:
        p = json.loads(line)
        aspect = DatasetPropertiesClass(description=p["description"], customProperties=p["customProperties"])
        proposals.append(MetadataChangeProposalWrapper(entityUrn=p["urn"], aspect=aspect))

failed = []
emitter = DatahubKafkaEmitter(
    KafkaEmitterConfig.model_validate(
        {
            "connection": {"bootstrap": bootstrap, "schema_registry_url": registry},
            "topic_routes": {"MetadataChangeProposal": topic},
        }
    )
)


def send(some):
    began, worked = time.monotonic(), time.process_time()
    for p in some:
        emitter.emit(p, callback=lambda err, _: err and failed.append(str(err)))
    emitter.flush()
    return time.monotonic() - began, time.process_time() - worked


first, _ = send(proposals[:1])
seconds, cpu = send(proposals)
if failed:
    sys.exit("\n".join(failed))
print(json.dumps({"first": first, "seconds": seconds, "cpu": cpu}))
