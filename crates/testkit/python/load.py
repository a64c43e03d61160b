"""Opens directories with Hugging Face `datasets`; prints one JSON object per directory.

Called with the directories, and before them `--rows` if the rows themselves are wanted.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
# Do not touch the user's own cache.
os.environ["HF_HOME"] = os.path.join(sys.prefix, "hugging-face")

import datasets


def type_of(feature):
    """A struct is an object, a list an array of one, whatever this version calls them."""
    if isinstance(feature, dict):
        return {name: type_of(inner) for name, inner in feature.items()}
    if isinstance(feature, list):
        return [type_of(feature[0])]
    if hasattr(feature, "feature"):
        return [type_of(feature.feature)]
    return feature.dtype


def side_table(directory):
    """`readings/` and `server_metrics/`, in the words of docs/format.md."""
    with open(os.path.join(directory, "state.json")) as state:
        files = [file["filename"] for file in json.load(state)["_data_files"]]
    paths = [os.path.join(directory, name) for name in files]
    return datasets.concatenate_datasets([datasets.Dataset.from_file(path) for path in paths])


def opened(directory):
    is_side_table = os.path.basename(directory) in ("readings", "server_metrics")
    return side_table(directory) if is_side_table else datasets.load_from_disk(directory)


def seen(directory, with_rows):
    table = opened(directory)
    found = {
        "version": datasets.__version__,
        "rows": table.num_rows,
        "columns": table.column_names,
        "features": type_of(dict(table.features)),
    }
    if with_rows:
        found["data"] = [dict(row) for row in table]
    # NaN is not JSON, and no measurement either.
    return json.dumps(found, allow_nan=False)


def main(arguments):
    with_rows = arguments[:1] == ["--rows"]
    for directory in arguments[with_rows:]:
        try:
            print(seen(directory, with_rows))
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


main(sys.argv[1:])
