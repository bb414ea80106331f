package main

import "C"
import "unsafe"

func unsafePointer(s *C.char) unsafe.Pointer { return unsafe.Pointer(s) }
