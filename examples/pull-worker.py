"""A worker in plain Python: claims jobs from a Chronos server, runs them and reports their outcomes.
    CHRONOS_URL=http://127.0.0.1:4100 CHRONOS_TOKEN=... QUEUES=default python3 pull-worker.py"""
import json, random, secrets, signal, socket, sys, threading, time, traceback
from os import environ, getpid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = environ.get("CHRONOS_URL", "http://127.0.0.1:4100").rstrip("/") + "/api/v1"
ACCESS = {"Authorization": "Bearer " + environ["CHRONOS_TOKEN"]} if "CHRONOS_TOKEN" in environ else {}
HEADERS = {"Content-Type": "application/json", **ACCESS}
ME = {"workerId": f"{socket.gethostname()}:{getpid()}", "host": socket.gethostname(), "pid": getpid()}
ASK = {**ME, "queues": environ.get("QUEUES", "default").split(","), "lease": environ.get("LEASE", "30s"), "wait": "10s"}
stopping = threading.Event()  # SIGTERM: finish running jobs, start no new ones

def handle(payload, lease):
    """Your code: it returns the result or raises the failure. Long work should check lease["stop"]."""
    if payload.get("failures", 0) >= lease["job"]["attempt"]:
        raise ValueError(f"attempt {lease['job']['attempt']} was told to fail")
    lease["stop"].wait(payload.get("seconds", 0))
    return {"sum": sum(payload.get("numbers", [])), "by": "python"}

def call(path, body):
    """A POST, repeated with increasing delays until there is a response. The token makes it safe to repeat."""
    for tries in range(12):
        try:
            with urlopen(Request(URL + path, json.dumps(body).encode(), HEADERS), timeout=40) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code < 500 and error.code != 429:
                return json.load(error)  # 409: the lease is lost, and another worker has the job
        except OSError:
            pass  # the server is down, or the connection broke
        time.sleep(min(10, 0.2 * 2**tries) * random.random())
    sys.exit(f"no answer from {URL}")

def tell(lease, verb, **said):
    job = lease["job"]
    return call(f"/leases/{job['id']}/{verb}", {"token": lease["token"], "run": job["run"], **said})

def run(lease):
    lease["stop"], over = threading.Event(), threading.Event()
    def keep():  # renews the lease; without it the worker counts as dead and loses the job
        while not over.wait(lease["leaseMs"] / 3000):
            if tell(lease, "extend").get("cancelRequested", True):
                lease["stop"].set()
    threading.Thread(target=keep, daemon=True).start()
    try:
        verb, said = "complete", {"result": handle(lease["job"]["payload"], lease)}
    except Exception as error:
        stack = traceback.format_exc()[-8000:]
        verb, said = "fail", {"error": {"name": type(error).__name__, "message": str(error), "stack": stack}}
    over.set()
    return tell(lease, "release") if lease["stop"].is_set() else tell(lease, verb, **said)

signal.signal(signal.SIGTERM, lambda *_: (stopping.set(), print("stopping", flush=True)))
print("working as", ME["workerId"], flush=True)
while not stopping.is_set():
    answer = call("/leases:claim", {**ASK, "token": secrets.token_hex(16)})
    for lease in answer["data"] if "data" in answer else sys.exit(answer["detail"]):
        end = tell(lease, "release", started=False) if stopping.is_set() else run(lease)
        print(lease["job"]["id"], end.get("detail", end["status"]), flush=True)
