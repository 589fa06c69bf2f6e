//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize tells changed when the terminal has another size.
func notifyResize(changed chan<- os.Signal) { signal.Notify(changed, syscall.SIGWINCH) }
