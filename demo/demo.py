"""Shows the listener at work: a real Prefect server, the real listener, real flow runs, their lineage on the screen.

Runs the flow of update_customers.py, first as a plain script, then as a served deployment, until one run has failed
and a later one has succeeded in each way. With OPENLINEAGE_URL set, the events go there too. Everything it makes lies under
.demo in the checkout; when it ends, however it ends, no process of it is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".demo"
FLOW_FILE = ROOT / "demo" / "update_customers.py"
LISTENER = ROOT / "bin" / "listener"
MAX_RUNS = 20  # a fair coin shows both sides long before

BOLD, DIM, RED, GREEN, YELLOW, BLUE, RESET = (
    ("\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[34m", "\033[0m") if sys.stdout.isatty() else ("",) * 7
)
COLOURS = {"START": BLUE, "RUNNING": BLUE, "COMPLETE": GREEN, "FAIL": RED, "ABORT": YELLOW}


def say(text: str) -> None:
    print(f"{DIM}demo:{RESET} {text}", flush=True)


def die_with_parent() -> None:
    """Linux ends the child when the demo is gone, even when it was killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Processes:
    """What the demo started. Each runs in a session of its own, so that Ctrl-C reaches only the demo, which then ends
    them in order, the listener while Prefect still answers."""

    def __init__(self) -> None:
        self.started: list[tuple[str, subprocess.Popen]] = []

    def start(self, name: str, command: list[str], env: dict[str, str], **kwargs) -> subprocess.Popen:
        process = subprocess.Popen(command, env=env, start_new_session=True, preexec_fn=die_with_parent, **kwargs)
        self.started.append((name, process))
        return process

    def stop(self, process: subprocess.Popen) -> None:
        for how, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind in its group

    def stop_all(self) -> None:
        for _, process in reversed(self.started):
            self.stop(process)


class Screen(threading.Thread):
    """Prints each event as the listener sends it, and remembers what it saw for the summary."""

    def __init__(self, stream) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.runs: dict[str, dict] = {}
        self.changed = threading.Condition()

    def run(self) -> None:
        for line in self.stream:
            try:
                event = json.loads(line)
            except ValueError:
                print(line, end="", flush=True)
                continue
            self.show(event)

    def show(self, event: dict) -> None:
        kind, run, job = event["eventType"], event["run"]["runId"], event["job"]["name"]
        datasets = [f"{n['namespace']}/{n['name']}" for n in event["inputs"]], [
            f"{n['namespace']}/{n['name']}" for n in event["outputs"]
        ]
        line = f"{event['eventTime'][11:23]}  {COLOURS.get(kind, '')}{kind:<9}{RESET}{BOLD}{job}{RESET}  {DIM}run {run}{RESET}"
        for word, names in zip(("reads", "writes"), datasets):
            for name in names:
                line += f"\n{'':23}{word} {name}"
        problem = event["run"]["facets"].get("errorMessage", {}).get("message")
        if problem:
            line += f"\n{'':23}{RED}{problem.splitlines()[0][:100]}{RESET}"
        print(line, flush=True)
        with self.changed:
            seen = self.runs.setdefault(run, {"job": job, "states": [], "reads": [], "writes": []})
            seen["states"].append(kind)
            seen["reads"] += datasets[0]
            seen["writes"] += datasets[1]
            self.changed.notify_all()

    def wait_for_end(self, run: str, timeout: float) -> str:
        """The event type with which this run ended, once it was sent."""

        def ended():
            states = self.runs.get(run, {}).get("states", [])
            return next((s for s in states if s in ("COMPLETE", "FAIL", "ABORT")), None)

        with self.changed:
            if not self.changed.wait_for(ended, timeout):
                raise SystemExit(f"demo: the listener sent no end for flow run {run} within {timeout:.0f} s")
            return ended()

    def summary(self) -> None:
        jobs: dict[str, dict] = {}
        with self.changed:
            for run in self.runs.values():
                job = jobs.setdefault(run["job"], {"states": {}, "reads": set(), "writes": set()})
                last = run["states"][-1]
                job["states"][last] = job["states"].get(last, 0) + 1
                job["reads"].update(run["reads"])
                job["writes"].update(run["writes"])
        print(f"\n{BOLD}{'job':<38}runs{RESET}")
        for name in sorted(jobs):
            job = jobs[name]
            print(f"{name:<38}" + ", ".join(f"{n} {state}" for state, n in sorted(job["states"].items())))
            for word in ("reads", "writes"):
                for dataset in sorted(job[word]):
                    print(f"    {word} {dataset}")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until_up(url: str, process: subprocess.Popen, log: Path, timeout: float = 90) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
                if answer.read() == b"true":
                    return
        time.sleep(0.2)
    sys.stderr.write(log.read_text()[-2000:])
    raise SystemExit(f"demo: the Prefect server did not come up; its log is {log}")


def api(url: str, path: str, body: dict) -> list:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def flow_runs(url: str) -> list[str]:
    return [run["id"] for run in api(url, "/flow_runs/filter", {"limit": 200})]


def until_well_again(screen: Screen, url: str, way: str, run_once) -> None:
    """Runs the flow until one run has failed and a later one has succeeded: a consumer that draws what a job's last run
    said then has the whole picture."""
    failed = False
    for _ in range(MAX_RUNS):
        before = set(flow_runs(url))
        run_once()
        new = [run for run in flow_runs(url) if run not in before]
        ends = {screen.wait_for_end(run, 60) for run in new}
        if failed and "COMPLETE" in ends:
            return
        failed = failed or "FAIL" in ends
    raise SystemExit(f"demo: {MAX_RUNS} runs as {way} and not a success after a failure")


def demo(processes: Processes) -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")},
        "PREFECT_HOME": str(WORK / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_API_URL": url,
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_CLI_PROMPT": "false",
        "DEMO_DATABASE": str(WORK / "company_customers_db"),
        "LISTENER_STATE": f"sqlite://{WORK / 'state' / 'listener.db'}",
        "LISTENER_HTTP_ADDR": "127.0.0.1:0",
        # The screen, and by the rules of OPENLINEAGE_URL also whatever consumer is named there.
        "OPENLINEAGE__TRANSPORT__TYPE": "composite",
        "OPENLINEAGE__TRANSPORT__TRANSPORTS__SCREEN__TYPE": "console",
    }
    server_log, flow_log, listener_log = (WORK / name for name in ("server.log", "flows.log", "listener.log"))

    say("starting a Prefect server …")
    with server_log.open("wb") as log:
        prefect = str(Path(sys.executable).parent / "prefect")
        server = processes.start(
            "server", [prefect, "server", "start", "--host", "127.0.0.1", "--port", str(port)], env, stdout=log, stderr=log
        )
    wait_until_up(url, server, server_log)
    say(f"Prefect answers at {url[:-4]}; starting the listener (its log: {listener_log.relative_to(ROOT)})")
    if os.environ.get("OPENLINEAGE_URL"):
        say(f"events also go to {os.environ['OPENLINEAGE_URL'].split('@')[-1]}")
    with listener_log.open("wb") as log:
        listener = processes.start("listener", [str(LISTENER), "run"], env, stdout=subprocess.PIPE, stderr=log, text=True)
    screen = Screen(listener.stdout)
    screen.start()

    with flow_log.open("wb") as log:
        say("running “Update Customers” as a plain script, until one run has failed and a later one has succeeded")
        script = [sys.executable, str(FLOW_FILE)]

        def plain() -> None:
            processes.start("flow", script, env, stdout=log, stderr=log).wait()

        until_well_again(screen, url, "a plain script", plain)

        say("the same as a served deployment")
        served = processes.start("deployment", [*script, "--serve"], env, stdout=log, stderr=log)
        wait_for_deployment(url, served)

        def deployed() -> None:
            command = [prefect, "deployment", "run", "Update Customers/update-customers", "--watch"]
            processes.start("run", command, env, stdout=log, stderr=log).wait()

        until_well_again(screen, url, "a served deployment", deployed)
        processes.stop(served)

    processes.stop(listener)
    screen.join(10)
    screen.summary()
    if listener.returncode != 0:
        sys.stderr.write(listener_log.read_text()[-2000:])
        raise SystemExit(f"demo: the listener ended with {listener.returncode}")


def wait_for_deployment(url: str, served: subprocess.Popen, timeout: float = 60) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and served.poll() is None:
        if api(url, "/deployments/filter", {"limit": 1}):
            return
        time.sleep(0.3)
    raise SystemExit(f"demo: the deployment was not served; see {WORK / 'flows.log'}")


def main() -> int:
    def terminated(*_) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminated)
    processes = Processes()
    try:
        demo(processes)
        return 0
    except KeyboardInterrupt:
        say("stopping")
        return 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave something running
        processes.stop_all()


if __name__ == "__main__":
    sys.exit(main())
