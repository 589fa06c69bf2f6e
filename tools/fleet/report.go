package main

import (
	"context"
	"fmt"
)

func (m *measurement) report(context.Context) error {
	fmt.Printf("%d agents: enrolled in %.1f s; online %.1f s after a restart (ready %.1f s); API p50 %s p99 %s of %d (%d failed); %.1f KiB per idle agent; steady %.1f %% of a core; %d lost; %.0f reports/s at %.0f %% of a core\n",
		len(m.agents), m.enrolled.Seconds(), m.online.Seconds(), m.ready.Seconds(), m.typical,
		m.slowest, m.requests, m.failed, m.idleKiB, 100*m.steady, m.lost, m.reportsPerSecond,
		100*m.atFlood)
	return nil
}
