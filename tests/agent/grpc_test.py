#!/usr/bin/env python3
"""A server of ours, called by the real gRPC in every way that a kubelet could.

    grpc_test.py SERVER [--fetch]

Exit code 77 and one line where the client can not be built. With --fetch what it is built from may
be downloaded, and a machine without Go is no failure.
"""
import pathlib
import subprocess
import sys
import tempfile

import kubelet_double


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    caller = kubelet_double.programs_or_exit("--fetch" in sys.argv) / "caller"
    with tempfile.TemporaryDirectory(prefix="stowage-") as folder:
        socket = pathlib.Path(folder) / "s.sock"
        server = subprocess.Popen([sys.argv[1], socket], stdout=subprocess.PIPE,
                                  preexec_fn=kubelet_double.build.die_with_parent)
        try:
            assert server.stdout.readline() == b"ready\n"
            code = subprocess.run([caller, socket], timeout=120, check=False).returncode
            if server.poll() is not None:
                print(f"failed: the server ended with {server.returncode}")
                return 1
        finally:
            server.terminate()
            ended = server.wait(20)
            server.stdout.close()
    if ended != 0 or socket.exists():
        print(f"failed: the server ended with {ended}; its socket is there: {socket.exists()}")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
