"""The original's monitor, as its readers see it: package `energy`, fields 1 to 17 (old: 1 to 9).

Made from a .proto by grpcio-tools. A board of 200 W and a CPU of 50 W, and a way to misbehave.
Usage: original.py MODE PORT
"""
import importlib
import os
import sys
import tempfile
import threading
import time
from concurrent import futures

import grpc
from grpc_tools import protoc

MODE, PORT = sys.argv[1], int(sys.argv[2])
DOUBLES = {
    1: "power_watts", 2: "energy_joules", 3: "temperature_celsius", 4: "gpu_memory_usage_mb",
    5: "cpu_memory_usage_mb", 10: "cpu_power_watts", 11: "cpu_energy_joules",
    12: "ane_power_watts", 13: "ane_energy_joules", 14: "gpu_compute_utilization_pct",
    15: "gpu_memory_bandwidth_utilization_pct", 16: "gpu_tensor_core_utilization_pct",
    17: "gpu_memory_total_mb",
}
LAST = 9 if MODE == "old" else 17


def messages():
    doubles = "".join(f"double {name} = {n};" for n, name in DOUBLES.items() if n <= LAST)
    text = f"""
    syntax = "proto3"; package energy;
    message HealthResponse {{ bool healthy = 1; string platform = 2; }}
    message SystemInfo {{ string os_name = 1; string os_version = 2; string kernel_version = 3;
      string host_name = 4; uint32 cpu_count = 5; string cpu_brand = 6; }}
    message GpuInfo {{ string name = 1; string vendor = 2; uint64 device_id = 3;
      string device_type = 4; string backend = 5; }}
    message TelemetryReading {{ {doubles} string platform = 6; int64 timestamp_nanos = 7;
      SystemInfo system_info = 8; GpuInfo gpu_info = 9; }}
    """
    directory = tempfile.mkdtemp()
    with open(os.path.join(directory, "energy.proto"), "w") as file:
        file.write(text)
    if protoc.main(["", f"-I{directory}", f"--python_out={directory}", "energy.proto"]) != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, directory)
    return importlib.import_module("energy_pb2")


pb = messages()
STARTED = time.monotonic()


def reading(count):
    now = time.monotonic() - STARTED
    values = {
        "power_watts": 200.0, "energy_joules": 200.0 * now, "temperature_celsius": 41.5,
        "gpu_memory_usage_mb": 1024.0, "cpu_memory_usage_mb": 2048.0,
        "cpu_power_watts": 50.0, "cpu_energy_joules": 50.0 * now,
        "ane_power_watts": -1.0, "ane_energy_joules": -1.0,
        "gpu_compute_utilization_pct": 80.0, "gpu_memory_bandwidth_utilization_pct": 30.0,
        "gpu_tensor_core_utilization_pct": -1.0, "gpu_memory_total_mb": 81559.0,
    }
    stamp, platform = time.time_ns(), "nvidia"
    if MODE == "skewed":
        stamp += 3_600_000_000_000
    if MODE == "set" and count > 40:
        stamp -= 600_000_000_000
    if MODE == "stale" and count > 40:
        stamp = STALE.setdefault("stamp", stamp)
    if MODE == "nan":
        values["cpu_power_watts"] = values["temperature_celsius"] = float("nan")
    if MODE == "null":
        values, platform = {name: -1.0 for name in values}, "null"
    known = {name for n, name in DOUBLES.items() if n <= LAST}
    return pb.TelemetryReading(
        timestamp_nanos=stamp, platform=platform,
        system_info=pb.SystemInfo(os_name="Linux", host_name="gpu1", cpu_count=96,
                                  cpu_brand="Unknown CPU"),
        gpu_info=pb.GpuInfo(name="NVIDIA H100 80GB HBM3", vendor="NVIDIA", device_type="GPU",
                            backend="NVML"),
        **{name: value for name, value in values.items() if name in known},
    ).SerializeToString()


STALE = {}
FAILED = threading.Event()


def stream(_request, context):
    count = 0
    while context.is_active():
        count += 1
        if MODE == "silent":
            time.sleep(0.2)
            continue
        if MODE == "malformed" and count > 40 and not FAILED.is_set():
            FAILED.set()
            yield b"\xff\xff\xff\xff"
        if MODE == "error" and count > 40 and not FAILED.is_set():
            FAILED.set()
            context.abort(grpc.StatusCode.INTERNAL, "collector failed")
        if MODE == "dies" and count > 40:
            os._exit(1)
        yield reading(count)
        if MODE != "flood":
            time.sleep(0.05)


def health(_request, _context):
    return pb.HealthResponse(healthy=MODE != "null", platform="nvidia").SerializeToString()


def same(value):
    return value


server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("energy.EnergyMonitor", {
    "Health": grpc.unary_unary_rpc_method_handler(
        health, request_deserializer=same, response_serializer=same),
    "StreamTelemetry": grpc.unary_stream_rpc_method_handler(
        stream, request_deserializer=same, response_serializer=same),
}),))
port = server.add_insecure_port(f"127.0.0.1:{PORT}")
if port == 0:
    sys.exit("the port is taken")
server.start()
print(port, flush=True)
server.wait_for_termination()
