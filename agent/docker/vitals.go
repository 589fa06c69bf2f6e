package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// vitalsAtOnce is how many services are measured side by side.
const vitalsAtOnce = 8

// lastReadings remembers the last readings: use is a difference over time.
type lastReadings struct {
	mu       sync.Mutex
	node     counters
	services map[string]counters
}

// swapReading stores a service's reading and returns the previous one. If there is none
// since the container was started, it returns one with the start time and all counters
// zero.
func (u *lastReadings) swapReading(name string, started time.Time, now counters) (before counters) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.services == nil {
		u.services = map[string]counters{}
	}
	before = u.services[name]
	u.services[name] = now
	if before.at.Before(started) {
		return counters{at: started}
	}
	return before
}

// vitals measures the node and the services.
type vitals struct {
	*containers
	usage lastReadings
}

// Vitals measures the node and the given services. Probe evaluates the readiness checks; here a
// service is either stopped or of unknown health.
func (vt *vitals) Vitals(
	ctx context.Context, services []agent.ServiceSpec,
) (wire.Vitals, error) {
	v := wire.Vitals{At: time.Now()}
	if err := vt.nodeVitals(&v); err != nil {
		return v, fmt.Errorf("measure node: %w", err)
	}
	v.Services = make([]wire.ServiceVitals, len(services))
	var wg sync.WaitGroup
	slots := make(chan struct{}, vitalsAtOnce)
	for i, s := range services {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v.Services[i] = vt.serviceVitals(ctx, s)
		})
	}
	wg.Wait()
	for _, s := range v.Services {
		v.MemoryOurs += s.Memory
	}
	vt.forgetOtherReadings(services)
	return v, nil
}

func (vt *vitals) nodeVitals(v *wire.Vitals) error {
	now, err := hostCounters("/proc", "/sys", vt.hostPaths().ownNetwork)
	if err != nil {
		return err
	}
	vt.usage.mu.Lock()
	v.CPU, v.Flow = now.coresSince(vt.usage.node), now.flowSince(vt.usage.node)
	vt.usage.node = now
	vt.usage.mu.Unlock()
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	v.MemoryUsed = usedMemory(string(meminfo))
	v.DiskFree, err = vt.diskFree()
	return err
}

// serviceVitals never fails: a service that could not be inspected has unknown health.
func (vt *vitals) serviceVitals(ctx context.Context, s agent.ServiceSpec) wire.ServiceVitals {
	v := wire.ServiceVitals{
		Deployment: s.Deployment, Step: s.Step, Health: wire.HealthUnknown,
	}
	name := vt.names.serviceName(s.Deployment, s.Step)
	c, err := vt.findService(ctx, s.Deployment, s.Step)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		v.Health, v.Detail = wire.HealthStopped, "its container is gone"
		return v
	case err != nil:
		v.Detail = "the container engine does not answer"
		return v
	case c.State == nil || !c.State.Running:
		p := stoppedProbe(c.State)
		v.Health, v.Detail = p.Health, p.Detail
		return v
	}
	now, memory, err := vt.containerUse(ctx, c)
	if err != nil {
		return v
	}
	started, _ := time.Parse(time.RFC3339Nano, c.State.StartedAt)
	before := vt.usage.swapReading(name, started, now)
	v.CPU, v.Flow, v.Memory = now.coresSince(before), now.flowSince(before), memory
	return v
}

// containerUse asks the kernel, or the engine where the kernel's files cannot
// be seen.
func (vt *vitals) containerUse(
	ctx context.Context, c container.InspectResponse,
) (counters, int64, error) {
	now, memory, err := cgroupReader{proc: "/proc", sys: "/sys/fs/cgroup"}.readUsage(c.ID, c.State.Pid)
	if !errors.Is(err, errHidden) {
		return now, memory, err
	}
	stats, err := vt.readStats(ctx, c.ID)
	if err != nil {
		return now, 0, err
	}
	return statsCounters(stats), workingSet(stats.MemoryStats), nil
}

func statsCounters(s container.StatsResponse) counters {
	c := counters{at: s.Read, cpu: time.Duration(s.CPUStats.CPUUsage.TotalUsage)}
	for _, n := range s.Networks {
		c.netIn, c.netOut = c.netIn+int64(n.RxBytes), c.netOut+int64(n.TxBytes)
	}
	for _, b := range s.BlkioStats.IoServiceBytesRecursive {
		switch b.Op {
		case "Read", "read":
			c.read += int64(b.Value)
		case "Write", "write":
			c.written += int64(b.Value)
		}
	}
	return c
}

func (vt *vitals) readStats(ctx context.Context, id string) (container.StatsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var s container.StatsResponse
	r, err := vt.api.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		return s, err
	}
	defer func() { _ = r.Body.Close() }()
	return s, json.NewDecoder(r.Body).Decode(&s)
}

// workingSet leaves out file cache that the kernel drops when asked. cgroup v1
// and v2 name it differently.
func workingSet(m container.MemoryStats) int64 {
	cache := m.Stats["total_inactive_file"]
	if cache == 0 {
		cache = m.Stats["inactive_file"]
	}
	if cache > m.Usage {
		return 0
	}
	return int64(m.Usage - cache)
}

// forgetOtherReadings keeps readings of the given services only.
func (vt *vitals) forgetOtherReadings(services []agent.ServiceSpec) {
	keep := map[string]bool{}
	for _, s := range services {
		keep[vt.names.serviceName(s.Deployment, s.Step)] = true
	}
	vt.usage.mu.Lock()
	defer vt.usage.mu.Unlock()
	for name := range vt.usage.services {
		if !keep[name] {
			delete(vt.usage.services, name)
		}
	}
}
