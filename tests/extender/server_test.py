#!/usr/bin/env python3
"""The extender's server: forms of requests, hostile requests, holds, and certificates.

server_test.py STOWAGE
"""
import json
import pathlib
import socket
import ssl
import subprocess
import tempfile
import time

from extender_cluster import (GPUS, Case, Extender, inventory, main, node, pod, uid, wait_until)

CORE, MEMORY = "stowage.dev/gpu-core", "stowage.dev/gpu-memory"
FILTER = "/stowage/filter"


class Native(Case):
    CONFIG = """
extenders:
- {preset: stowage, listen: "127.0.0.1:0", mode: bind}
- {preset: stowage, name: hasty, listen: "127.0.0.1:0", holdSeconds: 1, mode: bind}
- {preset: stowage, name: chooser, listen: "127.0.0.1:0"}
"""

    def setUp(self):
        self.extender = self.cluster.extender("stowage")
        self.hasty = self.cluster.extender("hasty")

    def make_node(self, cards=1, memory=16000, **more):
        name = self.fresh()
        return self.cluster.add_nodes(node(name, {}, inventory(
            [(f"GPU-{name}-{i}", "T", memory) for i in range(cards)]), **more))[0]

    def make_pod(self, percent, **more):
        return self.cluster.add_pod(pod(f"{self.fresh()}-p", [{CORE: percent}], **more))


class Forms(Native):
    def test_choosing_the_best_node_alone(self):
        small, large, other = self.make_node(1), self.make_node(4), self.make_node(1, memory=8000)
        value = self.make_pod(100)
        chooser = self.cluster.extender("chooser")
        full = self.extender.post(FILTER, {"Pod": value, "NodeNames": [small, large, other]})
        self.assertEqual(len(full["NodeNames"]), 3)
        scores = self.extender.post("/stowage/prioritize", {"Pod": value,
                                                            "NodeNames": [small, large, other]})
        best = [score["Host"] for score in scores if score["Score"] == 10]
        answer = chooser.post(FILTER, {"Pod": value, "NodeNames": [small, large, other]})
        self.assertEqual(len(answer["NodeNames"]), 1)
        self.assertIn(answer["NodeNames"][0], best)
        self.assertEqual(answer["FailedNodes"], {})
        bound = chooser.post("/stowage/bind", {
            "PodName": value["metadata"]["name"], "PodNamespace": value["metadata"]["namespace"],
            "PodUID": uid(value), "Node": answer["NodeNames"][0]})
        self.assertEqual(bound, {"Error": ""})
        # No whole card is free there; each refused node has its reason.
        answer = chooser.post(FILTER, {"Pod": self.make_pod(100), "NodeNames": [best[0]]})
        self.assertEqual(len(answer["NodeNames"]) + len(answer["FailedNodes"]), 1)

    def test_small_letters(self):
        on = self.make_node()
        value = self.make_pod(50)
        answer = self.extender.post(FILTER, {"pod": value, "nodenames": [on]})
        self.assertEqual(set(answer), {"Nodes", "NodeNames", "FailedNodes",
                                       "FailedAndUnresolvableNodes", "Error"})
        self.assertEqual((answer["NodeNames"], answer["Nodes"]), ([on], None))
        whole = self.cluster.call("GET", f"/api/v1/nodes/{on}")
        answer = self.extender.post(FILTER, {"pod": value, "nodes": {"items": [whole]},
                                             "nodenames": None})
        self.assertEqual((answer["NodeNames"], answer["Nodes"]["items"]), (None, [whole]))
        scores = self.extender.post("/stowage/prioritize", {"POD": value, "nodeNames": [on]})
        self.assertEqual(scores, [{"Host": on, "Score": 10}])
        meta = value["metadata"]
        answer = self.extender.post("/stowage/bind", {
            "podname": meta["name"], "podnamespace": meta["namespace"], "poduid": uid(value),
            "node": on})
        self.assertEqual(answer, {"Error": ""})
        answer = self.extender.post("/stowage/preempt", {
            "pod": None, "nodenametometavictims": {on: {"pods": [{"uid": "u"}],
                                                        "numpdbviolations": 2}}})
        self.assertEqual(answer, {"NodeNameToMetaVictims": {on: {"Pods": [{"UID": "u"}],
                                                                 "NumPDBViolations": 2}}})

    def test_pod_without_cards_passes_untouched(self):
        on = self.make_node()
        value = self.cluster.add_pod(pod(f"{on}-p", [{"cpu": "1"}]))
        odd = {"metadata": {"name": f"{on}-unknown", "x": [1.50, "\u00e9", {"deep": None}]}}
        whole = [self.cluster.call("GET", f"/api/v1/nodes/{on}"), odd]
        answer = self.extender.filter(value, whole)
        self.assertEqual((answer["Nodes"]["items"], answer.failed, answer["Error"]),
                         (whole, {}, ""))
        answer = self.extender.filter(value, [on, "nobody-knows-it"])
        self.assertEqual((answer.nodes, answer.failed), ([on, "nobody-knows-it"], {}))
        self.assertEqual(self.extender.scores(value, [on, "x"]), {on: 0, "x": 0})
        self.assertEqual(self.extender.bind(value, on), "")
        self.assertEqual((self.on(value), self.annotations(value)), (on, {}))

    def test_status_codes(self):
        rows = (  # method, path, body, code, words
            ("POST", FILTER, b"", 400, "Please send a request body"),
            ("POST", "/stowage/bind", b"", 400, "Please send a request body"),
            ("POST", FILTER, b"{", 200, "cannot read the request"),
            ("POST", FILTER, b"[]", 200, "cannot read the request"),
            ("POST", FILTER, b"null", 200, "cannot read the request"),
            ("POST", FILTER, b'"\xff"', 200, "cannot read the request"),
            ("POST", FILTER, b"{}", 200, "the request has no Pod"),
            ("POST", FILTER, b'{"Pod":{"metadata":{"name":"p"}}}', 200, "names no nodes"),
            ("POST", FILTER, b'{"Pod":7,"NodeNames":[]}', 200, "cannot read the request"),
            ("POST", FILTER, b'{"Pod":{},"NodeNames":[""]}', 200, "Error"),
            ("POST", "/stowage/bind", b"{", 200, "cannot read the request"),
            ("POST", "/stowage/bind", b'{"PodName":"p"}', 200, "Error"),
            ("POST", "/stowage/prioritize", b"{", 400, "cannot read the request"),
            ("POST", "/stowage/preempt", b"{", 400, "cannot read the request"),
            ("GET", FILTER, None, 405, "POST"), ("PUT", FILTER, b"{}", 405, "POST"),
            ("DELETE", "/stowage/bind", None, 405, "POST"),
            ("POST", "/stowage/status", b"{}", 405, "GET"),
            ("POST", "/scheduler/predicates", b"{}", 404, "/stowage/filter"),
            ("GET", "/", None, 404, "not found"), ("GET", "/../etc/passwd", None, 404, ""),
            ("GET", "/version", None, 200, "."), ("GET", "/healthz", None, 200, "ok"),
            ("GET", "/readyz", None, 200, "ok"), ("GET", "/stowage/status", None, 200, "{"))
        for method, path, body, code, words in rows:
            with self.subTest(f"{method} {path} {body}"):
                found, text = self.extender.send(method, path, body)
                self.assertEqual((found, words in text.decode()), (code, True), text)
                if code == 200 and method == "POST":
                    self.assertNotEqual(json.loads(text)["Error"], "")

    def test_bodies_in_pieces(self):
        on = self.make_node()
        body = json.dumps({"Pod": self.make_pod(50), "Nodes": None, "NodeNames": [on]}).encode()

        def pieces():
            for start in range(0, len(body), 100):
                yield body[start:start + 100]
        code, text = self.extender.send("POST", FILTER, pieces(), {"X": "y"})  # chunked
        self.assertEqual((code, json.loads(text)["NodeNames"]), (200, [on]))
        with socket.create_connection(("127.0.0.1", self.extender.port), timeout=30) as connection:
            request = (b"POST /stowage/filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                       % len(body) + body)
            connection.sendall(request * 3)  # pipelined
            found = b""
            while found.count(b'"NodeNames"') < 3:
                part = connection.recv(65536)
                self.assertNotEqual(part, b"")
                found += part
        self.assertEqual(found.count(b"HTTP/1.1 200"), 3)

    def test_a_node_named_twice(self):
        on = self.make_node()
        value = self.make_pod(50)
        self.assertEqual(set(self.extender.filter(value, [on, on]).nodes), {on})
        self.assertEqual(self.extender.scores(value, [on, on]), {on: 10})
        self.cluster.wait_free({on: [(50, 8000)]})

    def test_mixed_and_absurd(self):
        on = self.make_node()
        gpu = "nvidia.com/gpu"
        rows = (  # name, amounts of containers, words of the error
            ("two dialects", [{gpu: "1"}, {CORE: "50"}], (gpu, CORE)),
            ("two dialects in one container", [{gpu: "1", "elasticgpu.io/gpu-core": "50"}],
             (gpu, "elasticgpu.io/gpu-core")),
            ("two dialects of one vendor", [{"nvidia.com/vcuda-core": "10", gpu: "1"}],
             (gpu, "nvidia.com/vcuda-core")),
            ("more than a card", [{CORE: "150"}], (CORE,)),
            ("less than none", [{CORE: "-1"}], ("-1",)),
            ("half of a percent", [{CORE: "0.5"}], (CORE,)),
            ("more than a number", [{CORE: "99999999999999999999999"}], (CORE,)),
            ("no number", [{CORE: "many"}], ("many",)),
            ("1Ei of memory", [{MEMORY: "1Ei"}], (MEMORY,)),
            ("a million cards", [{gpu: "1000000"}], ("1000000 cards", "at most 64")),
            ("150 of elastic", [{"elasticgpu.io/gpu-core": "150"}], ("100 or 200",)))
        for name, amounts, words in rows:
            with self.subTest(name):
                value = pod("absurd", amounts)
                value["metadata"]["uid"] = self.fresh()
                answer = self.extender.filter(value, [on])
                self.assertEqual(answer.nodes, [])
                for word in words:
                    self.assertIn(word, answer["Error"])
                if name != "no number":  # because this is not a valid pod
                    self.assertEqual(self.extender.scores(value, [on]), {})
        self.cluster.wait_free({on: [(100, 16000)]})

    def test_refusal_is_told_once_and_no_condition_is_written(self):
        on = self.make_node()
        value = self.cluster.add_pod(pod(f"{on}-p", [{CORE: 10, MEMORY: 20000}]))
        for _ in range(3):
            answer = self.extender.filter(value, [on])
            self.assertEqual((answer.nodes, answer.failed), ([], {on: "insufficient GPU memory"}))
        told = wait_until("an event", lambda: self.cluster.events(value))
        self.assertEqual([reason for reason, _ in told], ["FilteringFailed"])
        self.assertIn("16000", told[0][1])
        conditions = self.cluster.pod(value).get("status", {}).get("conditions", [])
        self.assertEqual([each for each in conditions if each["type"] == "PodScheduled"], [])


class Size(Native):
    def test_twenty_megabytes(self):
        known = [self.cluster.call("GET", f"/api/v1/nodes/{self.make_node()}") for _ in range(2)]
        filler = "x" * 4000
        nodes = known + [{"metadata": {"name": f"far-{i}", "annotations": {"filler": filler}}}
                         for i in range(5000)]
        answer = self.extender.filter(self.make_pod(50), nodes)
        self.assertEqual(answer.nodes, [each["metadata"]["name"] for each in known])
        self.assertEqual(set(answer.failed.values()), {"node is not known to Stowage yet"})
        self.assertEqual(len(answer.failed), 5000)
        plain = self.cluster.add_pod(pod(f"{self.fresh()}-plain", [{}]))
        self.assertEqual(self.extender.filter(plain, nodes)["Nodes"]["items"], nodes)

    def test_thousands_of_nodes(self):
        row = self.fresh()
        names = [f"{row}-{i:04}" for i in range(2000)]
        self.cluster.api.create_all("/api/v1/nodes", [
            node(name, {"stowage.dev/gpu": 1}) for name in names])
        wait_until("the nodes are known", lambda: not self.cluster.unknown(names), 30, 0.2)
        value = self.make_pod(50)
        self.assertEqual(self.extender.filter(value, names).nodes, names)
        scores = self.extender.scores(value, names)
        self.assertEqual((len(scores), max(scores.values())), (2000, 10))
        self.assertTrue(all(0 <= score <= 10 for score in scores.values()))
        self.assertEqual(self.extender.bind(value, names[1234]), "")

    def test_shapes(self):
        deep = b"[" * 200_000
        rows = (("deep", deep), ("deep and closed", deep + b"]" * 200_000),
                ("deep pod", b'{"Pod":' * 50_000),
                ("deep inside of a node", b'{"Pod":{"metadata":{"name":"p"}},"Nodes":{"items":[{'
                 b'"metadata":{"name":"n"},"x":' + deep + b"]" * 200_000 + b"}]}}"),
                ("a long text", b'{"Pod":{"metadata":{"name":"' + b"a" * 5_000_000 + b'"}}}'),
                ("many keys", b"{" + b",".join(b'"k%d":1' % i for i in range(200_000)) + b"}"),
                ("a key twice", b'{"NodeNames":["a"],"NodeNames":["b"],"Pod":{},"Pod":{}}'),
                ("zero bytes", b"\0" * 1000), ("a long number", b'{"Pod":' + b"9" * 100_000 + b"}"))
        for name, body in rows:
            for path in (FILTER, "/stowage/prioritize", "/stowage/bind", "/stowage/preempt"):
                with self.subTest(f"{name}, {path}"):
                    code, text = self.extender.send("POST", path, body)
                    self.assertIn(code, (200, 400), text[:200])
                    echoed = name == "deep inside of a node"  # the pod asks for no cards
                    self.assertLess(len(text), len(body) + 1000 if echoed else 10_000)
        self.assertEqual(self.extender.send("GET", "/healthz")[0], 200)

    def test_too_large(self):
        with socket.create_connection(("127.0.0.1", self.extender.port), timeout=30) as connection:
            connection.sendall(b"POST /stowage/filter HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Length: 90000000000\r\n\r\n{")
            self.assertIn(b" 413 ", connection.recv(4096).split(b"\r\n")[0])


class Holds(Native):
    """A share is never given twice, in any order of calls."""

    def test_two_pods_and_one_last_share(self):
        on = self.make_node()
        one, two = self.make_pod(60), self.make_pod(60)
        self.assertEqual(self.extender.filter(one, [on]).nodes, [on])
        answer = self.extender.filter(two, [on])
        self.assertEqual((answer.nodes, answer.failed), ([], {on: "insufficient GPU compute"}))
        self.assertEqual(self.extender.bind(one, on), "")
        error = self.extender.bind(two, on)
        self.assertIn(f"cannot bind pod default/{two['metadata']['name']} to node {on}", error)
        self.assertEqual((self.on(one), self.on(two)), (on, ""))
        self.assertEqual(self.cards(one), {"c0": [(0, 600, 9600)]})

    def test_both_were_filtered_on_two_nodes_and_want_the_same(self):
        first, second = self.make_node(), self.make_node()
        one, two = self.make_pod(60), self.make_pod(60)
        for value in (one, two):
            self.assertNotEqual(self.extender.filter(value, [first, second]).nodes, [])
        self.assertEqual(self.extender.bind(one, first), "")
        self.assertNotEqual(self.extender.bind(two, first), "")
        self.assertEqual(self.extender.bind(two, second), "")
        self.cluster.wait_free({first: [(40, 6400)], second: [(40, 6400)]})

    def test_hold_runs_out(self):
        on = self.make_node()
        slow, quick = self.make_pod(60), self.make_pod(60)
        self.assertEqual(self.hasty.filter(slow, [on]).nodes, [on])
        self.assertEqual(self.hasty.filter(quick, [on]).nodes, [])
        wait_until("the hold has run out",
                   lambda: self.hasty.filter(quick, [on]).nodes == [on])
        self.assertEqual(self.hasty.bind(quick, on), "")
        self.assertIn("insufficient GPU compute", self.hasty.bind(slow, on))

    def test_late_bind(self):
        on = self.make_node()
        value = self.make_pod(60)
        self.assertEqual(self.hasty.filter(value, [on]).nodes, [on])
        self.cluster.wait_free({on: [(100, 16000)]})  # the hold has run out
        self.assertEqual(self.hasty.bind(value, on), "")
        self.assertEqual(self.cards(value), {"c0": [(0, 600, 9600)]})

    def test_filter_again_moves_the_hold(self):
        first, second = self.make_node(), self.make_node()
        value = self.make_pod(60)
        for on, other in ((first, second), (second, first), (second, first)):
            self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
            self.assertEqual(self.cluster.free(on, other),
                             {on: [(40, 6400)], other: [(100, 16000)]})

    def test_bind_to_another_node(self):
        first, second, full = self.make_node(), self.make_node(), self.make_node()
        self.assertEqual(self.extender.bind(self.make_pod(60), full), "")
        value = self.make_pod(60)
        self.assertEqual(self.extender.filter(value, [first]).nodes, [first])
        self.assertIn("insufficient GPU compute", self.extender.bind(value, full))
        self.assertEqual(self.extender.bind(value, second), "")
        self.assertEqual(self.on(value), second)
        self.cluster.wait_free({first: [(100, 16000)], second: [(40, 6400)]})
        # Once it is bound, the same bind succeeds again, and another one is refused.
        self.assertEqual(self.extender.bind(value, second), "")
        self.assertNotEqual(self.extender.bind(value, first), "")

    def test_pod_deleted_between_filter_and_bind(self):
        on = self.make_node()
        value = self.make_pod(60)
        self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
        self.cluster.delete_pod(value)
        self.assertIn("not found", self.extender.bind(value, on))
        self.cluster.wait_free({on: [(100, 16000)]})

    def test_pod_recreated_between_filter_and_bind(self):
        on = self.make_node()
        value = self.make_pod(60)
        self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
        self.cluster.delete_pod(value)
        anew = self.cluster.add_pod(pod(value["metadata"]["name"], [{CORE: 30}]))
        # Which of the two depends on whether the watch has already shown the new pod.
        self.assertIn(self.extender.bind(value, on), (
            f'different uid "{uid(value)}" from the target pod',
            f"pod default/{value['metadata']['name']} was replaced: its uid is {uid(anew)}, "
            f"not {uid(value)}"))
        self.assertEqual(self.on(anew), "")
        self.cluster.wait_free({on: [(100, 16000)]})

    def test_bound_by_another_scheduler(self):
        """kube-scheduler's own binder, or a user: what was held is charged once."""
        first, second = self.make_node(), self.make_node()
        for held, bound in ((first, first), (first, second)):
            value = self.make_pod(40)
            self.assertEqual(self.extender.filter(value, [held]).nodes, [held])
            self.cluster.bind(value, bound)
        # Its card is unknown: no other share is put on a card that might be it.
        wait_until("both count", lambda: self.extender.dry_run(self.make_pod(70), [first, second])
                   .nodes == [])
        answer = self.extender.filter(self.cluster.pod(value), [first])
        self.assertIn(f"being bound to node {second}", answer["Error"])

    def test_node_gone_between_filter_and_bind(self):
        on = self.make_node()
        value = self.make_pod(60)
        self.assertEqual(self.extender.filter(value, [on]).nodes, [on])
        self.cluster.call("DELETE", f"/api/v1/nodes/{on}")
        wait_until("the node has gone", lambda: self.cluster.unknown([on]))
        self.assertNotEqual(self.extender.bind(value, on), "")
        self.assertEqual(self.on(value), "")

    def test_unknown_node_and_pod(self):
        value = self.make_pod(60)
        self.assertIn("not known", self.extender.bind(value, "nowhere"))
        ghost = pod("ghost", [{CORE: 60}])
        ghost["metadata"]["uid"] = "ghost"
        self.assertEqual(self.extender.bind(ghost, self.make_node()), 'pods "ghost" not found')

    def test_own_scheduler_on_the_same_card(self):
        label = {"row": self.fresh()}
        on = self.make_node(labels=label)
        guest = self.make_pod(60)
        self.assertEqual(self.extender.filter(guest, [on]).nodes, [on])
        ours = self.make_pod(60, scheduler="stowage", selector=label)
        small = self.make_pod(40, scheduler="stowage", selector=label)
        wait_until("the small one is placed", lambda: self.on(small) == on)
        self.assertEqual(self.extender.bind(guest, on), "")
        self.assertEqual(self.on(ours), "")
        self.assertEqual(self.extender.filter(self.make_pod(10), [on]).nodes, [])
        self.cluster.delete_pod(guest)
        wait_until("the other is placed", lambda: self.on(ours) == on)
        self.assertIn(GPUS, self.annotations(ours))
        self.cluster.wait_free({on: [(0, 0)]})

    def test_a_refused_pod_is_touched_when_it_fits(self):
        """kube-scheduler would not try it again: nothing that it knows has changed."""
        on = self.make_node()
        wish = {"stowage.dev/gpu-ids": f"GPU-{on}-0"}
        one, two = self.make_pod(60, annotations=wish), self.make_pod(60, annotations=wish)
        self.extender.filter(one, [on])
        self.assertEqual(self.extender.bind(one, on), "")
        self.assertEqual(self.extender.filter(two, [on]).nodes, [])
        time.sleep(2.5)
        self.assertNotIn("stowage.dev/retry-since", self.annotations(two), "there is no room yet")
        self.cluster.delete_pod(one)
        wait_until("it is touched",
                   lambda: "stowage.dev/retry-since" in self.annotations(two))
        self.assertEqual(self.extender.filter(two, [on]).nodes, [on])

    def test_hold_of_a_deleted_pod_wakes_our_own(self):
        label = {"row": self.fresh()}
        on = self.make_node(labels=label)
        guest = self.make_pod(60)
        self.extender.filter(guest, [on])
        ours = self.make_pod(60, scheduler="stowage", selector=label)
        self.cluster.delete_pod(guest)
        wait_until("it is placed", lambda: self.on(ours) == on)


class Https(Case):
    """Certificates from openssl; clients must have one of ours."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="stowage-tls-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for authority in ("ca", "stranger"):
            cls.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", f"/CN={authority}", "-keyout",
                        f"{authority}.key", "-out", f"{authority}.crt")
        for name, authority in (("server", "ca"), ("later", "ca"), ("client", "ca"),
                                ("intruder", "stranger")):
            cls.certificate(name, authority)
        cls.CONFIG = f"""
extenders:
- preset: stowage
  listen: "127.0.0.1:0"
- preset: stowage
  name: required-tls
  listen: "127.0.0.1:0"
  tls: {{certFile: {cls.folder}/server.crt, keyFile: {cls.folder}/server.key,
         clientCAFile: {cls.folder}/ca.crt, clientCertRequired: true}}
- preset: stowage
  name: open-tls
  listen: "127.0.0.1:0"
  tls: {{certFile: {cls.folder}/server.crt, keyFile: {cls.folder}/server.key}}
"""
        super().setUpClass()

    @classmethod
    def openssl(cls, *flags):
        subprocess.run(["openssl", *flags], cwd=cls.folder, check=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=60)

    @classmethod
    def certificate(cls, name, authority):
        (cls.folder / "san").write_text("subjectAltName=IP:127.0.0.1\n", encoding="utf-8")
        cls.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        cls.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey",
                    f"{authority}.key", "-CAcreateserial", "-days", "2", "-extfile", "san", "-out",
                    f"{name}.crt")

    def context(self, client=None, authority="ca"):
        context = ssl.create_default_context(cafile=str(self.folder / f"{authority}.crt"))
        if client:
            context.load_cert_chain(self.folder / f"{client}.crt", self.folder / f"{client}.key")
        return context

    def server_name(self, port):
        """The common name in the server's certificate."""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
            with self.context().wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                return dict(pair[0] for pair in connection.getpeercert()["subject"])["commonName"]

    def test_clients(self):
        rows = (  # extender, client certificate, authority that the client trusts, works
            ("required-tls", "client", "ca", True), ("required-tls", None, "ca", False),
            ("required-tls", "intruder", "ca", False),
            ("required-tls", "client", "stranger", False),
            ("open-tls", None, "ca", True), ("open-tls", "intruder", "ca", True))
        for name, client, authority, works in rows:
            with self.subTest(f"{name}, {client} trusts {authority}"):
                extender = self.cluster.extender(name, self.context(client, authority))
                try:
                    code = extender.send("GET", "/healthz")[0]
                except (ssl.SSLError, OSError):
                    code = 0
                self.assertEqual(code, 200 if works else 0)
        code = 0
        try:  # no plain text on that port
            code = Extender(self.cluster.ports["open-tls"]).send("GET", "/healthz")[0]
        except Exception:  # pylint: disable=broad-except
            pass
        self.assertNotEqual(code, 200)

    def test_from_filter_to_bind(self):
        on, = self.cluster.add_nodes(node(self.fresh(), {"stowage.dev/gpu": 1}))
        extender = self.cluster.extender("required-tls", self.context("client"))
        value = self.cluster.add_pod(pod(f"{on}-p", [{"stowage.dev/gpu": 1}]))
        self.assertEqual(extender.filter(value, [on]).nodes, [on])
        self.assertEqual(extender.scores(value, [on]), {on: 10})
        self.assertEqual(extender.bind(value, on), "")
        self.assertEqual(self.on(value), on)

    def test_certificates_change(self):
        port = self.cluster.ports["open-tls"]
        self.assertEqual(self.server_name(port), "server")
        files = self.folder / "server.crt", self.folder / "server.key"
        good = [file.read_bytes() for file in files]
        self.addCleanup(lambda: [file.write_bytes(text) for file, text in zip(files, good)])
        # An invalid certificate does not replace a valid one.
        files[0].write_text("-----BEGIN CERTIFICATE-----\nno\n", encoding="utf-8")
        wait_until("it is told", lambda: "new certificates cannot be used" in self.cluster.log())
        self.assertEqual(self.server_name(port), "server")
        for file, name in zip(files, ("later.crt", "later.key")):
            file.write_bytes((self.folder / name).read_bytes())
        wait_until("the new one is shown", lambda: self.server_name(port) == "later", 30, 0.1)
        extender = self.cluster.extender("required-tls", self.context("client"))
        wait_until("also there", lambda: "later" in self.shown(extender), 30, 0.1)

    def shown(self, extender):
        with socket.create_connection(("127.0.0.1", extender.port), timeout=30) as plain:
            with extender.tls.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                return str(connection.getpeercert()["subject"])


if __name__ == "__main__":
    main()
