"""A chat service behind hypercorn, until standard input closes: HTTP/1.1 and HTTP/2 on one free port,
and the same over TLS on another where a certificate is given.

Called with: nothing, or a certificate and its key. Prints its addresses as one line of JSON. `/seen`
says how many connections and requests there were, and by which versions of HTTP.
"""

import asyncio
import json
import os
import signal
import socket
import sys
import threading

# Ctrl-C is for the program that is being shown: it still has replies to wait for.
signal.signal(signal.SIGINT, signal.SIG_IGN)

from hypercorn.asyncio import serve
from hypercorn.config import Config

WORDS = ["one", " two", " three", " four"]
seen = {"connections": set(), "requests": 0, "versions": set()}


async def answer(send, status, kind, body):
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def chat(receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    json.loads(body)
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    events = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    events.append({"choices": [], "usage": usage})
    for event in events:
        await asyncio.sleep(0.002)
        piece = b"data: " + json.dumps(event).encode() + b"\n\n"
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    path = scope["path"]
    if path == "/seen":
        told = {
            "connections": len(seen["connections"]),
            "requests": seen["requests"],
            "versions": sorted(seen["versions"]),
        }
        return await answer(send, 200, b"application/json", json.dumps(told).encode())
    if path == "/v1/chat/completions":
        seen["connections"].add(tuple(scope["client"]))
        seen["versions"].add(scope["http_version"])
        seen["requests"] += 1
        return await chat(receive, send)
    if path == "/v1/models":
        models = {"object": "list", "data": [{"id": "reference", "object": "model"}]}
        return await answer(send, 200, b"application/json", json.dumps(models).encode())
    await answer(send, 404, b"application/json", b'{"detail": "Not Found"}')


def listening():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


config = Config()
config.errorlog = None
plain, secure = listening(), listening()
config.bind = [f"fd://{plain.fileno()}"]
if sys.argv[1:]:
    config.certfile, config.keyfile = sys.argv[1:]
    config.bind = [f"fd://{secure.fileno()}"]
    config.insecure_bind = [f"fd://{plain.fileno()}"]
said = {"address": "http://127.0.0.1:%d" % plain.getsockname()[1], "tls_port": secure.getsockname()[1]}


async def main():
    stop = asyncio.Event()
    served = asyncio.create_task(serve(app, config, shutdown_trigger=stop.wait))
    # Connections wait in the queue until they are taken.
    plain.listen(100)
    print(json.dumps(said), flush=True)
    await served


def end():
    # The parent process holds the other end, which closes when that process ends in any way.
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end, daemon=True).start()
asyncio.run(main())
