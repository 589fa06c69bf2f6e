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

// maintenance answers what a control plane of another release may ask too.
type maintenance struct {
	*base
	sessions *sessions
}

// maintenanceHandler is what a control plane of another release may ask too.
func (mt *maintenance) maintenanceHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.PathInventory, mt.serveInventory)
	mux.HandleFunc("POST "+wire.PathUpgrade, mt.serveUpgrade)
	return mux
}

func (mt *maintenance) checkReplaceable(ctx context.Context) error {
	if r, ok := mt.runtime.(Replacer); ok {
		return r.CheckReplaceable(ctx)
	}
	return ErrNotReplaceable
}

func (mt *maintenance) serveInventory(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	said, _ := mt.sessions.buildWelcome(ctx)
	i := wire.InventoryResponse{Build: said.Build, Inventory: said.Inventory, Replaceable: true}
	if err := mt.checkReplaceable(ctx); err != nil {
		i.Replaceable, i.Remedy = false, err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(i); err != nil {
		mt.log.Debug("the agent was not introduced", "error", err)
	}
}

// serveUpgrade answers once the new image is there and the replacement begins.
func (mt *maintenance) serveUpgrade(w http.ResponseWriter, r *http.Request) {
	u, err := wire.DecodeUpgrade(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), upgradeTimeout)
	defer cancel()
	if err := mt.checkReplaceable(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	peer, _ := wire.PeerFrom(r.Context())
	mt.log.Info("the control plane replaces this agent", "image", u.Image, "build", peer.Build)
	replacer, _ := mt.runtime.(Replacer) // replaceable has found one
	if err := replacer.ReplaceAgent(ctx, u.Image, u.Auth); err != nil {
		mt.log.Error("this agent could not be replaced", "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
