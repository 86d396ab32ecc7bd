"""Reads a topic from its beginning to its end with DataHub's own client and schema, and prints each proposal as its REST
API would take it, one in each line."""

import io
import json
import os
import sys

os.environ.setdefault("DATAHUB_TELEMETRY_ENABLED", "false")

import fastavro
from confluent_kafka import Consumer, TopicPartition
from datahub.metadata.schema_classes import MetadataChangeProposalClass
from datahub.metadata.schemas import getMetadataChangeProposalSchema

bootstrap, topic = sys.argv[1:]
schema = fastavro.parse_schema(json.loads(getMetadataChangeProposalSchema()))
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
partitions = [TopicPartition(topic, p, 0) for p in consumer.list_topics(topic, 30).topics[topic].partitions]
left = 0
for partition in partitions:
    low, high = consumer.get_watermark_offsets(partition, 30)
    left += high - low
consumer.assign(partitions)
while left:
    message = consumer.poll(60)
    if message is None or message.error():
        sys.exit(f"{left} messages are missing: {message and message.error()}")
    left -= 1
    value = message.value()
    assert value[0] == 0, value[:5]
    body = io.BytesIO(value[5:])
    decoded = fastavro.schemaless_reader(body, schema, schema, return_record_name=True)
    assert not body.read(), "bytes are left behind the message"
    p = MetadataChangeProposalClass.from_obj(decoded, tuples=True)
    assert p.validate() and message.key().decode() == p.entityUrn
    aspect = {"value": p.aspect.value.decode(), "contentType": p.aspect.contentType}
    print(json.dumps({"proposal": {
        "entityType": p.entityType, "entityUrn": p.entityUrn, "changeType": p.changeType,
        "aspectName": p.aspectName, "aspect": aspect,
    }}))
consumer.close()
