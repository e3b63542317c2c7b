#!/usr/bin/env python3
"""What the program is made of, as an SPDX 2.3 document, and the notices of third parties.

    sbom.py PROGRAM OUT.spdx.json      the libraries that PROGRAM loads, and what was compiled in
    sbom.py --notices OUT.md           the same as a page for people, with licences
    sbom.py --check PAGE.md PROGRAM    does the page list all that PROGRAM is made of?
    sbom.py --self-test

Versions and licences come from Debian's package database of the machine that built the program.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
# Compiled in from headers, so the loader does not list them.
HEADERS = ("libcli11-dev", "libexpected-dev", "libboost1.81-dev", "libstdc++-12-dev",
           "libtomlplusplus-dev")
# Licences as SPDX names them; Debian's names are not always the same.
LICENSES = {
    "libboost-json1.81.0": "BSL-1.0", "libboost-container1.81.0": "BSL-1.0",
    "libboost1.81-dev": "BSL-1.0", "libc6": "LGPL-2.1-or-later", "libcli11-dev": "BSD-3-Clause",
    "libexpected-dev": "CC0-1.0", "libfmt9": "MIT",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgoogle-perftools4": "BSD-3-Clause", "liblzma5": "0BSD", "libnghttp2-14": "MIT",
    "libsimdjson14": "Apache-2.0",
    "libssl3": "Apache-2.0", "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1", "libunwind8": "MIT",
    "libtomlplusplus-dev": "MIT", "libyaml-cpp0.7": "MIT"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(ldd_text):
    """Paths of the libraries in the output of ldd."""
    return [found[1] for found in re.finditer(r"=> (/\S+)", ldd_text)]


def package_of(path):
    """The Debian package of a file. The database knows files by one of their two names."""
    for name in (path, path.removeprefix("/usr"), f"/usr{path}",
                 str(pathlib.Path(path).resolve())):
        found = subprocess.run(("dpkg", "-S", name), capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":", 1)[0]
    raise SystemExit(f"sbom: no package has {path}")


def describe(package):
    text = run("dpkg-query", "-W", "-f", "${Version}\n${source:Package}\n${Homepage}\n", package)
    version, source, homepage = text.split("\n")[:3]
    if package not in LICENSES:
        raise SystemExit(f"sbom: write the licence of {package} {version} into tools/sbom.py")
    return {"package": package, "version": version, "source": source, "homepage": homepage,
            "license": LICENSES[package]}


def components(program):
    packages = {package_of(path) for path in libraries(run("ldd", program))} | set(HEADERS)
    return [describe(package) for package in sorted(packages)]


def spdx(program, parts, version):
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    packages = [{"SPDXID": "SPDXRef-stowage", "name": "stowage", "versionInfo": version,
                 "downloadLocation": "NOASSERTION", "licenseDeclared": "Apache-2.0",
                 "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION",
                 "filesAnalyzed": False,
                 "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-stowage"}]
    for part in parts:
        key = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", part["package"])
        packages.append({
            "SPDXID": key, "name": part["package"], "versionInfo": part["version"],
            "downloadLocation": "NOASSERTION", "licenseDeclared": part["license"],
            "licenseConcluded": part["license"], "copyrightText": "NOASSERTION",
            "filesAnalyzed": False, "homepage": part["homepage"] or "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator":
                              f"pkg:deb/debian/{part['package']}@{part['version']}"}]})
        relations.append({"spdxElementId": "SPDXRef-stowage", "relationshipType": "DEPENDS_ON",
                          "relatedSpdxElement": key})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"stowage-{version}",
            "documentNamespace": f"https://stowage.dev/spdx/{version}/{digest}",
            "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: sbom.py"]},
            "packages": packages, "relationships": relations}


def notices(parts):
    rows = "\n".join(f"| {part['source']} | {part['license']} | {part['homepage']} |"
                     for part in {part["source"]: part for part in parts}.values())
    return ("# Third-party notices\n\nThe program `stowage` is made with and loads these "
            "libraries. Their licence texts are in `/usr/share/doc/<package>/copyright` of the "
            "Debian packages, which are part of the image. `make sbom` writes the exact "
            "versions of a build.\n\n"
            "| component | licence (SPDX) | home |\n|---|---|---|\n" + rows + "\n")


def absent(page, parts):
    """Parts without a row on the page, or with another licence there."""
    rows = {tuple(cell.strip() for cell in line.split("|")[1:3])
            for line in page.split("\n") if line.startswith("| ")}
    return [f"{part['package']}: no row '{part['source']} | {part['license']}'"
            for part in parts if (part["source"], part["license"]) not in rows]


def check(page, program):
    if not shutil.which("dpkg-query"):
        print("sbom: skipped: no package database of Debian")
        return SKIPPED
    found = absent(pathlib.Path(page).read_text(encoding="utf-8"), components(program))
    for line in found:
        print(f"{page}: {line}; `make sbom` writes the page anew")
    return 1 if found else 0


def self_test():
    assert libraries("\tlibfmt.so.9 => /lib/x/libfmt.so.9 (0x0)\n\tlinux-vdso.so.1 (0x0)\n") == [
        "/lib/x/libfmt.so.9"]
    part = {"package": "libx+1", "version": "1", "source": "x", "homepage": "", "license": "MIT"}
    made = spdx(__file__, [part], "0")
    assert made["packages"][1]["SPDXID"] == "SPDXRef-libx-1"
    assert [each["relatedSpdxElement"] for each in made["relationships"]] == [
        "SPDXRef-stowage", "SPDXRef-libx-1"]
    assert "| x | MIT |  |" in notices([part])
    assert absent(notices([part]), [part]) == []
    assert len(absent(notices([part]), [dict(part, source="y"), dict(part, license="X")])) == 2


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) == 4 and sys.argv[1] == "--check":
        return check(sys.argv[2], sys.argv[3])
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    out = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "--notices":
        parts = [describe(package) for package in sorted(LICENSES)]
        out.write_text(notices(parts), encoding="utf-8")
    else:
        version = run(sys.argv[1], "--version").split()[1]
        text = json.dumps(spdx(sys.argv[1], components(sys.argv[1]), version), indent=1)
        out.write_text(text + "\n", encoding="utf-8")
    print(f"sbom: wrote {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
