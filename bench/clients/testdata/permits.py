"""Checks permits with a published library that knows none: PyJWT, and what it leaves to its caller."""

import datetime
import json
import re
import sys

import jwt
import jwt.api_jwt

job = json.load(sys.stdin)
jwks = jwt.PyJWKSet.from_dict({"keys": [key for key in job["jwks"]["keys"] if key["kid"] not in job["broken"]]})


def good(one):
    class Now(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(one["now"], tz)

    jwt.api_jwt.datetime = Now  # PyJWT has no other clock.
    head = jwt.get_unverified_header(one["permit"])
    if set(head) != {"alg", "kid", "typ"}:  # Some of its versions overlook crit.
        return False
    if head.get("typ") != "railguard-permit+jwt" or not re.fullmatch(r"(sandbox-)?pm-v[0-9]+", head["kid"], re.ASCII):
        return False
    key = next(known.key for known in jwks.keys if known.key_id == head["kid"])
    p = jwt.decode(one["permit"], key, algorithms=["ES256"], issuer=one["issuer"], audience=one["audience"], options={"require": ["exp", "iat", "jti"]})
    return p["verdict"] == "PROCEED" and p["exp"] - p["iat"] <= 300 and p["pay_hash"] == one["payHash"] and p["lists"]["age"] <= p["lists"]["maxAge"]


def told(one):
    try:
        return good(one)
    except (jwt.PyJWTError, KeyError, StopIteration):
        return False


json.dump([told(one) for one in job["cases"]], sys.stdout)
