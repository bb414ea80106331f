const module = { exports: 1 }
