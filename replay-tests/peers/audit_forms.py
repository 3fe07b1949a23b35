"""Reads exported audit lines with public readers: CloudEvents' own package, OpenTelemetry's own protocol buffers."""

import base64
import json
import sys

sys.path.insert(0, sys.argv[1])


def event(line):
    from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
    from cloudevents.core.formats.json import JSONFormat

    message = HTTPMessage({"content-type": "application/cloudevents+json"}, line.encode())
    read = from_structured_event(message, JSONFormat())
    return {"id": read.get_id(), "source": read.get_source(), "type": read.get_type(), "data": read.get_data()}


def span(line):
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    # OTLP has ids in hexadecimal where protocol buffers' JSON has base64; all else is theirs, and no field is unknown.
    def with_bytes(value):
        if isinstance(value, dict):
            ids = ("traceId", "spanId", "parentSpanId")
            as_base64 = lambda text: base64.b64encode(bytes.fromhex(text)).decode()
            return {key: as_base64(inner) if key in ids else with_bytes(inner) for key, inner in value.items()}
        return [with_bytes(inner) for inner in value] if isinstance(value, list) else value

    request = ParseDict(with_bytes(json.loads(line)), ExportTraceServiceRequest())
    (read,) = request.resource_spans[0].scope_spans[0].spans
    assert len(read.trace_id) == 16 and len(read.span_id) == 8 and len(read.parent_span_id) in (0, 8)
    assert 0 < read.start_time_unix_nano <= read.end_time_unix_nano
    attributes = {entry.key: entry.value for entry in read.attributes}
    return {
        "name": read.name,
        "trace": read.trace_id.hex(),
        "is_root": not read.parent_span_id,
        "links": [link.trace_id.hex() for link in read.links],
        "seq": attributes["metnos.seq"].int_value,
    }


read = {"cloudevents": event, "otel": span}[sys.argv[2]]
print(json.dumps([read(line) for line in sys.stdin.read().splitlines()]))
