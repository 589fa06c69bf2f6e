package api

import (
	"context"
	"math"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) ReadSSHHostKey(
	ctx context.Context, r ReadSSHHostKeyRequestObject,
) (ReadSSHHostKeyResponseObject, error) {
	if err := access.Check(actorOf(ctx), access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	if s.HostKey == nil {
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_ssh",
			Message: "this process does not reach machines"}
	}
	kind, fingerprint, err := s.HostKey(ctx, actorOf(ctx), r.Body.Host, valueOr(r.Body.Port, 0))
	if err != nil {
		return nil, err
	}
	return ReadSSHHostKey200JSONResponse{Kind: kind, Fingerprint: fingerprint}, nil
}

func (s *server) ProvisionNode(
	ctx context.Context, r ProvisionNodeRequestObject,
) (ProvisionNodeResponseObject, error) {
	a, err := s.Nodes.ProvisionNode(ctx, actorOf(ctx), r.Name, sshPut(r.Body.Ssh))
	if err != nil {
		return nil, err
	}
	return ProvisionNode202JSONResponse(toProvision(a)), nil
}

func sshPut(p *ProvisionSSH) *nodes.SSHPut {
	if p == nil {
		return nil
	}
	return &nodes.SSHPut{Host: p.Host, Port: valueOr(p.Port, 0), User: p.User, HostKey: p.HostKey,
		Password:   controlplane.NewPlain(valueOr(p.Password, "")),
		PrivateKey: controlplane.NewPlain(valueOr(p.PrivateKey, "")),
		Passphrase: controlplane.NewPlain(valueOr(p.Passphrase, "")),
		Forget:     valueOr(p.Forget, false),
		Plan: controlplane.ProvisionPlan{Directory: valueOr(p.Directory, ""), Data: valueOr(p.Data, ""),
			Run: valueOr(p.Run, ""), Docker: valueOr(p.Docker, ""), Subnets: valueOr(p.Subnets, ""),
			InstallDocker: valueOr(p.InstallDocker, false)}}
}

func (s *server) ListProvisions(
	ctx context.Context, r ListProvisionsRequestObject,
) (ListProvisionsResponseObject, error) {
	p := toPage(r.Params.Cursor, r.Params.Limit)
	before, err := parseCursor(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := s.Nodes.ListProvisions(ctx, actorOf(ctx), r.Name,
		int(min(before, math.MaxInt32)), p.FetchLimit())
	if err != nil {
		return nil, err
	}
	all, next := controlplane.CutPage(p, all, func(a controlplane.ProvisionAttempt) string {
		return strconv.Itoa(a.Number)
	})
	return ListProvisions200JSONResponse{
		Items:      convertAll(all, toProvision),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) GetProvision(
	ctx context.Context, r GetProvisionRequestObject,
) (GetProvisionResponseObject, error) {
	a, err := s.Nodes.GetProvision(ctx, actorOf(ctx), r.Name, r.Number)
	if err != nil {
		return nil, err
	}
	return GetProvision200JSONResponse(toProvision(a)), nil
}

func (s *server) ForgetNodeSSH(
	ctx context.Context, r ForgetNodeSSHRequestObject,
) (ForgetNodeSSHResponseObject, error) {
	if err := s.Nodes.ForgetSSH(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return ForgetNodeSSH204Response{}, nil
}

// StreamProvision sends an attempt's state, and then its changes. Attempts are small,
// so a listener that reconnects gets everything again.
func (s *server) StreamProvision(
	ctx context.Context, r StreamProvisionRequestObject,
) (StreamProvisionResponseObject, error) {
	first, err := s.Nodes.GetProvision(ctx, actorOf(ctx), r.Name, r.Number)
	if err != nil {
		return nil, err
	}
	told := map[int]controlplane.ProvisionStep{}
	state := controlplane.ProvisionState("")
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		look := func(ctx context.Context, who caller) (bool, error) {
			a, err := s.Nodes.GetProvision(ctx, who.actor, r.Name, r.Number)
			if err != nil {
				return false, err
			}
			for _, step := range a.Steps {
				old := told[step.Seq]
				if old.Status == step.Status && old.Output == step.Output {
					continue
				}
				told[step.Seq] = step
				if err := out.addEvent("step", "", provisionStep(step)); err != nil {
					return false, err
				}
			}
			if state == a.State {
				return false, nil
			}
			state, a.Steps = a.State, nil
			return false, out.addEvent("provision", "", toProvision(a))
		}
		return s.streamChanges(ctx, out, string(first.NodeID),
			[]controlplane.Topic{controlplane.TopicNode}, look)
	}}, nil
}

func toProvision(a controlplane.ProvisionAttempt) Provision {
	return Provision{Node: a.Node, Number: a.Number, State: ProvisionState(a.State),
		Code: ptrOrNil(a.Code), Message: ptrOrNil(a.Message), Remedy: ptrOrNil(a.Remedy),
		StartedBy: a.StartedBy, CreatedAt: a.CreatedAt, StartedAt: a.StartedAt,
		EndedAt: a.EndedAt, Steps: convertAll(a.Steps, provisionStep)}
}

func provisionStep(s controlplane.ProvisionStep) ProvisionStep {
	out := ProvisionStep{Seq: s.Seq, Key: s.Key, Status: ProvisionStepStatus(s.Status),
		Output: s.Output, EndedAt: s.EndedAt}
	if s.StartedAt != nil {
		out.StartedAt = *s.StartedAt
	}
	return out
}
