"""Runs what a page shows: its SQL in DuckDB, its Python with Polars, in the present directory.

Called with the page; prints one JSON object for each block: its language and how many rows came.
"""

import ast
import json
import re
import sys

import duckdb
import polars


def run_python(code, names):
    """The value of the block's last expression."""
    tree = ast.parse(code)
    last = tree.body.pop()
    exec(compile(tree, "block", "exec"), names)
    return eval(compile(ast.Expression(last.value), "block", "eval"), names)


page = open(sys.argv[1], encoding="utf-8").read()
names = {}
for language, code in re.findall(r"^```(sql|python)\n(.*?)^```$", page, re.M | re.S):
    try:
        if language == "sql":
            rows = len(duckdb.sql(code).fetchall())
        else:
            found = run_python(code, names)
            assert isinstance(found, polars.DataFrame), type(found)
            rows = found.height
    except Exception as error:
        raise SystemExit(f"{type(error).__name__}: {error}\nin\n{code}")
    print(json.dumps({"language": language, "rows": rows}))
