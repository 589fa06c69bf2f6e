package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// errUnexpected ends a session whose agent broke the protocol.
var errUnexpected = errors.New("the agent sent what does not fit")

// eventsAtOnce bounds one commit, which holds the deployment's row lock.
const eventsAtOnce = 16

// receiveReports stores the reports that have arrived, in order. An event is
// acknowledged after its commit, so one that could not be stored is sent again. The
// closing of the connection is the last report.
func (s *session) receiveReports(ctx context.Context) error {
	for ctx.Err() == nil {
		// In this order: messages that arrived before the end count.
		end := s.conn.Err()
		r, ok := s.conn.TryReceive()
		if !ok {
			return end
		}
		var err error
		for err == nil && r != nil {
			r, err = s.takeReport(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// takeReport returns what it has received and does not take.
func (s *session) takeReport(ctx context.Context, r wire.Report) (next wire.Report, err error) {
	if first, ok := r.(wire.Event); ok {
		batch, next := s.gatherEvents(first)
		return next, s.storeEvents(ctx, batch)
	}
	return nil, s.takeOther(ctx, r)
}

// gatherEvents adds the events of the same deployment that have arrived already, so
// that they share a commit.
func (s *session) gatherEvents(first wire.Event) (batch []wire.Event, next wire.Report) {
	batch = []wire.Event{first}
	for len(batch) < eventsAtOnce {
		r, ok := s.conn.TryReceive()
		if !ok {
			return batch, nil
		}
		e, ok := r.(wire.Event)
		if !ok || e.Deployment != first.Deployment {
			return batch, r
		}
		batch = append(batch, e)
	}
	return batch, nil
}

func (s *session) takeOther(ctx context.Context, r wire.Report) error {
	switch r := r.(type) {
	case wire.SecretsWanted:
		return s.answerSecrets(ctx, r)
	case wire.RegistriesWanted:
		return s.answerRegistries(ctx, r)
	case wire.Progress:
		return s.mayFail(ctx, "progress", s.Lifecycle.ObserveProgress(ctx, s.actor, newProgress(r)))
	case wire.Vitals:
		return s.storeVitals(ctx, r)
	case wire.Samples:
		s.takeSamples(r)
		return nil
	case wire.InventoryChanged:
		return s.storeInventory(ctx, r)
	case wire.OfferAnswer:
		return s.storeOfferAnswer(ctx, r)
	case wire.TokenRefused:
		select {
		case s.refused <- r.Kid:
		default:
		}
		return nil
	case wire.Welcome, wire.LogBatch:
		return fmt.Errorf("%w: %T does not belong here", errUnexpected, r)
	}
	return fmt.Errorf("%w: an unknown %T", errUnexpected, r)
}

// storeEvents are acknowledged once they are committed.
func (s *session) storeEvents(ctx context.Context, batch []wire.Event) error {
	reports := make([]lifecycle.Report, len(batch))
	for i, e := range batch {
		reports[i] = newReport(s.link.Node.ID, e)
		if err := s.Failpoint.Hit(reports[i].FailpointPrefix() + ".received"); err != nil {
			return err
		}
	}
	last := batch[len(batch)-1].Seq
	if err := s.posts.storeReports(ctx, reports); err != nil {
		return fmt.Errorf("store events %d to %d: %w", batch[0].Seq, last, err)
	}
	for _, r := range reports {
		s.Failpoint.Pass(r.FailpointPrefix() + ".committed")
	}
	if err := s.acknowledge(ctx, last); err != nil {
		return err
	}
	for _, r := range reports {
		s.Failpoint.Pass(r.FailpointPrefix() + ".acked")
	}
	return nil
}

// mayFail logs what is lost without harm.
func (s *session) mayFail(ctx context.Context, what string, err error) error {
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, what+" was not stored", "node", s.link.Node.Name, "error", err)
	}
	return nil
}

// answerSecrets sends a run's secrets to its node. A refusal is sent too; if the
// database is unavailable nothing is sent, and the agent asks again.
func (s *session) answerSecrets(ctx context.Context, w wire.SecretsWanted) error {
	answer, err := s.openSecrets(ctx, w)
	if kind := controlplane.KindOf(err); kind != "" && kind != controlplane.Unavailable {
		return s.conn.Send(ctx, wire.Secrets{Run: w.Run, Generation: w.Generation,
			Refused: err.Error()})
	}
	if err != nil {
		s.noteSecretsWait(ctx, w.Deployment, err)
		return s.mayFail(ctx, "secret request", err)
	}
	s.clearSecretsWait(ctx, w.Deployment)
	if err := s.Failpoint.Hit("secrets.opened"); err != nil {
		return err
	}
	if err := s.conn.Send(ctx, answer); err != nil {
		return err
	}
	return s.Failpoint.Hit("secrets.sent")
}

// noteSecretsWait shows what the run waits for, if it is known. The agent asks again every
// few seconds.
func (s *session) noteSecretsWait(ctx context.Context, deployment string, cause error) {
	why, ok := errors.AsType[*controlplane.Error](cause)
	if !ok || s.waits[deployment] == why.Message {
		return
	}
	err := s.Lifecycle.NoteSecretsWait(ctx, s.actor, s.link.Node.ID,
		controlplane.DeploymentID(deployment), why.Message)
	if _ = s.mayFail(ctx, "wait for secrets", err); err == nil {
		if s.waits == nil {
			s.waits = map[string]string{}
		}
		s.waits[deployment] = why.Message
	}
}

func (s *session) clearSecretsWait(ctx context.Context, deployment string) {
	why, ok := s.waits[deployment]
	if !ok {
		return
	}
	delete(s.waits, deployment)
	_ = s.mayFail(ctx, "wait for secrets", s.Lifecycle.ClearSecretsWait(ctx, s.actor, s.link.Node.ID,
		controlplane.DeploymentID(deployment), why))
}

// answerRegistries sends the credentials for prepulling plugin images: only those of
// the catalogue's own registries, whatever the agent asked for.
func (s *session) answerRegistries(ctx context.Context, w wire.RegistriesWanted) error {
	images, err := s.roster.pluginImages(ctx)
	if err != nil {
		return s.mayFail(ctx, "plugins", err)
	}
	hosts := map[string]bool{}
	for _, p := range images {
		if slices.Contains(w.Hosts, p.Image.Registry) {
			hosts[p.Image.Registry] = true
		}
	}
	auth, err := s.Secrets.PullCredentials(ctx, slices.Sorted(maps.Keys(hosts)))
	if err != nil {
		return s.mayFail(ctx, "request for sign-ins", err)
	}
	return s.conn.Send(ctx, wire.Registries{Auth: auth})
}

func (s *session) openSecrets(ctx context.Context, w wire.SecretsWanted) (wire.Secrets, error) {
	id := controlplane.DeploymentID(w.Deployment)
	run, steps, err := s.Lifecycle.SealedRun(ctx, s.actor, s.link.Node.ID, id,
		w.Generation)
	if err != nil {
		return wire.Secrets{}, err
	}
	if string(run.ID) != w.Run {
		return wire.Secrets{}, &controlplane.Error{Kind: controlplane.Forbidden,
			Code: "not_your_run", Message: "this deployment has another run by now"}
	}
	key, values, err := s.Secrets.Open(ctx, id, run)
	if err != nil {
		return wire.Secrets{}, err
	}
	auth, err := s.Secrets.PullCredentials(ctx, pullHosts(run.Pipeline))
	if err != nil {
		return wire.Secrets{}, err
	}
	return wire.Secrets{Run: w.Run, Generation: w.Generation, Key: key, Values: values,
		Outputs: sealedOutputs(steps), Begun: begunSteps(steps), Registries: auth}, nil
}

// begunSteps are those that may have done something, and did not take it back.
func begunSteps(steps []controlplane.StepRow) (all []pipeline.StepKey) {
	for _, s := range steps {
		switch s.Status {
		case pipeline.StepRunning, pipeline.StepDone, pipeline.StepFailed, pipeline.StepUndoing:
			all = append(all, s.Key)
		default:
		}
	}
	return all
}

func sealedOutputs(steps []controlplane.StepRow) map[pipeline.StepKey][]byte {
	all := map[pipeline.StepKey][]byte{}
	for _, s := range steps {
		if len(s.Sealed) > 0 {
			all[s.Key] = s.Sealed
		}
	}
	return all
}

// pullHosts lists the hosts a run pulls from.
func pullHosts(p pipeline.Pipeline) []string {
	hosts := map[string]bool{}
	for _, s := range p.Steps {
		switch {
		case s.Container() != nil && s.Container().Image != nil:
			hosts[s.Container().Image.Registry] = true
		case s.Plugin != nil && s.Plugin.Image != nil:
			hosts[s.Plugin.Image.Registry] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// collectLogs keeps a second connection for step logs, so that a flood of lines never
// delays a heartbeat. The session continues when it ends.
func (s *session) collectLogs(ctx context.Context) error {
	var pause backoff
	for {
		began := time.Now()
		err := s.logConnection(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Log.DebugContext(ctx, "log connection ended", "node", s.link.Node.Name, "error", err)
		if time.Since(began) > longestWait {
			pause.reset()
		}
		if !pause.wait(ctx, nil) {
			return context.Cause(ctx)
		}
	}
}

func (s *session) logConnection(ctx context.Context) error {
	config, err := s.Dial.dialConfig(s.link, s.epoch)
	if err != nil {
		return err
	}
	proven, err := wire.Dial(ctx, config)
	if err != nil {
		return err
	}
	conn, err := wire.OpenRunLogs(ctx, proven)
	if err != nil {
		return err
	}
	defer conn.Close(wire.CodeGone, "the control plane ends this log connection")
	for {
		r, err := conn.Receive(ctx)
		if err != nil {
			return err
		}
		batch, ok := r.(wire.LogBatch)
		if !ok {
			return fmt.Errorf("%w: %T on the log connection", errUnexpected, r)
		}
		lines, of := logLines(batch.Lines)
		if err := s.Logbook.Append(ctx, s.actor, s.link.Node.ID, lines, of); err != nil {
			return err
		}
		if err := conn.Send(ctx, wire.Ack{Seq: batch.Seq}); err != nil {
			return err
		}
	}
}

// aheadAllowed is how far ahead of ours a node's clock may be. What it dates later happened now:
// runs that end and lines that were written years from now would stand above all others.
const aheadAllowed = time.Minute

func notAhead(at time.Time) time.Time {
	if now := time.Now(); at.After(now.Add(aheadAllowed)) {
		return now
	}
	return at
}

func newReport(node controlplane.NodeID, e wire.Event) lifecycle.Report {
	r := lifecycle.Report{Node: node, Seq: e.Seq,
		Deployment: controlplane.DeploymentID(e.Deployment), Generation: e.Generation,
		Run: controlplane.RunID(e.Run), At: notAhead(e.At), Code: e.Code, Message: e.Message,
		Left: e.Left, Deadline: e.Deadline}
	if e.Step == "" {
		r.Status = controlplane.DeploymentStatus(e.Phase)
		return r
	}
	r.Step = &controlplane.StepRow{Key: e.Step, Status: e.Status, ExitCode: e.ExitCode,
		Outputs: e.Outputs, Sealed: e.Sealed}
	r.Step.Parts = newStepParts(e.Parts)
	for _, m := range e.Metadata {
		r.Step.Metadata = append(r.Step.Metadata, controlplane.Metadatum(m))
	}
	if e.Tests != nil {
		r.Tests = newTestReport(*e.Tests)
	}
	return r
}

// newStepParts leaves out what this release does not know, and what cannot be.
func newStepParts(all []wire.StepPart) (parts []controlplane.StepPart) {
	known := []wire.PartKind{wire.PartPull, wire.PartSandbox, wire.PartStart, wire.PartReady,
		wire.PartRun, wire.PartUndo}
	for _, p := range all {
		if slices.Contains(known, p.Kind) && !p.To.Before(p.From) &&
			len(parts) < controlplane.MaxStepParts {
			parts = append(parts, controlplane.StepPart{Kind: string(p.Kind), From: p.From, To: p.To,
				Failed: p.Failed})
		}
	}
	return parts
}

// maxTestFailures is what an agent sends at most; see agent/junit.
const maxTestFailures = 100

func newTestReport(r wire.TestReport) *controlplane.TestReport {
	s := controlplane.TestSummary{Tests: r.Tests, Failed: r.Failed, Skipped: r.Skipped,
		Seconds: r.Seconds, Marked: r.Marked, Problem: r.Problem}
	n := min(len(r.Failures), maxTestFailures)
	failures := make([]controlplane.TestFailure, n)
	for i, f := range r.Failures[:n] {
		failures[i] = controlplane.TestFailure(f)
	}
	return controlplane.NewTestReport(s, failures, r.Truncated || n < len(r.Failures))
}

func newProgress(p wire.Progress) controlplane.Progress {
	return controlplane.Progress{Deployment: controlplane.DeploymentID(p.Deployment),
		Run: controlplane.RunID(p.Run), Step: p.Step, At: time.Now(), PulledBytes: p.PulledBytes,
		TotalBytes: p.TotalBytes, PulledLayers: p.PulledLayers, TotalLayers: p.TotalLayers,
		Lines: p.Lines, Bytes: p.Bytes, LastOutput: p.LastOutput}
}

func logLines(all []wire.LogLine) ([]controlplane.LogLine, []controlplane.DeploymentID) {
	lines := make([]controlplane.LogLine, len(all))
	of := make([]controlplane.DeploymentID, len(all))
	for i, l := range all {
		of[i] = controlplane.DeploymentID(l.Deployment)
		lines[i] = controlplane.LogLine{Run: controlplane.RunID(l.Run), Step: l.Step,
			Number: l.Number, At: notAhead(l.At), Text: l.Text, Dropped: l.Dropped}
	}
	return lines, of
}

func pluginList(images map[string]pipeline.Image) []wire.PluginImage {
	all := make([]wire.PluginImage, 0, len(images))
	for _, name := range slices.Sorted(maps.Keys(images)) {
		all = append(all, wire.PluginImage{Name: name, Image: images[name]})
	}
	return all
}
