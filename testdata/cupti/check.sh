#!/bin/sh
# Compares cg with NVIDIA's CUPTI, which needs no GPU for it: the layout of each structure with the headers of
# several versions, NVTX's own header, and what the library of CUDA 12.9 says of metrics. check.sh FOLDER [PYTHON] keeps the packages in FOLDER.
# Its status is 3 where they cannot be fetched.
#
#	CG=path   the cg to use; built from this tree otherwise
set -eu
folder=$1 python=${2:-python3}
cd "$(dirname "$0")/../.."
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# fetch PACKAGE VERSION unpacks a wheel to $folder/VERSION.
fetch() {
	[ -e "$folder/$2/done" ] && return
	rm -rf "$folder/$2"
	mkdir -p "$folder/$2"
	"$python" -m pip download -q --disable-pip-version-check --no-deps -d "$folder/$2" "$1==${2%-nvtx}" || exit 3
	"$python" -m zipfile -e "$folder/$2"/*.whl "$folder/$2"
	rm "$folder/$2"/*.whl
	# What of the headers is C++, or of a toolkit that is not there.
	find "$folder/$2" -name '*.h' -exec sed -i '/#include <string>/d' {} +
	touch "$folder/$2/done"
}

# layout VERSION CUDA compares the structures.
layout() {
	: >"$folder/cuda.h"
	: >"$folder/builtin_types.h"
	for source in abi activity; do
		cc -fsyntax-only -DCUDA="$2" -I"$folder" -I"$(echo "$folder/$1"/nvidia/*/include)" testdata/cupti/$source.c
	done
	echo "the structures are those of CUPTI $1"
}

fetch nvidia-cuda-cupti-cu12 12.6.80
layout 12.6.80 1206
fetch nvidia-cuda-cupti-cu12 12.9.79
layout 12.9.79 1209
fetch nvidia-cuda-cupti 13.1.75
layout 13.1.75 1301
fetch nvidia-cuda-cupti 13.5.25
layout 13.5.25 1305

fetch nvidia-nvtx-cu12 12.9.79-nvtx
cc -o "$folder/nvtx" -I"$folder/12.9.79-nvtx/nvidia/nvtx/include" testdata/cupti/nvtx.c -ldl
cc -shared -fPIC -pthread -D_GNU_SOURCE -o "$folder/kernels.so" runtimes/native/kernels.c -ldl
"$python" testdata/cupti/nvtx.py "$folder/nvtx" "$folder/kernels.so"

[ "$(uname -m)" = x86_64 ] || exit 0 # the wheel that was fetched is the machine's; the figures are those of one
cg=${CG:-$folder/cg}
[ -n "${CG:-}" ] || go build -trimpath -o "$cg" .
export CG_CUPTI="$folder/12.9.79/nvidia/cuda_cupti/lib"
unset CG_SYSROOT
"$cg" gpu metrics --chip GH100 --json >"$folder/metrics.json"
"$python" - "$folder/metrics.json" <<'EOF'
import json, sys
metrics = json.load(open(sys.argv[1]))["metrics"]
assert len(metrics) > 1000, len(metrics)
active = [m for m in metrics if m["name"] == "sm__cycles_active"]
assert active == [{"name": "sm__cycles_active", "kind": "counter", "unit": "sm", "dimension": "gpc_cycle",
                   "description": "# of cycles with at least one warp in flight"}], active
print(len(metrics), "metrics of GH100")
EOF
"$cg" gpu metrics --chip GH100 sm__cycles_active | grep -x sm__cycles_active.avg.pct_of_peak_sustained_elapsed >/dev/null
for chip in TU102 GA100 AD102 GB202; do
	"$cg" gpu metrics --chip $chip --search sm__cycles_active | grep "^sm__cycles_active  *counter" >/dev/null
done
CG_CUPTI="$folder/13.5.25/nvidia/cu13/lib" # which recurses without end where there is no driver, if it is asked
if "$cg" gpu metrics --chip GH100 >"$folder/out" 2>&1; then
	echo "CUPTI 13.5 works here"
else
	grep -q 'from CUDA 13.2 on CUPTI needs the driver' "$folder/out"
fi
