package agent

import (
	"encoding/json"
	"net/http"

	"github.com/nullops/nullops/agent/wire"
)

// Diagnosis is how a process lets a control plane look at it; nil functions are off.
type Diagnosis struct {
	// Files are what the process knows of itself.
	Files func() []wire.DiagnosisFile
	// SetLevel has a component log at another level for a while.
	SetLevel func(wire.LogLevel) error
}

// maxLevelBody bounds a request for another level.
const maxLevelBody = 4 << 10

// serveDiagnosis tells a proven control plane what this process knows of itself.
func (d Diagnosis) serveDiagnosis(w http.ResponseWriter, _ *http.Request) {
	if d.Files == nil {
		http.Error(w, "this agent tells nothing of itself", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(wire.Diagnosis{Files: d.Files()})
}

func (d Diagnosis) serveLevel(w http.ResponseWriter, r *http.Request) {
	var l wire.LogLevel
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLevelBody)).Decode(&l)
	if err == nil && d.SetLevel != nil {
		err = d.SetLevel(l)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
