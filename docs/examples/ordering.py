"""An ordering system: creates an order with a request, and later checks it out and waits until the carrier has everything.

It needs boto3, and nothing of Patchbay's repository. On AWS, the outputs OrderingFunctionName and StateMachineArn are the values of
ORDERING_FUNCTION_NAME and STATE_MACHINE_ARN, and the policy OrderingPolicyArn allows the calls; `admin env` sets all for `npm start`:

    python3 ordering.py create <account>
    python3 ordering.py checkout <order>
"""

import json
import sys
from os import environ
from secrets import randbits
from time import sleep, time

import boto3


def ulid():
    """Returns a new id, with which a repeated call creates nothing twice. It has 26 digits of 5 bits: the time, then 80 random bits."""
    number = int(time() * 1000) << 80 | randbits(80)
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number >> bit & 31] for bit in range(125, -1, -5))


def apply(file):
    name = environ["ORDERING_FUNCTION_NAME"]
    response = boto3.client("lambda").invoke(FunctionName=name, Payload=json.dumps(file))
    result = json.load(response["Payload"])
    if "FunctionError" in response:
        raise SystemExit(result["errorMessage"])
    if "errors" in result:
        raise SystemExit("; ".join(f"{error.get('source', {}).get('pointer')} {error['detail']}" for error in result["errors"]))
    return result


def create(account):
    # Store the ids before the call: after a lost response, apply the same file again.
    order, request = ulid(), ulid()
    orders = {"order": {"id": order, "account": account}}
    requests = {"request": {"id": request, "order": "order", "type": "ADD_MESSAGING_NUMBERS"}}
    apply({"orders": orders, "requests": requests})
    print("order", order)
    print("request", request)


def check_out(order):
    workflow = boto3.client("stepfunctions")
    execution = workflow.start_execution(
        stateMachineArn=environ["STATE_MACHINE_ARN"], input=json.dumps({"order_id": order})
    )["executionArn"]
    # While a carrier is unavailable, this can take days.
    wait = 0.5
    while (state := workflow.describe_execution(executionArn=execution))["status"] == "RUNNING":
        sleep(wait)
        wait = min(2 * wait, 60)
    print(state["status"], state.get("cause", ""))
    if state["status"] != "SUCCEEDED":
        raise SystemExit(1)


commands = {"create": create, "checkout": check_out}
variables = ("ORDERING_FUNCTION_NAME", "STATE_MACHINE_ARN")
if len(sys.argv) != 3 or sys.argv[1] not in commands or not all(environ.get(name) for name in variables):
    print(__doc__, file=sys.stderr)
    sys.exit(2)
commands[sys.argv[1]](sys.argv[2])
