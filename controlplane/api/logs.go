package api

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// newLogReader returns the reader of all logs.
func newLogReader(c Config) *logbook.Reader {
	return &logbook.Reader{Logbook: c.Logbook, Nodes: c.Logs, Deployment: c.Lifecycle.Get,
		Subscribe: c.Subscribe,
		RunSteps: func(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
			run int) (steps []pipeline.StepKey, err error) {
			v, err := c.Lifecycle.Run(ctx, actor, id, run)
			for _, step := range v.Steps {
				steps = append(steps, step.Key)
			}
			return steps, err
		}}
}

// StreamServiceLogs requests the log from the service's node. The control plane stores none of it,
// so there are no lines while the node cannot be reached.
func (s *server) StreamServiceLogs(
	ctx context.Context, r StreamServiceLogsRequestObject,
) (StreamServiceLogsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	d, err := s.Lifecycle.Get(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	step := pipeline.StepKey(r.Step)
	if !isService(d, step) {
		return nil, controlplane.NewNotFoundError("service", r.Step)
	}
	o := logbook.NodeLogOptions{
		Follow: valueOr(r.Params.Follow, false), Tail: valueOr(r.Params.Tail, 500),
		Since: valueOr(r.Params.Since, time.Time{}),
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.streamServiceLog(ctx, out, d, step, o)
	}}, nil
}

func isService(d controlplane.Deployment, step pipeline.StepKey) bool {
	for _, v := range d.Versions {
		if v.Step == step {
			return true
		}
	}
	return false
}

// streamServiceLog passes the log on until it ends, or the caller may see it no longer.
func (s *server) streamServiceLog(ctx context.Context, out *sse, d controlplane.Deployment,
	step pipeline.StepKey, o logbook.NodeLogOptions) error {
	log, err := s.logs.OpenNodeStream(ctx, d, step, o, logbook.MaxLine)
	if err != nil {
		return s.sendLogError(ctx, out, err)
	}
	err = s.streamLines(ctx, out, d.ID, log)
	if broken := log.Close(); err == nil && broken != nil {
		return s.sendLogError(ctx, out, broken)
	}
	if err != nil {
		return err
	}
	return sendEnd(out)
}

// sendLogError sends the listener the reason why the log ended.
func (s *server) sendLogError(ctx context.Context, out *sse, err error) error {
	problem, known := logbook.NodeLogError(err)
	if !known {
		s.Log.WarnContext(ctx, "service log broke", "request_id", requestID(ctx), "error", err.Error())
	}
	if err := out.addEvent("error", "", toProblem(problem, requestID(ctx))); err != nil {
		return err
	}
	return out.flush()
}

// streamLines sends lines as they come, as many as there are in one write.
func (s *server) streamLines(ctx context.Context, out *sse, id controlplane.DeploymentID,
	log *logbook.NodeStream) error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	touched, stop := s.Subscribe("", controlplane.TopicAccess)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-touched:
			if err := s.mayStill(ctx, id); err != nil {
				return err
			}
		case now := <-check.C:
			if err := errors.Join(s.mayStill(ctx, id), out.sendHeartbeat(now)); err != nil {
				return err
			}
		case l, more := <-log.Lines():
			if !more {
				return nil
			}
			if err := sendAll(out, log, l); err != nil {
				return err
			}
		}
	}
}

// mayStill makes sure that the caller may still see the deployment.
func (s *server) mayStill(ctx context.Context, id controlplane.DeploymentID) error {
	who, err := s.reauthenticateCaller(ctx, callerOf(ctx))
	if err != nil {
		return err
	}
	_, err = s.Lifecycle.Get(ctx, who.actor, id)
	return err
}

// sendAll sends a line and those that are queued after it.
func sendAll(out *sse, log *logbook.NodeStream, first logbook.NodeLine) error {
	if err := sendLine(out, log, first); err != nil {
		return err
	}
	for range cap(log.Lines()) {
		select {
		case l, more := <-log.Lines():
			if !more {
				return out.flush()
			}
			if err := sendLine(out, log, l); err != nil {
				return err
			}
		default:
			return out.flush()
		}
	}
	return out.flush()
}

func sendLine(out *sse, log *logbook.NodeStream, l logbook.NodeLine) error {
	defer log.Release(l)
	return out.addEvent("line", "", ServiceLogLine{At: l.At, Text: l.Text})
}
