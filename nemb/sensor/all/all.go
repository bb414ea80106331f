// Package all holds the sensors and metrics of cg, one line for each.
package all

import (
	_ "cg/nemb/cores"
	_ "cg/nemb/sensor/amdsmi"
	_ "cg/nemb/sensor/battery"
	_ "cg/nemb/sensor/estimate"
	_ "cg/nemb/sensor/hwmon"
	_ "cg/nemb/sensor/ipmi"
	_ "cg/nemb/sensor/meter"
	_ "cg/nemb/sensor/msr"
	_ "cg/nemb/sensor/nvml"
	_ "cg/nemb/sensor/perf"
	_ "cg/nemb/sensor/powercap"
	_ "cg/nemb/sensor/redfish"
)
