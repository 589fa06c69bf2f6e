package engine

import (
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// prober asks a service or a job that was started until it is ready, or has ended.
type prober struct {
	*core
	// startup is nil while nothing is being asked.
	startup *serviceStartup
}

func (b *prober) reset() { b.startup = nil }

// serviceStartup is the start-up of one service, or a job until its end.
type serviceStartup struct {
	step pipeline.StepKey
	// since is when the service was first started, started when it last was.
	since   time.Time
	started time.Time
	tries   int
	next    time.Time
	// asked is when a job was asked last.
	asked time.Time
	// counted is when the last check was made that counts as a try.
	counted time.Time
	// down says that the service ended and is started again at next; of a job, that it ended
	// and is asked for its exit code.
	down     bool
	restarts int
}

func (b *prober) startProbing(key pipeline.StepKey) {
	b.startup = &serviceStartup{step: key, since: b.now, started: b.now, next: b.now}
}

// observeListing has a service or a job asked at once that a listing shows to have ended.
func (b *prober) observeListing(l ObjectsListed) {
	if b.startup != nil && !b.startup.down && l.Began.After(b.startup.started) &&
		!slices.Contains(l.Running, b.startup.step) && b.now.Before(b.startup.next) {
		b.startup.next = b.now
	}
}

// continueProbing asks a started service when it is time to, or starts one again
// that ended during its start-up.
func (b *prober) continueProbing() {
	if b.isJob(b.startup.step) {
		b.followJob(b.startup.step)
		return
	}
	if b.now.Before(b.startup.next) {
		b.wakeAt(b.startup.next)
		return
	}
	if b.startup.down {
		key := b.startup.step
		b.current = b.startOperation(
			StartOperation{Kind: Start, Step: key, Attempt: b.steps[key].Attempt},
		)
		return
	}
	b.current = b.startOperation(StartOperation{Kind: Probe, Step: b.startup.step, Starting: true,
		Last: b.mayBeLastTry(timingOf(b.pipelineStep(b.startup.step)))})
}

// followJob probes a job when it is time to, and stops it at its deadline.
func (b *prober) followJob(key pipeline.StepKey) {
	s := b.steps[key]
	late := !b.now.Before(s.Deadline) && !b.hasDefect("let a job run for ever")
	switch {
	case late && !b.startup.down:
		// The second attempt cannot tell whether the job or the first stop came first.
		d := StartOperation{Kind: Stop, Step: key, Attempt: 2}
		if !s.Overdue {
			b.changeStep(key, wire.Event{}, func(s *StepState) { s.Overdue = true })
			d.Attempt = 1
		}
		b.current = b.startOperation(d)
	case b.now.Before(b.startup.next):
		b.wakeAt(b.startup.next)
		if b.now.Before(s.Deadline) {
			b.wakeAt(s.Deadline)
		}
	default:
		b.startup.asked = b.now
		b.current = b.startOperation(StartOperation{Kind: Probe, Step: key})
	}
}

// nextQuestion is when a job that has not ended is asked again. A runtime may wait for its end for
// a while before it answers; the pause has passed then.
func (b *prober) nextQuestion(t readinessTiming) time.Time {
	return b.startup.asked.Add(b.probePause(t))
}

// processStart is when the service's process started. The engine knows it even if the agent
// was restarted; a time in the future comes from another clock and is ignored.
func (b *prober) processStart(r Result) time.Time {
	if r.StartedAt.IsZero() || r.StartedAt.After(b.now) {
		return b.startup.started
	}
	return r.StartedAt
}

// allowAnotherTry counts a failed check and reports whether the service may be checked
// again.
func (b *prober) allowAnotherTry(t readinessTiming) bool {
	if b.now.Sub(b.startup.since) < t.start {
		return true
	}
	if b.startup.tries > 0 && b.now.Sub(b.startup.counted) < t.interval {
		return true
	}
	b.startup.tries++
	b.startup.counted = b.now
	return b.startup.tries < t.tries
}

// mayBeLastTry reports whether allowAnotherTry may refuse after the check that starts now.
func (b *prober) mayBeLastTry(t readinessTiming) bool {
	return b.startup.tries+1 >= t.tries && b.now.Sub(b.startup.since) >= t.start-t.interval
}

// probePause is a sixteenth of the time since the start, up to the interval, so that a
// service that starts in half a second is not waited for much longer. These early checks do
// not count as tries; those that do are an interval apart.
func (b *prober) probePause(t readinessTiming) time.Duration {
	pause := min(max(b.now.Sub(b.startup.started)/16, earliestProbe), t.interval)
	if next := b.startup.counted.Add(t.interval).Sub(b.now); b.startup.tries > 0 && next > 0 {
		pause = min(pause, next)
	}
	return pause
}

// readinessTiming is a service's readiness with the defaults filled in.
type readinessTiming struct {
	interval time.Duration
	start    time.Duration
	tries    int
	// restart is how long after its first start a service may be restarted.
	restart time.Duration
}

func timingOf(s pipeline.Step) readinessTiming {
	t := readinessTiming{interval: time.Second, tries: 60, restart: restartWithin}
	if s.Service == nil || s.Service.Ready == nil {
		return t
	}
	r := s.Service.Ready
	if r.IntervalSeconds > 0 {
		t.interval = time.Duration(r.IntervalSeconds) * time.Second
	}
	if r.Retries > 0 {
		t.tries = r.Retries
	}
	t.start = time.Duration(r.StartPeriodSeconds) * time.Second
	t.restart = t.start + time.Duration(t.tries)*t.interval
	return t
}
