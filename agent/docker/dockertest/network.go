package dockertest

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// InNetwork runs one call in the network of a namespace's file. The thread that enters it is never
// used again, and what the call opens stays there.
func InNetwork(file string, call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		f, err := os.Open(file)
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			_ = f.Close()
		}
		if err != nil {
			done <- fmt.Errorf("enter the network: %w", err)
			return
		}
		done <- call()
	}()
	return <-done
}
