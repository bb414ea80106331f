package repeated_test

import _ "cg/report/format/all"
