# SPDX-License-Identifier: Apache-2.0
"""The C++ side of a comparison: a program that answers one line of JSON for each line it is asked."""

import json
import os
import subprocess
import sys
from pathlib import Path


class Worker:
    """One such program, which keeps its plan between requests."""

    def __init__(self, build, program, cache=None):
        environment = dict(os.environ)
        if cache:
            environment["XDG_CACHE_HOME"] = cache
        self.process = subprocess.Popen([str(Path(build) / "bench" / program)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)

    def answer(self, request):
        """What it answers, {"error": …} too."""
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
