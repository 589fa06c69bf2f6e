package cli

import "os"

// notifyResize does nothing: Windows has no signal for it, so a terminal keeps its first size.
func notifyResize(chan<- os.Signal) {}
