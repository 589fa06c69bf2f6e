package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/usage"
)

// rig is a database with one node and one deployment on it.
type rig struct {
	*usage.Usage
	t          *testing.T
	url        string
	store      *postgres.Store
	node       controlplane.NodeID
	deployment string
}

var fleet = access.System("fleet")

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	store := pgtest.Open(t, url)
	r := &rig{Usage: usage.New(store, slog.New(slog.DiscardHandler)), t: t, url: url, store: store,
		node: controlplane.NodeID(uuid.NewString()), deployment: uuid.NewString()}
	pgtest.Exec(t, url, fmt.Sprintf(`
		INSERT INTO environments (id, name, domain) VALUES ('%[1]s', 'qa', 'localhost');
		INSERT INTO projects (id, name) VALUES ('%[1]s', 'shop');
		INSERT INTO nodes (id, name, environment_id, address) VALUES ('%[2]s', 'n', '%[1]s', 'h:1');
		INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name,
			cpu, memory_mib, created_by)
			VALUES ('%[3]s', 'd', '%[1]s', '%[1]s', '%[2]s', 'n', 1, 1, 'ada')`,
		uuid.NewString(), r.node, r.deployment))
	return r
}

// batch is measurements from one number to another, two seconds apart; each has
// half a core and the service a quarter.
func (r *rig) batch(boot string, from, to int64, start time.Time) controlplane.UsageBatch {
	b := controlplane.UsageBatch{Boot: boot}
	for n := from; n <= to; n++ {
		at := start.Add(time.Duration(n) * 2 * time.Second)
		b.Items = append(b.Items, controlplane.UsageItem{Number: n, All: []controlplane.UsageSum{
			{Node: r.node, Subject: string(r.node), At: at, Count: 1, CPU: .5, CPUMax: .5,
				Memory: 100, MemoryMax: 100, DiskFree: 1000 - n},
			{Node: r.node, Subject: r.deployment, Step: "web", At: at, Count: 1, CPU: .25,
				CPUMax: .25, Memory: 10, MemoryMax: 10},
		}})
	}
	return b
}

// put stores a batch, whose writing it brings about.
func (r *rig) put(b controlplane.UsageBatch) error {
	var wait sync.WaitGroup
	var err error
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	wait.Go(func() { err = r.Store(ctx, fleet, r.node, b) })
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for {
		_ = r.Flush(ctx)
		select {
		case <-done:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r *rig) read(width time.Duration, subject string) (all []controlplane.UsageSum) {
	r.t.Helper()
	err := r.store.Read(r.t.Context(), func(tx *postgres.Tx) (err error) {
		all, err = tx.Usage().List(r.t.Context(), subject, width, time.Now().Add(-96*time.Hour),
			time.Now().Add(time.Hour), 100_000)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func countMeasurements(all []controlplane.UsageSum) (n int) {
	for _, u := range all {
		n += u.Count
	}
	return n
}

// What comes twice, late, or in a new life of the agent counts once, in single
// measurements, in minutes and in hours.
func TestStore_CountsEachMeasurementOnce(t *testing.T) {
	r := newRig(t)
	start := time.Now().Add(-90 * time.Minute).Truncate(time.Hour)
	for _, b := range []controlplane.UsageBatch{
		r.batch("one", 1, 10, start), r.batch("one", 1, 10, start), // an answer was lost
		r.batch("one", 8, 40, start),                   // some of them, and more
		r.batch("two", 1, 5, start.Add(2*time.Minute)), // it started anew
	} {
		if err := r.put(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, width := range []time.Duration{usage.Raw, usage.Minutely, usage.Hourly} {
		for _, subject := range []string{string(r.node), r.deployment} {
			all := r.read(width, subject)
			if countMeasurements(all) != 45 {
				t.Errorf("width %s: %d measurements", width, countMeasurements(all))
			}
			cpu := 0.0
			for _, u := range all {
				cpu += u.CPU
			}
			if want := 45 * .5; subject == string(r.node) && math.Abs(cpu-want) > 1e-9 {
				t.Errorf("width %s: CPU %f, want %f", width, cpu, want)
			}
		}
	}
	if hours := r.read(usage.Hourly, string(r.node)); len(hours) != 1 || hours[0].DiskFree != 960 {
		t.Errorf("hours: %+v", hours)
	}
	if raw := r.read(usage.Raw, r.deployment); len(raw) != 45 || raw[0].Step != "web" {
		t.Errorf("single ones of the service: %d", len(raw))
	}
}

// Measurements that were joined count as many as they are. Those of them that were stored before do
// not count again, although the agent joins others when it sends them once more.
func TestStore_CountsJoinedMeasurementsOnce(t *testing.T) {
	r := newRig(t)
	joined := func(last int64, count int) controlplane.UsageItem {
		times := float64(count)
		return controlplane.UsageItem{Number: last, Count: count, All: []controlplane.UsageSum{
			{Node: r.node, Subject: string(r.node), At: time.Now().Truncate(time.Millisecond),
				Count: count, CPU: .5 * times, CPUMax: .5, Memory: 100 * times, MemoryMax: 100}}}
	}
	for _, items := range [][]controlplane.UsageItem{
		{joined(6, 6), joined(8, 2)},
		{joined(8, 6), joined(12, 4)},
		{joined(14, 6)}, // nine to twelve are stored
	} {
		if err := r.put(controlplane.UsageBatch{Boot: "one", Items: items}); err != nil {
			t.Fatal(err)
		}
	}
	for _, width := range []time.Duration{usage.Raw, usage.Minutely, usage.Hourly} {
		cpu, memory := 0.0, 0.0
		all := r.read(width, string(r.node))
		for _, u := range all {
			cpu, memory = cpu+u.CPU, memory+u.Memory
		}
		if n := countMeasurements(all); n != 14 || math.Abs(cpu-7) > 1e-9 || memory != 1400 {
			t.Errorf("width %s: %d measurements, CPU %f, memory %f", width, n, cpu, memory)
		}
	}
}

// A node speaks for itself and for what is placed on it; nonsense is left out
// and spoils nothing.
func TestStore_RefusesWhatIsNotTheNodes(t *testing.T) {
	r := newRig(t)
	b := r.batch("one", 1, 1, time.Now())
	foreign, other := uuid.NewString(), b.Items[0].All[1]
	for _, change := range []func(*controlplane.UsageSum){
		func(u *controlplane.UsageSum) { u.Subject = foreign },
		func(u *controlplane.UsageSum) { u.Subject = "no uuid" },
		func(u *controlplane.UsageSum) { u.Step, u.CPU = "neg", -1 },
		func(u *controlplane.UsageSum) { u.Step, u.Memory = "nan", math.NaN() },
		func(u *controlplane.UsageSum) { u.Step, u.MemoryMax = "huge", math.MaxInt64 },
		func(u *controlplane.UsageSum) { u.Step = "a\x00b" },
		func(u *controlplane.UsageSum) { u.Step, u.Count = "many", 1000 },
	} {
		bad := other
		change(&bad)
		b.Items[0].All = append(b.Items[0].All, bad)
	}
	if err := r.put(b); err != nil {
		t.Fatal(err)
	}
	if got := r.read(usage.Raw, foreign); len(got) != 0 {
		t.Errorf("of another's deployment: %+v", got)
	}
	if got := r.read(usage.Raw, r.deployment); len(got) != 1 || got[0].Step != "web" {
		t.Errorf("of its own: %+v", got)
	}
	if err := r.put(controlplane.UsageBatch{}); err == nil {
		t.Error("an empty batch was taken")
	}
}

// Retention deletes what is older than its width is kept, and only that.
func TestTrim(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	for i, ago := range []time.Duration{time.Minute, 3 * time.Hour, 50 * time.Hour,
		100 * 24 * time.Hour} {
		if err := r.put(r.batch(fmt.Sprint(i), 1, 1, now.Add(-ago))); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := r.Trim(t.Context(), access.System("trim"), now)
	if err != nil || gone != 2*(3+2+1) {
		t.Errorf("deleted %d rows, %v", gone, err)
	}
	for width, want := range map[time.Duration]int{usage.Raw: 1, usage.Minutely: 2, usage.Hourly: 3} {
		var all []controlplane.UsageSum
		err := r.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
			all, err = tx.Usage().List(t.Context(), string(r.node), width, time.Time{},
				now.Add(time.Hour),
				100)
			return err
		})
		if err != nil || len(all) != want {
			t.Errorf("width %s: %d rows, %v", width, len(all), err)
		}
	}
}

// The last measurement of a node is written without waiting for anyone who holds the node, and is
// written then.
func TestObserve_WaitsForNobody(t *testing.T) {
	r := newRig(t)
	if err := r.Observe(t.Context(), fleet, r.node, controlplane.NodeVitals{At: time.Now(),
		MemoryUsed: 7}); err != nil {
		t.Fatal(err)
	}
	memory := func() int64 {
		var n controlplane.Node
		err := r.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
			n, err = tx.Nodes().ByID(t.Context(), r.node)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n.Vitals == nil {
			return 0
		}
		return n.Vitals.MemoryUsed
	}
	err := r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		var env controlplane.EnvironmentID
		n, err := tx.Nodes().ByID(t.Context(), r.node)
		if env = n.EnvironmentID; err != nil {
			return err
		}
		if _, err := tx.Placement().LockNodes(t.Context(), env); err != nil {
			return err
		}
		return r.Flush(t.Context())
	})
	if err != nil || memory() != 0 {
		t.Fatalf("while a placement holds the node: %v, memory %d", err, memory())
	}
	// promise: V-07, V-27
	if err := r.Flush(t.Context()); err != nil || memory() != 7 {
		t.Errorf("afterwards: %v, memory %d", err, memory())
	}
}

// A node's heartbeat says when it was seen and what its containers use: both are stored, and the
// next one moves them.
func TestObserve_StoresTheHeartbeatWithItsContainers(t *testing.T) {
	r := newRig(t)
	start := time.Now().Add(-time.Minute).Truncate(time.Second)
	for n := int64(1); n <= 2; n++ {
		at := start.Add(time.Duration(n) * 2 * time.Second)
		if err := r.Observe(t.Context(), fleet, r.node, controlplane.NodeVitals{At: at, CPU: .5,
			MemoryUsed: 100, DiskFree: 1000 - n}); err != nil {
			t.Fatal(err)
		}
		if err := r.put(r.batch("boot", n, n, start)); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var node controlplane.Node
		err := r.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
			node, err = tx.Nodes().ByID(t.Context(), r.node)
			return err
		})
		// promise: V-07, V-27
		if v := node.Vitals; err != nil || v == nil || !v.At.Equal(at) || v.CPU != .5 ||
			v.DiskFree != 1000-n {
			t.Errorf("heartbeat %d: stored is %+v, %v", n, node.Vitals, err)
		}
		containers := r.read(usage.Raw, r.deployment)
		// promise: V-07
		if last := len(containers) - 1; last+1 != int(n) || containers[last].Step != "web" ||
			containers[last].Memory != 10 || !containers[last].At.Equal(at) {
			t.Errorf("heartbeat %d: of its container is stored %+v", n, containers)
		}
	}
}
