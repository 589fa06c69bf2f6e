package agent

import (
	"net/http"

	"github.com/nullops/nullops/agent/wire"
)

// serveIngress lets a client that may open tunnels only do that. It comes before everything
// else that the agent serves, so that what is added there is refused here.
func (ds *deploymentServer) serveIngress(w http.ResponseWriter, r *http.Request) {
	_, inside := r.Header[wire.HeaderInside]
	if r.Method != http.MethodConnect || inside {
		http.Error(w, wire.ErrTunnelsOnly.Error(), http.StatusForbidden)
		return
	}
	ds.serveConnection(w, r)
}

// setTunnelAccess stores which ingress may open tunnels, and closes the connections of the
// former one. It seldom changes, so the session may wait for the disk.
func (ss *sessions) setTunnelAccess(access wire.TunnelAccess) {
	if !access.IsValid() {
		ss.log.Error("the control plane sent an incomplete access for tunnels, ignored")
		return
	}
	changed, err := ss.state.setTunnels(access)
	if err != nil {
		ss.log.Error("the access for tunnels cannot be stored", "error", err)
		return
	}
	if !changed {
		return
	}
	n := ss.listener.CloseMatching(func(p wire.Peer) bool {
		return p.TunnelsOnly && !ss.state.Trusts(p.SPKI)
	})
	ss.log.Info("the access for tunnels changed", "allowed", !access.IsEmpty(), "count", n)
}
