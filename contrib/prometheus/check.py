#!/usr/bin/env python3
"""Checks rules, dashboard and exporter against a real Prometheus: check.py PROMETHEUS PROMTOOL EXPORTER_URL

A disk that the exporter measures must do reads and writes meanwhile. Exit code 0: all is well; 1: each failure is printed.
Only Python's standard library is needed."""
import http.server
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
DASHBOARD = os.path.join(HERE, "..", "grafana", "iosched.json")
FORMATS = {"openmetrics": "application/openmetrics-text;version=1.0.0", "plain": "text/plain;version=0.0.4"}
SCRAPES = 12
PATIENCE_S = 60
# What Grafana would put in.
VARIABLES = {"__rate_interval": "8s", "__range": "30s", "__interval": "5s", "instance": ".+", "device": ".+", "operation": ".+"}
# Only where the kernel counts it (kernel.bpf_stats_enabled), or when something rare has happened.
MAY_BE_EMPTY = ("iosched_bpf_run_time_seconds_total", "offset 1m")

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print(f"FAILED: {text}")
    return bool(condition)


reported = 0


def done(text):
    """Unless something failed since the last time."""
    global reported
    if len(failures) == reported:
        print(f"ok: {text}")
    reported = len(failures)


def fetch(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read()


def tool(promtool, *arguments, stdin=None):
    """Lint messages count as failures: none is needed, because the names and units are right."""
    name = " ".join(os.path.basename(argument) for argument in ("promtool", *arguments))
    ran = subprocess.run([promtool, *arguments], input=stdin, capture_output=True, cwd=HERE, timeout=120)
    said = (ran.stdout + ran.stderr).decode()
    lint = arguments[1] == "metrics" and said.strip()
    if check(ran.returncode == 0 and not lint, f"{name}: exit code {ran.returncode}: {said.strip()}"):
        done(name)


SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')


def key(name, labels):
    """A label without a value is no label, and `le` is a number."""
    labels = {label: value for label, value in labels.items() if value != ""}
    if "le" in labels:
        labels["le"] = float(labels["le"])
    return name, tuple(sorted(labels.items()))


def exposition(text):
    """Values of all series, and the kinds of the families."""
    values, kinds = {}, {}
    for line in text.decode().splitlines():
        if line.startswith("#"):
            words = line.split()
            if words[1:2] == ["TYPE"]:
                kinds[words[2].removesuffix("_total")] = words[3]
            continue
        match = SAMPLE.match(line)
        if not match:
            raise ValueError(f"no sample: {line}")
        unescape = lambda value: re.sub(r"\\(.)", lambda it: "\n" if it[1] == "n" else it[1], value)
        labels = {label: unescape(value) for label, value in LABEL.findall(match[2] or "")}
        if key(match[1], labels) in values:
            raise ValueError(f"twice: {line}")
        values[key(match[1], labels)] = float(match[3])
    return values, kinds


def is_count(name, kinds):
    stem = re.sub(r"_(total|sum|count|bucket)$", "", name)
    return kinds.get(stem) in ("counter", "histogram")


class Proxy(http.server.BaseHTTPRequestHandler):
    """Asks the exporter for the format that the path names: not every version of Prometheus can be told which to ask for."""

    url = ""

    def do_GET(self):
        try:
            kind, body = fetch(self.url, FORMATS[self.path.strip("/")])
        except (OSError, KeyError) as error:
            self.send_error(502, str(error))
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Prometheus:
    def __init__(self, binary, directory, exporter):
        Proxy.url = exporter
        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        # Bound and not listening: whoever connects is refused.
        self.dead = socket.socket()
        self.dead.bind(("127.0.0.1", 0))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        url = urllib.parse.urlparse(exporter)
        job = lambda name, target, path, labels: {
            "job_name": name,
            "metrics_path": path,
            "static_configs": [{"targets": [target], "labels": labels}],
        }
        proxied = f"127.0.0.1:{self.proxy.server_address[1]}"
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [os.path.join(HERE, "iosched.rules.yml")],
            "scrape_configs": [
                job("iosched", url.netloc, url.path or "/metrics", {}),
                *(job(f"iosched-{name}", proxied, f"/{name}", {"instance": "proxy"}) for name in FORMATS),
                job("dead", f"127.0.0.1:{self.dead.getsockname()[1]}", "/metrics", {"job": "iosched", "instance": "dead"}),
            ],
        }
        # JSON is YAML.
        path = os.path.join(directory, "prometheus.yml")
        with open(path, "w") as file:
            json.dump(configuration, file)
        self.log = open(os.path.join(directory, "log"), "w+")
        arguments = [f"--config.file={path}", f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"]
        self.process = subprocess.Popen([binary, *arguments], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.proxy.shutdown()
        self.dead.close()
        if failures:
            self.log.seek(0)
            print("Prometheus said at last:", *self.log.read().splitlines()[-15:], sep="\n  ")
        self.log.close()

    def ask(self, path, **parameters):
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            answer = json.loads(fetch(url)[1])
        except urllib.error.HTTPError as error:
            answer = json.loads(error.read())
        if answer["status"] != "success":
            raise ValueError(f"{answer.get('errorType')}: {answer.get('error')}")
        if answer.get("warnings"):
            raise ValueError(f"warnings: {answer['warnings']}")
        return answer["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return check(False, f"Prometheus ended with exit code {self.process.returncode}")
            try:
                if condition():
                    return True
            except (OSError, ValueError, LookupError):
                pass  # it is starting
            time.sleep(0.5)
        return check(False, f"{what}: not within {PATIENCE_S} s")


def formats(promtool, url):
    """Both say the same series. Returns whether a disk is busy."""
    series = {}
    for name, accept in FORMATS.items():
        kind, text = fetch(url, accept)
        check(kind.startswith(accept.split(";")[0]), f"asked for {accept}, got {kind}")
        values, _ = exposition(text)
        series[name] = values
        if name == "openmetrics":
            check(text.endswith(b"# EOF\n"), "OpenMetrics does not end with # EOF")
        else:
            tool(promtool, "check", "metrics", stdin=text)
        time.sleep(0.3)
    stable = lambda values: {it for it in values if not it[0].startswith("iosched_process_")}
    differ = stable(series["plain"]) ^ stable(series["openmetrics"])
    if check(not differ, f"series of one format only: {sorted(map(str, differ))[:5]}"):
        done(f"both formats have the same {len(series['plain'])} series")
    before = exposition(fetch(url)[1])[0]
    time.sleep(1)
    after = exposition(fetch(url)[1])[0]
    ios = lambda of, operations: sum(
        value for (name, labels), value in of.items() if name == "iosched_ios_total" and dict(labels)["operation"] in operations
    )
    return all(ios(after, them) > ios(before, them) for them in (("read",), ("write_sync", "write_async")))


def targets(prometheus):
    for target in prometheus.ask("targets")["activeTargets"]:
        labels = target["labels"]
        if labels["instance"] == "dead":
            check(target["health"] == "down", "the target that refuses connections is not down")
        elif check(target["health"] == "up" and not target["lastError"], f"target {labels}: {target['health']}: {target['lastError']}"):
            done(f"target {labels['job']} is up")


def rules(prometheus):
    def groups():
        return [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    prometheus.wait_for("every rule is evaluated", lambda: all(rule["health"] != "unknown" for rule in groups()))
    for rule in groups():
        name = rule["name"]
        check(rule["health"] == "ok" and not rule.get("lastError"), f"rule {name}: {rule['health']}: {rule.get('lastError')}")
        if rule["type"] == "recording":
            check(prometheus.query(f'{{__name__="{name}", job="iosched"}}'), f"rule {name}: no series")
    done(f"{len(groups())} rules are evaluated")
    down = next(rule for rule in groups() if rule["name"] == "IoschedExporterDown")
    found = {(alert["labels"]["instance"], alert["state"]) for alert in down["alerts"]}
    if check(found == {("dead", "pending")}, f"IoschedExporterDown: {found}, expected only that of the target that is down"):
        done("IoschedExporterDown is pending for the target that is down")


def substituted(expression):
    return re.sub(r"\$\{?(\w+)\}?", lambda it: VARIABLES.get(it[1], it[0]), expression)


def dashboard(prometheus):
    with open(DASHBOARD) as file:
        board = json.load(file)
    asked = [(panel["title"], target) for panel in board["panels"] for target in panel.get("targets", ())]
    asked += [(it["name"], it) for it in board["annotations"]["list"]]
    for title, target in asked:
        expression = substituted(target["expr"])
        check("$" not in expression, f"{title}: unknown variable in {expression}")
        now = time.time()
        try:
            if target.get("instant"):
                found = prometheus.query(expression)
                values = [it["value"] for it in found]
            else:
                found = prometheus.ask("query_range", query=expression, start=now - 15, end=now, step=1)["result"]
                values = [value for it in found for value in it["values"]]
        except ValueError as error:
            check(False, f"{title}: {expression}: {error}")
            continue
        if not any(it in expression for it in MAY_BE_EMPTY):
            finite = [value for _, value in values if math.isfinite(float(value))]
            check(finite, f"{title}: no data: {expression}")
        legend = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
        for it in found:
            # `cgroup` has no value for those that are counted together.
            missing = legend - it["metric"].keys() - {"cgroup"}
            check(not missing, f"{title}: the legend has labels that no series has: {sorted(missing)}")
            break
    for panel in board["panels"]:
        if panel["type"] != "row":
            defaults = panel["fieldConfig"]["defaults"]
            check(defaults.get("unit"), f"{panel['title']}: no unit")
            check(panel.get("description"), f"{panel['title']}: no description")
    done(f"{len(asked)} expressions of the dashboard are evaluated")
    for variable in board["templating"]["list"]:
        if variable["type"] != "query":
            continue
        metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
        found = prometheus.ask(f"label/{label}/values", **{"match[]": substituted(metric)})
        check(found, f"variable {variable['name']}: no values")


def same_counts(prometheus, url):
    """Each count in Prometheus is between one exposition before the scrape and one after it."""
    before, kinds = exposition(fetch(url)[1])
    time.sleep(3)
    scraped = {}
    for it in prometheus.query('{job="iosched", instance!="dead"}'):
        labels = dict(it["metric"])
        name = labels.pop("__name__")
        if ":" in name or name in ("ALERTS", "ALERTS_FOR_STATE"):
            continue
        for own in ("job", "instance"):
            labels.pop(own)
        scraped[key(name, labels)] = float(it["value"][1])
    time.sleep(0.2)
    after, _ = exposition(fetch(url)[1])
    compared = exact = 0
    for series, least in before.items():
        # A command may lose its series meanwhile.
        if not is_count(series[0], kinds) or series not in after:
            continue
        value = scraped.get(series)
        if check(value is not None, f"Prometheus lacks {series}"):
            compared += 1
            exact += least == after[series]
            check(least <= value <= after[series], f"{series}: {value} is not between {least} and {after[series]}")
    if check(exact and compared > exact, f"of {compared} counts, {exact} did not change meanwhile: nothing is compared"):
        done(f"{compared} counts are those of the exporter, {exact} of them unchanged and equal")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    binary, promtool, url = sys.argv[1:]
    tool(promtool, "check", "rules", "iosched.rules.yml")
    tool(promtool, "test", "rules", "iosched.rules.test.yml")
    tool(promtool, "check", "config", "prometheus.yml")
    busy = formats(promtool, url)
    if check(busy, "no disk that is measured does reads and writes: nothing can be said about data"):
        with tempfile.TemporaryDirectory() as directory, Prometheus(binary, directory, url) as prometheus:
            scraped = lambda: int(prometheus.query('min(count_over_time(up{instance!="dead"}[5m]))')[0]["value"][1]) >= SCRAPES
            if prometheus.wait_for(f"{SCRAPES} scrapes", scraped):
                targets(prometheus)
                rules(prometheus)
                dashboard(prometheus)
                same_counts(prometheus, url)
    print(f"{len(failures)} failures" if failures else "all is well")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, LookupError) as error:
        print(f"FAILED: {type(error).__name__}: {error}")
        sys.exit(1)
