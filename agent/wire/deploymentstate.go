package wire

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/nullops/nullops/pipeline"
)

// PathDeployment returns everything an agent knows about one deployment. A control plane
// requests it if its restored database does not know a deployment that the agent still
// runs.
const PathDeployment = "/v1/deployments/{id}"

// DescribeResponse is the answer. Key and Values are the run's bundle, as a control
// plane once gave it, and empty when the agent was restarted since.
type DescribeResponse struct {
	State  DeploymentState                          `json:"state"`
	Goal   Goal                                     `json:"goal"`
	Steps  map[pipeline.StepKey]pipeline.StepStatus `json:"steps"`
	Sealed map[pipeline.StepKey][]byte              `json:"sealed,omitempty"`
	Key    []byte                                   `json:"key,omitempty"`
	Values map[string]string                        `json:"values,omitempty"`
}

// DecodeDescribeResponse reads one answer, up to the size of a message.
func DecodeDescribeResponse(r io.Reader) (d DescribeResponse, err error) {
	if err := json.NewDecoder(io.LimitReader(r, MaxMessage)).Decode(&d); err != nil {
		return d, fmt.Errorf("read what the agent knows of a deployment: %w", err)
	}
	return d, nil
}
