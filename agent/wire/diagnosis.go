package wire

import (
	"encoding/json"
	"fmt"
	"io"
)

const (
	// PathDiagnosis returns what an agent's process knows of itself, for a support archive.
	PathDiagnosis = "/v1/diagnosis"
	// PathLogLevel has a component of an agent log at another level for a while.
	PathLogLevel = "/v1/log-level"
)

// maxDiagnosis bounds what is believed of one agent.
const maxDiagnosis = 16 << 20

// Diagnosis answers PathDiagnosis.
type Diagnosis struct {
	Files []DiagnosisFile `json:"files"`
}

// DiagnosisFile is one file of it.
type DiagnosisFile struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// DecodeDiagnosis reads an agent's answer.
func DecodeDiagnosis(from io.Reader) (d Diagnosis, err error) {
	if err := json.NewDecoder(io.LimitReader(from, maxDiagnosis)).Decode(&d); err != nil {
		return d, fmt.Errorf("read the agent's diagnosis: %w", err)
	}
	return d, nil
}

// LogLevel is the body of PathLogLevel. After so many seconds the agent logs as its settings say
// again; zero is at once.
type LogLevel struct {
	Component string `json:"component"`
	Level     string `json:"level"`
	Seconds   int    `json:"seconds"`
}
