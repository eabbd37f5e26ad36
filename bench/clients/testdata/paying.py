"""Makes payments with a journal, or ends what a crash left: the same as TestPayProgram."""

import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "client", "python"))

from railguard import Client, Journal, JournalError, NotSent, RailguardError, Sent, Unknown, pay, resume  # noqa: E402
from railguard.journal import FileStore  # noqa: E402
from decimal import Decimal  # noqa: E402

job = json.loads(os.environ["PAY_JOB"])
TOKEN = "a <token> of Zo\u00eb"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Killing(FileStore):
    """A store whose program dies at one of its lines."""

    count = 0

    def append(self, line):
        self.count += 1
        if job["kill"] == "before %d" % self.count:
            die()
        super().append(line)
        if job["kill"] == "after %d" % self.count:
            die()


def told(paid, failed):
    return {"ID": paid.id, "State": paid.state, "TxnID": paid.txn_id, "RailRef": paid.rail_ref, "Reason": paid.reason, "Failed": failed}


def check(identifier, txn_id):
    if job["send"] == "unknown":
        raise OSError("the rail does not answer")
    if os.path.exists(job["rail"]) and identifier in open(job["rail"]).read().split():
        return Sent("rail-" + identifier)
    raise NotSent("the rail has none")


def one(client, journal, identifier):
    def send(verdict):
        if job["kill"] == "sending":
            die()
        if job["send"] == "notSent":
            raise NotSent("no funds")
        with open(job["rail"], "a") as rail:
            rail.write(identifier + "\n")
        if job["kill"] == "sent":
            die()
        if job["send"] == "unknown":
            raise OSError("the line was cut")
        return Sent("rail-" + identifier, Decimal("0.5"))

    payment = {"token": TOKEN, "amount": 1, "cpName": "M\u00fcller & S\u00f6hne <%s>" % identifier, "hold": {"ttlSeconds": 60}}
    try:
        return told(pay(client, payment, send, journal, idempotency_key=identifier), False)
    except (JournalError, RailguardError, Unknown):
        return {"ID": identifier, "State": "open", "TxnID": "", "RailRef": "", "Reason": "", "Failed": True}


def main():
    client = Client([job["url"]], "screener", settler_key="settler", attempts=2)
    with Journal(store=Killing(job["journal"])) as journal:
        if job["resume"]:
            result = [told(paid, paid.error is not None) for paid in resume(client, journal, check, lambda identifier: TOKEN)]
        else:
            result = [one(client, journal, identifier) for identifier in job["ids"]]
    print("TOLD " + json.dumps(result))


main()
