// Package alerts tells people what needs their attention: a fixed set of conditions
// (controlplane.AlertRules), each with a start and an end.
//
// One worker, whichever control plane claims the job, finds the causes that are there now and
// compares them with the alerts that are open. A cause that could not be looked for is unknown,
// not gone: its alerts stay as they are. Subscribers are told of each start and each end once,
// through the outbox of all notifications; a silence holds that back, and always ends.
//
// A control plane that is down alerts nobody. Others watch it: see Heartbeat and Watch.
package alerts

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Source finds causes that are not in the database's tables as such.
type Source struct {
	// Conditions are those that it finds causes of, and Every how often it is asked. In between,
	// and when it fails, their alerts stay.
	Conditions []string
	Every      time.Duration
	Find       func(ctx context.Context) ([]controlplane.AlertCause, error)
}

// Config is what New needs.
type Config struct {
	Store  *postgres.Store
	Limits postgres.AlertLimits
	// Sources are asked besides the database.
	Sources []Source
	// URL is the address of the UI.
	URL string
	Log *slog.Logger
	// Beat tells a dead man's switch that alerts are evaluated; nil is none.
	Beat func(ctx context.Context) error
	// Delay replaces the delays of the rules, for tests.
	Delay func(controlplane.AlertRule) time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Alerts evaluates the conditions, and holds what people do about them.
type Alerts struct {
	Config
	// due is when each source is asked again. Only one evaluation runs at a time.
	due []time.Time
}

// New makes it; nothing is evaluated before Evaluate.
func New(c Config) *Alerts {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Delay == nil {
		c.Delay = func(r controlplane.AlertRule) time.Duration { return r.Delay }
	}
	return &Alerts{Config: c, due: make([]time.Time, len(c.Sources))}
}

// DefaultLimits are the limits that no setting changes.
func DefaultLimits() postgres.AlertLimits {
	return postgres.AlertLimits{Flaps: 4, Lag: 2 * time.Minute, Routes: 5 * time.Minute}
}
