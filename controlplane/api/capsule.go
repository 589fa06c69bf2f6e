package api

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// A capsule requests so many last lines of each service, shows up to so many bytes of each line,
// and waits up to so long.
const (
	capsuleLines  = 50
	capsuleLine   = 64 << 10
	capsuleWithin = 3 * time.Second
)

func (s *server) GetCapsule(
	ctx context.Context, r GetCapsuleRequestObject,
) (GetCapsuleResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	c, err := s.Lifecycle.Capsule(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	s.liveLogs(ctx, c)
	out := GetCapsule200JSONResponse{Deployment: capsuleDeployment(c.View),
		Url: "/deployments/" + string(id) + "/capsule", PipelineVersion: c.Run.Version,
		PipelineDigest: c.PipelineDigest, Run: c.Run.Number, Input: inputOf(c.Run.Input),
		Failure:    toFailure(c.Run.Failure),
		Parameters: map[string]map[string]any{}, TakenAt: time.Now(),
		Services: capsuleServices(c), Steps: convertAll(c.Run.Steps,
			func(row controlplane.StepRow) CapsuleStep { return capsuleStep(c, row) })}
	if c.Kept != nil {
		out.TakenAt = c.Kept.TakenAt
	}
	for _, step := range c.Run.Pipeline.Steps {
		if in := stepInputs(step); len(in) > 0 {
			out.Parameters[string(step.Key)] = in
		}
	}
	s.addMails(ctx, id, (*Capsule)(&out))
	return out, nil
}

func capsuleDeployment(v lifecycle.View) CapsuleDeployment {
	out := CapsuleDeployment{Id: string(v.ID), Name: v.Name, Project: v.Project,
		Environment: v.Environment, Status: DeploymentStatus(v.Status), Node: ptrOrNil(v.Node),
		CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt, ReadyAt: v.ReadyAt,
		RemovedBy: ptrOrNil(v.Life.RemovedBy), RemovedAt: v.Life.RemovedAt}
	if c, reason := v.Condition(); c != "" {
		out.Condition, out.ConditionReason = new(DeploymentCondition(c)), ptrOrNil(reason)
	}
	return out
}

func capsuleServices(c lifecycle.Capsule) []CapsuleService {
	health := map[pipeline.StepKey]lifecycle.ServiceView{}
	for _, s := range c.View.Services {
		health[s.Step] = s
	}
	services := slices.DeleteFunc(slices.Clone(c.Run.Versions),
		func(v controlplane.ServiceVersion) bool { return v.Job })
	return convertAll(services, func(v controlplane.ServiceVersion) CapsuleService {
		seen := health[v.Step]
		out := CapsuleService{Step: string(v.Step), Service: v.Service, Image: v.Image, Tag: v.Tag,
			Digest: v.Digest, Health: string(cmp.Or(seen.Health.Health, pipeline.HealthUnknown)),
			Detail: ptrOrNil(seen.Health.Detail), Restarts: seen.Health.Restarts,
			Url: ptrOrNil(seen.URL), Ports: new(toServicePorts(seen)),
			Log: orEmpty(c.Logs[v.Step])}
		if c.Kept != nil {
			if kept, ok := c.Kept.Services[string(v.Step)]; ok {
				out.Health, out.Detail, out.Restarts = string(kept.Health), ptrOrNil(kept.Detail),
					kept.Restarts
			}
		}
		return out
	})
}

func capsuleStep(c lifecycle.Capsule, row controlplane.StepRow) CapsuleStep {
	out := CapsuleStep{Key: string(row.Key), Title: row.Title, Status: StepStatus(row.Status),
		Result: stepResult(row), Cleanup: stepCleanup(row),
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, Message: ptrOrNil(row.Message),
		Log: []string{}}
	if report, ok := c.Tests[row.Key]; ok {
		out.Tests = new(toTestReport(report))
	}
	if row.Kind == pipeline.KindPlugin || row.Kind == pipeline.KindJob || row.Kind == "script" {
		out.Log = orEmpty(c.Logs[row.Key])
	}
	return out
}

// liveLogs adds the services' and jobs' last log lines from their node. If the node cannot be
// asked, the bundle has only the logbook's lines.
func (s *server) liveLogs(ctx context.Context, c lifecycle.Capsule) {
	v := c.View
	if s.Logs == nil || v.Status != controlplane.Ready || v.NodeStatus != controlplane.NodeOnline {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, capsuleWithin)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, service := range v.Versions {
		asking.Go(func() {
			lines := s.lastLines(ctx, v, service.Step)
			mu.Lock()
			defer mu.Unlock()
			if len(lines) > 0 {
				c.Logs[service.Step] = lines
			}
		})
	}
	asking.Wait()
}

func (s *server) lastLines(
	ctx context.Context, v lifecycle.View, step pipeline.StepKey,
) (lines []string) {
	from, err := s.Logs.Follow(ctx, v.NodeID, v.ID, step,
		logbook.NodeLogOptions{Tail: capsuleLines})
	if err != nil {
		return nil
	}
	defer func() { _ = from.Close() }()
	return logbook.ReadFirstLines(from, capsuleLines, capsuleLine)
}
