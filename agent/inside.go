package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// insideTimeout bounds the start of a process in a container.
const insideTimeout = 20 * time.Second

// serveInside connects a proven control plane with the sidecar's inside role in a running
// service. The control plane has already checked that the user may do this.
func (ds *deploymentServer) serveInside(w http.ResponseWriter, r *http.Request) {
	target, err := wire.ParseInside(r.Header.Get(wire.HeaderInside))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v, ok := ds.viewOf(target.Deployment)
	if !ok || v.goal == nil || v.goal.Want != wire.WantPresent {
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return
	}
	step, ok := v.goal.Pipeline.Step(pipeline.StepKey(target.Service))
	if !ok || step.Container() == nil {
		http.Error(w, "the deployment has no such service", http.StatusNotFound)
		return
	}
	if v.waitsForTurn(step.Key) {
		http.Error(w, "the service has no container", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), insideTimeout)
	service, err := ds.runtime.ExecInService(ctx, target.Deployment, step.Key)
	cancel()
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, "the service has no container", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = service.Close() }()
	client, err := wire.AcceptTunnel(w)
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	// As soon as one direction ends, both connections are closed: a half-closed one has no use.
	ended := make(chan struct{}, 2)
	copyTo := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go copyTo(service, client)
	go copyTo(client, service)
	<-ended
	_ = service.Close()
	_ = client.Close()
	<-ended
}
