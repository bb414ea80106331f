#!/bin/sh
# Slurm's Epilog for cg (slurm.conf: Epilog=/etc/slurm/cg-epilog.sh). slurmd runs it as root on each node after a
# job. It takes back what the prolog gave, and removes what ranks that were killed have left in the node's shared
# memory: the boards of the job's user of which no process holds a lock. It does that as the user, so a link that a
# user puts there leads to nothing more. An epilog that fails drains the node: this one never does.
powercap=${CG_POWERCAP:-/sys/class/powercap}
shared=${CG_NODE_DIR:-/dev/shm}

for counter in "$powercap"/*/energy_uj; do
	[ -f "$counter" ] || continue
	chmod g-r "$counter" && chgrp 0 "$counter"
done 2>/dev/null
for id in "${SLURM_JOB_UID:-}" "${SLURM_JOB_GID:-}"; do
	case $id in
	'' | *[!0-9]*) exit 0 ;;
	esac
done
boards=$shared/cg-$SLURM_JOB_UID
[ -d "$boards" ] && [ ! -L "$boards" ] || exit 0

# Nobody joins a board while its door is held, and whoever has joined holds the lock of the measurer or of a rank.
export remove='
for lock in "$0"/rank-*; do
	[ -e "$lock" ] || continue
	flock -n "$lock" true || exit 0
done
mv "$0" "$0.gone-$$" && rm -rf "$0.gone-$$"
'
clean='
for board in "$0"/*; do
	case ${board##*/} in
	*.gone-*) rm -rf "$board" ;;
	*) flock -n "$board/door" flock -n "$board/measurer" sh -c "$remove" "$board" ;;
	esac
done
rmdir "$0"
'
if [ "$(id -u)" = "$SLURM_JOB_UID" ]; then
	sh -c "$clean" "$boards"
else
	setpriv --reuid="$SLURM_JOB_UID" --regid="$SLURM_JOB_GID" --clear-groups sh -c "$clean" "$boards"
fi >/dev/null 2>&1
exit 0
