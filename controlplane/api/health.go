package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Waiting is one thing the control plane cannot do its job without.
type Waiting struct {
	For    string `json:"for"`
	Reason string `json:"reason,omitempty"`
}

// readyWithin bounds a probe, because probes time out.
const readyWithin = 3 * time.Second

// Probes answers /healthz, which says that the process is alive, and /readyz, which
// says whether it is ready and what it waits for. ready may be nil. It serves on the
// metrics port as well as on the main one.
func Probes(ready func(context.Context) []Waiting) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeState(w, http.StatusOK, "alive", nil)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		var waiting []Waiting
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

func writeState(w http.ResponseWriter, status int, word string, waiting []Waiting) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		State   string    `json:"state"`
		Waiting []Waiting `json:"waiting,omitempty"`
	}{word, waiting})
}
