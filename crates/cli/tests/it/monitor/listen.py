"""Streams from a monitor as a reader does that knows nothing but a .proto, and prints what it saw.

Arguments: target, proto file, how many messages, token or "". Lines: "streaming" after the first
message, then one JSON object.
"""

import importlib
import json
import pathlib
import sys
import tempfile

import grpc
from grpc_tools import protoc

target, proto, count, token = sys.argv[1:5]
made = tempfile.mkdtemp()
proto = pathlib.Path(proto)
done = protoc.main(
    ["", f"-I{proto.parent}", f"--python_out={made}", f"--grpc_python_out={made}", str(proto)]
)
assert done == 0, done
sys.path.insert(0, made)
pb = importlib.import_module(proto.stem + "_pb2")
calls = importlib.import_module(proto.stem + "_pb2_grpc")


def plain(message):
    """All fields with their values, and those that are not there as null."""
    seen = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.has_presence and not message.HasField(field.name):
            seen[field.name] = None
        elif getattr(field, "is_repeated", False):
            of = [plain(item) if field.message_type else item for item in value]
            seen[field.name] = of
        elif field.message_type:
            seen[field.name] = plain(value)
        else:
            seen[field.name] = value
    return seen


metadata = [("authorization", f"Bearer {token}")] if token else []
# Over a unix socket grpc would name the path as the host, in a way that not every server takes.
options = [("grpc.default_authority", "localhost")] if target.startswith("unix:") else []
seen = {"messages": [], "status": None, "health": None}
with grpc.insecure_channel(target, options) as channel:
    stub = calls.EnergyMonitorStub(channel)
    try:
        seen["health"] = plain(stub.Health(pb.HealthRequest(), metadata=metadata, timeout=30))
        ask = pb.StreamRequest()
        if "with_readings" in ask.DESCRIPTOR.fields_by_name:
            ask.with_readings = True
        for message in stub.StreamTelemetry(ask, metadata=metadata):
            if not seen["messages"]:
                print("streaming", flush=True)
            if len(seen["messages"]) < 1000:
                seen["messages"].append(plain(message))
            if len(seen["messages"]) == int(count):
                break
    except grpc.RpcError as error:
        seen["status"] = [error.code().name, error.details()]
print(json.dumps(seen))
