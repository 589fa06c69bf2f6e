package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// The legal combinations of a Machine's flags after a Step, by phase. "must" is always set in the
// phase, "may" may be set, and "." is never set. wire.Phase draws how the phases follow each other.
//
//	          none  applying  ready  undoing  failed  removing  removed  stuck
//	goal       .    must      must   must     must    must      must     must
//	next       .    .         .      may      may¹    may       may¹     .
//	cause      .    .         .      may      may     may       may      may
//	orphan     .    .         .      .        .       may       may      .
//	ahead      .    may       .      may      .       may       .        .
//	probing    .    may       may    .        .       .         .        .
//	pulling    .    may       .      .        .       .         .        .
//	prepared   .    may       may    may      .       may       .        .
//	killed     .    may       .      may      .       may       .        .
//	operation  .    of a      of     undo²    strays  undo²     strays   .
//	                step      upkeep
//
// ¹ Only while strays are being removed: a new run must not begin beside that.
// ² Also an operation of the run that was cancelled and has not ended.
//
// What the flags mean: a goal is being worked on, and a next one waits; there is a cause why the
// run is undone; the control plane does not know the deployment (orphan); sandboxes of later
// plugins are being prepared (ahead); a start-up is being probed; images are being pulled; the
// network is prepared; and a plugin's old container was removed, so that it may run (killed).
//
// The tests check every Step against these tables. The core itself does not: an agent that meets
// a combination that nobody thought of must still be able to clean up.
type phaseFlags uint

const (
	flagGoal phaseFlags = 1 << iota
	flagNext
	flagCause
	flagOrphan
	flagAhead
	flagProbing
	flagPulling
	flagPrepared
	flagKilled
)

func (f phaseFlags) String() string {
	return nameFlags(uint(f), "goal", "next", "cause", "orphan", "ahead", "probing", "pulling",
		"prepared", "killed")
}

// phaseRule is one column of the table.
type phaseRule struct {
	must, may phaseFlags
	// operations may be current. In a phase that undoes, so may a cancelled one.
	operations []Kind
	// from are the phases that this one may follow.
	from []wire.Phase
}

const undoFlags = flagNext | flagCause | flagAhead | flagPrepared | flagKilled

func phaseRules() map[wire.Phase]phaseRule {
	undoing := []Kind{Prepare, Pull, Remove, Run, RemoveAll}
	idle := []wire.Phase{"", wire.PhaseFailed, wire.PhaseRemoved}
	return map[wire.Phase]phaseRule{
		"": {},
		wire.PhaseApplying: {
			must: flagGoal, may: flagAhead | flagProbing | flagPulling | flagPrepared | flagKilled,
			operations: []Kind{Prepare, Start, Probe, Stop, Remove, Run, EvaluatePrompt, EvaluateAnswer},
			from:       idle,
		},
		wire.PhaseReady: {
			must: flagGoal, may: flagProbing | flagPrepared,
			operations: []Kind{Prepare, Pull, Start, Probe, Stop, Remove},
			from:       append(idle, wire.PhaseApplying),
		},
		wire.PhaseUndoing: {
			must: flagGoal, may: undoFlags, operations: undoing,
			from: append(idle, wire.PhaseApplying, wire.PhaseStuck),
		},
		wire.PhaseFailed: {
			must: flagGoal, may: flagNext | flagCause, operations: []Kind{RemoveAll},
			from: []wire.Phase{wire.PhaseUndoing},
		},
		wire.PhaseRemoving: {
			must: flagGoal, may: undoFlags | flagOrphan, operations: undoing,
			from: []wire.Phase{"", wire.PhaseFailed, wire.PhaseApplying, wire.PhaseReady,
				wire.PhaseUndoing, wire.PhaseStuck},
		},
		wire.PhaseRemoved: {
			must: flagGoal, may: flagNext | flagCause | flagOrphan, operations: []Kind{RemoveAll},
			from: []wire.Phase{wire.PhaseUndoing, wire.PhaseRemoving},
		},
		wire.PhaseStuck: {
			must: flagGoal, may: flagCause,
			from: []wire.Phase{wire.PhaseUndoing, wire.PhaseRemoving},
		},
	}
}

// The same for a step, by its status.
//
//	          pending  pulling  waiting  running  done  failed  skipped  undoing  undone
//	started   may¹     .        .        must     may²  may     may¹     must     must
//	done      .        .        .        .        must  may     .        may      may
//	undone    .        .        .        .        .     .       .        .        must
//	gave up   .        .        .        .        .     may     .        .        .
//	deadline  .        .        must     may      may   may     may      may      may
//	hushed    .        .        .        .        may   may     .        may      may
//	overdue   .        .        .        may      .     may     .        may      may
//
// ¹ Only where the agent does not know what ran, and takes every plugin for one that did.
// ² Not an approval: it has no effect that must be undone.
//
// While a run is applied, at most one step is pulling, waiting or running, and nothing is undone.
// In a ready run, every step is done. In a failed or removed one, every step that was started is
// undone, unless the control plane does not know the deployment.
type stepFlags uint

const (
	flagStarted stepFlags = 1 << iota
	flagDone
	flagUndone
	flagGaveUp
	flagDeadline
	flagHushed
	flagOverdue
)

func (f stepFlags) String() string {
	return nameFlags(uint(f), "started", "done", "undone", "gave up", "deadline", "hushed", "overdue")
}

func nameFlags(flags uint, names ...string) string {
	var set []string
	for i, name := range names {
		if flags&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return "[" + strings.Join(set, ", ") + "]"
}

// stepRule is one column of the table.
type stepRule struct{ must, may stepFlags }

func stepRules() map[pipeline.StepStatus]stepRule {
	return map[pipeline.StepStatus]stepRule{
		pipeline.StepPending: {may: flagStarted},
		pipeline.StepPulling: {},
		pipeline.StepWaiting: {must: flagDeadline},
		pipeline.StepRunning: {must: flagStarted, may: flagDeadline | flagOverdue},
		pipeline.StepDone:    {must: flagDone, may: flagStarted | flagDeadline | flagHushed},
		pipeline.StepFailed: {
			may: flagStarted | flagDone | flagGaveUp | flagDeadline | flagHushed | flagOverdue,
		},
		pipeline.StepSkipped: {may: flagStarted | flagDeadline},
		pipeline.StepUndoing: {
			must: flagStarted, may: flagDone | flagDeadline | flagHushed | flagOverdue,
		},
		pipeline.StepUndone: {
			must: flagStarted | flagUndone, may: flagDone | flagDeadline | flagHushed | flagOverdue,
		},
	}
}

// checkState returns an error that names the first combination that the tables do not allow.
func (m *Machine) checkState() error {
	rule, known := phaseRules()[m.phase]
	has := m.phaseFlags()
	switch {
	case !known:
		return fmt.Errorf("phase %q is not in the table", m.phase)
	case rule.must&^has != 0:
		return fmt.Errorf("%s: %s must be set", m.phase, rule.must&^has)
	case has&^(rule.must|rule.may) != 0:
		return fmt.Errorf("%s: %s may not be set", m.phase, has&^(rule.must|rule.may))
	case m.isIdle() && m.next != nil && m.current == nil:
		return fmt.Errorf("%s: a goal waits for nothing", m.phase)
	}
	if o := m.current; o != nil && !slices.Contains(rule.operations, o.do.Kind) &&
		!(o.canceled && rule.may&flagAhead != 0) {
		return fmt.Errorf("%s: the operation %s runs", m.phase, o.do.Kind)
	}
	return m.checkSteps()
}

func (m *Machine) phaseFlags() phaseFlags {
	pulling := false
	for _, p := range m.pulls.byStep {
		pulling = pulling || p.op != 0
	}
	var all phaseFlags
	for i, set := range []bool{m.work != nil, m.next != nil, m.cause != nil, m.orphan,
		len(m.ahead) > 0, m.prober.startup != nil, pulling, m.prepared, m.killed != ""} {
		if set {
			all |= 1 << i
		}
	}
	return all
}

func (m *Machine) checkSteps() error {
	rules, busy := stepRules(), 0
	for _, key := range m.order {
		s := m.steps[key]
		rule, known := rules[s.Status]
		has := s.flags()
		if !known || rule.must&^has != 0 || has&^(rule.must|rule.may) != 0 {
			return fmt.Errorf("step %s is %s with %s", key, s.Status, has)
		}
		guessed := has&flagStarted != 0 && rule.must&flagStarted == 0 && has&flagDone == 0
		if guessed && s.Status != pipeline.StepFailed && !m.blind {
			return fmt.Errorf("step %s is %s and started, and the journal knows the run", key, s.Status)
		}
		switch s.Status {
		case pipeline.StepPulling, pipeline.StepWaiting, pipeline.StepRunning:
			busy++
		default:
		}
		if err := m.checkStepInPhase(s); err != nil {
			return err
		}
	}
	if m.phase == wire.PhaseApplying && busy > 1 {
		return fmt.Errorf("%d steps run at a time", busy)
	}
	return nil
}

func (m *Machine) checkStepInPhase(s *StepState) error {
	legal := true
	switch m.phase {
	case wire.PhaseApplying:
		legal = !s.Undone && s.GaveUp == "" && s.Status != pipeline.StepUndoing
	case wire.PhaseReady:
		legal = s.Status == pipeline.StepDone
	case wire.PhaseFailed, wire.PhaseRemoved:
		legal = !s.Started || s.Undone || m.orphan
	default:
	}
	if !legal {
		return fmt.Errorf("%s: step %s is %s with %s", m.phase, s.Key, s.Status, s.flags())
	}
	return nil
}

func (s *StepState) flags() stepFlags {
	var all stepFlags
	for i, set := range []bool{s.Started, s.Done, s.Undone, s.GaveUp != "", !s.Deadline.IsZero(),
		s.Hushed, s.Overdue} {
		if set {
			all |= 1 << i
		}
	}
	return all
}
