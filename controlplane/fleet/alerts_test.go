package fleet_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/usage"
)

// newAlerts evaluates alerts of the rig's database, without waiting until a cause has lasted.
func (r *rig) newAlerts() *alerts.Alerts {
	return alerts.New(alerts.Config{Store: r.store, Limits: alerts.DefaultLimits(),
		Log:   slog.New(slog.DiscardHandler),
		Delay: func(controlplane.AlertRule) time.Duration { return 0 }})
}

// awaitAlert waits until a condition has an active alert whose summary holds a text, or none.
func (r *rig) awaitAlert(all *alerts.Alerts, condition, text string, want bool) {
	r.t.Helper()
	admin := access.User(controlplane.User{Name: "root", Role: controlplane.RoleAdmin,
		Active: true}, nil)
	r.waitUntil(time.Minute, condition, func() bool {
		r.failOnError(nil, all.Evaluate(r.t.Context()))
		active, err := all.List(r.t.Context(), admin, false)
		r.failOnError(nil, err)
		for _, a := range active {
			if a.Condition == condition && strings.Contains(a.Summary(), text) {
				return want
			}
		}
		return !want
	})
}

// An agent that was cut off for an hour tells how its disk filled up meanwhile, which is an alert
// until there is room again.
func TestAlerts_DiskFillsUp(t *testing.T) {
	r := newRig(t)
	stored := usage.New(r.store, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = stored.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	r.usage = stored
	all := r.newAlerts()
	r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	r.awaitAlert(all, "node.disk_filling", "", false)
	samples := wire.Samples{Boot: "first"}
	for minute := range int64(60) {
		samples.Items = append(samples.Items, wire.Sample{Number: minute + 1,
			Age: (60 - minute) * time.Minute.Milliseconds(), DiskFree: 10<<30 - minute*100<<20})
	}
	s.sendReport(wire.Vitals{At: time.Now(), DiskFree: 4 << 30, Samples: &samples})
	// promise: O-02
	r.awaitAlert(all, "node.disk_filling", "the disk of node n will be full in an hour", true)
	samples.Items = []wire.Sample{{Number: 61, DiskFree: 900 << 30}}
	s.sendReport(wire.Vitals{At: time.Now(), DiskFree: 900 << 30, Samples: &samples})
	// promise: O-02
	r.awaitAlert(all, "node.disk_filling", "", false)
}

// Once the control plane that holds a node's lease is gone, and no other one takes over, that is an
// alert until one does.
func TestAlerts_NobodyHoldsTheLease(t *testing.T) {
	r := newRig(t)
	all := r.newAlerts()
	stop := r.start("a")
	r.waitForSession()
	r.waitUntilOnline()
	r.awaitAlert(all, "node.no_lease", "", false)
	stop()
	// promise: O-02
	r.awaitAlert(all, "node.no_lease", "holds the lease of node n", true)
	r.start("b")
	// promise: O-02
	r.awaitAlert(all, "node.no_lease", "", false)
}

// Whoever was told that a node is offline is told that this is over, also when somebody deletes the
// node because it never comes back. Whoever may read in its environment sees none of both.
func TestAlerts_NodeIsDeleted(t *testing.T) {
	r := newRig(t)
	all := r.newAlerts()
	stop := r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	_ = r.pipes.Close() // it cannot be dialed again
	s.cut()
	r.awaitAlert(all, "node.offline", "Node n is offline", true)
	told := func() string {
		return pgtest.QueryValue[string](t, r.url, `WITH taken AS (DELETE FROM notices
			WHERE event LIKE 'alert.%' RETURNING event || ' ' || (data ->> 'summary') AS said)
			SELECT coalesce(string_agg(said, ', '), '') FROM taken`)
	}
	// promise: N-326
	if said := told(); said != "alert.started Node n is offline." {
		t.Errorf("subscribers are told %q", said)
	}
	environment := pgtest.QueryValue[string](t, r.url, "SELECT environment_id::text FROM nodes")
	stop()
	r.failOnError(nil, r.nodes.RemoveNode(t.Context(), system, "n"))
	r.awaitAlert(all, "node.offline", "", false)
	// promise: O-02
	if said := told(); said != "alert.ended Node n is offline." {
		t.Errorf("once it is deleted, subscribers are told %q", said)
	}
	reader := access.User(controlplane.User{Name: "ann", Role: controlplane.RoleUser, Active: true},
		[]controlplane.Grant{{Environment: controlplane.EnvironmentID(environment),
			Level: controlplane.LevelFull}})
	seen, err := all.List(t.Context(), reader, true)
	if err != nil || len(seen) != 0 {
		t.Errorf("a reader of the environment sees %+v, %v", seen, err)
	}
}
