#!/bin/sh
# Compares cg's declarations of DCGM with NVIDIA's headers, which the Go module of its bindings has. Its status is 3 where
# that cannot be fetched.
set -eu
cd "$(dirname "$0")/../.."
module=github.com/NVIDIA/go-dcgm@v0.0.0-20240118201113-3385e277e49f # DCGM 3.3
folder=$(cd / && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || exit 3
[ -n "$folder" ] || exit 3
cc -fsyntax-only -I"$folder/pkg/dcgm" testdata/dcgm/abi.c
echo "the structures are those of DCGM 3.3"
