package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/nullops/nullops/agent/wire"
)

// MachineReleaser is a Runtime whose node has several machines, so that services may leave one
// that is lost.
type MachineReleaser interface {
	// GiveUpMachine believes a person that a machine which does not answer is gone for good, and
	// lets its services with volumes start elsewhere. It returns how many there were. A machine
	// that answers, or that is not there, is an error, and nothing is done.
	GiveUpMachine(ctx context.Context, machine string) (services int, err error)
}

// serveGiveUp passes on what an admin says of a machine.
func (ds *deploymentServer) serveGiveUp(w http.ResponseWriter, r *http.Request) {
	releaser, ok := ds.runtime.(MachineReleaser)
	if !ok {
		http.Error(w, "this node is one machine, and no cluster", http.StatusConflict)
		return
	}
	n, err := releaser.GiveUpMachine(r.Context(), r.PathValue("machine"))
	switch {
	case errors.Is(err, ErrUnavailable):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wire.GivenUp{Services: n})
	}
}
