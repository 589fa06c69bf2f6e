package api

import (
	"context"
	"math"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
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
	kind, fingerprint, err := s.HostKey(ctx, actorOf(ctx), r.Body.Host, or(r.Body.Port, 0))
	if err != nil {
		return nil, err
	}
	return ReadSSHHostKey200JSONResponse{Kind: kind, Fingerprint: fingerprint}, nil
}

func (s *server) ProvisionNode(
	ctx context.Context, r ProvisionNodeRequestObject,
) (ProvisionNodeResponseObject, error) {
	a, err := s.Catalog.ProvisionNode(ctx, actorOf(ctx), r.Name, sshPut(r.Body.Ssh))
	if err != nil {
		return nil, err
	}
	return ProvisionNode202JSONResponse(provision(a)), nil
}

func sshPut(p *ProvisionSSH) *catalog.SSHPut {
	if p == nil {
		return nil
	}
	return &catalog.SSHPut{Host: p.Host, Port: or(p.Port, 0), User: p.User, HostKey: p.HostKey,
		Password:   controlplane.NewPlain(or(p.Password, "")),
		PrivateKey: controlplane.NewPlain(or(p.PrivateKey, "")),
		Passphrase: controlplane.NewPlain(or(p.Passphrase, "")),
		Forget:     or(p.Forget, false),
		Plan: controlplane.ProvisionPlan{Directory: or(p.Directory, ""), Data: or(p.Data, ""),
			Run: or(p.Run, ""), Docker: or(p.Docker, ""), Subnets: or(p.Subnets, ""),
			InstallDocker: or(p.InstallDocker, false)}}
}

func (s *server) ListProvisions(
	ctx context.Context, r ListProvisionsRequestObject,
) (ListProvisionsResponseObject, error) {
	p := page(r.Params.Cursor, r.Params.Limit)
	before, err := below(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := s.Catalog.Provisions(ctx, actorOf(ctx), r.Name,
		int(min(before, math.MaxInt32)), p.Fetch())
	if err != nil {
		return nil, err
	}
	all, next := controlplane.Cut(p, all, func(a controlplane.ProvisionAttempt) string {
		return strconv.Itoa(a.Number)
	})
	return ListProvisions200JSONResponse{Items: each(all, provision), NextCursor: some(next)}, nil
}

func (s *server) GetProvision(
	ctx context.Context, r GetProvisionRequestObject,
) (GetProvisionResponseObject, error) {
	a, err := s.Catalog.Provision(ctx, actorOf(ctx), r.Name, r.Number)
	if err != nil {
		return nil, err
	}
	return GetProvision200JSONResponse(provision(a)), nil
}

func (s *server) ForgetNodeSSH(
	ctx context.Context, r ForgetNodeSSHRequestObject,
) (ForgetNodeSSHResponseObject, error) {
	if err := s.Catalog.ForgetSSH(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return ForgetNodeSSH204Response{}, nil
}

// StreamProvision sends an attempt's state, and then its changes. Attempts are small,
// so a listener that reconnects gets everything again.
func (s *server) StreamProvision(
	ctx context.Context, r StreamProvisionRequestObject,
) (StreamProvisionResponseObject, error) {
	first, err := s.Catalog.Provision(ctx, actorOf(ctx), r.Name, r.Number)
	if err != nil {
		return nil, err
	}
	told := map[int]controlplane.ProvisionStep{}
	state := controlplane.ProvisionState("")
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		look := func(ctx context.Context, who caller) (bool, error) {
			a, err := s.Catalog.Provision(ctx, who.actor, r.Name, r.Number)
			if err != nil {
				return false, err
			}
			for _, step := range a.Steps {
				old := told[step.Seq]
				if old.Status == step.Status && old.Output == step.Output {
					continue
				}
				told[step.Seq] = step
				if err := out.event("step", "", provisionStep(step)); err != nil {
					return false, err
				}
			}
			if state == a.State {
				return false, nil
			}
			state, a.Steps = a.State, nil
			return false, out.event("provision", "", provision(a))
		}
		return s.watch(ctx, out, string(first.NodeID),
			[]controlplane.Topic{controlplane.TopicNode}, look)
	}}, nil
}

func provision(a controlplane.ProvisionAttempt) Provision {
	return Provision{Node: a.Node, Number: a.Number, State: ProvisionState(a.State),
		Code: some(a.Code), Message: some(a.Message), Remedy: some(a.Remedy),
		StartedBy: a.StartedBy, CreatedAt: a.CreatedAt, StartedAt: a.StartedAt,
		EndedAt: a.EndedAt, Steps: each(a.Steps, provisionStep)}
}

func provisionStep(s controlplane.ProvisionStep) ProvisionStep {
	out := ProvisionStep{Seq: s.Seq, Key: s.Key, Status: ProvisionStepStatus(s.Status),
		Output: s.Output, EndedAt: s.EndedAt}
	if s.StartedAt != nil {
		out.StartedAt = *s.StartedAt
	}
	return out
}
