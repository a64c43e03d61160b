"""Whether a run's exports say what the run says.

Called with the run directory, the directory with its exports, and their name without its ending.
Prints a JSON object with what was compared; anything that differs ends it.
"""

import csv
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HOME"] = os.path.join(sys.prefix, "hugging-face")

import datasets
import duckdb
import polars
import pyarrow.parquet

run, directory, name = sys.argv[1:]
parquet, lines, table = (
    os.path.join(directory, f"{name}.{ending}") for ending in ("parquet", "jsonl", "csv")
)
csv.field_size_limit(sys.maxsize)
loaded = datasets.load_from_disk(run)
truth = [dict(row) for row in loaded]


def same(found, what):
    """Types and all: 1 is not 1.0, and a lost bit is a difference."""
    ours, theirs = ([repr(row) for row in rows] for rows in (truth, found))
    for place, (one, other) in enumerate(zip(ours, theirs)):
        assert one == other, f"{what}, row {place}:\n{one}\n{other}"
    assert len(ours) == len(theirs), f"{what}: {len(theirs)} rows of {len(ours)}"


# Parquet, by three readers and as a dataset.
same(pyarrow.parquet.read_table(parquet).to_pylist(), "pyarrow")
relation = duckdb.sql(f"SELECT * FROM read_parquet('{parquet}')")
same([dict(zip(relation.columns, row)) for row in relation.fetchall()], "duckdb")
same(polars.read_parquet(parquet).to_dicts(), "polars")
cache = os.path.join(directory, "cache")
as_dataset = datasets.load_dataset("parquet", data_files=parquet, cache_dir=cache)["train"]
same([dict(row) for row in as_dataset], "datasets, from Parquet")
about = {key.decode(): value for key, value in pyarrow.parquet.read_metadata(parquet).metadata.items()}
summary = json.load(open(os.path.join(run, "summary.json"), encoding="utf-8"))
assert json.loads(about["ipw.summary"]) == summary
assert json.loads(about["ipw.format_version"]) == summary["format_version"]
assert about["ipw.version"].decode() == summary["versions"]["ipw"]

# JSON lines: only a line feed ends a line.
text = open(lines, "rb").read().decode("utf-8")
assert text.endswith("\n")
same([json.loads(line) for line in text[:-1].split("\n")], "json")

# CSV: what Python reads, cell by cell.
model = summary["model"]


def flat(value, path=()):
    """The leaves by their dotted names without the model's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            is_model = len(path) == 1 and path[0] in ("model_answers", "model_metrics")
            yield from flat(inner, path if is_model and key == model else (*path, key))
    else:
        yield ".".join(path), value


def unguarded(cell):
    bare = cell.lstrip("'")
    return cell[1:] if cell != bare and bare[:1] in tuple("=+-@\t\r") else cell


def agrees(cell, value):
    if value is None:
        return cell == ""
    if isinstance(value, str):
        return unguarded(cell) == value
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, list):
        return repr(json.loads(cell)) == repr(value)
    return repr(type(value)(cell)) == repr(value)


with open(table, encoding="utf-8", newline="") as file:
    cells = list(csv.DictReader(file, strict=True))
assert len(cells) == len(truth), f"csv: {len(cells)} rows of {len(truth)}"
for place, (row, expected) in enumerate(zip(cells, truth)):
    expected = dict(flat(expected))
    assert list(row) == list(expected), f"csv: {list(row)}"
    for column, value in expected.items():
        assert agrees(row[column], value), f"csv, row {place}: {column} {row[column]!r} {value!r}"

# And what DuckDB reads of it: every cell is the text that Python sees.
relation = duckdb.sql(
    f"SELECT * FROM read_csv('{table}', header = true, all_varchar = true, delim = ',', "
    "quote = '\"', escape = '\"', new_line = '\\n', max_line_size = 100000000)"
)
assert relation.columns == list(cells[0])
for place, (row, expected) in enumerate(zip(relation.fetchall(), cells)):
    for column, seen in zip(relation.columns, row):
        assert (seen or "") == expected[column], f"duckdb csv: {column} {seen!r} {expected[column]!r}"

print(json.dumps({"rows": len(truth), "columns": len(cells[0])}))
