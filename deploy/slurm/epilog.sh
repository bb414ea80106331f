#!/bin/sh
# Slurm's Epilog for cg (slurm.conf: Epilog=/etc/slurm/cg-epilog.sh). slurmd runs it as root on each node after a
# job. It takes back what the prolog gave. When the user has no other job on the node, it removes what ranks that
# were killed have left in the node's shared memory. An epilog that fails drains the node: this one never does.
powercap=${CG_POWERCAP:-/sys/class/powercap}
shared=${CG_NODE_DIR:-/dev/shm}

for counter in "$powercap"/*/energy_uj; do
	[ -f "$counter" ] || continue
	chmod g-r "$counter" && chgrp 0 "$counter"
done 2>/dev/null
case ${SLURM_JOB_UID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
# Where squeue fails, the user may have another job here: nothing is removed.
jobs=$(squeue --noheader --user="$SLURM_JOB_UID" --nodelist="${SLURMD_NODENAME:-$(hostname -s)}" --format=%A 2>/dev/null) || exit 0
if [ "$(printf '%s\n' "$jobs" | grep . | grep -v -x -c "${SLURM_JOB_ID:-none}")" -eq 0 ]; then
	rm -rf "$shared/cg-$SLURM_JOB_UID"
fi
exit 0
