"""Cases: the admission policies of deploy/, and how the controller treats forged annotations."""
import json

from api import Api, ApiError, wait_until
from case import Case
from cluster import DEPLOY
from objects import GPUS, gpus_text, node, node_of, pod

INVENTORY = "stowage.dev/gpu-inventory"
RETRY = "stowage.dev/retry-since"
SIGNATURE = "stowage.dev/signature"
PROMISED_NODE = "stowage.dev/pre-allocated-node"
# Annotations about cards that schedulers and agents of other systems write.
CHOSEN = ("tencent.com/predicate-node", "tencent.com/predicate-gpu-idx-0",
          "nvidia.com/predicate-time", "nvidia.com/pre-allocated", "elasticgpu.io/assumed",
          "elasticgpu.io/container-c0", "nano-gpu/assume", "nano-gpu/container-c0")
GIVEN = ("nvidia.com/real-allocated", "nvidia.com/gpu-assigned", "tencent.com/gpu-assigned",
         "ai.centaurus.io/alnair-gpu-id")
STOWAGE = "system:serviceaccount:kube-system:stowage"
AGENT = "system:serviceaccount:kube-system:stowage-agent"
# Two policies refuse it; the API server chooses which one to name.
REFUSED_TO_NODES = "only by the agent of that node|and nothing else of"
NODE_OF_TOKEN = "authentication.kubernetes.io/node-name"


class As(Api):
    """The admin, impersonating another user."""

    def __init__(self, cluster, user, groups=(), extra=None):
        admin = cluster.users["admin"]
        super().__init__(cluster.ports["api"], cluster.certificates.ca, None, admin)
        self.impersonated = [("Impersonate-User", user)]
        self.impersonated += [("Impersonate-Group", group) for group in groups]
        self.impersonated += [(f"Impersonate-Extra-{key.replace('/', '%2F')}", value)
                              for key, value in (extra or {}).items()]

    def headers(self, content_type=None):
        # These tests need only one value per header.
        return {**super().headers(content_type), **dict(self.impersonated)}


def with_annotation(key, value):
    return {"metadata": {"annotations": {key: value}}}


def inventory(where):
    return json.dumps({"version": 1, "cards": [
        {"id": f"GPU-{where}-{index}", "index": index, "memoryMiB": 81920} for index in (0, 1)]})


class AdmissionCase(Case):
    def setUp(self):
        super().setUp()
        self.grant_everything("author")
        self.grant_everything(AGENT)
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "admission.yaml")
        self.addCleanup(self.lift)
        self.author = As(self.cluster, "author")
        wait_until("the policies are in force", lambda: all(self.probes()))

    def probes(self):
        """How the policies answer to a forged pod and a forged node; dry runs, so nothing is
        stored."""
        probe = pod("probe", annotations={GPUS: "x"})
        yield self.refuses(self.author, "POST", self.pods + "?dryRun=All", probe)
        probe = node("probe", annotations={INVENTORY: "x"})
        yield self.refuses(self.author, "POST", "/api/v1/nodes?dryRun=All", probe)
        probe = node("probe", annotations={"stowage.dev/node-resources": "x"})
        yield self.refuses(self.author, "POST", "/api/v1/nodes?dryRun=All", probe)
        yield self.refuses(self.agent(), "POST", "/api/v1/nodes?dryRun=All", node("probe"))

    def agent(self, node_name=None):
        """The agents' account, with a token of a pod on that node; None: a token without a node."""
        return As(self.cluster, AGENT, extra={NODE_OF_TOKEN: node_name} if node_name else None)

    def lift(self):
        self.cluster.kubectl("delete", "--ignore-not-found", "-f", DEPLOY / "admission.yaml")
        wait_until("the policies are gone", lambda: not any(self.probes()))

    def grant_everything(self, user):
        """RBAC allows this user everything with pods and nodes, so only the policy can refuse."""
        roles = "/apis/rbac.authorization.k8s.io/v1"
        name = f"{self.namespace}-{user.replace(':', '-')}"
        self.api.create(f"{roles}/clusterroles", {
            "metadata": {"name": name}, "rules": [
                {"apiGroups": [""], "verbs": ["*"],
                 "resources": ["pods", "pods/status", "pods/binding", "nodes", "nodes/status"]}]})
        self.api.create(f"{roles}/clusterrolebindings", {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": name},
            "subjects": [{"kind": "User", "name": user,
                          "apiGroup": "rbac.authorization.k8s.io"}]})
        self.addCleanup(lambda: self.api.delete(f"{roles}/clusterroles/{name}"))
        self.addCleanup(lambda: self.api.delete(f"{roles}/clusterrolebindings/{name}"))

    def refuses(self, api, method, path, body, content_type="application/json"):
        """The message if the policy refuses it."""
        try:
            api.request(method, path, body, content_type)
        except ApiError as error:
            if error.code == 403 and "stowage-" in error.message:
                return error.message
            raise
        return None

    def refused_write(self, api, path, body):
        message = self.refuses(api, "PATCH", path, body, "application/merge-patch+json")
        self.assertIsNotNone(message, f"{path} was written")
        return message


class PodPolicy(AdmissionCase):
    needs_cards = True

    def test_authors_may_wish_and_not_answer(self):
        forbidden = ((GPUS, "{}"), (GPUS, ""), (RETRY, "1"), (SIGNATURE, "v1:"),
                     (PROMISED_NODE, "n1")) + tuple((key, "0") for key in CHOSEN)
        for key, value in forbidden:
            message = self.refuses(self.author, "POST", self.pods,
                                   pod("p", annotations={key: value}))
            self.assertIsNotNone(message, key)
            self.assertIn("written only by the scheduler, not by author", message)
        for key in GIVEN:
            message = self.refuses(self.author, "POST", self.pods, pod("p", annotations={key: "0"}))
            self.assertIn("written only by the agent of its node, not by author", message or key)
        wishes = {"nvidia.com/use-gputype": "a10", "tencent.com/gpu-model": "x",
                  "stowage.dev/policy": "spread", "stowage.dev/topology": "none", "x.dev/gpus": "y"}
        self.author.create(self.pods, pod("wishes", annotations=wishes))

    def test_stowage_binds_with_cards_and_no_user_edits_them(self):
        self.add_nodes(node("n1"))
        self.author.create(self.pods, pod("a"))
        bound = self.bound("a")
        self.check_cards([bound])
        text = bound["metadata"]["annotations"][GPUS]
        path = f"{self.pods}/a"
        for target in (path, path + "/status"):
            self.refused_write(self.author, target, with_annotation(GPUS, "{}"))
            self.refused_write(self.author, target, with_annotation(GPUS, None))
            self.refused_write(self.author, target, with_annotation(RETRY, "1"))
            self.refused_write(self.author, target, with_annotation(SIGNATURE, None))
            self.refused_write(self.author, target, with_annotation(SIGNATURE, "v1:"))
            for key in (PROMISED_NODE,) + CHOSEN + GIVEN:
                self.refused_write(self.author, target, with_annotation(key, "0"))
        self.refused_write(self.api, path, with_annotation(GPUS, "{}"))  # not even the admin
        self.author.patch(path, with_annotation("mine", "1"))
        self.author.patch(path, {"metadata": {"labels": {"a": "b"}}})
        self.author.patch(path + "/status", {"status": {"message": "fine"}})
        self.assertEqual(self.pod("a")["metadata"]["annotations"][GPUS], text)
        self.author.delete(path)

    def test_authors_remove_nothing_that_was_written_for_them(self):
        self.subject.kill()
        self.add_nodes(node("n1"))
        keys = (GPUS, SIGNATURE, PROMISED_NODE, RETRY) + CHOSEN + GIVEN
        for name, on in (("promised", None), ("placed", "n1")):
            path = f"{self.pods}/{name}"
            self.author.create(self.pods, pod(name, scheduler="other"))
            if on:
                self.author.create(f"{path}/binding", {
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": on}})
            As(self.cluster, STOWAGE).patch(path, {"metadata": {
                "annotations": {**{key: "0" for key in keys}, "mine": "1"}}})
            for target in (path, path + "/status"):
                for key in keys:
                    with self.subTest(f"{target} {key}"):
                        self.refused_write(self.author, target, with_annotation(key, None))
                self.refused_write(self.author, target, {"metadata": {"annotations": None}})
            bare = self.pod(name)
            bare["metadata"]["annotations"] = {}
            self.assertIsNotNone(self.refuses(self.author, "PUT", path, bare))
            self.author.patch(path, with_annotation("mine", None))
            self.assertEqual(set(keys), set(self.pod(name)["metadata"]["annotations"]))

    def test_a_binding_brings_cards_only_from_the_scheduler(self):
        self.subject.kill()
        self.add_nodes(node("n1"))
        self.author.create(self.pods, pod("a"))
        binding = {"apiVersion": "v1", "kind": "Binding",
                   "metadata": {"name": "a", "annotations": {GPUS: gpus_text("n1", c0=[3])}},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}
        message = self.refuses(self.author, "POST", f"{self.pods}/a/binding", binding)
        self.assertIn("written only by the scheduler", message or "it was bound")
        As(self.cluster, STOWAGE).create(f"{self.pods}/a/binding", binding)
        self.assertEqual(self.pod("a")["metadata"]["annotations"][GPUS], gpus_text("n1", c0=[3]))
        self.author.create(self.pods, pod("b", scheduler="other"))
        del binding["metadata"]["annotations"]
        binding["metadata"]["name"] = "b"
        self.author.create(f"{self.pods}/b/binding", binding)
        self.assertEqual(node_of(self.pod("b")), "n1")


    def test_the_agent_of_the_pods_node_says_what_it_gave(self):
        self.add_nodes(node("n1"), node("n2"))
        self.author.create(self.pods, pod("a"))
        on = node_of(self.bound("a"))
        path = f"{self.pods}/a"
        other = "n2" if on == "n1" else "n1"
        for who, agent in (("token", As(self.cluster, "author", extra={NODE_OF_TOKEN: on})),
                           ("kubelet", As(self.cluster, f"system:node:{on}"))):
            if who == "kubelet":
                self.grant_everything(f"system:node:{on}")
            with self.subTest(who):
                for key in GIVEN:
                    agent.patch(path, with_annotation(key, who))
                for key in CHOSEN + (GPUS, SIGNATURE):
                    self.refused_write(agent, path, with_annotation(key, "0"))
        elsewhere = As(self.cluster, "author", extra={NODE_OF_TOKEN: other})
        for key in GIVEN:
            self.refused_write(elsewhere, path, with_annotation(key, "0"))


class NodePolicy(AdmissionCase):
    starts_subject = False

    def test_a_node_describes_its_own_cards_and_no_others(self):
        self.add_nodes(node("n1"), node("n2"))
        users = {
            "agent": self.agent("n1"),
            "kubelet": As(self.cluster, "system:node:n1"),
        }
        self.grant_everything("system:node:n1")
        for name, user in users.items():
            for part in ("", "/status") if name == "kubelet" else ("",):
                with self.subTest(f"{name} {part}"):
                    text = inventory(name + part)
                    user.patch(f"/api/v1/nodes/n1{part}", with_annotation(INVENTORY, text))
                    now = self.api.get("/api/v1/nodes/n1")["metadata"]["annotations"]
                    self.assertEqual(now[INVENTORY], text)
                    message = self.refused_write(user, f"/api/v1/nodes/n2{part}",
                                                 with_annotation(INVENTORY, text))
                    self.assertRegex(message, REFUSED_TO_NODES)
        # Other pods on the node are not agents.
        other = As(self.cluster, "author", extra={NODE_OF_TOKEN: "n1"})
        self.refused_write(other, "/api/v1/nodes/n1", with_annotation(INVENTORY, None))
        self.refused_write(self.author, "/api/v1/nodes/n1", with_annotation(INVENTORY, None))
        self.author.patch("/api/v1/nodes/n1", with_annotation("mine", "1"))
        self.author.patch("/api/v1/nodes/n1/status", {"status": {"phase": "Running"}})
        self.api.patch("/api/v1/nodes/n2", with_annotation(INVENTORY, inventory("n2")))

    def test_only_the_controller_records_what_a_node_offers(self):
        self.add_nodes(node("n1"))
        record = "stowage.dev/node-resources"
        self.grant_everything("system:node:n1")
        for user in (self.author, As(self.cluster, "system:node:n1")):
            for part in ("", "/status"):
                message = self.refused_write(user, f"/api/v1/nodes/n1{part}",
                                             with_annotation(record, "nvidia.com/gpu=8"))
                self.assertIn("may be written only by the controller", message)
        forged = node("n2", annotations={record: "nvidia.com/gpu=8"})
        self.assertIsNotNone(self.refuses(self.author, "POST", "/api/v1/nodes", forged))
        As(self.cluster, STOWAGE).patch("/api/v1/nodes/n1/status", {
            **with_annotation(record, "stowage.dev/gpu-core=800"),
            "status": {"capacity": {"stowage.dev/gpu-core": "800"}}})
        self.author.patch("/api/v1/nodes/n1", with_annotation("mine", "1"))

    def test_an_agent_changes_nothing_but_its_own_annotation(self):
        """RBAC allows it, so only the policy can refuse."""
        marked = node("n1", annotations={"theirs": "1", INVENTORY: inventory("old")})
        marked["metadata"]["labels"]["zone"] = "a"
        self.add_nodes(marked, node("n2"))
        agent = self.agent("n1")
        n1, n2 = "/api/v1/nodes/n1", "/api/v1/nodes/n2"
        rows = {
            "a label": (n1, {"metadata": {"labels": {"zone": "b"}}}),
            "a new label": (n1, {"metadata": {"labels": {"new": "b"}}}),
            "a label removed": (n1, {"metadata": {"labels": {"zone": None}}}),
            "a taint": (n1, {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}),
            "unschedulable": (n1, {"spec": {"unschedulable": True}}),
            "another annotation": (n1, with_annotation("theirs", "2")),
            "a new annotation": (n1, with_annotation("stowage.dev/other", "2")),
            "an annotation removed": (n1, with_annotation("theirs", None)),
            "both at once": (n1, {"metadata": {"annotations": {INVENTORY: inventory("x"),
                                                               "theirs": "2"}}}),
            "a finalizer": (n1, {"metadata": {"finalizers": ["a.dev/b"]}}),
            "an owner": (n1, {"metadata": {"ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n2", "uid": "u"}]}}),
            "the status": (n1 + "/status", {"status": {"allocatable": {"nvidia.com/gpu": "64"}}}),
            "its annotation by the status": (n1 + "/status",
                                             with_annotation(INVENTORY, inventory("y"))),
            "another inventory": (n2, with_annotation(INVENTORY, inventory("n2"))),
            "a label of another": (n2, {"metadata": {"labels": {"zone": "b"}}}),
            "a taint of another": (n2, {"spec": {"taints": [{"key": "k",
                                                             "effect": "NoExecute"}]}}),
            "the status of another": (n2 + "/status", {"status": {"allocatable": {"cpu": "1"}}}),
        }
        before = [self.api.get(path) for path in (n1, n2)]
        for name, (path, patch) in rows.items():
            with self.subTest(name):
                message = self.refused_write(agent, path, patch)
                self.assertRegex(message, REFUSED_TO_NODES)
        for method, path, body in (("POST", "/api/v1/nodes", node("n3")), ("DELETE", n1, None),
                                   ("DELETE", n2, None)):
            with self.subTest(f"{method} {path}"):
                self.assertIsNotNone(self.refuses(agent, method, path, body))
        self.assertEqual([self.api.get(path) for path in (n1, n2)], before)
        agent.patch(n1, with_annotation(INVENTORY, inventory("new")))
        agent.patch(n1, with_annotation(INVENTORY, inventory("new")))  # the same again
        agent.patch(n1, with_annotation(INVENTORY, None))
        agent.patch(n1, with_annotation(INVENTORY, inventory("again")))
        now = self.api.get(n1)["metadata"]
        self.assertEqual(now["annotations"], {"theirs": "1", INVENTORY: inventory("again")})
        self.assertEqual(now["labels"], before[0]["metadata"]["labels"])

    def test_a_token_that_names_no_node_writes_to_none(self):
        """As before Kubernetes 1.30, or without ServiceAccountTokenPodNodeInfo."""
        self.add_nodes(node("n1"))
        agent = self.agent()
        self.refused_write(agent, "/api/v1/nodes/n1", with_annotation(INVENTORY, inventory("n1")))
        message = self.refused_write(agent, "/api/v1/nodes/n1", with_annotation("a", "b"))
        self.assertIn("it names none", message)

    def test_a_token_bound_to_a_pod_names_the_node(self):
        """The real agent: a token of its service account, for a pod on the node."""
        account = "/api/v1/namespaces/kube-system/serviceaccounts"
        self.cluster.kubectl("apply", "--validate=strict", "-f", DEPLOY / "agent.yaml", "-l",
                             "stowage.dev/part=access")
        self.add_nodes(node("n1"), node("n2"))
        pods = "/api/v1/namespaces/kube-system/pods"
        name = f"agent-{self.namespace}"
        made = self.api.create(pods, pod(name, {"cpu": "1"}, nodeName="n1",
                                         serviceAccountName="stowage-agent"))
        self.addCleanup(lambda: self.api.delete(f"{pods}/{name}"))
        answer = self.api.create(f"{account}/stowage-agent/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600, "boundObjectRef": {
                "apiVersion": "v1", "kind": "Pod", "name": name,
                "uid": made["metadata"]["uid"]}}})
        agent = self.cluster.api_as(token=answer["status"]["token"])
        agent.patch("/api/v1/nodes/n1", with_annotation(INVENTORY, inventory("n1")))
        self.refused_write(agent, "/api/v1/nodes/n2", with_annotation(INVENTORY, inventory("n2")))
        self.refused_write(agent, "/api/v1/nodes/n1", {"metadata": {"labels": {"a": "b"}}})


class WithoutPolicy(Case):
    """How the controller treats forged and edited annotations if no policy forbids them."""

    needs_cards = True

    def metric(self, name):
        for line in self.subject.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def test_edited_annotations_move_no_pod(self):
        self.add_nodes(node("n1", gpus=2))
        self.add(pod("a"))
        text = self.bound("a")["metadata"]["annotations"][GPUS]
        used = json.loads(text)["containers"]["c0"][0]["index"]
        path = f"{self.pods}/a"
        self.api.patch(path, with_annotation(GPUS, gpus_text("n1", c0=[1 - used])))
        wait_until("the mismatch is counted",
                   lambda: self.metric("stowage_pods_annotation_mismatch") == 1)
        wait_until("an event tells of it", lambda: self.events("a", "AnnotationMismatch"))
        self.add(pod("b"))
        cards = json.loads(self.bound("b")["metadata"]["annotations"][GPUS])["containers"]["c0"]
        self.assertEqual([card["index"] for card in cards], [1 - used])
        self.api.patch(path, with_annotation(GPUS, None))
        wait_until("it is counted again",
                   lambda: self.metric("stowage_annotation_edits_total") == 2)
        self.api.patch(path, with_annotation(GPUS, text))
        wait_until("it is over", lambda: self.metric("stowage_pods_annotation_mismatch") == 0)

    def test_an_edited_annotation_counts_no_more_after_a_restart(self):
        self.add_nodes(node("n1", gpus=2))
        self.add(pod("a"))
        first = self.bound("a")
        text = first["metadata"]["annotations"][GPUS]
        self.assertTrue(first["metadata"]["annotations"][SIGNATURE].startswith("v1:"))
        used = json.loads(text)["containers"]["c0"][0]["index"]
        self.subject.kill()
        self.api.patch(f"{self.pods}/a", with_annotation(GPUS, gpus_text("n1", c0=[1 - used])))
        self.subject.start()
        wait_until("it is reported", lambda: self.events("a", "UntrustedAnnotation"))
        half = {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "40960"}
        self.add(pod("half", half))
        self.refused("half")  # it is unknown which card is in use
        self.api.delete(f"{self.pods}/half")
        self.api.patch(f"{self.pods}/a", with_annotation(GPUS, text))
        self.add(pod("b"))
        cards = json.loads(self.bound("b")["metadata"]["annotations"][GPUS])["containers"]["c0"]
        self.assertEqual([card["index"] for card in cards], [1 - used])

    def test_forged_answers_are_ignored_and_reported(self):
        self.add_nodes(node("n1", gpus=2))
        forged = {GPUS: gpus_text("n1", c0=[1])}
        self.add(pod("new", annotations=forged), pod("theirs", annotations=forged, scheduler="x"))
        self.bound("new")
        for name in ("new", "theirs"):
            wait_until(f"{name} is reported", lambda name=name: self.events(
                name, "UntrustedAnnotation"))

    def test_a_pod_that_is_created_on_a_node_names_no_cards(self):
        """If it counted, card 0 would look free, although it is unknown which card the pod uses."""
        self.add_nodes(node("n1", gpus=2))
        self.add(pod("placed", annotations={GPUS: gpus_text("n1", c0=[1])}, nodeName="n1"))
        wait_until("it is reported", lambda: self.events("placed", "UntrustedAnnotation"))
        half = {"stowage.dev/gpu-core": "50", "stowage.dev/gpu-memory": "40960"}
        self.add(pod("half", half))
        self.refused("half")
