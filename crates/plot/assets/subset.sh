#!/bin/sh
# Reduces DejaVu Sans to the characters of figures. See README.md.
set -eu
font=${1:?usage: subset.sh DejaVuSans.ttf}
cd "$(dirname "$0")"
pyftsubset "$font" \
  --output-file=DejaVuSans-subset.ttf \
  --unicodes='U+0020-007E,U+00A0-00FF,U+0131,U+0152-0153,U+0160-0161,U+017D-017E,U+0370-03FF,U+2009-200F,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+2030,U+2032-2033,U+2066-2069,U+2070,U+2074-208E,U+20AC,U+2190-2195,U+2202,U+2206,U+2211-2213,U+221A,U+221E,U+2248,U+2260,U+2264-2265,U+25A0-25A1,U+25B2,U+25CF,U+25C6,U+FFFD' \
  --layout-features=kern \
  --no-hinting --desubroutinize --name-IDs='*' --notdef-outline
