"""What math-verify says of each reference and answer: true, false, or null when it reads no reference.

Takes a file with one JSON list [reference, answer] a line; prints one JSON list of verdicts.
"""

import json
import logging
import sys

from math_verify import parse, verify

logging.disable(logging.CRITICAL)


def formula(text):
    """A reference as math-verify wants it: between dollar signs, unless it has some."""
    has_signs = "$" in text.replace("\\$", "") or "\\boxed" in text
    return text if has_signs else f"${text}$"


def verdict(reference, answer):
    gold = parse(formula(reference))
    if not gold:
        return None
    return bool(verify(gold, parse(answer)))


with open(sys.argv[1], encoding="utf-8") as pairs:
    print(json.dumps([verdict(*json.loads(line)) for line in pairs]))
