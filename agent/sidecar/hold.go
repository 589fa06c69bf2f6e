package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// The hold role is the first process of a plugin's pod: it does nothing, so that the agent can
// start the plugin over an exec stream. Unlike a container's own output, that stream is not
// written to the machine's disk. Asked to end, it asks everything else in the container to end
// too, and stays until nothing is left; the machine kills all of it after the grace period.

// holdPause is how often it collects ended processes that were left to it.
const holdPause = 100 * time.Millisecond

func holdContainer(ctx context.Context) {
	tick := time.NewTicker(holdPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		collectChildren()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if syscall.Getpid() != 1 {
		return // outside a container, "everything else" would be the user's
	}
	for {
		// The processes of an exec stream are not our children, so only this tells that all ended.
		if err := syscall.Kill(-1, syscall.SIGTERM); errors.Is(err, syscall.ESRCH) {
			return
		}
		collectChildren()
		<-tick.C
	}
}

func collectChildren() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// printOOMKills prints how many processes of the container the kernel killed for lack of memory,
// or -1 where it does not say.
func printOOMKills(to io.Writer) error {
	_, err := fmt.Fprintln(to, countOOMKills())
	return err
}
