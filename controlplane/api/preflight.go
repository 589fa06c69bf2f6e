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
	return PreflightDeployment200JSONResponse(toPreflight(found)), nil
}

func toPreflight(found lifecycle.Preflight) Preflight {
	return Preflight{Ok: found.OK(), Checks: convertAll(found.Checks, preflightCheck),
		Nodes: withoutFigures(
			convertAll(found.Nodes, preflightNode),
		), Versions: convertAll(found.Versions, toServiceVersion)}
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
	return PreflightCheck{Id: c.ID, Subject: ptrOrNil(c.Subject),
		State: PreflightCheckState(c.State), Code: ptrOrNil(c.Code), Message: c.Message,
		Remedy: ptrOrNil(c.Remedy), Field: ptrOrNil(c.Field)}
}

func preflightNode(r lifecycle.NodeRefusal) PreflightNode {
	return PreflightNode{Node: r.Node, Fits: r.Reason == "", Reason: ptrOrNil(r.Reason),
		Asks:    ptrOrNil(r.Asks),
		CpuFree: ptrOrNil(r.CPUFree), MemoryFree: ptrOrNil(r.MemoryFree)}
}
