"""What random requests have in common: the credentials that let them in, and enough sense to get past the first rule.

Most fields whose name is known here get a good value instead of a random one, each request others of them, so that some
requests succeed and the rest is refused for one reason or another.
"""

import json
import zlib

import schemathesis

# A body may carry credentials of its own, which come first.
CREDENTIALS = ["bk_app_code", "bk_app_secret", "bk_token", "bk_username"]

# What scripts/schemathesis makes: business 2 with process 1, whose first instance is this.
NAMESPACE, NAME, IP = "GSEKIT_BIZ_2", "login_1", "127.0.0.1"

IDENTITY = {"proc_name": "a", "setup_path": "/opt/a", "pid_path": "/run/a.pid", "user": "app"}
CONTROL = {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh"}
SPEC = {"identity": IDENTITY, "control": CONTROL, "resource": {"cpu": 10, "mem": 10}}

EVERYWHERE = {
    "bk_biz_id": 2,
    "bk_process_id": 1,
    "control": CONTROL,
    "identity": IDENTITY,
    "job_id": 1,
    "limit": 10,
    "local_inst_id": 1,
    "name": NAME,
    "namespace": NAMESPACE,
    "page": 1,
    "pagesize": 10,
    "spec": SPEC,
    "start": 0,
    "template": 1,
    "version": 1,
    "configmap": [],
    "labels": {"tier": "front"},
    "monitor_policy": {"auto_type": 1},
    "runtime": {"umask": "027", "env": {"A": "1"}},
    "restart": {"delay": 1, "factor": 2, "delay_max": 60, "give_up": "never"},
    "stop": {"signals": ["SIGQUIT", "TERM"], "grace": 5},
    "probes": {"ready": {"http": {"port": 80, "path": "/", "status": [200, "3xx"]}}, "live": {"tcp": {"port": "80"}}},
}
NATIVE = {
    "agent_id": "agent-1",
    "abs_path": "/opt/example",
    "action": "start",
    "business": 2,
    "code": "another",
    "content": "port = ${local_inst_id}\n",
    "expression": "zone-*.login",
    "file_name": "login.conf",
    "host": IP,
    "hosts": [IP],
    "op": "start",
    "password": "long enough",
    "process": 1,
    "process_group": [],
    "process_templates": [],
    "processes": [1],
    "template_name": "another",
    "text": "port = ${local_inst_id}\n",
    "operations": [{"process": f"{NAMESPACE}/{NAME}", "op": "query", "hosts": [IP]}],
}
DIALECTS = {
    "bk_set_env": 3,
    "expression_scope": {"bk_set_env": 0, "bk_set_name": "zone-*"},
    "hosts": [{"ip": IP, "bk_cloud_id": 0, "bk_supplier_id": 0}],
    "job_action": "start",
    "job_object": "process",
    "meta": {"namespace": NAMESPACE, "name": NAME},
    "op_type": 0,
    "page": {"start": 0, "limit": 10},
    "scope": {"bk_set_env": 0},
}
# Ids as they were last answered.
LAST = {}


def good(name, case):
    """A good value for a field of this name, or nothing."""
    is_native = case.path.startswith("/api/v1/")
    if name == "task_id":
        return LAST.get("task")
    if name == "id" and case.path.startswith("/api/v1/businesses/"):
        # What is replaced or removed is not what everything else is asked of.
        is_lost = case.method == "DELETE" or (case.method == "PUT" and case.path.endswith("/topology"))
        return 3 if is_lost else 2
    if name == "id" and is_native:
        return LAST.get("task") if "/tasks/" in case.path else 1
    if name == "page" and "gsekit" in case.path:
        return 1
    return {**EVERYWHERE, **(NATIVE if is_native else DIALECTS)}.get(name)


def amend(values, case, number):
    for name, value in list(values.items()):
        chance = zlib.crc32(f"{number} {name}".encode()) % 8
        better = good(name, case)
        if better is not None and chance > 1:
            values[name] = better
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                amend(inner, case, number)


@schemathesis.hook
def before_call(context, case, **kwargs):
    parts = [case.method, case.path, case.path_parameters, case.query, case.body]
    # The same for the same request, so that a failure can be made again.
    number = zlib.crc32(json.dumps(parts, default=str, sort_keys=True).encode())
    if isinstance(case.body, dict) and number % 8:
        for name in CREDENTIALS:
            case.body.pop(name, None)
    for values in [case.path_parameters, case.query, case.body]:
        if isinstance(values, dict):
            amend(values, case, number)
    # Nobody waits for ends that never come.
    if case.query:
        case.query.pop("wait", None)


@schemathesis.hook
def after_call(context, case, response):
    try:
        answer = json.loads(response.content)
        task = answer["data"]["task_id"] if "data" in answer else answer["id"]
    except (ValueError, KeyError, TypeError):
        return
    if isinstance(task, str) and task.startswith("GSETASK:"):
        LAST["task"] = task
