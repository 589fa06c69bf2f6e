package api

import (
	"errors"
	"maps"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
)

// convertAll translates a list. The result is never null in JSON.
func convertAll[A, B any](from []A, f func(A) B) []B {
	to := make([]B, len(from))
	for i, v := range from {
		to[i] = f(v)
	}
	return to
}

// orEmpty is a list that is never null in JSON.
func orEmpty[T any](from []T) []T {
	if from == nil {
		return []T{}
	}
	return from
}

func toPage(cursor *string, limit *int) controlplane.Page {
	return controlplane.Page{After: valueOr(cursor, ""), Limit: valueOr(limit, 0)}
}

func toDeployment(v lifecycle.View) Deployment {
	d := Deployment{
		Id: string(v.ID), Name: v.Name, Project: v.Project, Environment: v.Environment,
		Status: DeploymentStatus(v.Status), Detail: ptrOrNil(v.Detail), Failure: toFailure(v.Failure),
		Revision: v.Revision, Node: ptrOrNil(v.Node), PipelineVersion: v.Version, Run: v.Run,
		StepsDone: v.StepsDone, StepsTotal: v.StepsTotal, UsualSeconds: ptrOrNil(v.UsualSeconds),
		Versions: convertAll(
			v.Versions,
			toServiceVersion,
		), Services: convertAll(v.Services, toServiceHealth),
		CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt, ChangedAt: v.ChangedAt, ReadyAt: v.ReadyAt,
		ExpiresAt: ptrOrNil(v.ExpiresAt), Level: Level(v.Level), RequestId: ptrOrNil(v.RequestID),
		Tests: toTestSummary(v.Tests), Input: inputOf(v.Input),
	}
	addLifetime(&d, v)
	if c, reason := v.Condition(); c != "" {
		d.Condition, d.ConditionReason = new(DeploymentCondition(c)), ptrOrNil(reason)
	}
	if len(v.Left) > 0 {
		d.Left = &v.Left
	}
	if q := v.Queue; q != nil {
		entry := queueEntry(*q)
		d.Queue = &entry
		d.Detail = ptrOrNil(valueOr(d.Detail, q.Reason))
	}
	// It is shown with the status, and means nothing after the deployment is gone.
	if v.NodeID != "" && v.NodeStatus != controlplane.NodeOnline && !v.Status.IsGone() {
		d.NodeOfflineSince = ptrOrNil(v.NodeSince)
	}
	if r := v.PullRequest; r != nil {
		d.PullRequest = &PullRequest{Repository: ptrOrNil(r.Repository), Number: r.Number,
			Title: ptrOrNil(r.Title), Link: ptrOrNil(r.Link), Remark: ptrOrNil(r.Remark)}
	}
	if len(v.Visitors) > 0 && !v.Status.IsGone() {
		all := convertAll(v.Visitors, func(one controlplane.Visitor) Visitor {
			return toVisitor(one, v.You)
		})
		d.Visitors = &all
	}
	if v.Verdict != nil {
		d.Verdict = new(toVerdict(*v.Verdict))
	}
	if v.Question != nil {
		d.Question = toQuestion(*v.Question)
	}
	return d
}

func toVisitor(v controlplane.Visitor, you controlplane.UserID) Visitor {
	return Visitor{Kind: VisitorKind(v.Kind), Name: ptrOrNil(v.Name), Visitors: v.Visitors,
		You: ptrOrNil(v.User != "" && v.User == you), LastSeen: v.LastSeen}
}

func toQuestion(v lifecycle.QuestionView) *Question {
	q := &Question{
		Run: v.Run, Step: string(v.Step), Prompt: v.Prompt, AskedAt: v.AskedAt,
		Deadline: v.Deadline, Fields: orEmpty(v.Approval.Fields), Teams: orEmpty(v.Approval.Teams),
		Users: orEmpty(v.Approval.Users), MayAnswer: v.Refused == nil,
	}
	if said, ok := errors.AsType[*controlplane.Error](v.Refused); ok {
		q.Refusal = ptrOrNil(strings.TrimSpace(said.Message + ". " + said.Remedy))
	}
	if v.Answer != nil {
		q.Approved, q.AnsweredBy = &v.Answer.Approved, &v.Answer.By
		q.AnsweredAt = &v.Answer.At
	}
	return q
}

func toFailure(f *controlplane.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Code: f.Code, Message: f.Message, Step: ptrOrNil(string(f.Step)),
		Sentence: new(f.Sentence()), Remedy: ptrOrNil(f.Remedy()), Line: ptrOrNil(f.Line)}
}

func toServiceVersion(v controlplane.ServiceVersion) ServiceVersion {
	return ServiceVersion{
		Step: string(v.Step), Service: v.Service, Image: v.Image,
		TagMode: TagMode(v.TagMode), Tag: v.Tag, Digest: v.Digest, Job: ptrOrNil(v.Job),
	}
}

func toServiceHealth(v lifecycle.ServiceView) ServiceHealth {
	return ServiceHealth{
		Step: string(v.Step), Health: Health(v.Health.Health), Ended: ptrOrNil(v.Health.Ended),
		Detail: ptrOrNil(v.Health.Detail), Url: ptrOrNil(v.URL), Restarts: v.Health.Restarts,
		Ports: toServicePorts(v),
	}
}

func toServicePorts(v lifecycle.ServiceView) []ServicePort {
	return convertAll(v.Ports, func(p pipeline.Port) ServicePort {
		return ServicePort{Name: p.Name, Port: p.Port, Exposed: p.Expose,
			Url: ptrOrNil(v.PortURLs[p.Name])}
	})
}

func toRun(v lifecycle.RunView) Run {
	return Run{
		Id: string(v.ID), Number: v.Number, PipelineVersion: v.Version,
		Status: DeploymentStatus(v.Status), Result: runResult(v.Run),
		StartedBy: v.StartedBy, CreatedAt: v.CreatedAt,
		EndedAt: v.EndedAt, Failure: toFailure(v.Failure),
		Versions: convertAll(v.Versions, toServiceVersion),
		Steps:    convertAll(v.Steps, func(row controlplane.StepRow) Step { return toStep(v, row) }),
		Input:    inputOf(v.Input), Queue: runQueue(v), RequestId: ptrOrNil(v.RequestID),
		TraceId: ptrOrNil(tracing.TraceIDOf(v.Traceparent)),
		Offers:  nodeOffers(v.Offers),
	}
}

// runResult is absent before the run has ended.
func runResult(r controlplane.Run) *RunResult {
	if r.Result == "" {
		return nil
	}
	return new(RunResult(r.Result))
}

// stepResult is absent before the step has ended.
func stepResult(row controlplane.StepRow) *StepResult {
	if row.Result == "" {
		return nil
	}
	return new(StepResult(row.Result))
}

// stepCleanup is absent while the effects of the step last.
func stepCleanup(row controlplane.StepRow) *StepCleanup {
	switch {
	case row.Status == pipeline.StepUndoing, row.Status == pipeline.StepUndone,
		row.Code == controlplane.CodeUndoFailed:
		return new(StepCleanup(row.Status))
	}
	return nil
}

// inputOf is absent if there is none.
func inputOf(values map[string]any) *Input {
	if len(values) == 0 {
		return nil
	}
	return new(Input(values))
}

func nodeOffers(all []controlplane.Offer) *[]NodeOffer {
	if len(all) == 0 {
		return nil
	}
	offers := convertAll(all, func(o controlplane.Offer) NodeOffer {
		return NodeOffer{Node: o.Node, Status: NodeOfferStatus(o.Status),
			Reason: ptrOrNil(o.Reason), At: o.ChangedAt}
	})
	return &offers
}

// toStep joins a step's row with its step of the run's pipeline.
func toStep(v lifecycle.RunView, row controlplane.StepRow) Step {
	s := Step{
		Run: v.Number, Key: string(row.Key), Position: row.Position, Kind: StepKind(row.Kind),
		Title: row.Title, Needs: []string{}, Status: StepStatus(row.Status),
		Result: stepResult(row), Cleanup: stepCleanup(row),
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, UndoneAt: row.UndoneAt,
		UsualSeconds: ptrOrNil(v.Usual[row.Key]), Code: ptrOrNil(row.Code),
		Message: ptrOrNil(row.Message), ExitCode: row.ExitCode, Lines: row.Lines,
		Tests: toTestSummary(row.Tests),
	}
	if len(row.Parts) > 0 {
		all := convertAll(row.Parts, toStepPart)
		s.Parts = &all
	}
	if len(row.Outputs) > 0 {
		s.Outputs = &row.Outputs
	}
	if len(row.Metadata) > 0 {
		all := convertAll(row.Metadata, func(m controlplane.Metadatum) Metadatum { return Metadatum(m) })
		s.Metadata = &all
	}
	for _, written := range v.Pipeline.Steps {
		if written.Key != row.Key {
			continue
		}
		s.Needs = convertAll(written.Needs, func(k pipeline.StepKey) string { return string(k) })
		if in := stepInputs(written); len(in) > 0 {
			s.Inputs = &in
		}
	}
	return s
}

func toStepPart(p controlplane.StepPart) StepPart {
	return StepPart{Kind: StepPartKind(p.Kind), From: p.From, To: p.To, Failed: ptrOrNil(p.Failed)}
}

// stepInputs are the inputs as written in the pipeline, with references unresolved:
// the resolved values may be secret.
func stepInputs(s pipeline.Step) map[string]any {
	in := map[string]any{}
	switch {
	case s.Plugin != nil:
		maps.Copy(in, s.Plugin.Parameters)
		for name, value := range s.Plugin.Secrets {
			in[name] = value
		}
	case s.Container() != nil:
		for name, value := range s.Container().Env {
			in[name] = value
		}
	case s.Script != nil:
		maps.Copy(in, s.Script.Parameters)
		for name, value := range s.Script.Secrets {
			in[name] = value
		}
	case s.Approval != nil:
		in["prompt"] = s.Approval.Prompt
	}
	return in
}

func toLogLine(l controlplane.LogLine) LogLine {
	return LogLine{
		Run: l.RunNumber, Step: string(l.Step), Number: l.Number, At: l.At, Text: l.Text,
		Dropped: ptrOrNil(l.Dropped),
	}
}

func toProgress(p controlplane.Progress) Progress {
	return Progress{
		Run: p.RunNumber, Step: string(p.Step), At: p.At, PulledBytes: ptrOrNil(p.PulledBytes),
		TotalBytes: ptrOrNil(p.TotalBytes), PulledLayers: ptrOrNil(p.PulledLayers),
		TotalLayers: ptrOrNil(p.TotalLayers), Lines: ptrOrNil(p.Lines), Bytes: ptrOrNil(p.Bytes),
		LastOutputAt: ptrOrNil(p.LastOutput),
	}
}
