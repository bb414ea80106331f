package compare_test

import _ "cg/report/format/all"
