package main

var early = say("early", 0)

var simple = func() int { println2("simple"); return 5 }()

func init() { say("init of a", early) }
