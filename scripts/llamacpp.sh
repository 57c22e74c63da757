#!/bin/sh
# usage: scripts/llamacpp.sh [DIR]
# Installs the llama.cpp library that the live oracle opens (linux/amd64, 29 MB). Without DIR it goes to .cache/llamacpp of this
# project, where it is found by itself; for another DIR set ASSAY_LLAMACPP=DIR. The version is pinned exactly, because the
# binding knows the layouts of one release; no script of the package is run. Needs npm.
set -eu

package=@node-llama-cpp/linux-x64
version=3.21.1

case $(uname -s)/$(uname -m) in
Linux/x86_64) ;;
*) echo "llamacpp.sh: the library is published for linux/amd64, this is $(uname -s)/$(uname -m)" >&2; exit 2 ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
dir=${1:-$root/.cache/llamacpp}
mkdir -p "$dir"
dir=$(CDPATH='' cd -- "$dir" && pwd)
at=$dir/node_modules/$package

# installed: the pinned version, with the library in it
installed() {
  [ -f "$at/bins/linux-x64/libllama.v0.4.0.so" ] && grep -q "\"version\": *\"$version\"" "$at/package.json"
}

if ! installed; then
  command -v npm >/dev/null || { echo "llamacpp.sh: npm is needed" >&2; exit 2; }
  [ -f "$dir/package.json" ] || echo '{"private": true}' >"$dir/package.json"
  npm install --prefix "$dir" --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$version" >&2
  installed || { echo "llamacpp.sh: $package@$version does not hold the library" >&2; exit 1; }
fi
echo "$at/bins/linux-x64"
