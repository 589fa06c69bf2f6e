// Package diagnose lets admins look at the processes of the installation: at more of their logs
// for a while, and at all that they know of themselves, in one archive for support.
//
// Nothing secret leaves with an archive: every value that is sealed, and what looks like a secret,
// is searched for in it before it is written. If that search cannot be made, there is no archive.
//
// Control planes and ingresses meet in the database: each looks there when it tells that it is
// alive. Agents are asked over the link.
package diagnose

import (
	"context"
	"log/slog"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Agents asks the agents of nodes.
type Agents interface {
	// Diagnose returns what an agent's process knows of itself.
	Diagnose(ctx context.Context, id controlplane.NodeID) ([]controlplane.DiagnosisFile, error)
	// SetLogLevel has a component of an agent log at another level until its end.
	SetLogLevel(ctx context.Context, id controlplane.NodeID, l controlplane.LogLevel) error
}

// Config is what New needs. An ingress has neither Agents nor Secrets: it only answers.
type Config struct {
	Store *postgres.Store
	// Process names this process, as it tells that it is alive.
	Process string
	// Files are what this process knows of itself, and Apply sets the levels of its components.
	Files func() []controlplane.DiagnosisFile
	Apply func(map[string]slog.Level)
	// Components are the names that levels are set by: of the server, and of agents.
	Components, AgentComponents []string
	Agents                      Agents
	// Secrets opens all that must not leave, by what it is.
	Secrets func(ctx context.Context) (map[string][]controlplane.Plain, error)
	// Release is this one.
	Release string
	Log     *slog.Logger
}

// Diagnosis is this process's part in it. Make it with New.
type Diagnosis struct{ Config }

// New makes it; nothing happens before Follow.
func New(c Config) *Diagnosis { return &Diagnosis{c} }

// Follow does what admins want of this process: it sets the levels of its log, and adds its part
// to archives that are being written. It is called again and again.
func (d *Diagnosis) Follow(ctx context.Context) error {
	var levels []controlplane.LogLevel
	var requests []string
	err := d.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if levels, err = tx.Diagnosis().ListLevels(ctx); err == nil {
			requests, err = tx.Diagnosis().ListRequests(ctx, d.Process)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.apply(levels)
	for _, id := range requests {
		if err := d.addPart(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// apply sets the levels of this process.
func (d *Diagnosis) apply(levels []controlplane.LogLevel) {
	set := map[string]slog.Level{}
	for _, l := range levels {
		var level slog.Level
		if l.Node == "" && level.UnmarshalText([]byte(l.Level)) == nil {
			set[l.Component] = level
		}
	}
	d.Apply(set)
}
