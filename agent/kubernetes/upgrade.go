package kubernetes

import (
	"context"
	"errors"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// errPod says how an agent is upgraded that is a pod. It has no right to change the Deployment
// that it belongs to.
var errPod = errors.New("this agent is a pod of its cluster: run the line of its installation " +
	"again with the image of the new release, as 'helm upgrade --reuse-values --set image=IMAGE' " +
	"or with the new release's 'nullops agent manifest'; what runs goes on running")

// CheckReplaceable says how else the agent is upgraded.
func (iv *inventory) CheckReplaceable(context.Context) error {
	if iv.config.Kubeconfig == "" {
		return errPod
	}
	return agent.ErrNotReplaceable
}

// ReplaceAgent refuses, as CheckReplaceable has said.
func (iv *inventory) ReplaceAgent(ctx context.Context, _ string, _ *wire.RegistryAuth) error {
	return iv.CheckReplaceable(ctx)
}
