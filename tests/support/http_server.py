#!/usr/bin/env python3
"""A small HTTP server for download tests: http_server.py FOLDER [CERTIFICATE] prints its port, serves FOLDER on
loopback until stdin closes; by https with the key and certificate of a .pem file.

The first part of a path chooses the behaviour, the rest is the file:
    /plain/F    whole answers and ranges        /norange/F  ignores Range, always 200
    /drop:N/F   closes after N bytes            /missing/F  404
    /slow/F     1 kB every 20 ms                /busy/F     503
Every request is appended to FOLDER/requests.log as "PATH RANGE".
"""
import http.server
import pathlib
import ssl
import sys
import threading
import time

FOLDER = pathlib.Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        mode, name = self.path.lstrip("/").split("/", 1)
        wanted = self.headers.get("Range", "")
        with open(FOLDER / "requests.log", "a") as log:
            log.write(f"{self.path} {wanted}\n")
        if mode in ("missing", "busy") or not (FOLDER / name).is_file():
            return self.send_error(503 if mode == "busy" else 404)
        data = (FOLDER / name).read_bytes()
        begin = int(wanted[6:-1]) if wanted and mode != "norange" else 0
        if begin >= len(data) > 0:
            return self.send_error(416)
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(data) - begin))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        body = data[begin:]
        if mode.startswith("drop:"):
            body = body[: int(mode[5:])]
        step = 1000 if mode == "slow" else len(body) or 1
        try:
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                if mode == "slow":
                    time.sleep(0.02)
        except ConnectionError:
            pass
        self.close_connection = True

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
