"""Sends events as OpenLineage's Python client does, by Google's own library, to a Google on this machine.

Standard input is a JSON object:

    {"over": "grpc" or "rest", "endpoint": "http://127.0.0.1:1", "config": {...}, "events": [...]}

Without "config" the client reads its settings from the environment and the working folder, as it does in an integration.
Over REST the endpoint sees the requests itself. Over gRPC the library's requests go to a server in this process.
Standard output says what became of it, with what that server got:

    {"refused": "", "failed": [], "calls": [{"method": "/...", "parent": "...", "request_id": "", "open_lineage": {...}}]}
"""

import json
import os
import sys
from concurrent import futures

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "differential"))

import google.cloud.datacatalog_lineage_v1 as lineage  # noqa: E402
import grpc  # noqa: E402
from emit import run_event  # noqa: E402
from google.auth.credentials import AnonymousCredentials  # noqa: E402
from google.cloud.datacatalog_lineage_v1.services.lineage.transports import (  # noqa: E402
    LineageGrpcTransport,
    LineageRestTransport,
)
from google.protobuf.json_format import MessageToDict  # noqa: E402
from openlineage.client import OpenLineageClient, event_v2  # noqa: E402
from openlineage.client.transport.gcplineage import GCPLineageConfig, GCPLineageTransport  # noqa: E402

METHOD = "google.cloud.datacatalog.lineage.v1.Lineage"


class Recorder:
    """A server that keeps what it gets, as JSON."""

    def __init__(self):
        self.seen = []
        self.server = grpc.server(futures.ThreadPoolExecutor(1))
        handler = grpc.unary_unary_rpc_method_handler(
            self.take,
            request_deserializer=lineage.ProcessOpenLineageRunEventRequest.deserialize,
            response_serializer=lineage.ProcessOpenLineageRunEventResponse.serialize,
        )
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(METHOD, {"ProcessOpenLineageRunEvent": handler}),)
        )
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def take(self, request, context):
        message = lineage.ProcessOpenLineageRunEventRequest.pb(request)
        self.seen.append(
            {
                "method": f"/{METHOD}/ProcessOpenLineageRunEvent",
                "parent": message.parent,
                "request_id": message.request_id,
                "open_lineage": MessageToDict(message.open_lineage),
            }
        )
        return lineage.ProcessOpenLineageRunEventResponse()


def main():
    job = json.load(sys.stdin)
    recorder = Recorder() if job["over"] == "grpc" else None
    made = lineage.LineageClient

    def client(credentials=None):
        """The library's client as OpenLineage's transport makes it, but for the way to the server."""
        if recorder:
            return made(transport=LineageGrpcTransport(channel=grpc.insecure_channel(f"127.0.0.1:{recorder.port}")))
        scheme, _, host = job["endpoint"].partition("://")
        return made(
            transport=LineageRestTransport(host=host, url_scheme=scheme, credentials=credentials or AnonymousCredentials())
        )

    lineage.LineageClient = client
    result = {"refused": "", "failed": [], "calls": recorder.seen if recorder else []}
    try:
        config = job.get("config")
        emitter = GCPLineageTransport(GCPLineageConfig.from_dict(config)) if config else OpenLineageClient()
    except Exception as error:
        result["refused"] = repr(error)
    for body in [] if result["refused"] else job["events"]:
        event_v2.set_producer(body["producer"])
        try:
            emitter.emit(run_event(body))
        except Exception as error:
            result["failed"].append(repr(error))
    if recorder:
        recorder.server.stop(0)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
