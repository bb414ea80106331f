package verdict_test

import _ "cg/report/format/all" // so that the tests find every format
