#!/bin/sh
# Slurm's Prolog for cg (slurm.conf: Prolog=/etc/slurm/cg-prolog.sh). slurmd runs it as root on each node before
# a job. It lets the job's user read the energy counters of the node, through the group of the job. Who can read
# counters can learn about other programs on the node (CVE-2020-8694), so nodes that jobs share are left as they
# are unless CG_SHARED_NODES=yes is set in slurmd's environment. The epilog takes the right back.
# A prolog that fails drains the node: this one never does.
powercap=${CG_POWERCAP:-/sys/class/powercap}

case ${SLURM_JOB_GID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
if [ "${CG_SHARED_NODES:-no}" != yes ]; then
	# Where squeue fails, nobody knows who else is on the node.
	jobs=$(squeue --noheader --nodelist="${SLURMD_NODENAME:-$(hostname -s)}" --states=RUNNING,CONFIGURING,COMPLETING,SUSPENDED --format=%A 2>/dev/null) || exit 0
	[ "$(printf '%s\n' "$jobs" | grep -c .)" -le 1 ] || exit 0
fi
for counter in "$powercap"/*/energy_uj; do
	[ -f "$counter" ] || continue
	chgrp "$SLURM_JOB_GID" "$counter" && chmod g+r "$counter"
done 2>/dev/null
exit 0
