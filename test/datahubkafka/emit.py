"""Emits the proposals that stand on standard input, one in each line, with DataHub's own Kafka emitter."""

import json
import os
import sys

os.environ.setdefault("DATAHUB_TELEMETRY_ENABLED", "false")

from datahub.emitter.kafka_emitter import DatahubKafkaEmitter, KafkaEmitterConfig
from datahub.metadata.schema_classes import (
    AuditStampClass,
    GenericAspectClass,
    MetadataChangeProposalClass,
    SystemMetadataClass,
)


def stamp(value):
    return value and AuditStampClass(**value)


def proposal(line):
    p = json.loads(line)
    system = p.get("systemMetadata")
    if system is not None:
        for name in ("aspectCreated", "aspectModified"):
            system[name] = stamp(system.get(name))
        system = SystemMetadataClass(**system)
    aspect = p.get("aspect")
    if aspect is not None:
        aspect = GenericAspectClass(value=aspect.encode(), contentType=p["contentType"])
    return MetadataChangeProposalClass(
        entityType=p["entityType"],
        entityUrn=p["entityUrn"],
        changeType=p["changeType"],
        aspectName=p.get("aspectName"),
        aspect=aspect,
        systemMetadata=system,
        headers=p.get("headers"),
    )


failed = []
emitter = DatahubKafkaEmitter(
    KafkaEmitterConfig.model_validate(
        {
            "connection": {
                "bootstrap": sys.argv[1],
                "schema_registry_url": sys.argv[2],
            },
            "topic_routes": {"MetadataChangeProposal": sys.argv[3]},
        }
    )
)
for line in sys.stdin:
    emitter.emit(proposal(line), callback=lambda err, msg: err and failed.append(str(err)))
emitter.flush()
if failed:
    sys.exit("\n".join(failed))
