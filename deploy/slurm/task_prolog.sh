#!/bin/sh
# Slurm's TaskProlog for cg (slurm.conf: TaskProlog=/etc/slurm/cg-task-prolog.sh). It runs as the job's user before
# each task; a line "export NAME=value" that it prints is put into the task's environment. It gives all tasks of a
# node one name for it and one place for what they share, also where TMPDIR differs from task to task.
[ -n "${CG_NODE:-}" ] || echo "export CG_NODE=${SLURMD_NODENAME:-$(hostname -s)}"
if [ -z "${CG_NODE_DIR:-}" ] && [ -d /dev/shm ] && [ -w /dev/shm ]; then
	echo "export CG_NODE_DIR=/dev/shm"
fi
