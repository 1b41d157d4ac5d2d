"""A package as a registry would serve it, made by npm, and a pin of it."""

import base64
import hashlib
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.agents.installed import Build, NpmSource, Pin

NAME = "tiny-agent"


def pack(folder: Path, says: str = "tiny 1.2.3", version: str = "1.2.3") -> Path:
    """The archive of a package whose program prints `says`, and whose install script leaves a trace."""
    source = folder / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "tiny").write_text(f"#!/bin/sh\necho '{says}'\n")
    manifest = {"name": NAME, "version": version, "scripts": {"postinstall": f"touch {folder}/script-ran"}}
    (source / "package.json").write_text(json.dumps(manifest))
    subprocess.run(["npm", "pack", "--silent"], cwd=source, check=True, capture_output=True)
    return next(source.glob("*.tgz"))


def integrity_of(archive: Path) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


def build_of(archive: Path, address: str | None = None, integrity: str | None = None) -> Build:
    """The build that takes the archive from where it lies, or from `address`."""
    return Build(
        version="1.2.3",
        platform="any",
        source=NpmSource(
            package=NAME,
            version="1.2.3",
            integrity=integrity or integrity_of(archive),
            archive=address or f"file:{archive}",
        ),
        shown=f"node_modules/{NAME}/bin/tiny",
    )


def pin_of(build: Build) -> Pin:
    return Pin(name="tiny", command="tiny", pinned="1.2.3", tested=("1.2.3", "1.2.3"), builds=(build,))


class Registry:
    """Serves one archive, once it is let; `asked` is set by the first request."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked, self.let = threading.Event(), threading.Event()
        self.requests = 0


@contextmanager
def serving(archive: Path) -> Iterator[Registry]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.requests += 1
            registry.asked.set()
            registry.let.wait()
            content = archive.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):  # whoever asked may have been killed
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry = Registry(f"http://127.0.0.1:{server.server_address[1]}/tiny.tgz")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.let.set()
        server.shutdown()
        server.server_close()
        thread.join()
