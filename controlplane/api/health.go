package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// PendingDependency is one thing the control plane cannot do its job without.
type PendingDependency struct {
	For    string `json:"for"`
	Reason string `json:"reason,omitempty"`
}

// readyWithin bounds a probe, because probes time out.
const readyWithin = 3 * time.Second

// NewProbeHandler answers /healthz, which says that the process is alive, and /readyz, which
// says whether it is ready and what it waits for. ready may be nil. It serves on the
// metrics port as well as on the main one.
func NewProbeHandler(ready func(context.Context) []PendingDependency) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeState(w, http.StatusOK, "alive", nil)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		var waiting []PendingDependency
		if ready != nil {
			waiting = ready(ctx)
		}
		if len(waiting) > 0 {
			writeState(w, http.StatusServiceUnavailable, "waiting", waiting)
			return
		}
		writeState(w, http.StatusOK, "ready", nil)
	})
	return mux
}

func writeState(w http.ResponseWriter, status int, word string, waiting []PendingDependency) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		State   string              `json:"state"`
		Waiting []PendingDependency `json:"waiting,omitempty"`
	}{word, waiting})
}
