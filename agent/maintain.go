package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// ErrNotReplaceable means that a Runtime cannot put another agent in the place
// of this one. Its text says how else an agent is upgraded.
var ErrNotReplaceable = errors.New("this agent does not run in a container: install the new " +
	"release's nullops on the machine and restart the agent, for example with " +
	"'systemctl restart nullops-agent'; what runs goes on running")

// Replacer is a Runtime that can put an agent of another release into the place
// of this one. Nothing but the agent is restarted.
type Replacer interface {
	// Replaceable says whether, and why not: ErrNotReplaceable, or that the
	// engine could not be asked.
	CheckReplaceable(ctx context.Context) error
	// Replace prepares everything, and returns once it is about to happen: the
	// process ends soon. An agent that does not come up is replaced by this one.
	ReplaceAgent(ctx context.Context, image string, auth *wire.RegistryAuth) error
}

// upgradeTimeout bounds the pull of an agent's image, and all else.
const upgradeTimeout = 10 * time.Minute

// maintenanceHandler is what a control plane of another release may ask too.
func (a *Agent) maintenanceHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.PathInventory, a.serveInventory)
	mux.HandleFunc("POST "+wire.PathUpgrade, a.serveUpgrade)
	return mux
}

func (a *Agent) checkReplaceable(ctx context.Context) error {
	if r, ok := a.runtime.(Replacer); ok {
		return r.CheckReplaceable(ctx)
	}
	return ErrNotReplaceable
}

func (a *Agent) serveInventory(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	said, _ := a.buildWelcome(ctx)
	i := wire.InventoryResponse{Build: said.Build, Inventory: said.Inventory, Replaceable: true}
	if err := a.checkReplaceable(ctx); err != nil {
		i.Replaceable, i.Remedy = false, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(i); err != nil {
		a.log.Debug("the agent was not introduced", "error", err)
	}
}

// serveUpgrade answers once the new image is there and the replacement begins.
func (a *Agent) serveUpgrade(w http.ResponseWriter, r *http.Request) {
	u, err := wire.DecodeUpgrade(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), upgradeTimeout)
	defer cancel()
	if err := a.checkReplaceable(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	peer, _ := wire.PeerFrom(r.Context())
	a.log.Info("the control plane replaces this agent", "image", u.Image, "plane", peer.Build)
	replacer, _ := a.runtime.(Replacer) // replaceable has found one
	if err := replacer.ReplaceAgent(ctx, u.Image, u.Auth); err != nil {
		a.log.Error("this agent could not be replaced", "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
