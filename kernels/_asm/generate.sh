#!/bin/sh
# Writes every generated assembly file of the kernels. CI runs it and fails on a diff.
set -eu
cd "$(dirname "$0")"
go build -o "${TMPDIR:-/tmp}/assay-asm" .
asm="${TMPDIR:-/tmp}/assay-asm"
gen() { # set folder
  "$asm" -what "$1" -out "../$2/$1_amd64.s" -stubs "../$2/$1_amd64.go" -pkg "$(basename "$2")"
}
gen int8_avx2 matmul
gen int8_avx512 matmul
gen float_avx2 matmul
gen vector_avx2 vector
gen attention_avx2 attention
gen attention_avx512 attention
gen ceiling ceiling
gen pause parallel
rm -f "$asm"
