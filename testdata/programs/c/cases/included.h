static int included(int n) { while (n > 2) n--; return n; }
