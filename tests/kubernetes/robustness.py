"""Cases: restarts, rights, and the manifests of deploy/."""
import re
import threading
import time

import subject as subjects
from api import ApiError, wait_until
from case import Case, bindings
from cluster import DEPLOY
from objects import node, node_of, pod


class Restarts(Case):
    NODES = 56

    def add_many(self):
        """300 pods on nodes that hold them however they are packed."""
        self.add_nodes(*(node(f"n{number:02}") for number in range(self.NODES)))
        asks = [{"nvidia.com/gpu": "1"}] * 8 + [{"nvidia.com/gpu": "2"}] * 2
        if self.subject.chooses_cards:
            half = {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "40960"}
            asks += [half] * 2
        pods = [pod(f"p{number:03}", asks[number % len(asks)]) for number in range(300)]
        return self.add(*pods)

    def bound_count(self, watch):
        return sum(1 for states in bindings(watch).values() if states[-1][0])

    def bound_once(self, watch, pods):
        """Every pod went from unbound to one node and one set of cards, and stayed there."""
        wait_until("the watch has shown it", lambda: self.bound_count(watch) == len(pods),
                   details=lambda: f"{self.bound_count(watch)} of {len(pods)}; {watch.failure}")
        self.assertIsNone(watch.failure)
        for name, states in bindings(watch).items():
            self.assertLessEqual(sum(1 for state in states if state[0]), 1,
                                 f"{name} went through {states}")
        self.check_cards(pods)

    def test_killed_in_the_middle_of_binding(self):
        self.subject.kill()
        watch = self.watch_pods()
        created = len(self.add_many())
        for at in (50, 150):
            self.subject.start()
            wait_until(f"{at} pods are bound", lambda: self.bound_count(watch) >= at, every=0.002)
            self.subject.kill()
            count = self.bound_count(watch)
            print(f"      killed with {count} of {created} bound", flush=True)
            self.assertLess(count, created, "it was killed too late to show anything")
        self.subject.start()
        self.bound_once(watch, self.all_bound(created))

    def test_stopped_and_started(self):
        self.add_nodes(node("n1", gpus=4))
        self.add(pod("before", {"nvidia.com/gpu": "3"}), pod("waits", {"nvidia.com/gpu": "2"}))
        wait_until("one is bound", lambda: any(node_of(p) for p in self.api.list(self.pods)))
        self.subject.stop()
        self.add(pod("meanwhile"))
        self.subject.start()
        self.bound("meanwhile")
        pods = self.api.list(self.pods)
        self.assertEqual(sum(1 for value in pods if node_of(value)), 2)
        self.check_cards(pods, cards=4)

    def test_api_server_restarts_while_pods_keep_coming(self):
        self.add_nodes(*(node(f"n{number:02}") for number in range(self.NODES)))
        watch = self.watch_pods()
        process = self.subject.process
        names = [f"p{number:03}" for number in range(150)]
        failures = []

        def create_all():
            for name in names:
                try:
                    wait_until(f"{name} is created", lambda name=name: self.create_once(name), 60)
                except AssertionError as error:
                    failures.append(error)
                    return
        thread = threading.Thread(target=create_all)
        thread.start()
        wait_until("30 pods are bound", lambda: self.bound_count(watch) >= 30, every=0.002)
        self.cluster.kill("kube-apiserver")
        time.sleep(1)
        self.cluster.start_api_server()
        thread.join()
        self.assertEqual(failures, [])
        pods = self.all_bound(len(names))
        self.bound_once(watch, pods)
        self.assertTrue(process.alive, f"the scheduler ended:\n{process.tail()}")

    def create_once(self, name):
        """Creates the pod, unless an earlier attempt succeeded and its answer was lost."""
        try:
            self.add(pod(name))
        except ApiError as error:
            if error.code != 409:
                raise
        return True


class Rights(Case):
    starts_subject = False

    def setUp(self):
        super().setUp()
        if not self.subject.chooses_cards:
            self.skipTest("no controller to test")

    def test_a_user_without_rights_is_told_what_is_missing(self):
        kubeconfig = self.cluster.kubeconfig("nobody", token=self.cluster.tokens["nobody"])
        self.subject.start(kubeconfig, wait=False)
        wait_until("the log names a missing right", lambda: re.search(
            r"(?i)(cannot|may not|forbidden|missing).*\b(list|watch)\b.*\b(nodes|pods)\b",
            self.subject.said()), details=self.subject.tail)
        if self.subject.process.alive:
            self.assertNotEqual(self.subject.get("/readyz")[0], 200)
        else:
            self.assertNotEqual(self.subject.process.child.returncode, 0)
            self.assertGreater(self.subject.process.child.returncode, 0, "ended by a signal")

    def test_a_token_that_is_not_known_is_an_error(self):
        kubeconfig = self.cluster.kubeconfig("stranger", token="no-such-token")
        self.subject.start(kubeconfig, wait=False)
        wait_until("the log says so",
                   lambda: "401" in self.subject.said() or "nauthorized" in self.subject.said())
        self.assertFalse(self.subject.process.alive and self.subject.get("/readyz")[0] == 200)

    def test_a_right_that_is_granted_later_is_used(self):
        """A role without pods/binding: the pod waits, the log names the right, then it is bound."""
        roles, name = "/apis/rbac.authorization.k8s.io/v1/clusterroles", f"{self.namespace}-reader"
        rules = self.api.get(f"{roles}/stowage")["rules"]
        lesser = [rule for rule in rules if rule["resources"] != ["pods/binding"]]
        self.assertEqual(len(lesser), len(rules) - 1)
        self.api.create(roles, {"metadata": {"name": name}, "rules": lesser})
        self.addCleanup(lambda: self.api.delete(f"{roles}/{name}"))
        accounts = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": "reader"}})
        grants = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        self.api.create(grants, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "reader",
                          "namespace": self.namespace}]})
        self.addCleanup(lambda: self.api.delete(f"{grants}/{name}"))
        quotas = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings"
        self.api.create(quotas, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                        "name": "stowage"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader",
                          "namespace": self.namespace}]})
        self.addCleanup(lambda: self.api.delete(f"{quotas}/{name}"))
        self.add_nodes(node("n1"))
        self.subject.start(self.cluster.service_account_config(self.namespace, "reader"))
        self.add(pod("a"))
        wait_until("the log names the missing right",
                   lambda: "pods/binding" in self.subject.said() or "binding" in
                   self.subject.said() and "orbidden" in self.subject.said(),
                   details=self.subject.tail)
        self.assertEqual(node_of(self.pod("a")), "")
        self.api.patch(f"{roles}/{name}", {"rules": rules})
        self.bound("a", timeout=60)


class Deployed(Case):
    """The manifests of deploy/: applied by main, with every field known to the server."""

    starts_subject = False
    MAY = [("list", "", "pods", ""), ("watch", "", "nodes", ""), ("create", "", "pods", "binding"),
           ("patch", "", "pods", "status"), ("patch", "", "pods", ""), ("delete", "", "pods", ""),
           ("patch", "", "persistentvolumeclaims", ""), ("patch", "", "persistentvolumes", ""),
           ("watch", "storage.k8s.io", "csinodes", ""), ("list", "", "namespaces", ""),
           ("watch", "policy", "poddisruptionbudgets", ""),
           ("create", "events.k8s.io", "events", ""), ("patch", "", "nodes", "status"),
           *((verb, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "stowage")
             for verb in ("get", "patch")),
           *((verb, "", "configmaps", "", name, "kube-system")
             for verb in ("list", "watch") for name in ("gpuquota", "stowage-quota")),
           ("create", "coordination.k8s.io", "leases", "", "", "kube-system"),
           *((verb, "coordination.k8s.io", "leases", "", "stowage", "kube-system")
             for verb in ("get", "patch")),
           *((verb, "", kind, "", name, "kube-system") for verb in ("get", "patch")
             for kind, name in (("secrets", "stowage-signing-key"),
                                ("configmaps", "stowage-signing-keys")))]
    MAY_NOT = [("create", "", "pods", ""), ("update", "", "pods", ""),
               ("delete", "", "persistentvolumeclaims", ""),
               ("delete", "", "persistentvolumes", ""),
               ("create", "", "persistentvolumes", ""), ("patch", "", "namespaces", ""),
               ("patch", "", "nodes", ""), ("update", "", "nodes", "status"),
               ("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "",
                "other"),
               ("create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""),
               *((verb, "", "secrets", "", "stowage-signing-key", "kube-system")
                 for verb in ("list", "delete", "create")),
               ("get", "", "secrets", "", "other", "kube-system"),
               ("list", "", "secrets", ""), ("get", "", "nodes", ""),
               ("get", "", "persistentvolumeclaims", ""), ("get", "storage.k8s.io", "csinodes", ""),
               ("update", "", "persistentvolumes", ""), ("list", "", "configmaps", "", "gpuquota"),
               ("get", "", "configmaps", "", "gpuquota", "kube-system"),
               ("update", "coordination.k8s.io", "leases", "", "stowage", "kube-system"),
               ("get", "", "configmaps", "", "stowage", "kube-system"),
               ("list", "", "configmaps", "", "", "kube-system"),
               ("update", "", "configmaps", "", "gpuquota", "kube-system"),
               ("create", "", "pods", "exec"), ("create", "", "pods", "eviction"),
               ("impersonate", "", "users", ""), ("create", "coordination.k8s.io", "leases", ""),
               ("patch", "coordination.k8s.io", "leases", "", "kube-scheduler", "kube-system"),
               ("delete", "coordination.k8s.io", "leases", "", "stowage", "kube-system")]

    def may(self, user, verb, group, resource, part, name="", namespace="default"):
        answer = self.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "spec": {"user": user, "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": part,
                "namespace": namespace, "name": name}}})
        return answer["status"]["allowed"]

    def test_the_rights_are_those_needed_and_no_more(self):
        user = "system:serviceaccount:kube-system:stowage"
        for row in self.MAY:
            self.assertTrue(self.may(user, *row), row)
        for row in self.MAY_NOT:
            self.assertFalse(self.may(user, *row), row)

    def test_agents_may_verify_and_not_sign(self):
        user = "system:serviceaccount:kube-system:stowage-agent"
        self.cluster.kubectl("apply", "-f", DEPLOY / "agent.yaml")
        self.addCleanup(lambda: self.cluster.kubectl("delete", "--ignore-not-found", "-f",
                                                     DEPLOY / "agent.yaml"))
        keys = ("", "configmaps", "", "stowage-signing-keys", "kube-system")
        self.assertTrue(self.may(user, "get", *keys))
        for verb in ("patch", "update", "delete"):
            self.assertFalse(self.may(user, verb, *keys), verb)
        for verb in ("get", "list", "watch", "patch"):
            self.assertFalse(self.may(user, verb, "", "secrets", "", "stowage-signing-key",
                                      "kube-system"), verb)

    def test_a_certificate_for_the_static_pod_has_the_same_rights(self):
        certificate = self.cluster.certificates.sign(
            "static", "/CN=system:serviceaccount:kube-system:stowage", "clientAuth")
        api = self.cluster.api_as(certificate=certificate)
        api.list("/api/v1/nodes")
        with self.assertRaises(ApiError) as raised:
            api.list("/api/v1/secrets")
        self.assertEqual(raised.exception.code, 403)

    def test_the_pod_runs_under_the_restricted_standard(self):
        deployment = self.api.get("/apis/apps/v1/namespaces/kube-system/deployments/stowage")
        template = deployment["spec"]["template"]
        self.api.patch(f"/api/v1/namespaces/{self.namespace}", {"metadata": {"labels": {
            "pod-security.kubernetes.io/enforce": "restricted"}}})
        spec = {**template["spec"], "priorityClassName": ""}
        self.api.create(self.pods + "?dryRun=All",
                        {"metadata": {"name": "stowage", **template["metadata"]}, "spec": spec})

    def test_the_static_pod_is_accepted(self):
        text = self.cluster.kubectl("create", "--validate=strict", "--dry-run=server", "-f",
                                    DEPLOY / "static-pod.yaml")
        self.assertIn("pod/stowage created", text)

    def test_the_shipped_configuration_is_accepted(self):
        if not self.subject.chooses_cards:
            self.skipTest("no controller to test")
        shipped = self.api.get("/api/v1/namespaces/kube-system/configmaps/stowage")
        path = self.cluster.folder / "shipped.yaml"
        path.write_text(shipped["data"]["config.yaml"], encoding="utf-8")
        self.subject.start(config=path)
        self.add_nodes(node("n1"))
        self.add(pod("a"))
        self.bound("a")
        self.subject.stop()


class Kubelets(Case):
    def test_simulated_kubelets_run_the_pods(self):
        if not subjects.has_command("local", "kubelets"):
            self.skipTest("the program has no command 'local kubelets'")
        process = self.cluster.spawn("kubelets", "local", "kubelets", "--kubeconfig",
                                     self.cluster.admin_config, program=subjects.program())
        self.addCleanup(process.kill)
        self.add_nodes(node("n1"))
        self.add(pod("a"), pod("b"))
        for name in ("a", "b"):
            wait_until(f"{name} is running", lambda name=name: process.require_alive()
                       and self.pod(name)["status"]["phase"] == "Running")
        # A graceful deletion ends only with a kubelet.
        self.api.request("DELETE", f"{self.pods}/a")
        wait_until("a is gone", lambda: self.api.gone(f"{self.pods}/a"))
