"""Listens on 127.0.0.1 inside a cell, carries every connection to the cell's unix socket, runs the agent beside it.

    forward.py PORT SOCKET -- PROGRAM ARGUMENT...

Ends with the agent, with its exit code (128 + n for signal n), and passes TERM, INT and HUP on to it. Needs nothing
but the standard library: run it with `python -I -S`. What it holds of a connection is bounded: a side that is not
read from makes the other side wait.
"""

import errno
import os
import selectors
import signal
import socket
import sys

PIECE = 256 * 1024
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ENDED_BY_SIGNAL = 128
CANNOT_START = 127
BACKLOG = 128


class Way:
    """One direction of a connection: what was read from `source` and not yet written to `target`."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.waiting = memoryview(b"")
        self.ended = False

    def read(self) -> None:
        """Take the next bytes, and write what can be written at once."""
        data = self.source.recv(PIECE)
        if data:
            self.waiting = memoryview(data)
            self.write()
        else:
            self.end()

    def write(self) -> None:
        """Write what waits."""
        try:
            sent = self.target.send(self.waiting)
        except BlockingIOError:
            return
        self.waiting = self.waiting[sent:]

    def end(self) -> None:
        """The source has no more: tell the target."""
        self.ended = True
        try:
            self.target.shutdown(socket.SHUT_WR)
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise


class Connection:
    """Both directions of one connection."""

    def __init__(
        self, selector: selectors.BaseSelector, client: socket.socket, server: socket.socket
    ) -> None:
        self.selector = selector
        self.sockets = (client, server)
        self.ways = (Way(client, server), Way(server, client))
        for each in self.sockets:
            each.setblocking(False)
        self.registered: dict[socket.socket, int] = {}
        self.watch()

    def handle(self, ready: socket.socket, events: int) -> None:
        """Move what can be moved; close when either side broke or both have ended."""
        if not self.registered.get(ready):
            return  # closed meanwhile, by what the other side said
        try:
            for way in self.ways:
                if (
                    way.source is ready
                    and events & selectors.EVENT_READ
                    and not way.waiting
                    and not way.ended
                ):
                    way.read()
                if way.target is ready and events & selectors.EVENT_WRITE and way.waiting:
                    way.write()
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        if all(way.ended for way in self.ways):
            self.close()
        else:
            self.watch()

    def watch(self) -> None:
        """Ask to be told of exactly what can be done."""
        for each in self.sockets:
            events = 0
            for way in self.ways:
                if way.source is each and not way.waiting and not way.ended:
                    events |= selectors.EVENT_READ
                if way.target is each and way.waiting:
                    events |= selectors.EVENT_WRITE
            self.register(each, events)

    def register(self, each: socket.socket, events: int) -> None:
        """Change what is watched of one side."""
        before = self.registered.get(each, 0)
        if before == events:
            return
        if not events:
            self.selector.unregister(each)
        elif before:
            self.selector.modify(each, events, self)
        else:
            self.selector.register(each, events, self)
        self.registered[each] = events

    def close(self) -> None:
        """Let go of both sides."""
        for each in self.sockets:
            self.register(each, 0)
            each.close()


def accept(selector: selectors.BaseSelector, listening: socket.socket, path: str) -> None:
    """Connect a new client to the cell's socket; a client that finds nobody there is turned away."""
    try:
        client, _ = listening.accept()
    except OSError:
        return
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.connect(path)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        client.close()
        server.close()
        return
    Connection(selector, client, server)


def start(argv: list[str]) -> int:
    """The agent's process id."""
    try:
        return os.posix_spawnp(
            argv[0],
            argv,
            os.environ,
            setsigdef=[*PASSED_ON, signal.SIGPIPE],
        )
    except OSError as error:
        sys.stderr.write(f"cannot start {argv[0]}: {error.strerror}\n")
        sys.exit(CANNOT_START)


def carry(selector: selectors.BaseSelector, listening: socket.socket, path: str, child: int) -> int:
    """Carry until the agent ends; its wait status."""
    handle = os.pidfd_open(child)
    selector.register(listening, selectors.EVENT_READ)
    selector.register(handle, selectors.EVENT_READ)
    while True:
        for key, events in selector.select():
            if key.fileobj == handle:
                return os.waitpid(child, 0)[1]
            if key.fileobj is listening:
                accept(selector, listening, path)
            else:
                key.data.handle(key.fileobj, events)


def main(arguments: list[str]) -> int:
    """The program."""
    port, path, _, *argv = arguments
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=BACKLOG)
    child = start(argv)
    for number in PASSED_ON:
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    with selectors.DefaultSelector() as selector:
        status = carry(selector, listening, path, child)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else ENDED_BY_SIGNAL - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
