# SPDX-License-Identifier: Apache-2.0
"""Opens what the program exports with the programs that it is for, as far as they are installed.

    viewers_test.py PROGRAM DATA

BACKSIGHT_SPEEDSCOPE is the folder of speedscope's npm package.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CALLS = {
    "xray": ["xray/c19/fdr-args.xray", "--symbols", "xray/bin/workload-19"],
    "xray-unfinished": ["xray/syn/syn-fdr-tail-and-missing-exits.xray"],
    "uftrace": ["uftrace/single-pg/uftrace.data"],
    "uftrace-forks": ["uftrace/forkexec-pg/uftrace.data"],
    "memtrace": ["memtrace/single/drmemtrace.single.10508.3099.trace"],
}
SAMPLES = {"perf": ["perf/pipe/perf.data"]}
SPEEDSCOPE = os.environ.get("BACKSIGHT_SPEEDSCOPE")
FLAMES = shutil.which("inferno-flamegraph") or shutil.which("flamegraph.pl")
try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    from google.protobuf import unknown_fields
except ImportError:
    Trace = None


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, cwd=DATA)


def unknown(message):
    """How many fields of a message, and of those in it, its schema does not know."""
    count = len(unknown_fields.UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            count += sum(unknown(one) for one in ([value] if hasattr(value, "ListFields") else value))
    return count


class Viewers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def exported(self, kind, traces):
        for name, words in traces.items():
            path = os.path.join(self.folder, f"{name}.{kind}")
            run(PROGRAM, "export", *words, "--to", kind, "--output", path)
            with self.subTest(trace=name, kind=kind):
                yield name, path

    def in_speedscope(self, path):
        """The text of speedscope's page with the file."""
        with open(path, "rb") as file:
            content = base64.b64encode(file.read()).decode()
        script = path + ".js"
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, {json.dumps(content)})")
        page = os.path.join(SPEEDSCOPE, "dist", "release", "index.html")
        return run("chromium", "--headless", "--no-sandbox", "--allow-file-access-from-files", "--use-angle=swiftshader",
                   "--enable-unsafe-swiftshader", "--virtual-time-budget=10000", "--dump-dom", f"file://{page}#localProfilePath={script}").stdout.decode()

    def test_chrome_json(self):
        for _, path in self.exported("chrome", CALLS):
            run(sys.executable, "-m", "json.tool", path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            self.assertTrue(events)
            open_calls = {}
            for event in events:
                stack = open_calls.setdefault((event["pid"], event["tid"]), [])
                if event["ph"] == "B":
                    stack.append(event)
                elif event["ph"] == "E":
                    begin = stack.pop()
                    self.assertEqual(begin["name"], event["name"])
                    self.assertLessEqual(begin["ts"], event["ts"])

    @unittest.skipUnless(SPEEDSCOPE and shutil.which("chromium"), "speedscope or chromium is not installed")
    def test_speedscope(self):
        for _, path in self.exported("chrome", CALLS):
            with open(path, encoding="utf-8") as file:
                threads = {event["tid"] for event in json.load(file)["traceEvents"] if event["ph"] == "B"}
            shown = self.in_speedscope(path)
            for thread in threads:
                self.assertIn(f"tid {thread}", shown)
        for name, path in self.exported("folded", {**CALLS, **SAMPLES}):
            shown = self.in_speedscope(path)
            self.assertIn("Left Heavy", shown)
            self.assertIn(f"{name}.folded", shown)

    @unittest.skipIf(FLAMES is None, "neither inferno-flamegraph nor flamegraph.pl is installed")
    def test_flame_graphs(self):
        for _, path in self.exported("folded", {**CALLS, **SAMPLES}):
            picture = run(FLAMES, path).stdout.decode()
            self.assertGreater(picture.count("<title>"), 1)

    @unittest.skipIf(shutil.which("dot") is None, "Graphviz is not installed")
    def test_graphviz(self):
        for _, path in self.exported("dot", CALLS):
            done = run("dot", "-Tsvg", path)
            self.assertEqual(done.stderr, b"")
            with open(path, encoding="utf-8") as file:
                nodes = sum("label=" in line and "->" not in line for line in file)
            self.assertEqual(done.stdout.count(b'class="node"'), nodes)

    @unittest.skipIf(shutil.which("protoc") is None, "protoc is not installed")
    def test_protoc(self):
        for _, path in self.exported("perfetto", {**CALLS, **SAMPLES}):
            with open(path, "rb") as file:
                text = subprocess.run(["protoc", "--decode_raw"], stdin=file, check=True, capture_output=True).stdout
            self.assertTrue(text.startswith(b"1 {"))

    @unittest.skipIf(Trace is None, "the package perfetto of Python is not installed")
    def test_perfetto(self):
        for _, path in self.exported("perfetto", {**CALLS, **SAMPLES}):
            trace = Trace()
            with open(path, "rb") as file:
                trace.ParseFromString(file.read())
            self.assertEqual(unknown(trace), 0)
            tracks = {packet.track_descriptor.uuid for packet in trace.packet if packet.HasField("track_descriptor")}
            depth, times = {}, {}
            for packet in trace.packet:
                if not packet.HasField("track_event"):
                    continue
                event = packet.track_event
                self.assertIn(event.track_uuid, tracks)
                self.assertGreaterEqual(packet.timestamp, times.get(event.track_uuid, 0))
                times[event.track_uuid] = packet.timestamp
                if event.type in (event.TYPE_SLICE_BEGIN, event.TYPE_SLICE_END):
                    depth[event.track_uuid] = depth.get(event.track_uuid, 0) + (1 if event.type == event.TYPE_SLICE_BEGIN else -1)
                    self.assertGreaterEqual(depth[event.track_uuid], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
