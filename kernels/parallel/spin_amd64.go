package parallel

// spin waits for about 50 ns without giving up the core.
func spin() { pause(1) }
