"""A wire between a program and a server that a test can cut, refuse and hold, while other tests go on undisturbed."""

import socket
import threading


class Proxy:
    def __init__(self, target_port):
        self._target = ("127.0.0.1", target_port)
        self._lock = threading.Lock()
        self._pairs = []
        self._refusing = False
        self._flowing = threading.Event()
        self._flowing.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Breaks every connection; new ones come through."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _shut(end)

    def refuse(self):
        """Breaks every connection, and new ones at once, as if the server were down."""
        self._refusing = True
        self.cut()

    def restore(self):
        self._refusing = False
        self._flowing.set()

    def hold(self):
        """Bytes stop flowing both ways, with connections open, as if the network were gone."""
        self._flowing.clear()

    def close(self):
        _shut(self._listener)
        self.restore()
        self.cut()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                _shut(client)
                continue
            try:
                server = socket.create_connection(self._target)
            except OSError:
                _shut(client)
                continue
            with self._lock:
                self._pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source, sink):
        try:
            while data := source.recv(65536):
                self._flowing.wait()
                sink.sendall(data)
        except OSError:
            pass
        _shut(source)
        _shut(sink)


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
