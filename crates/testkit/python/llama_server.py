"""A real llama.cpp server on this machine, until standard input closes.

Called with: model file, the model's name, threads. Prints its address as one line of JSON. With a
port behind them it listens there, and goes on until it is told to end.
"""

import json
import os
import signal
import sys

# Ctrl-C is for the program that is being shown: it still has replies to wait for.
signal.signal(signal.SIGINT, signal.SIG_IGN)

import xllamacpp

SLOTS = 2
TOKENS_PER_SLOT = 4096

model, name, threads, *port = sys.argv[1:]
parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.model_alias = {name}
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(port[0]) if port else 0
parameters.n_parallel = SLOTS
parameters.n_ctx = SLOTS * TOKENS_PER_SLOT
parameters.cpuparams.n_threads = int(threads)
parameters.endpoint_metrics = True
server = xllamacpp.Server(parameters)
print(json.dumps({"address": server.listening_address}), flush=True)

if port:
    signal.pause()
# The parent process holds the other end, which closes when that process ends in any way.
sys.stdin.buffer.read()
os._exit(0)
