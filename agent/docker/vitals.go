package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// vitalsAtOnce is how many services are measured side by side.
const vitalsAtOnce = 8

// usage remembers the last samples: CPU is a difference over time.
type usage struct {
	mu   sync.Mutex
	node cpuSample
	cpu  map[string]cpuSample
}

// cpuSample is CPU time used until a moment, in cores' nanoseconds.
type cpuSample struct {
	at   time.Time
	used time.Duration
}

// cores is what was used between two samples. The first one has no before.
func (s cpuSample) cores(before cpuSample) float64 {
	elapsed := s.at.Sub(before.at)
	if before.at.IsZero() || elapsed <= 0 || s.used < before.used {
		return 0
	}
	return float64(s.used-before.used) / float64(elapsed)
}

// Vitals measures the node and the given services.
func (d *Docker) Vitals(
	ctx context.Context, services []agent.ServiceSpec,
) (wire.Vitals, error) {
	v := wire.Vitals{At: time.Now()}
	if err := d.nodeVitals(&v); err != nil {
		return v, fmt.Errorf("measure node: %w", err)
	}
	v.Services = make([]wire.ServiceVitals, len(services))
	var wg sync.WaitGroup
	slots := make(chan struct{}, vitalsAtOnce)
	for i, s := range services {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v.Services[i] = d.serviceVitals(ctx, s)
		})
	}
	wg.Wait()
	d.forgetOthers(services)
	return v, nil
}

func (d *Docker) nodeVitals(v *wire.Vitals) error {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return err
	}
	used, err := busyTime(string(stat))
	if err != nil {
		return err
	}
	now := cpuSample{at: v.At, used: used}
	d.usage.mu.Lock()
	v.CPU = now.cores(d.usage.node)
	d.usage.node = now
	d.usage.mu.Unlock()
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	v.MemoryUsed = usedMemory(string(meminfo))
	_, v.DiskFree, err = disk(d.config.DataDir)
	return err
}

// busyTime adds up the first line of /proc/stat without idle and iowait. Its
// unit is 1/100 s on every Linux that Go supports.
func busyTime(stat string) (time.Duration, error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, errors.New("/proc/stat has no cpu line")
	}
	var ticks int64
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 {
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// usedMemory is what programs cannot get: total less available, in bytes.
func usedMemory(meminfo string) int64 {
	values := map[string]int64{}
	for line := range strings.Lines(meminfo) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		values[name] = kib << 10
	}
	return values["MemTotal"] - values["MemAvailable"]
}

// disk returns the size and what is free for us, in bytes.
func disk(dir string) (total, free int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("disk of %s: %w", dir, err)
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, nil
}

// serviceVitals never fails: what could not be asked is unknown.
func (d *Docker) serviceVitals(ctx context.Context, s agent.ServiceSpec) wire.ServiceVitals {
	v := wire.ServiceVitals{
		Deployment: s.Deployment, Step: s.Step, Health: wire.HealthUnknown,
	}
	p, err := d.Probe(ctx, s)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		v.Health, v.Detail = wire.HealthStopped, "its container is gone"
		return v
	case err != nil:
		v.Detail = "the container engine does not answer"
		return v
	}
	v.Health, v.Detail = p.Health, p.Detail
	if p.Ended {
		return v
	}
	name := d.names.service(s.Deployment, s.Step)
	stats, err := d.stats(ctx, name)
	if err != nil {
		return v
	}
	now := cpuSample{at: stats.Read, used: time.Duration(stats.CPUStats.CPUUsage.TotalUsage)}
	d.usage.mu.Lock()
	v.CPU = now.cores(d.usage.cpu[name])
	d.usage.cpu[name] = now
	d.usage.mu.Unlock()
	v.Memory = workingSet(stats.MemoryStats)
	return v
}

func (d *Docker) stats(ctx context.Context, name string) (container.StatsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var s container.StatsResponse
	r, err := d.api.ContainerStats(ctx, name, client.ContainerStatsOptions{})
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

// forgetOthers keeps samples of the given services only.
func (d *Docker) forgetOthers(services []agent.ServiceSpec) {
	keep := map[string]bool{}
	for _, s := range services {
		keep[d.names.service(s.Deployment, s.Step)] = true
	}
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	for name := range d.usage.cpu {
		if !keep[name] {
			delete(d.usage.cpu, name)
		}
	}
}
