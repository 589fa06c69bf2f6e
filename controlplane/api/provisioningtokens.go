package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) ListProvisioningTokens(
	ctx context.Context, r ListProvisioningTokensRequestObject,
) (ListProvisioningTokensResponseObject, error) {
	all, next, err := s.Nodes.ListProvisioningTokens(ctx, actorOf(ctx),
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListProvisioningTokens200JSONResponse{Items: convertAll(all, toProvisioningToken),
		NextCursor: ptrOrNil(next)}, nil
}

func (s *server) CreateProvisioningToken(
	ctx context.Context, r CreateProvisioningTokenRequestObject,
) (CreateProvisioningTokenResponseObject, error) {
	t, value, err := s.Nodes.CreateProvisioningToken(ctx, actorOf(ctx), nodes.ProvisioningRequest{
		Description: valueOr(r.Body.Description, ""), Environment: r.Body.Environment,
		Template: valueOr(r.Body.Template, ""), Settings: settingsIn(r.Body.Settings),
		NamePattern: valueOr(r.Body.NamePattern, ""), MaxUses: r.Body.MaxUses,
		Lasts: time.Duration(valueOr(r.Body.ExpiresInHours, 0)) * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return CreateProvisioningToken201JSONResponse{ProvisioningToken: toProvisioningToken(t),
		Token: value.Reveal(), Command: s.enrolCommand(value)}, nil
}

func (s *server) RevokeProvisioningToken(
	ctx context.Context, r RevokeProvisioningTokenRequestObject,
) (RevokeProvisioningTokenResponseObject, error) {
	if err := s.Nodes.RevokeProvisioningToken(ctx, actorOf(ctx), r.Prefix); err != nil {
		return nil, err
	}
	return RevokeProvisioningToken204Response{}, nil
}

// EnrolMachine is for machines, which have nothing but their token. Attempts are limited by
// address; one that enrols costs nothing.
func (s *server) EnrolMachine(
	ctx context.Context, r EnrolMachineRequestObject,
) (EnrolMachineResponseObject, error) {
	refund, err := s.Accounts.AllowEnrolment(actorOf(ctx))
	if err != nil {
		return nil, err
	}
	e, err := s.Nodes.EnrolMachine(ctx, actorOf(ctx), nodes.Machine{
		Token:       controlplane.NewPlain(r.Body.Token),
		Certificate: r.Body.Certificate, Signature: r.Body.Signature,
		Connect: controlplane.NodeConnect(valueOr(r.Body.Connect, "")),
		Address: valueOr(r.Body.Address, ""), Port: valueOr(r.Body.Port, 5000),
		Build: valueOr(r.Body.Build, ""),
		Inventory: machineInventory(valueOr(r.Body.Hostname, ""),
			valueOr(r.Body.Hardware, MachineHardware{})),
	})
	if err != nil {
		return nil, err
	}
	refund()
	return EnrolMachine201JSONResponse{Name: e.Node.Name, Environment: e.Node.Environment,
		Token: e.Token.Reveal()}, nil
}

// machineInventory is what is known of a node until its agent reports.
func machineInventory(hostname string, h MachineHardware) controlplane.Inventory {
	return controlplane.Inventory{Hostname: hostname, OS: valueOr(h.Os, ""),
		Kernel: valueOr(h.Kernel, ""), Arch: valueOr(h.Arch, ""),
		EngineVersion: valueOr(h.EngineVersion, ""), CPU: float64(valueOr(h.Cpu, 0)),
		Memory: valueOr(h.Memory, 0), Disk: valueOr(h.Disk, 0),
		GPUs: convertAll(valueOr(h.Gpus, nil), func(g MachineGPU) controlplane.GPU {
			return controlplane.GPU{ID: g.Id, Model: g.Model, Memory: g.Memory}
		})}
}

// enrolCommand is the command to run on each machine. Like that of one node, it is shown only here.
func (s *server) enrolCommand(token controlplane.Plain) string {
	return "docker run -d --name nullops-agent --restart always -p 5000:5000" +
		" -v /var/run/docker.sock:/var/run/docker.sock" +
		" -v /var/lib/nullops:/data -v /run/nullops:/run/nullops" +
		" -e AGENT_CONTROL=" + s.origin + s.agentPin() +
		" -e AGENT_PROVISIONING_TOKEN=" + token.Reveal() + " " + s.agentImage()
}

func toProvisioningToken(t controlplane.ProvisioningToken) ProvisioningToken {
	return ProvisioningToken{Prefix: t.Prefix, Description: ptrOrNil(t.Description),
		Environment: t.Environment, Template: ptrOrNil(t.Template), Settings: settingsOut(t.Settings),
		NamePattern: t.NamePattern, MaxUses: t.MaxUses, Uses: t.Uses,
		Status: ProvisioningTokenStatus(t.Status(time.Now())), CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt}
}
