package fleet

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// clockTolerance is what a busy machine and a slow link may add to a clock
	// that is right.
	clockTolerance = 5 * time.Second
	// healthAgain is how often health that did not change is stored all the
	// same: with thousands of services every measurement would be too often.
	healthAgain = 15 * time.Second
	// samplesWaiting is how many batches of one agent may wait to be stored. An
	// honest one sends the next after the answer.
	samplesWaiting = 2
	// oldest is more than an honest agent keeps, mostItems and mostServices more than it
	// sends at once, mostJoined more measurements than it joins to one. They bound what a
	// dishonest one can store.
	oldest       = 2 * time.Hour
	mostItems    = 100
	mostJoined   = 60
	mostServices = 2_000
	// longestWithin is the most that is believed of when the next vitals come, in seconds.
	longestWithin = 300
)

// Usage keeps what nodes measured.
type Usage interface {
	// Observe takes the last measurement of a node.
	Observe(ctx context.Context, actor access.Actor, node controlplane.NodeID,
		v controlplane.NodeVitals) error
	// Store commits measurements and returns the numbers of those that it stored.
	Store(ctx context.Context, actor access.Actor, node controlplane.NodeID,
		b controlplane.UsageBatch) error
}

// sampleBatch is what an agent sent at once, and when that was.
type sampleBatch struct {
	samples wire.Samples
	at      time.Time
}

// takeSamples queues a batch without waiting. If the queue is full the batch is
// dropped, and the agent sends it again.
func (s *session) takeSamples(r wire.Samples) {
	r.Items = r.Items[:min(len(r.Items), mostItems)]
	select {
	case s.samples <- sampleBatch{r, time.Now()}:
		s.startTask(&s.storing, s.storeSamples, func() bool { return len(s.samples) > 0 })
	default:
	}
}

// storeSamples answers each batch after its commit, beside the other reports:
// measurements must not delay them.
func (s *session) storeSamples(ctx context.Context) error {
	for {
		select {
		case b := <-s.samples:
			if err := s.storeBatch(ctx, b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (s *session) storeBatch(ctx context.Context, b sampleBatch) error {
	n := len(b.samples.Items)
	if n == 0 {
		return nil
	}
	err := s.Usage.Store(ctx, s.actor, s.link.Node.ID, useBatch(s.link.Node.ID, b))
	if err != nil {
		return s.mayFail(ctx, "measurements", err)
	}
	return s.conn.Send(ctx,
		wire.Stored{Boot: b.samples.Boot, Number: b.samples.Items[n-1].Number})
}

// useBatch dates what was measured by its age and our own clock.
func useBatch(node controlplane.NodeID, b sampleBatch) controlplane.UsageBatch {
	out := controlplane.UsageBatch{Boot: b.samples.Boot}
	for _, i := range b.samples.Items {
		age := min(max(0, i.Age), oldest.Milliseconds())
		n := min(max(1, i.Count), mostJoined)
		own := useSum(node, wire.ServiceUse{CPU: i.CPU, Memory: i.Memory, Flow: i.Flow}, n)
		own.Subject, own.DiskFree = string(node), i.DiskFree
		item := controlplane.UsageItem{Number: i.Number, Count: n, All: []controlplane.UsageSum{own}}
		for _, u := range i.Services[:min(len(i.Services), mostServices)] {
			item.All = append(item.All, useSum(node, u, n))
		}
		at := b.at.Add(-time.Duration(age) * time.Millisecond)
		for k := range item.All {
			item.All[k].At = at
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// useSum is the sum of n measurements of which u is the mean.
func useSum(node controlplane.NodeID, u wire.ServiceUse, n int) controlplane.UsageSum {
	times := float64(n)
	return controlplane.UsageSum{Node: node, Subject: u.Deployment, Step: u.Step, Count: n,
		CPU: u.CPU * times, CPUMax: u.CPU, Memory: float64(u.Memory) * times, MemoryMax: u.Memory,
		Flow: controlplane.Flow{NetIn: u.Flow.NetIn * times, NetOut: u.Flow.NetOut * times,
			DiskRead: u.Flow.DiskRead * times, DiskWritten: u.Flow.DiskWritten * times}}
}

// storeVitals stores the latest measurements. They are dated by our clock, because
// placement compares their age with it.
func (s *session) storeVitals(ctx context.Context, v wire.Vitals) error {
	if v.Samples != nil {
		s.takeSamples(*v.Samples)
	}
	if v.Pong {
		if err := s.conn.SendPong(ctx); err != nil {
			return err
		}
	}
	err := s.Usage.Observe(ctx, s.actor, s.link.Node.ID, controlplane.NodeVitals{
		At: time.Now(), CPU: v.CPU, MemoryUsed: v.MemoryUsed, MemoryOurs: v.MemoryOurs,
		DiskFree: v.DiskFree, Flow: controlplane.Flow(v.Flow), Images: imageCare(v.Images),
		Within: min(max(0, v.Within), longestWithin)})
	if err := s.mayFail(ctx, "vitals", err); err != nil {
		return err
	}
	health := s.health.changedServices(v.Services, time.Now())
	if len(health) == 0 {
		return nil
	}
	err = s.Lifecycle.ObserveHealth(ctx, s.actor, s.link.Node.ID, health)
	if err != nil {
		s.health = storedHealth{}
	}
	return s.mayFail(ctx, "health", err)
}

// storedHealth is the health of the services as it was stored last, and when all of it
// was stored.
type storedHealth struct {
	at  time.Time
	all map[string]healthState
}

type healthState struct {
	health   wire.Health
	ended    bool
	detail   string
	restarts int
}

// changedServices returns what differs from what was stored, or everything once healthAgain
// has passed.
func (t *storedHealth) changedServices(
	all []wire.ServiceVitals,
	now time.Time,
) []controlplane.ServiceHealth {
	whole := now.Sub(t.at) >= healthAgain
	if whole {
		t.at = now
	}
	before := t.all
	t.all = nil
	if len(all) > 0 {
		t.all = make(map[string]healthState, len(all))
	}
	var news []controlplane.ServiceHealth
	for _, h := range all {
		key := h.Deployment + "/" + string(h.Step)
		is := healthState{h.Health, h.Ended, h.Detail, h.Restarts}
		if h.Health == wire.HealthHealthy {
			// A time, or a count: what is well may say another thing each time.
			is.detail = ""
		}
		t.all[key] = is
		if was, known := before[key]; known && was == is && !whole {
			continue
		}
		news = append(news, controlplane.ServiceHealth{
			Deployment: controlplane.DeploymentID(h.Deployment), Step: h.Step,
			Health: h.Health, Ended: h.Ended, Detail: h.Detail, Restarts: h.Restarts, CPU: h.CPU,
			Memory: h.Memory})
	}
	return news
}

// storeInventory stores what a node is now.
func (s *session) storeInventory(ctx context.Context, r wire.InventoryChanged) error {
	return s.mayFail(ctx, "inventory", s.Nodes.RecordInventory(ctx, s.link.Node.ID,
		newInventory(r.Inventory, r.At, time.Now())))
}

// newInventory converts an agent's inventory, and adds how far the agent's clock is
// off.
func newInventory(i wire.Inventory, told, now time.Time) controlplane.Inventory {
	out := controlplane.Inventory{Hostname: i.Hostname, OS: i.OS, Kernel: i.Kernel, Arch: i.Arch,
		EngineVersion: i.EngineVersion, APIVersion: i.APIVersion, RuncVersion: i.RuncVersion,
		CgroupVersion: i.CgroupVersion, CgroupDriver: i.CgroupDriver,
		StorageDriver: i.StorageDriver, LogDriver: i.LogDriver, LiveRestore: i.LiveRestore,
		CPU: i.CPU, Memory: i.Memory, Disk: i.Disk, Subnets: i.Subnets, Warnings: i.Warnings}
	for _, d := range i.Disks {
		out.Disks = append(out.Disks, controlplane.Disk(d))
	}
	for _, g := range i.GPUs {
		out.GPUs = append(out.GPUs, controlplane.GPU{ID: strconv.Itoa(g.Index), Model: g.Model,
			Memory: g.Memory})
	}
	for _, c := range i.Checks {
		out.Checks = append(out.Checks, controlplane.Check{ID: c.ID, Detail: c.Detail,
			Severity: controlplane.Severity(c.Severity), Remedy: c.Remedy})
	}
	for _, p := range i.Plugins {
		out.Plugins = append(out.Plugins, controlplane.HeldPlugin{Name: p.Name, Image: p.Image,
			State: controlplane.PluginState(p.State), Detail: p.Detail})
	}
	out.Cluster = newCluster(i.Cluster)
	if !told.IsZero() {
		out.Checks = append(out.Checks, clockSkew(told, now))
	}
	return out
}

// newCluster converts what an agent says of its cluster.
func newCluster(c *wire.Cluster) *controlplane.Cluster {
	if c == nil {
		return nil
	}
	out := &controlplane.Cluster{Version: c.Version, Network: c.Network,
		MachineCount: c.MachineCount}
	for _, m := range c.Machines {
		out.Machines = append(out.Machines, controlplane.Machine{Name: m.Name,
			State: controlplane.MachineState(m.State), Version: m.Version, CPU: m.CPU, Memory: m.Memory,
			Detail: m.Detail})
	}
	for _, s := range c.StorageClasses {
		out.StorageClasses = append(out.StorageClasses, controlplane.StorageClass(s))
	}
	return out
}

// clockSkew compares the agent's clock with ours.
func clockSkew(told, now time.Time) controlplane.Check {
	c := controlplane.Check{ID: "clock-skew", Severity: controlplane.SeverityOK,
		Detail: "The node's clock and the control plane's agree."}
	skew := told.Sub(now)
	if skew.Abs() <= clockTolerance {
		return c
	}
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	c.Severity = controlplane.SeverityWarning
	c.Detail = fmt.Sprintf("The node's clock is %s %s the control plane's: times in its "+
		"services' logs are wrong by that.", quantity.FormatDuration(skew.Abs().Round(time.Second)),
		direction)
	c.Remedy = "Set the clock, and keep it right with a time service such as chrony."
	return c
}
