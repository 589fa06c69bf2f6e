package api

import (
	"errors"
	"maps"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// each translates a list. The result is never null in JSON.
func each[A, B any](from []A, f func(A) B) []B {
	to := make([]B, len(from))
	for i, v := range from {
		to[i] = f(v)
	}
	return to
}

// list is a list that is never null in JSON.
func list[T any](from []T) []T {
	if from == nil {
		return []T{}
	}
	return from
}

func page(cursor *string, limit *int) controlplane.Page {
	return controlplane.Page{After: or(cursor, ""), Limit: or(limit, 0)}
}

func deployment(v lifecycle.View) Deployment {
	d := Deployment{
		Id: string(v.ID), Name: v.Name, Project: v.Project, Environment: v.Environment,
		Status: DeploymentStatus(v.Status), Detail: some(v.Detail), Failure: failure(v.Failure),
		Revision: v.Revision, Node: some(v.Node), PipelineVersion: v.Version, Run: v.Run,
		StepsDone: v.StepsDone, StepsTotal: v.StepsTotal, UsualSeconds: some(v.UsualSeconds),
		Versions: each(v.Versions, version), Services: each(v.Services, health),
		CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt, ChangedAt: v.ChangedAt, ReadyAt: v.ReadyAt,
		ExpiresAt: some(v.ExpiresAt), Level: Level(v.Level), RequestId: some(v.RequestID),
	}
	lived(&d, v)
	if c, reason := v.Condition(); c != "" {
		d.Condition, d.ConditionReason = new(DeploymentCondition(c)), some(reason)
	}
	if len(v.Left) > 0 {
		d.Left = &v.Left
	}
	if q := v.Queue; q != nil {
		entry := queueEntry(*q)
		d.Queue = &entry
		d.Detail = some(or(d.Detail, q.Reason))
	}
	// It is shown with the status, and means nothing after the deployment is gone.
	if v.NodeID != "" && v.NodeStatus != controlplane.NodeOnline && !v.Status.Gone() {
		d.NodeOfflineSince = some(v.NodeSince)
	}
	if v.Question != nil {
		d.Question = question(*v.Question)
	}
	return d
}

func question(v lifecycle.QuestionView) *Question {
	q := &Question{
		Run: v.Run, Step: string(v.Step), Prompt: v.Prompt, AskedAt: v.AskedAt,
		Deadline: v.Deadline, Fields: list(v.Approval.Fields), Teams: list(v.Approval.Teams),
		Users: list(v.Approval.Users), MayAnswer: v.Refused == nil,
	}
	if said, ok := errors.AsType[*controlplane.Error](v.Refused); ok {
		q.Refusal = some(strings.TrimSpace(said.Message + ". " + said.Remedy))
	}
	if v.Answer != nil {
		q.Approved, q.AnsweredBy = &v.Answer.Approved, &v.Answer.By
		q.AnsweredAt = &v.Answer.At
	}
	return q
}

func failure(f *controlplane.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Code: f.Code, Message: f.Message, Step: some(string(f.Step))}
}

func version(v controlplane.ServiceVersion) ServiceVersion {
	return ServiceVersion{
		Step: string(v.Step), Service: v.Service, Image: v.Image,
		TagMode: TagMode(v.TagMode), Tag: v.Tag, Digest: v.Digest,
	}
}

func health(v lifecycle.ServiceView) ServiceHealth {
	return ServiceHealth{
		Step: string(v.Step), Health: Health(v.Health.Health), Detail: some(v.Health.Detail),
		Url: some(v.URL), Restarts: v.Health.Restarts,
		Ports: each(v.Ports, func(p pipeline.Port) ServicePort {
			return ServicePort{Name: p.Name, Port: p.Port, Exposed: p.Expose,
				Url: some(v.PortURLs[p.Name])}
		}),
	}
}

func run(v lifecycle.RunView) Run {
	return Run{
		Id: string(v.ID), Number: v.Number, PipelineVersion: v.Version,
		Status: DeploymentStatus(v.Status), StartedBy: v.StartedBy, CreatedAt: v.CreatedAt,
		EndedAt: v.EndedAt, Failure: failure(v.Failure), Versions: each(v.Versions, version),
		Steps: each(v.Steps, func(row controlplane.StepRow) Step { return step(v, row) }),
		Queue: runQueue(v), RequestId: some(v.RequestID),
	}
}

// toStep joins a step's row with its step of the run's pipeline.
func step(v lifecycle.RunView, row controlplane.StepRow) Step {
	s := Step{
		Run: v.Number, Key: string(row.Key), Position: row.Position, Kind: StepKind(row.Kind),
		Title: row.Title, Needs: []string{}, Status: StepStatus(row.Status),
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, UsualSeconds: some(v.Usual[row.Key]),
		Code: some(row.Code), Message: some(row.Message), ExitCode: row.ExitCode, Lines: row.Lines,
	}
	if len(row.Outputs) > 0 {
		s.Outputs = &row.Outputs
	}
	if len(row.Metadata) > 0 {
		all := each(row.Metadata, func(m controlplane.Metadatum) Metadatum { return Metadatum(m) })
		s.Metadata = &all
	}
	for _, written := range v.Pipeline.Steps {
		if written.Key != row.Key {
			continue
		}
		s.Needs = each(written.Needs, func(k pipeline.StepKey) string { return string(k) })
		if in := inputs(written); len(in) > 0 {
			s.Inputs = &in
		}
	}
	return s
}

// stepInputs are the inputs as written in the pipeline, with references unresolved:
// the resolved values may be secret.
func inputs(s pipeline.Step) map[string]any {
	in := map[string]any{}
	switch {
	case s.Plugin != nil:
		maps.Copy(in, s.Plugin.Parameters)
		for name, value := range s.Plugin.Secrets {
			in[name] = value
		}
	case s.Service != nil:
		for name, value := range s.Service.Env {
			in[name] = value
		}
	case s.Approval != nil:
		in["prompt"] = s.Approval.Prompt
	}
	return in
}

func line(l controlplane.LogLine) LogLine {
	return LogLine{
		Run: l.RunNumber, Step: string(l.Step), Number: l.Number, At: l.At, Text: l.Text,
		Dropped: some(l.Dropped),
	}
}

func progress(p controlplane.Progress) Progress {
	return Progress{
		Run: p.RunNumber, Step: string(p.Step), At: p.At, PulledBytes: some(p.PulledBytes),
		TotalBytes: some(p.TotalBytes), PulledLayers: some(p.PulledLayers),
		TotalLayers: some(p.TotalLayers), Lines: some(p.Lines), Bytes: some(p.Bytes),
		LastOutputAt: some(p.LastOutput),
	}
}
