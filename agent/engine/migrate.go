package engine

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A deployment that is moved to another node with its volumes exists on both nodes for a
// while. On the old node its services are stopped, so that the volumes do not change while
// they are read; if the move is cancelled, the services are started again. On the new node
// it pulls images and then waits until the volumes are written. Plugins have run once, for
// both nodes: the node that the deployment is not on runs neither their create nor their
// delete.
//
// A deployment that takes another one's place may begin with that one's volumes. Its run waits
// as one that arrives does, with its images, and then does all its steps.

// CodeCopyLost fails a run whose journal does not say that its volumes were copied.
const CodeCopyLost = "copy_lost"

// quiesce stops services for the copy of their volumes, and starts them again afterwards.
type quiesce struct {
	*core
	services *serviceTable
	prober   *prober
	pulls    *imagePulls
}

// beginMigrated begins a run that another node has done, except for the services that stay
// up.
func (q *goalQueue) beginMigrated(g wire.Goal) {
	no, yes := false, true
	q.recordChange(Record{Work: &g, Fresh: true, Blind: &yes, Orphan: &no})
	for _, key := range q.order {
		s := q.pipelineStep(key)
		if s.Service != nil && s.Service.Restart != pipeline.RestartNever {
			continue
		}
		q.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepDone,
			Started: s.Approval == nil, Done: true}})
	}
	q.moveTo(wire.PhaseApplying, wire.Event{})
	if !g.Still {
		// The volumes were written before the journal begins, or never. Services that start with
		// empty volumes would look healthy.
		q.giveUp(CodeCopyLost, "the agent does not remember that the volumes were copied")
	}
}

// quiescedAt returns the number of the last operation while no service runs or is about to
// start, so that the volumes can be read, or written at the destination; otherwise it
// returns 0. A changed number means that an operation ran in between (at the destination
// possibly only an image pull), so a volume copy made meanwhile is invalid.
func (q *quiesce) quiescedAt() int64 {
	if q.work == nil || !q.work.Still || q.next != nil || q.current != nil || len(q.ahead) > 0 {
		return 0
	}
	quiet := q.phase == wire.PhaseReady && !slices.ContainsFunc(q.order, q.needsQuiesce)
	switch {
	case q.work.Elsewhere:
		quiet = q.phase == wire.PhaseApplying && q.prepared
	case q.phase == wire.PhaseApplying:
		quiet = q.work.Attempt != "" && q.isUntouched()
	}
	if !quiet {
		return 0
	}
	return q.lastOp
}

// isUntouched reports whether a run that begins with the volumes of another deployment has all
// its images, and has done nothing else yet. Only then is the other one worth stopping.
func (q *quiesce) isUntouched() bool {
	return q.prepared && !slices.ContainsFunc(q.order, func(key pipeline.StepKey) bool {
		s := q.steps[key]
		return s.Started || s.Done || q.pulls.hasImage(key) && !q.pulls.isPulled(key)
	})
}

func (q *quiesce) needsQuiesce(key pipeline.StepKey) bool {
	return q.pipelineStep(key).Service != nil && !q.services.serviceState(key).hushed
}

// quiesceNext stops the next service, in reverse order. Containers and volumes stay.
func (q *quiesce) quiesceNext() {
	q.prober.reset()
	for _, key := range q.undoOrder() {
		if q.needsQuiesce(key) {
			q.stopForQuiesce(key)
			return
		}
	}
}

// stopForQuiesce records that the service must be started again later, then stops it. A job
// that has ended must not be started again; a listing shows whether one is still running.
func (q *quiesce) stopForQuiesce(key pipeline.StepKey) {
	s, again := q.services.serviceState(key), q.steps[key].Hushed
	never := q.pipelineStep(key).Service.Restart == pipeline.RestartNever
	if never && !again && !s.seen {
		return
	}
	d := StartOperation{Kind: Stop, Step: key, Attempt: 2}
	if !again && (s.runs || !never) {
		q.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = true })
		d.Attempt = 1
	}
	q.current = q.startOperation(d)
}

func (q *quiesce) onServiceStopped(o operation, r Result) {
	key := o.do.Step
	if r.Outcome != OutcomeOK {
		q.retryLater()
		return
	}
	q.resetRetries()
	if r.Exited && o.do.Attempt == 1 {
		// It had exited by itself. A repeated stop would report that of a service that we stopped.
		q.changeStep(key, wire.Event{}, func(s *StepState) { s.Hushed = false })
	}
	s := q.services.serviceState(key)
	s.hushed, s.changed = true, q.now
}

// resetEndedJobs makes jobs run again here that the old node had to stop for the move.
func (q *goalQueue) resetEndedJobs(g wire.Goal) {
	if q.phase != wire.PhaseApplying || !q.work.Still || g.Still || !g.Elsewhere {
		return
	}
	for _, key := range g.Resume {
		s, ok := q.work.Pipeline.Step(key)
		if ok && s.Service != nil && s.Service.Restart == pipeline.RestartNever {
			q.recordChange(Record{Step: &StepState{Key: key, Status: pipeline.StepPending}})
		}
	}
}

// resumeServices starts the services again that quiesceNext stopped.
func (q *quiesce) resumeServices() {
	for _, key := range q.order {
		s := q.services.serviceState(key)
		s.hushed = false
		if q.steps[key].Hushed && !s.down {
			s.down, s.next = true, q.now
		}
	}
}
