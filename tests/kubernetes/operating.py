"""Cases: what an operator does with a running controller."""
import http.client
import os
import signal

from api import wait_until
from case import Case
from objects import node, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CONFIG = ("apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\n"
          "profiles: [{{name: stowage}}{more}]\n"
          "debug: {{loopback: false}}\n"
          "leaderElection: {{leaseDuration: 2s, renewDeadline: 1500ms, retryPeriod: 500ms}}\n")


class Operating(Case):
    starts_subject = False
    needs_cards = True

    def start(self, more=""):
        self.config = self.cluster.folder / f"{self.namespace}.yaml"
        self.config.write_text(CONFIG.format(more=more), encoding="utf-8")
        self.subject.start(config=self.config)

    def ask(self, path, token=None, method="GET", body=None):
        connection = http.client.HTTPConnection(*self.subject.address, timeout=30)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def token_of(self, name):
        accounts = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": name}})
        return self.api.create(f"{accounts}/{name}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600}})["status"]["token"]

    def grant(self, name, *verbs):
        role = f"{self.namespace}-debug"
        self.api.create(f"{RBAC}/clusterroles", {
            "metadata": {"name": role},
            "rules": [{"nonResourceURLs": ["/debug/*"], "verbs": list(verbs)}]})
        self.addCleanup(lambda: self.api.delete(f"{RBAC}/clusterroles/{role}"))
        self.api.create(f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}]})
        self.addCleanup(lambda: self.api.delete(f"{RBAC}/clusterrolebindings/{role}"))

    def test_debug_is_for_those_whom_the_api_server_trusts_with_it(self):
        self.start()
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.assertEqual(self.ask("/debug/state")[0], 401)
        self.assertEqual(self.ask("/debug/state", "no-such-token")[0], 401)
        self.assertEqual(self.ask("/debug/state", self.cluster.tokens["nobody"])[0], 403)
        token = self.token_of("debugger")
        self.assertEqual(self.ask("/debug/log-level", token)[0], 403)
        self.grant("debugger", "get")
        # The API server's answer is cached for ten seconds.
        wait_until("it may look", lambda: self.ask("/debug/log-level", token)[0] == 200)
        self.assertEqual(self.ask("/debug/log-level", token, "PUT", "debug")[0], 403)
        code, profile = self.ask("/debug/profile/cpu?seconds=1", token)
        self.assertEqual((code, len(profile) > 100), (200, True))

    def test_a_configuration_is_reloaded_where_rights_are_narrow(self):
        self.add_nodes(node("n1"))
        self.start()
        self.add(pod("a"), pod("b", scheduler="other"))
        self.bound("a")
        fresh = self.config.with_suffix(".new")
        fresh.write_text(CONFIG.format(more=", {name: other, policy: fgd}"), encoding="utf-8")
        os.replace(fresh, self.config)
        self.subject.process.child.send_signal(signal.SIGHUP)
        self.bound("b")
        self.check_cards(self.api.list(self.pods))
