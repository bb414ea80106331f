# Functions for job scripts of Slurm (any POSIX shell): . /opt/cg/track.sh
#
#   start_tracking [FLAGS of cg track start]    records on each node of the job, beside its steps
#   stop_tracking                               ends what was started last
#
# start_wattameter and stop_wattameter are the same with the logs of WattAMeter, so a script that
# sources WattAMeter's slurm.sh needs another path and nothing else. CG is the program, cg by default.

start_tracking() {
	_cg_step=$("${CG:-cg}" track start "$@") || return
	CG_TRACK_STEPS="$_cg_step ${CG_TRACK_STEPS:-}"
}

stop_tracking() {
	[ -n "${CG_TRACK_STEPS:-}" ] || { echo "stop_tracking: nothing was started" >&2; return 1; }
	_cg_step=${CG_TRACK_STEPS%% *}
	CG_TRACK_STEPS=${CG_TRACK_STEPS#* }
	"${CG:-cg}" track stop "$_cg_step"
}

start_wattameter() { start_tracking --format wattameter "$@"; }

stop_wattameter() { stop_tracking; }
