package wire

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/nullops/nullops/pipeline"
)

// PathChecks runs the check action of every plugin that declares it and returns the
// results. It changes nothing.
const PathChecks = "/v1/deployments/{id}/checks"

// StepCheck is the result of one plugin's check of what its create made.
type StepCheck struct {
	Step pipeline.StepKey `json:"step"`
	OK   bool             `json:"ok"`
	// Code is a stable word for why not, Message one masked sentence for people.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Millis is how long it took, Log the masked end of what it wrote.
	Millis int64    `json:"millis"`
	Log    []string `json:"log,omitempty"`
}

// StepChecks answers PathChecks, in the order of the steps.
type StepChecks struct {
	Steps []StepCheck `json:"steps"`
}

// DecodeStepChecks reads one answer. Logs of many steps are larger than a message.
func DecodeStepChecks(r io.Reader) (c StepChecks, err error) {
	if err := json.NewDecoder(io.LimitReader(r, 8*MaxMessage)).Decode(&c); err != nil {
		return c, fmt.Errorf("read what the checks came to: %w", err)
	}
	return c, nil
}
