"""Reads {"expressions": [...], "names": [...]} and says for each expression whether re.match takes each name; null for one that
re refuses."""

import json
import re
import sys
import warnings

warnings.simplefilter("ignore")
given = json.load(sys.stdin)


def matches(expression):
    try:
        pattern = re.compile(expression)
    except (re.error, OverflowError):
        return None
    return [bool(pattern.match(name)) for name in given["names"]]


json.dump([matches(expression) for expression in given["expressions"]], sys.stdout)
