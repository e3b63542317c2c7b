"""The table of the race, from its results."""

WHO = {"kube-scheduler": ("kube-scheduler",), "extender": ("kube-scheduler", "stowage"),
       "extender-choose": ("kube-scheduler", "stowage"),
       "stowage": ("stowage",)}
HEAD = ("contestant", "pods/s", "of ceiling", "x kube-scheduler", "p50 ms", "p99 ms", "events",
        "scheduler CPU s", "scheduler MiB", "apiserver CPU s", "apiserver MiB", "etcd CPU s")


def ratio(value, base):
    return f"{value / base:.2f}" if base else ""


def row(name, entry, ceiling, kube):
    usage = entry["usage"]
    flow = entry.get("flow", {})
    mine = [usage[process] for process in WHO.get(name, ()) if process in usage]

    def joined(key, form):
        return " + ".join(format(each[key], form) for each in mine)

    def of(process, key, form):
        return format(usage[process][key], form) if process in usage else ""

    return (name, f"{entry['per_second']:.0f}", ratio(entry["per_second"], ceiling),
            ratio(entry["per_second"], kube) if name in WHO else "",
            f"{flow['p50_ms']:.1f}" if flow else "", f"{flow['p99_ms']:.1f}" if flow else "",
            str(entry.get("events", "")), joined("cpu_s", ".1f"), joined("peak_mib", ".0f"),
            of("kube-apiserver", "cpu_s", ".1f"), of("kube-apiserver", "peak_mib", ".0f"),
            of("etcd", "cpu_s", ".1f"))


def lines(rows):
    widths = [max(len(each[column]) for each in rows) for column in range(len(HEAD))]
    shown = ["| " + " | ".join(text.ljust(width) for text, width in zip(each, widths)) + " |"
             for each in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [shown[0], rule, *shown[1:]]


def table(results):
    """Markdown."""
    machine = results["machine"]
    out = [f"Kubernetes {results['version']}, {results['pods']} pods of one card, "
           f"{machine['cores']} cores of {machine['cpu']}, {results['date']}; latency of "
           f"{results['flow_pods']} pods at {results['rate']}/s", ""]
    for nodes, entries in results["sizes"].items():
        ceiling = entries.get("ceiling", {}).get("per_second")
        kube = entries.get("kube-scheduler", {}).get("per_second")
        out += [f"{int(nodes):,} nodes of 8 cards", ""]
        out += lines([HEAD, *(row(name, entry, ceiling, kube) for name, entry in entries.items())])
        out.append("")
    return "\n".join(out)
