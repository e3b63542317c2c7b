"""Cases: what a pod requires of other pods. Spread, affinity, anti-affinity, nominated nodes."""
from conformance_objects import (HOST, ZONE, apart, away, expression as ex, near, node, on, pod,
                                 port, required, selects, spread, taint, term, together)
from conformance_world import AWAY, HOME, Row

WEB, DB = {"app": "web"}, {"tier": "db"}
IS_WEB, IS_DB = selects(**WEB), selects(**DB)
# Two nodes in zone a, one in zone b, and where it matters one without a zone.
NODES = [node("n1", "a", gpus=2), node("n2", "a", gpus=2), node("n3", "b", gpus=2)]
AND_BARE = [*NODES, node("n4")]
ALL = "n1 n2 n3"


def rows():
    return [*spreads(), *spread_policies(), *near_others(), *namespaces(), *apart_from_others(),
            *symmetry(), *promised()]


def webs(*hosts, **options):
    return [on(where, f"web{index}", WEB, **options) for index, where in enumerate(hosts)]


def spreads():
    def row(name, fits, constraints, *objects, nodes=None, labels=None, **spec):
        constraints = constraints if isinstance(constraints, list) else [constraints]
        return Row(f"spread: {name}", fits, nodes or NODES,
                   pod("web", labels or WEB, topologySpreadConstraints=constraints, **spec),
                   list(objects))
    zone, host = spread(IS_WEB), spread(IS_WEB, HOST)
    db_host = spread(IS_DB, HOST)
    none = selects(ex("app", "NotIn", "web"))
    return [
        row("no pod yet", ALL, zone),
        row("one zone has one more", "n3", zone, *webs("n1")),
        row("all zones have the same", ALL, zone, *webs("n1", "n3")),
        row("a skew of two", ALL, spread(IS_WEB, skew=2), *webs("n1")),
        row("a skew of two, exceeded", "n3", spread(IS_WEB, skew=2), *webs("n1", "n2")),
        row("over hosts", "n2 n3", host, *webs("n1")),
        row("one node is one domain", "n1", host, *webs("n1"), nodes=NODES[:1]),
        row("nodes without the key are out", ALL, zone, nodes=AND_BARE),
        row("pods on nodes without the key do not count", ALL, zone, *webs("n4", "n4"),
            nodes=AND_BARE),
        row("no node has the key", "", spread(IS_WEB, "example.com/rack")),
        row("zones and hosts", "n2", [zone, host], *webs("n1", "n3")),
        row("two that exclude each other", "", [zone, db_host], *webs("n1"),
            on("n3", "db", DB), labels={**WEB, **DB}),
        row("a node has one key of two", "n1", [zone, spread(IS_WEB, "rack")], *webs("n1"),
            nodes=[node("n1", "a", {"rack": "r1"}), node("n2", "b")]),
        row("a pod that is not one of them, once", ALL, zone, *webs("n1"), labels=DB),
        row("a pod that is not one of them, twice", "n3", zone, *webs("n1", "n2"), labels=DB),
        row("no selector selects none", ALL, spread(None), *webs("n1", "n2")),
        row("an empty selector counts none", ALL, spread({}), on("n1", "any")),
        row("a selector with an expression", "n3", spread(none), on("n2", "any"), labels=DB),
        row("pods that terminate do not count", ALL, zone, *webs("n1", terminating=True)),
        row("pods that are done do not count", ALL, zone,
            *webs("n1", status={"phase": "Succeeded"})),
        row("pods of other namespaces do not count", ALL, zone, away("n1", "web", WEB)),
        row("whether one likes it", ALL, {**zone, "whenUnsatisfiable": "ScheduleAnyway"},
            *webs("n1", "n1")),
        row("the zone left has no gpus", "", zone, *webs("n1"), on("n3", "full", gpu="2"),
            gpu="1"),
    ]


def spread_policies():
    def row(name, fits, constraint, *objects, nodes=NODES, labels=None, **spec):
        return Row(f"spread: {name}", fits, nodes,
                   pod("web", labels or WEB, topologySpreadConstraints=[constraint], **spec),
                   list(objects))
    fast = [node("n1", "a", {"disk": "ssd"}), node("n2", "b")]
    ssd = {"nodeSelector": {"disk": "ssd"}}
    by_term = {"affinity": required(term(ex("disk", "In", "ssd")))}
    tainted = [node("n1", "a"), node("n2", "b", taints=[taint("gone")])]
    closed = [node("n1", "a"), node("n2", "b", unschedulable=True)]
    first, second = {**WEB, "rev": "1"}, {**WEB, "rev": "2"}
    revision = spread(IS_WEB, matchLabelKeys=["rev"])
    return [
        row("min domains, too few", "", spread(IS_WEB, minDomains=3), *webs("n1", "n3")),
        row("min domains, too few, and none used", ALL, spread(IS_WEB, minDomains=3)),
        row("min domains, enough", ALL, spread(IS_WEB, minDomains=2), *webs("n1", "n3")),
        row("nodes that a selector leaves out do not count", "n1", spread(IS_WEB), *webs("n1"),
            nodes=fast, **ssd),
        row("nodes that an affinity leaves out do not count", "n1", spread(IS_WEB), *webs("n1"),
            nodes=fast, **by_term),
        row("nodes that a selector leaves out count if ignored", "",
            spread(IS_WEB, nodeAffinityPolicy="Ignore"), *webs("n1"), nodes=fast, **ssd),
        row("nodes with taints count", "", spread(IS_WEB), *webs("n1"), nodes=tainted),
        row("nodes with taints do not count if honoured", "n1",
            spread(IS_WEB, nodeTaintsPolicy="Honor"), *webs("n1"), nodes=tainted),
        row("nodes with tolerated taints count", "n2", spread(IS_WEB, nodeTaintsPolicy="Honor"),
            *webs("n1"), nodes=tainted, tolerations=[{"operator": "Exists"}]),
        row("unschedulable nodes count if taints are honoured", "",
            spread(IS_WEB, nodeTaintsPolicy="Honor"), *webs("n1"), nodes=closed),
        row("match label keys, another revision", ALL, revision, on("n1", "old", first),
            labels=second),
        row("match label keys, the same revision", "n3", revision, on("n1", "old", second),
            labels=second),
        row("match label keys that the pod has not", "n3", revision, on("n1", "old", first)),
    ]


def near_others():
    def row(name, fits, terms, *objects, nodes=NODES, labels=None, **spec):
        terms = terms if isinstance(terms, list) else [terms]
        return Row(f"affinity: {name}", fits, nodes,
                   pod("pod", labels or {"app": "front"}, affinity=together(*terms), **spec),
                   list(objects))
    host, zone = near(IS_WEB), near(IS_WEB, ZONE)
    series = near(selects(app="front"), ZONE)
    keys = near(IS_WEB, ZONE, matchLabelKeys=["rev"])
    other = near(IS_WEB, ZONE, mismatchLabelKeys=["rev"])
    revisions = [on("n1", "old", {**WEB, "rev": "1"}), on("n3", "new", {**WEB, "rev": "2"})]
    second = {"app": "front", "rev": "2"}
    return [
        row("on the host", "n1", host, *webs("n1")),
        row("in the zone", "n1 n2", zone, *webs("n1")),
        row("nobody there", "", host),
        row("the first of a series", ALL, series),
        row("the first of a series needs the key", ALL, series, nodes=AND_BARE),
        row("the second of a series", "n3", series, on("n3", "front", {"app": "front"})),
        row("two terms, one pod", "n1", [host, near(IS_DB, ZONE)], on("n1", "old", {**WEB, **DB})),
        row("two terms, two pods on a node", "", [host, near(IS_DB)], *webs("n1"),
            on("n1", "db", DB)),
        row("two terms, zone and host", "n1", [zone, near(IS_WEB)], *webs("n1")),
        row("two terms, of which the pod itself is one", "", [series, zone]),
        row("its node has no such key", "", zone, *webs("n4"), nodes=AND_BARE),
        row("its node has no such key, still the first of a series", ALL, series,
            on("n4", "front", {"app": "front"}), nodes=AND_BARE, labels={"app": "front"}),
        row("match label keys", "n3", keys, *revisions, labels=second),
        row("mismatch label keys", "n1 n2", other, *revisions, labels=second),
        row("match label keys that the pod has not", ALL, keys, *revisions),
        row("no selector selects none", "", {"topologyKey": HOST}, *webs("n1")),
        row("an empty selector selects all", "n1", near({}), on("n1", "any")),
        row("pods that terminate count", "n1", host, *webs("n1", terminating=True)),
        row("pods that are done do not count", "", host, *webs("n1", status={"phase": "Failed"})),
        row("no gpus left there", "", host, *webs("n1"), on("n1", "full", gpu="2"), gpu="1"),
        row("a selector with expressions", "n3",
            near(selects(ex("app", "Exists"), ex("app", "NotIn", "web"))), *webs("n1"),
            on("n3", "db", {"app": "db"})),
        Row("affinity: preferred refuses nothing", ALL, NODES, pod(affinity={"podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": host}]}})),
    ]


def namespaces():
    def row(name, fits, *objects, **more):
        return Row(f"affinity over namespaces: {name}", fits, NODES,
                   pod(affinity=together(near(IS_WEB, **more))), list(objects))
    here, there = on("n1", "web", WEB), away("n3", "web", WEB)
    return [
        row("only one's own", "n1", here, there),
        row("another by name", "n3", here, there, namespaces=[AWAY]),
        row("two by name", "n1 n3", here, there, namespaces=[HOME, AWAY]),
        row("empty selector, all", "n1 n3", here, there, namespaceSelector={}),
        row("selector by label", "n3", here, there, namespaceSelector=selects(team="b")),
        row("selector of none", "", here, there, namespaceSelector=selects(team="z")),
        row("selector by the name's label", "n3", here, there,
            namespaceSelector=selects(**{"kubernetes.io/metadata.name": AWAY})),
        row("selector and name", "n1 n3", here, there, namespaces=[HOME],
            namespaceSelector=selects(team="b")),
        row("one that is not there", "", here, namespaces=["nowhere"]),
    ]


def apart_from_others():
    def row(name, fits, terms, *objects, nodes=NODES, labels=None, **spec):
        terms = terms if isinstance(terms, list) else [terms]
        return Row(f"anti-affinity: {name}", fits, nodes,
                   pod("pod", labels or {"app": "front"}, affinity=apart(*terms), **spec),
                   list(objects))
    host, zone = near(IS_WEB), near(IS_WEB, ZONE)
    tenants = near(selects(ex("tenant", "Exists")), ZONE, mismatchLabelKeys=["tenant"])
    return [
        row("on the host", "n2 n3", host, *webs("n1")),
        row("in the zone", "n3", zone, *webs("n1")),
        row("everywhere", "", zone, *webs("n1", "n3")),
        row("one term is enough", "n2", [host, near(IS_DB)], *webs("n1"), on("n3", "db", DB)),
        row("replicas of oneself", "n3", host, *webs("n1", "n2"), labels=WEB),
        row("nodes without the key are allowed", "n3 n4", zone, *webs("n1"), nodes=AND_BARE),
        row("pods on nodes without the key harm nobody", "n1 n2 n3 n4", zone, *webs("n4"),
            nodes=AND_BARE),
        row("pods of other namespaces do not count", ALL, host, away("n1", "web", WEB)),
        row("pods of another namespace", "n2 n3", near(IS_WEB, namespaces=[AWAY]),
            away("n1", "web", WEB), *webs("n3")),
        row("pods of all namespaces", "n2", near(IS_WEB, namespaceSelector={}),
            away("n1", "web", WEB), *webs("n3")),
        row("an empty selector selects all", "n2 n3", near({}), on("n1", "any")),
        row("no selector selects none", ALL, {"topologyKey": HOST}, *webs("n1")),
        row("other tenants", "n3", tenants, on("n1", "a", {"tenant": "a"}),
            on("n3", "b", {"tenant": "b"}), labels={"tenant": "b"}),
        row("pods that terminate count", "n2 n3", host, *webs("n1", terminating=True)),
        row("pods that are done do not count", ALL, host, *webs("n1", status={"phase": "Failed"})),
        row("and gpus", "n3", host, *webs("n1"), on("n2", "full", gpu="2"), gpu="1"),
        Row("anti-affinity: and affinity, against each other", "", NODES,
            pod(affinity={**together(near(IS_WEB)), **apart(near(IS_DB))}),
            [on("n1", "both", {**WEB, **DB})]),
        Row("anti-affinity: and affinity", "n2", NODES,
            pod(affinity={**together(near(IS_WEB, ZONE)), **apart(near(IS_WEB))}), webs("n1")),
        Row("anti-affinity: preferred refuses nothing", ALL, NODES, pod(affinity={
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": host}]}}), webs("n1")),
    ]


def symmetry():
    """Rules of existing pods that exclude the new one."""
    def row(name, fits, *objects, labels=None, nodes=NODES):
        return Row(f"symmetry: {name}", fits, nodes, pod("web", labels or WEB), list(objects))

    def hates(where, term_, make=on, labels=None, **options):
        return make(where, "hater", labels or {}, affinity=apart(term_), **options)
    host, zone = near(IS_WEB), near(IS_WEB, ZONE)
    keys = near(IS_WEB, ZONE, matchLabelKeys=["rev"])
    return [
        row("not on its host", "n2 n3", hates("n1", host)),
        row("not in its zone", "n3", hates("n1", zone)),
        row("a pod that it has nothing against", ALL, hates("n1", zone), labels=DB),
        row("its namespace only", ALL, hates("n1", zone, away)),
        row("our namespace by name", "n3", hates("n1", near(IS_WEB, ZONE, namespaces=[HOME]),
                                                 away)),
        row("our namespace by label", "n3", hates(
            "n1", near(IS_WEB, ZONE, namespaceSelector=selects(team="a")), away)),
        row("another namespace by label", ALL, hates(
            "n1", near(IS_WEB, ZONE, namespaceSelector=selects(team="b")))),
        row("all namespaces", "n3", hates("n1", near(IS_WEB, ZONE, namespaceSelector={}), away)),
        row("its node has no such key", "n1 n2 n3 n4", hates("n4", zone), nodes=AND_BARE),
        row("with its revision", "n3", hates("n1", keys, labels={"rev": "1"}),
            labels={**WEB, "rev": "1"}),
        row("with another revision", ALL, hates("n1", keys, labels={"rev": "2"}),
            labels={**WEB, "rev": "1"}),
        row("while it terminates", "n2 n3", hates("n1", host, terminating=True)),
        row("when it is done", ALL, hates("n1", host, status={"phase": "Succeeded"})),
        row("its affinity binds nobody else", ALL, on("n1", "lover", affinity=together(host))),
        row("two that are against it", "", hates("n1", zone),
            on("n3", "too", affinity=apart(host))),
    ]


def promised():
    """Nominated pods count for pods of equal or lower priority."""
    def row(name, fits, level, theirs, nodes=None, **spec):
        return Row(f"promised: {name}", fits, nodes or [node("n1"), node("n2", cpu="1")],
                   pod("late", WEB, level=level, **spec),
                   nominated=[waits("n1", **{"level": 10, **theirs})])

    def waits(where, **options):
        value = pod("waiting", nodeSelector={"never": "yes"}, **options)
        return {**value, "promised": where}
    pair = [node("n1", gpus=1), node("n2", gpus=1)]
    return [
        row("to a higher one", "", 5, {"cpu": "3"}, cpu="2"),
        row("to an equal one", "", 10, {"cpu": "3"}, cpu="2"),
        row("to a lower one", "n1", 100, {"cpu": "3"}, cpu="2"),
        row("there is room for both", "n1", 5, {"cpu": "2"}, cpu="2"),
        row("another node is free", "n2", 5, {"gpu": "1"}, pair, gpu="1"),
        row("its ports", "n2", 5, {"ports": [port(80)]}, pair, ports=[port(80)]),
        row("it may not come: nothing to be near to", "", 5, {"labels": DB}, pair,
            affinity=together(near(IS_DB))),
        row("it may come: keep away", "n2", 5, {"labels": DB}, pair, affinity=apart(near(IS_DB))),
        # kube-scheduler ignores affinity if neither the pod nor any bound pod has some. A scheduler
        # that does not ignore it takes n2, which is right as well.
        row("it may come: it has something against us", "n1 n2", 5,
            {"affinity": apart(near(IS_WEB))}, pair),
        row("it may come: spread", "n2", 5, {"labels": WEB}, pair,
            topologySpreadConstraints=[spread(IS_WEB, HOST)]),
    ]
