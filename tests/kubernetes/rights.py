"""Cases: the rights that we ship are exactly those that are used.

The API server records the requests of the accounts of the controller and of the agents (AUDIT in
cluster.py). So this runs after all other cases, and is valid only if all of them ran.
"""
import json
import pathlib

from case import Case

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CONTROLLER = "system:serviceaccount:kube-system:stowage"
AGENT = "system:serviceaccount:kube-system:stowage-agent"
ROLES = {
    CONTROLLER: [f"{RBAC}/clusterroles/stowage",
                 f"{RBAC}/namespaces/kube-system/roles/stowage"],
    AGENT: [f"{RBAC}/clusterroles/stowage-agent"],
}
# Requested from the leading replica, which asks the API server for permission (metrics_api.py).
NOT_OF_THE_API_SERVER = {"metrics.nvidia.com"}
# Used only outside these cases: by the conformance tests, which have volumes and preemption, or
# when an event is repeated. Each with the file that uses it, and how.
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
ELSEWHERE = {
    ("", "persistentvolumeclaims", "patch", ""): (
        "scheduler/claim_binder.cc", "selected_node_patch"),
    ("", "persistentvolumes", "get", ""): ("scheduler/claim_binder.cc", "read volume"),
    ("", "persistentvolumes", "patch", ""): ("scheduler/claim_binder.cc", "claim_ref_patch"),
    ("", "pods", "delete", ""): ("scheduler/evictor.cc", "\"DELETE\""),
    ("events.k8s.io", "events", "patch", ""): ("kube/event_recorder.cc", "\"PATCH\""),
}


def granted(api, user):
    """(group, resource, verb, name) of every right; the name is empty if it applies to all."""
    rights = set()
    for path in ROLES[user]:
        for rule in api.get(path).get("rules", []):
            rights |= {(group, resource, verb, name)
                       for group in rule["apiGroups"] for resource in rule["resources"]
                       for verb in rule["verbs"] for name in rule.get("resourceNames", [""])}
    return rights


def requests(folder):
    """(user, group, resource, verb, name, code) of each distinct request."""
    seen = set()
    for path in sorted(folder.glob("audit*.json")):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:  # the server was killed while it wrote the line
                    continue
                about = event.get("objectRef")
                if not about:
                    continue
                resource = about["resource"]
                if about.get("subresource"):
                    resource += "/" + about["subresource"]
                seen.add((event["user"]["username"], about.get("apiGroup", ""), resource,
                          event["verb"], about.get("name", ""),
                          event.get("responseStatus", {}).get("code", 0)))
    return seen


class Rights(Case):
    starts_subject = False

    def test_every_right_is_used(self):
        asked = requests(self.cluster.folder)
        self.assertTrue(asked, "nothing was written down")
        for user in ROLES:
            used = {each[1:5] for each in asked if each[0] == user and each[5] < 300}
            kinds = {each[:3] for each in used}
            rights = {right for right in granted(self.cluster.api, user)
                      if right[0] not in NOT_OF_THE_API_SERVER}
            unused = [right for right in sorted(rights)
                      if (right not in used if right[3] else right[:3] not in kinds)
                      and right not in ELSEWHERE]
            self.assertEqual(unused, [], f"rights of {user} that nothing used")

    def test_what_is_used_elsewhere_still_is(self):
        rights = granted(self.cluster.api, CONTROLLER)
        for right, (file, words) in ELSEWHERE.items():
            self.assertIn(right, rights)
            self.assertIn(words, (SOURCES / file).read_text(encoding="utf-8"), right)

    def test_nothing_is_missing(self):
        """Every request that succeeded is covered by the account's own role, or by `other`."""
        asked = requests(self.cluster.folder)
        for user in ROLES:
            rights = granted(self.cluster.api, user)
            used = {each[1:5] for each in asked if each[0] == user and each[5] < 300}
            # Rights of all accounts, or from another role (authentication-reader).
            other = {("", "configmaps", verb, "extension-apiserver-authentication")
                     for verb in ("get", "list", "watch")}
            beyond = [each for each in sorted(used - other)
                      if each not in rights and (*each[:3], "") not in rights]
            self.assertEqual(beyond, [], f"what {user} did by other rights than its own")
