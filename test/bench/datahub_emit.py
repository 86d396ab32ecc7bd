"""Sends proposals with DataHub's own REST emitter and prints how long that took: datahub_emit.py WAY URL FILE."""

import json
import sys
import time

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import DatahubRestEmitter, EmitMode
from datahub.metadata.schema_classes import DatasetPropertiesClass

way, url, path = sys.argv[1:]
proposals = []
with open(path) as lines:
    for line in lines:
        p = json.loads(line)
        aspect = DatasetPropertiesClass(description=p["description"], customProperties=p["customProperties"])
        proposals.append(MetadataChangeProposalWrapper(entityUrn=p["urn"], aspect=aspect))

emitter = DatahubRestEmitter(url)
began, worked = time.monotonic(), time.process_time()
if way == "single":
    for p in proposals:
        emitter.emit(p, emit_mode=EmitMode.ASYNC)
else:
    emitter.emit_mcps(proposals, emit_mode=EmitMode.ASYNC)
print(json.dumps({"seconds": time.monotonic() - began, "cpu": time.process_time() - worked}))
