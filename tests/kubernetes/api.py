"""A small client of the Kubernetes API: requests, watches, and waiting with a deadline."""
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
# Errors of a connection while the server is away.
CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class ApiError(Exception):
    def __init__(self, method, path, code, status):
        self.code = code
        self.reason = status.get("reason", "")
        self.message = status.get("message", "")
        super().__init__(f"{method} {path}: {code} {self.reason}: {self.message}")


class Api:
    """Calls one API server as one user. Thread-safe."""

    def __init__(self, port, ca_file, token=None, certificate=None):
        self.port = port
        self.token = token
        self.context = ssl.create_default_context(cafile=str(ca_file))
        if certificate:
            self.context.load_cert_chain(*map(str, certificate))
        self.local = threading.local()

    def connect(self, timeout=30):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout,
                                                 context=self.context)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def headers(self, content_type=None):
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def raw(self, method, path, body=None, content_type="application/json"):
        """(code, text). A connection that the server closed while idle is opened again."""
        payload = None if body is None else json.dumps(body)
        headers = self.headers(content_type if payload is not None else None)
        kept = getattr(self.local, "connection", None)
        for connection in (kept, None) if kept else (None,):
            try:
                connection = connection or self.connect()
                connection.request(method, path, payload, headers)
                answer = connection.getresponse()
                text = answer.read().decode()
                self.local.connection = None if answer.will_close else connection
                return answer.status, text
            except CONNECTION_ERRORS:
                self.local.connection = None
                if connection is None or connection is not kept:
                    raise
                connection.close()
        raise AssertionError("unreachable")

    def request(self, method, path, body=None, content_type="application/json"):
        code, text = self.raw(method, path, body, content_type)
        try:
            value = json.loads(text)
        except ValueError:
            value = {"message": text}
        if code >= 300:
            raise ApiError(method, path, code, value)
        return value

    def get(self, path):
        return self.request("GET", path)

    def list(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body, content_type=MERGE_PATCH):
        return self.request("PATCH", path, body, content_type)

    def delete(self, path):
        """Deletes at once: without a kubelet a graceful deletion would never end."""
        return self.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1",
                                             "gracePeriodSeconds": 0})

    def gone(self, path):
        try:
            self.get(path)
        except ApiError as error:
            if error.code != 404:
                raise
            return True
        return False

    def watch(self, path, resource_version):
        return Watch(self, path, resource_version)


class Watch:
    """Collects the events of a path in a thread, over broken connections.

    events is a list of (type, object) that only grows. If the server no longer has the events in
    between (after a restart), all objects are listed, as events of type LISTED, and gaps counts
    that. failure says why the watch gave up.
    """

    def __init__(self, api, path, resource_version):
        self.api = api
        self.path = path
        self.version = resource_version
        self.events = []
        self.gaps = 0
        self.failure = None
        self.stopped = threading.Event()
        self.connection = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped.is_set() and not self.failure:
            try:
                self.read()
            except CONNECTION_ERRORS + (ApiError, ValueError, AttributeError):
                pass  # AttributeError: http.client, when stop() closes what it reads from
            self.stopped.wait(0.1)

    def read(self):
        query = urllib.parse.urlencode({"watch": 1, "resourceVersion": self.version,
                                        "allowWatchBookmarks": "true"})
        self.connection = self.api.connect(timeout=5)
        try:
            joint = "&" if "?" in self.path else "?"
            self.connection.request("GET", self.path + joint + query, headers=self.api.headers())
            answer = self.connection.getresponse()
            if answer.status != 200:
                self.refused(answer.status, answer.read().decode())
                return
            self.connection.sock.settimeout(None)
            for line in answer:
                event = json.loads(line)
                self.take(event)
                if event["type"] == "ERROR":
                    return
        finally:
            self.connection.close()

    def refused(self, code, text):
        # 401, 403, 429 and 5xx happen while an API server starts.
        if code == 410:
            self.list_again()
        elif code in (400, 404, 422):
            self.failure = f"watch of {self.path}: {code}: {text}"

    def list_again(self):
        answer = self.api.get(self.path)
        self.gaps += 1
        self.events += [("LISTED", value) for value in answer["items"]]
        self.version = answer["metadata"]["resourceVersion"]

    def take(self, event):
        kind, value = event["type"], event["object"]
        if kind == "ERROR":
            self.refused(value["code"], value["message"])
            return
        self.version = value["metadata"]["resourceVersion"]
        if kind != "BOOKMARK":
            self.events.append((kind, value))

    def stop(self):
        self.stopped.set()
        connection = self.connection
        sock = connection.sock if connection else None
        if sock:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(timeout=10)


def wait_until(what, holds, timeout=30, every=0.05, details=None):
    """The first true value of holds(). Raises AssertionError that says what did not happen.

    The server may be away meanwhile. details() adds information to the failure.
    """
    deadline = time.monotonic() + timeout
    trouble = None
    while True:
        try:
            value = holds()
            if value:
                return value
            trouble = None
        except CONNECTION_ERRORS as error:
            trouble = error
        except ApiError as error:
            if error.code not in (401, 403, 404, 429) and error.code < 500:
                raise
            trouble = error
        if time.monotonic() >= deadline:
            text = f"not within {timeout} s: {what}"
            if trouble:
                text += f"; last error: {trouble}"
            if details:
                text += f"; {details()}"
            raise AssertionError(text)
        time.sleep(every)
