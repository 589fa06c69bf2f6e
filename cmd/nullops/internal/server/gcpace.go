package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

const (
	// controlPlaneGarbage is in percent of what lives. Sessions that idle are most of
	// what a large control plane holds: room for as much garbage again would cost more
	// memory than collecting it costs time.
	controlPlaneGarbage = 18
	// ingressGarbage is Go's default: requests of an ingress that holds many WebSockets
	// must not pay for looking through all of them often.
	ingressGarbage = 100
	// leastGarbage is in bytes. A small one would otherwise collect a few megabytes
	// at a time, which took a third of its time when people were busy.
	leastGarbage = 24 << 20
)

// paceCollector lets garbage grow to a share of what lives, and at least to a
// fixed amount, until the context ends. It follows every collection: a sign-in's
// hash takes more than all else that lives, and for a moment only. GOGC in the
// environment takes precedence.
func paceCollector(ctx context.Context, mostGarbage int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	var pace func(*gcSentinel)
	pace = func(c *gcSentinel) {
		if ctx.Err() != nil {
			return
		}
		debug.SetGCPercent(garbagePercent(liveHeap(), mostGarbage))
		runtime.SetFinalizer(c, pace)
	}
	pace(&gcSentinel{})
}

// gcSentinel is found dead by the next one. It holds a pointer, since small things
// without any share a place with others.
type gcSentinel struct{ _ *gcSentinel }

// garbagePercent is what GOGC is for so many bytes that live. Before the first
// collection nothing is known to live, and the runtime counts from 4 MiB.
func garbagePercent(live uint64, mostGarbage int) int {
	return max(mostGarbage, int(leastGarbage*100/max(live, 4<<20)))
}

// liveHeap is what the last collection left, in bytes.
func liveHeap() uint64 {
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	return live[0].Value.Uint64()
}
