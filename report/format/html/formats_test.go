package html_test

import _ "cg/report/format/all" // so that the tests find text and pictures
