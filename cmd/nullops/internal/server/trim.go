package server

import (
	"context"
	"syscall"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// settled is how long a server must run to count as started.
	settled = 10 * time.Second
	// restSample is how long it is watched for whether it rests, and restShare how much of a core it
	// may use meanwhile.
	restSample = time.Second
	restShare  = 0.02
)

// trimAtRest calls free once after the start. Starting takes more memory than running: migrations,
// the contract, the helper for agents; left alone, Go would keep that memory for minutes. A busy
// server is left alone: it would need the memory again at once, and thousands of visitors or agents
// that have just come back would wait for the collector.
func trimAtRest(ctx context.Context, used func() time.Duration, free func()) {
	for wait.Sleep(ctx, settled) == nil {
		before := used()
		if wait.Sleep(ctx, restSample) != nil {
			return
		}
		if float64(used()-before) <= restShare*float64(restSample) {
			free()
			return
		}
	}
}

// usedCPU is the processor time of this process.
func usedCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
