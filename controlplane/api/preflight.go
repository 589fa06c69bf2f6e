package api

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane/lifecycle"
)

func (s *server) PreflightDeployment(
	ctx context.Context, r PreflightDeploymentRequestObject,
) (PreflightDeploymentResponseObject, error) {
	found, err := s.Lifecycle.Preflight(ctx, actorOf(ctx), deploymentRequest(*r.Body))
	if err != nil {
		return nil, err
	}
	return PreflightDeployment200JSONResponse(preflight(found)), nil
}

func preflight(found lifecycle.Preflight) Preflight {
	return Preflight{Ok: found.OK(), Checks: each(found.Checks, preflightCheck),
		Nodes: withoutFigures(each(found.Nodes, preflightNode)), Versions: each(found.Versions, version)}
}

// withoutFigures hides what nodes have left, unless none of them has room.
func withoutFigures(nodes []PreflightNode) []PreflightNode {
	if slices.ContainsFunc(nodes, func(n PreflightNode) bool { return n.Fits }) {
		for i := range nodes {
			nodes[i].CpuFree, nodes[i].MemoryFree = nil, nil
		}
	}
	return nodes
}

func preflightCheck(c lifecycle.Check) PreflightCheck {
	return PreflightCheck{Id: c.ID, Subject: some(c.Subject),
		State: PreflightCheckState(c.State), Code: some(c.Code), Message: c.Message,
		Remedy: some(c.Remedy), Field: some(c.Field)}
}

func preflightNode(r lifecycle.Refusal) PreflightNode {
	return PreflightNode{Node: r.Node, Fits: r.Reason == "", Reason: some(r.Reason),
		CpuFree: some(r.CPUFree), MemoryFree: some(r.MemoryFree)}
}
