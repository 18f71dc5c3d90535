#!/usr/bin/python3
"""Every record that the examples print, and those of verbs that no example has, against its JSON Schema in schemas/records.

  tests/schemas/records.py WEFT SOURCE [--strict] [--dump FILE]
  weft ... --json | tests/schemas/records.py - SOURCE [--strict]

A record without a schema, one that does not fit it, and a schema that no record was held against are all wrong. Keys may
be added to a record without a new version: those that no schema says are printed, and wrong with --strict. --dump writes
the records instead, one a line. Records of a lab are held against theirs by the tests of labs, through a pipe.
"""
import contextlib
import glob
import json
import os
import shlex
import subprocess
import sys
import tempfile

PIPED = ("lab", "lab_device", "lab_link", "lab_pod", "lab_session", "lab_tenant_drops", "lab_traffic")
JSON_VERBS = ("check", "show", "sim", "compare", "sweep", "why", "plan", "place", "plot", "render")
WALL = "100ms"  # of a run: a part of a result has the keys of a whole one

# Records that no example prints. {small} is a cluster of 4 servers, {bad} a file that is wrong, {tables} measurements.
BESIDE = """
version --json
explain E0107 --json
catalog servers --json
catalog hgx-h100 --json
catalog stacks --json
dst --seeds 3 --json
check {small} --json
check {bad} --json
check no.weft.yaml --json
sim {small} --nonsense --json
show servers {small} --json
show gpus {small} --json --limit 3
show nics {small} --json --limit 3
show links {small} --json --limit 3
show paths s0/gpu0 s1/gpu3 {small} --json
show bom {small} --json
sim {small} --sample 1us --samples --flows --links 3 --json
sim {small} --fidelity all --json
sim {small} --collective all_reduce --sizes 1MiB --fidelity message,flow --json
sim {small} --collective all_reduce --sizes 1MiB --algorithms all --json
sim {small} --stream a,pattern=ring,size=100kB --stream b,pattern=incast,size=100kB --json
sweep {small} --over servers.nics=2,8 --json
sweep {small} --over servers.nics=2,8 --collective all_reduce --sizes 1MiB --json
plan {small} --sizes 1MiB --json
why {small} --collective all_reduce --size 1MiB --fast --json
place {small} --gpus 8 --json
render hosts {small} --json -o {folder}/rendered
report {small} --sizes 1MiB --gpus 16 --limit wall=500ms -o {folder}/page.html --json
validate {tables} --rows --json
validate {tables} --rows --leave-one-out --json
validate {tables} --training --rows --json
doctor --json
why --profile {profile} --json
why {trained} --profile {profile} --json
sim {trained} --json
plan {trained} --training --best 2 --json
plan {trained} --training --over run.0.training.gpus=8,16 --json
run client {server} --messages 20 --json
run client {server} --pattern requests --messages 20 --json
run client {server} --with tcp --messages 20 --json
run client {server} --sweep-paths --paths 2 --duration 100ms --json
run client 127.0.0.1:1 --with tcp --messages 1 --json
run all-reduce {ranks} --rank 0 --size 64KiB --times 2 --json
compare {small} --pattern one --size 1MB --measured {measured} --json
"""

SMALL = """version: 1
servers: {kind: hgx-h100, count: 4}
fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, parallel_links: 1, switch: tomahawk-4, link: {rate: 400Gbps, cable: 5m}}
"""
MEASURED = {"record": "run", "version": 2, "failure": None, "transport": "srd", "pattern": "stream", "size": 65536, "endpoints": 1,
            "goodput_bps": 1.7e9, "bytes": 1000000, "p50_ps": 0, "p99_ps": 0, "p999_ps": 0, "longest_ps": 0, "packets": 100,
            "retransmitted": 1}
TRAINED = SMALL + "run:\n  - training: {model: llama3-8b, global_batch: 64, parallel: {tensor: 4}}\n"

PROFILE = {"deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}], "distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "nvjet_hsh_256x128", "ts": 0, "dur": 100, "args": {"stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ts": 50, "dur": 100, "args": {
        "stream": 20, "Collective name": "allreduce", "In msg nelems": 1048576, "dtype": "BFloat16"}}]}


@contextlib.contextmanager
def run_server(weft):
    """A `weft run server` on loopback, by its address."""
    process = subprocess.Popen([weft, "run", "server", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        yield process.stderr.readline().split("listening at ")[1].split(";")[0]
    finally:
        process.terminate()
        process.wait()


def commands_of(source, folder, server):
    """Pairs of a directory and the words behind `weft`."""
    for path in sorted(glob.glob(os.path.join(source, "examples", "*", "commands"))):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                words = shlex.split(line)[1:]
                if not words or words[0] not in JSON_VERBS or "--as" in words or "-o" in words:
                    continue
                if words[0] in ("sim", "compare", "sweep") and "--limit" not in words:
                    words += ["--limit", f"wall={WALL}"]
                words = [word for i, word in enumerate(words)  # tables for people, and files
                         if word not in ("--slowest", "--trace", "--csv", "--pcap", "--plot")
                         and (i == 0 or words[i - 1] not in ("--slowest", "--trace", "--csv", "--pcap", "--plot"))]
                yield os.path.dirname(path), words + ([] if "--json" in words else ["--json"])
    # Below the ports that the kernel gives away.
    names = {"folder": folder, "server": server, "ranks": " ".join(f"127.0.1.{i}:{10000 + os.getpid() % 20000}" for i in (1, 2)),
             "measured": os.path.join(folder, "measured.json")}
    with open(names["measured"], "w", encoding="utf-8") as out:
        json.dump(MEASURED, out)
    for name, text in (("small", SMALL), ("trained", TRAINED), ("bad", SMALL.replace("hgx-h100", "hgx-h10"))):
        names[name] = os.path.join(folder, name + ".weft.yaml")
        with open(names[name], "w", encoding="utf-8") as out:
            out.write(text)
    names["tables"] = os.path.join(folder, "tables")
    names["profile"] = os.path.join(folder, "profile.json")
    with open(names["profile"], "w", encoding="utf-8") as out:
        json.dump(PROFILE, out)
    os.makedirs(os.path.join(names["tables"], "training"))
    for table in ("lambda_b200_2n16g_allreduce", "training/torchtitan_h100", "training/megatron_seqsel_a100"):
        for path in glob.glob(os.path.join(source, "truth", table + ".*")):
            os.symlink(path, os.path.join(names["tables"], os.path.relpath(path, os.path.join(source, "truth"))))
    for line in BESIDE.strip().splitlines():
        yield folder, shlex.split(line.format(**names))
    out = os.path.join(folder, "runs.jsonl")
    yield folder, ["sweep", names["small"], "--over", "servers.nics=2,8", "--out", out, "-q"]
    yield out, []


def records_of(weft, source, folder):
    """Pairs of a command line and a record that it prints."""
    if weft == "-":
        for line in sys.stdin:
            yield "stdin", json.loads(line)
        return
    others = []
    with run_server(weft) as server:
        yield from records_with(weft, source, folder, server, others)
    for each in others:
        each.wait(timeout=60)


def records_with(weft, source, folder, server, others):
    for where, words in commands_of(source, folder, server):
        if not words:  # a file of records
            with open(where, encoding="utf-8") as lines:
                for line in lines:
                    yield where, json.loads(line)
            continue
        if words[:2] == ["run", "all-reduce"]:  # the other one of two
            others.append(subprocess.Popen([weft] + [{"0": "1"}.get(word, word) for word in words], stdout=subprocess.DEVNULL))
        done = subprocess.run([weft] + words, cwd=where, capture_output=True, timeout=120, check=False)
        shown = f"{os.path.basename(where)}: weft {' '.join(words)}"
        if done.returncode not in (0, 1, 2, 3, 4):
            sys.exit(f"{shown}\n  exit {done.returncode}: {done.stderr.decode()[-400:]}")
        if "--json" not in words:
            continue
        for line in done.stdout.decode().splitlines():
            try:
                yield shown, json.loads(line)
            except ValueError:
                sys.exit(f"{shown}\n  no record: {line[:200]}")


def unknown_keys(schema, record):
    known = schema.get("properties", {}).keys() if "oneOf" not in schema else set().union(
        *(each["properties"].keys() for each in schema["oneOf"]))
    return set(record) - set(known)


def main():
    weft, source = sys.argv[1] if sys.argv[1] == "-" else os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if "--dump" in sys.argv:
            with open(sys.argv[sys.argv.index("--dump") + 1], "w", encoding="utf-8") as out:
                for _, record in records_of(weft, source, folder):
                    out.write(json.dumps(record) + "\n")
            return 0
        try:
            import jsonschema
        except ImportError:
            print("python3-jsonschema is not installed")
            return 77
        validators = {}
        for path in glob.glob(os.path.join(source, "schemas", "records", "*.schema.json")):
            with open(path, encoding="utf-8") as text:
                schema = json.load(text)
            jsonschema.Draft7Validator.check_schema(schema)
            validators[os.path.basename(path)[: -len(".schema.json")]] = jsonschema.Draft7Validator(schema)
        seen, wrong, new = {}, [], set()
        for shown, record in records_of(weft, source, folder):
            kind = record.get("record", "(none)")
            seen[kind] = seen.get(kind, 0) + 1
            if kind not in validators:
                wrong.append(f"{shown}\n  no schema of '{kind}'")
                continue
            for key in unknown_keys(validators[kind].schema, record):
                new.add(f"{kind}.{key}")
            for error in validators[kind].iter_errors(record):
                wrong.append(f"{shown}\n  {kind}.{'.'.join(str(part) for part in error.absolute_path)}: {error.message[:300]}")
        for kind in sorted(set(validators) - set(seen) - set(PIPED)) if weft != "-" else []:
            wrong.append(f"no record was held against the schema of '{kind}'")
        if new:
            print(f"keys that no schema says: {', '.join(sorted(new))}")
            wrong += sorted(new) if "--strict" in sys.argv else []
        print("\n".join(wrong[:20]))
        print(f"{sum(seen.values())} records of {len(seen)} kinds, {len(wrong)} wrong")
        return 1 if wrong else 0


sys.exit(main())
