"""Makes files as people have them, with the tools that people make them with.

Called with a directory to fill.
"""

import csv
import datetime
import gzip
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HOME"] = os.path.join(sys.prefix, "hugging-face")

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from datasets import Dataset, DatasetDict, Features, Value

root = sys.argv[1]
at = lambda *steps: os.path.join(root, *steps)


def row(n):
    return {
        "question": f"p{n}",
        "answer": None if n % 3 == 0 else f"a{n}",
        "choices": [f"c{n}", "d"] if n % 2 else None,
        "nested": {"level": n, "tags": [{"name": "x"}] * (n % 3), "none": None},
        "always_null": None,
        "score": n / 2,
    }


rows = [row(n) for n in range(1000)]
Dataset.from_list(rows).save_to_disk(at("saved"), num_shards=3)
DatasetDict(
    train=Dataset.from_list(rows[:5]), test=Dataset.from_list(rows[5:7])
).save_to_disk(at("dict"))

table = pa.Table.from_pylist(rows)
table = table.append_column(
    "when",
    pa.array(
        [datetime.datetime(2024, 2, 3, 4, 5, 6)] * len(rows), pa.timestamp("us", tz="Europe/Paris")
    ),
)
table = table.append_column("kind", pa.array(["u", "v"] * 500).dictionary_encode())
table = table.append_column("bytes", pa.array([b"\x00\xff"] * len(rows)))
table = table.append_column("nan", pa.array([float("nan")] * len(rows)))
table = table.append_column("big", pa.array([2**63 + 1] * len(rows), pa.uint64()))
for codec in ["snappy", "zstd", "gzip", "none"]:
    pq.write_table(table, at(f"{codec}.parquet"), compression=codec, row_group_size=300)

os.mkdir(at("many"))
for part in range(3):
    pq.write_table(pa.Table.from_pylist(rows[part * 2 : part * 2 + 2]), at("many", f"part-{part}.parquet"))

hub = at("datasets--org--my_set")
os.makedirs(os.path.join(hub, "refs"))
os.makedirs(os.path.join(hub, "blobs"))
os.makedirs(os.path.join(hub, "snapshots", "0123abcd", "main"))
with open(os.path.join(hub, "refs", "main"), "w") as file:
    file.write("0123abcd")
for split, part in [("train", rows[:4]), ("test", rows[4:6])]:
    pq.write_table(pa.Table.from_pylist(part), os.path.join(hub, "blobs", split))
    os.symlink(
        os.path.join("..", "..", "..", "blobs", split),
        os.path.join(hub, "snapshots", "0123abcd", "main", f"{split}-00000-of-00001.parquet"),
    )

cached = at("cached", "default", "0.0.0", "abc")
os.makedirs(cached)
for name, part in [("my_set-train", rows[:2]), ("my_set-test", rows[2:3]), ("cache-77", rows[:9])]:
    Dataset.from_list(part).save_to_disk(at("aside"))
    os.rename(at("aside", "data-00000-of-00001.arrow"), os.path.join(cached, f"{name}.arrow"))
pyarrow.feather.write_feather(pa.Table.from_pylist(rows[:2]), at("feather.arrow"))

query = {"problem": "p", "answer": "a", "subject": "s"}
bundled = [
    {
        **query,
        "dataset_metadata": json.dumps({"config": {"dataset_name": "x"}, "n": n}),
        "model_answers": {"m": "wrong"},
        "model_metrics": {"m": {"energy": 1.5}},
        "anthropic_index_category": "c",
    }
    for n in range(3)
]
Dataset.from_list(bundled).save_to_disk(at("bundled"))

# A table without a single row, and one with a bad row far inside.
Dataset.from_dict(
    {"problem": []}, features=Features({"problem": Value("string")})
).save_to_disk(at("no_rows"))
pq.write_table(
    pa.table({"problem": ["p"] * 700 + [None] + ["q"] * 10 + ["", "r"]}), at("holes.parquet")
)

hostile = ["", " ", "a,b", 'say "hi"', '"', '""', "two\nlines", "cr\r\nlf", "tab\there", "ünï😀", "'", ";|", "\\", "{", "null"]
torture = [
    {"prompt": f"p{n} {first}", "note": second}
    for n, (first, second) in enumerate((a, b) for a in hostile for b in hostile)
]
with open(at("torture.json"), "w") as file:
    json.dump(torture, file)
for name, dialect in [
    ("comma.csv", {}),
    ("semicolon.csv", {"delimiter": ";"}),
    ("pipe.csv", {"delimiter": "|", "quoting": csv.QUOTE_ALL}),
    ("tab.tsv", {"delimiter": "\t", "lineterminator": "\n"}),
]:
    with open(at(name), "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, ["prompt", "note"], **dialect)
        writer.writeheader()
        writer.writerows(torture)

lines = [json.dumps(row(n)) + "\n" for n in range(2000)]
text = "".join(lines).encode()
half = text.index(b"\n", len(text) // 2) + 1
with open(at("members.jsonl.gz"), "wb") as file:
    file.write(gzip.compress(text[:half]) + gzip.compress(text[half:]))
with open(at("unnamed"), "wb") as file:
    file.write(gzip.compress(text))


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


skippable = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"hello"
with open(at("frames.jsonl.zst"), "wb") as file:
    file.write(skippable + zstd(text[:half]) + skippable + zstd(text[half:]))
with open(at("comma.csv"), "rb") as plain, open(at("comma.csv.zst"), "wb") as file:
    file.write(zstd(plain.read()))
with open(at("plain.jsonl"), "wb") as file:
    file.write(text)
few = "".join(lines[:40]).encode()
with open(at("few.jsonl.gz"), "wb") as file:
    file.write(gzip.compress(few) + gzip.compress(few))
with open(at("few.jsonl.zst"), "wb") as file:
    file.write(zstd(few) + skippable + zstd(few))
