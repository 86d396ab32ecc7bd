"""Reads so many proposals from a topic as DataHub would, under DataHub's own schema and with its classes, and prints one in each line."""

import io
import json
import os
import sys

os.environ.setdefault("DATAHUB_TELEMETRY_ENABLED", "false")

import fastavro
from confluent_kafka import Consumer
from datahub.metadata.schema_classes import MetadataChangeProposalClass
from datahub.metadata.schemas import getMetadataChangeProposalSchema

bootstrap, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
schema = fastavro.parse_schema(json.loads(getMetadataChangeProposalSchema()))
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "read-" + topic, "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
for _ in range(count):
    message = consumer.poll(60)
    if message is None or message.error():
        sys.exit(f"reading {topic}: {message and message.error()}")
    value = message.value()
    assert value[0] == 0, value[:5]
    body = io.BytesIO(value[5:])
    decoded = fastavro.schemaless_reader(body, schema, schema, return_record_name=True)
    assert not body.read(), "bytes are left"
    p = MetadataChangeProposalClass.from_obj(decoded, tuples=True)
    assert p.validate()
    print(
        json.dumps(
            {
                "key": message.key().decode(),
                "entityType": p.entityType,
                "entityUrn": p.entityUrn,
                "changeType": p.changeType,
                "aspectName": p.aspectName,
                "aspect": p.aspect and p.aspect.value.decode(),
                "contentType": p.aspect and p.aspect.contentType,
                "systemMetadata": p.systemMetadata and p.systemMetadata.to_obj(),
                "headers": p.headers,
            }
        )
    )
consumer.close()
