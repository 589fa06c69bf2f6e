package server

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// AlertSettings is when alerts fire that depend on the installation, and who is told of what the
// control plane cannot tell by itself.
type AlertSettings struct {
	Queue     int    `description:"Minutes that a run may wait before an alert; 0 is off."`
	Backup    int    `description:"Hours after a backup until its age is an alert; 0 is off."`
	Database  int    `description:"MiB of the database from which on its size is an alert; 0 is off."`
	Heartbeat string `description:"URL called each minute that alerts work: a dead man's switch."`
	Down      string `description:"URL that an ingress tells when no control plane is alive."`
}

func (a AlertSettings) check() error {
	for name, address := range map[string]string{
		"alerts.heartbeat": a.Heartbeat, "alerts.down": a.Down,
	} {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			// The address may be a password in itself.
			return fmt.Errorf("setting %s: it is not an http or https URL", name)
		}
	}
	return nil
}

// watchConnections is how many connections to the database a process has for alerts, and to tell
// that it is alive: both go on when all others are in use, which is itself an alert.
const watchConnections = 2

// off is for a limit that is switched off: nothing waits for so long.
const off = 100 * 365 * 24 * time.Hour

func limitOr(n int, unit time.Duration) time.Duration {
	if n <= 0 {
		return off
	}
	return time.Duration(n) * unit
}

// newAlerts makes what evaluates alerts, and what people do about them.
func (b *serverBase) newAlerts() *alerts.Alerts {
	limits, s := alerts.DefaultLimits(), b.settings.Alerts
	limits.DiskFloor = lifecycle.DiskFloor
	limits.Queue = limitOr(s.Queue, time.Minute)
	limits.Backup = limitOr(s.Backup, time.Hour)
	limits.Database = int64(s.Database) << 20
	actor := access.System("alerts")
	return alerts.New(alerts.Config{Store: b.watch, Limits: limits, URL: b.settings.HTTP.URL,
		Log: b.logOf("alerts"), Beat: alerts.NewHeartbeat(s.Heartbeat, time.Now),
		Sources: []alerts.Source{
			alerts.Certificates(b.watch, time.Now), alerts.DefinitionSources(b.watch),
			alerts.Registries(func(ctx context.Context) (map[string]string, error) {
				return b.catalog.CheckRegistries(ctx, actor)
			}),
		}})
}

// runAlerts evaluates alerts, in whichever control plane claims that.
func (b *serverBase) runAlerts(ctx context.Context) error {
	worker := jobs.New(b.watch, b.logOf("jobs"), jobs.EvaluateAlerts(b.alerts))
	worker.Ran = b.metrics.jobRan
	return worker.Run(ctx)
}

// tellAlive tells the others that this process is alive, and what only it knows.
func (b *serverBase) tellAlive(ctx context.Context, role controlplane.ProcessRole) error {
	report := processReport{base: b}
	w := alerts.Watcher{Store: b.watch, ID: b.processID(role), Role: role, Release: release,
		Report: report.readReport, Beside: b.newDiagnosis(role).Follow, Down: b.settings.Alerts.Down,
		Log: b.logOf("alerts")}
	return w.Run(ctx)
}

const (
	// errorWindow is how many reports back errors count: five minutes.
	errorWindow = 30
	// exhaustedFor is in how many reports in a row the pool was used up, to be exhausted.
	exhaustedFor = 3
	// keysEvery is how often a control plane looks whether it has all keys; keysWithin bounds that.
	keysEvery  = time.Minute
	keysWithin = 5 * time.Second
)

// processReport turns counters into what happened lately.
type processReport struct {
	base      *serverBase
	waits     int64
	acquired  int64
	exhausted int
	// missing are the keys that this control plane does not have, as it last found at looked.
	missing map[string]int64
	looked  time.Time
	// answers are the counters at the last reports.
	answers []map[string]controlplane.AnswerCount
}

func (p *processReport) readReport(ctx context.Context) (r controlplane.ProcessReport) {
	pool := p.base.store.Stats()
	r.PoolWaits, p.waits = pool.Waited-p.waits, pool.Waited
	// Only waits that ended are counted: when nobody gets a connection at all, there are none.
	stuck := pool.Acquired == p.acquired
	if p.exhausted++; pool.InUse < pool.Max || r.PoolWaits == 0 && !stuck {
		p.exhausted = 0
	}
	p.acquired = pool.Acquired
	r.PoolExhausted = p.exhausted >= exhaustedFor
	r.RoutesAge = p.base.metrics.routesAge().Seconds()
	r.Answers = p.recentAnswers()
	r.MissingKeys = p.findMissingKeys(ctx)
	return r
}

// findMissingKeys counts what is sealed under keys that this process does not have, as happens when
// another one was given a new key first. An ingress with keys of its own opens none of that.
func (p *processReport) findMissingKeys(ctx context.Context) map[string]int64 {
	if p.base.keys == nil || !p.looked.IsZero() && time.Since(p.looked) < keysEvery {
		return p.missing
	}
	ctx, cancel := context.WithTimeout(ctx, keysWithin)
	defer cancel()
	missing, err := p.base.keys.CountUnderMissingKeys(ctx, access.System("alerts"))
	if err != nil {
		p.base.log.WarnContext(ctx, "which keys are missing is not known", "error", err)
		return p.missing
	}
	p.looked, p.missing = time.Now(), missing
	return p.missing
}

func (p *processReport) recentAnswers() map[string]controlplane.AnswerCount {
	now, recent := p.base.metrics.countAnswers(), map[string]controlplane.AnswerCount{}
	var before map[string]controlplane.AnswerCount
	if len(p.answers) > 0 {
		before = p.answers[0]
	}
	for environment, c := range now {
		if c.Answers -= before[environment].Answers; c.Answers > 0 && environment != "" {
			c.Errors -= before[environment].Errors
			recent[environment] = c
		}
	}
	if p.answers = append(p.answers, now); len(p.answers) > errorWindow {
		p.answers = p.answers[1:]
	}
	return recent
}
