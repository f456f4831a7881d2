# SPDX-License-Identifier: Apache-2.0
"""Talks to the C++ program of a comparison, which answers each line of a request with a line of JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path


class Worker:
    """A running program that answers requests. It keeps its plan between them."""

    def __init__(self, build, program, cache=None):
        environment = dict(os.environ)
        if cache:
            environment["XDG_CACHE_HOME"] = cache
        self.process = subprocess.Popen([str(Path(build) / "bench" / program)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)

    def answer(self, request):
        """Sends a line; returns the answer, which may be {"error": …}."""
        print(request, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{request}: {self.process.args[0]} has ended, exit code {self.process.wait()}")
        return json.loads(line)

    def ask(self, request):
        answer = self.answer(request)
        if "error" in answer:
            sys.exit(f"{request}: {answer['error']}")
        return answer

    def close(self):
        print("quit", file=self.process.stdin, flush=True)
        self.process.wait()
