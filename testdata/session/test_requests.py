"""How programs tell cg monitor of their requests, at a socket of the test's own."""
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import unittest

from codegreen import _requests, annotate_request


class Requests(unittest.TestCase):
    """Each has a socket at which it listens itself."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "s")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()

    def said(self):
        """The lines of the first connection, which is closed."""
        _requests._connections.pop(self.path).close()
        c, _ = self.listener.accept()
        with c, c.makefile() as lines:
            return [json.loads(line) for line in lines]

    def test_a_socket_that_closes_sends_no_signal(self):
        came = []
        before = signal.signal(signal.SIGPIPE, lambda number, _: came.append(number))
        self.addCleanup(signal.signal, signal.SIGPIPE, before)
        with annotate_request("a", self.path):
            self.listener.accept()[0].close()
        self.assertEqual(came, [])

    def test_one_object_in_several_threads(self):
        one, begun, go = annotate_request("a", self.path), threading.Event(), threading.Event()

        def other():
            with one:
                begun.set()
                go.wait()
        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        with one, one:
            go.set()
            thread.join()
        said = self.said()
        began = {line["id"]: line["tid"] for line in said if "begin" in line}
        ended = {line["id"]: line["tid"] for line in said if "end" in line and "cpu" in line}
        self.assertEqual(len(began), 3)
        self.assertEqual(began, ended)

    def test_one_thread_ends_what_another_began(self):
        one = annotate_request("a", self.path)
        thread = threading.Thread(target=one.__enter__)
        thread.start()
        thread.join()
        one.__exit__(None, None, None)
        one.__exit__(None, None, None)
        self.assertEqual(["begin" in line for line in self.said()], [True, False])

    def test_a_handler_of_signals_at_each_line(self):
        """A request in a handler, while one ends whose connection is full: nothing is raised, and each line is
        said once."""
        for at in range(200):
            c = _requests._Connection(self.path)
            numbers = [c.begin("a") for _ in range(3)]
            there = c.socket
            c.socket = Full()
            for begun in numbers[:2]:
                c.end(begun)
            c.socket = there
            self.assertEqual(len(c.unsent), 2)
            left = [at]

            def trace(frame, event, _):
                if frame.f_code.co_filename != _requests.__file__:
                    return None
                if event == "line" and left:
                    left[0] -= 1
                    if left[0] < 0:
                        left.clear()
                        c.end(c.begin("handler"))
                return trace
            sys.settrace(trace)
            try:
                c.end(numbers[2])
            finally:
                sys.settrace(None)
            c.close()
            there.close()
            accepted, _ = self.listener.accept()
            with accepted, accepted.makefile() as lines:
                ended = sorted(line["id"] for line in map(json.loads, lines) if "end" in line)
            self.assertEqual(ended, sorted(set(ended)))
            self.assertLessEqual({1, 2, 3}, set(ended))
            if left:
                return
        self.fail("there is no end of lines")


class Full:
    """A socket that takes nothing."""

    def send(self, *_):
        raise BlockingIOError


if __name__ == "__main__":
    unittest.main()
