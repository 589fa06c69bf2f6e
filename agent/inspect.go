package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/pipeline"
)

// StateDump is a readable dump of an agent's data folder. It contains neither keys nor secrets:
// secrets of deployments are not stored on disk, and outputs are masked there.
type StateDump struct {
	Node        string             `json:"node"`
	Plugins     []wire.PluginImage `json:"plugins"`
	Deployments []DeploymentDump   `json:"deployments"`
	// History is what happened, oldest first, of deployments that are gone too:
	// a day of it, or more where the control plane does not know all yet.
	History []wire.Event `json:"history"`
	// Damaged are files that were put aside, see durable.PutAside.
	Damaged []string `json:"damaged,omitempty"`
}

// DeploymentDump is one that the agent answers for.
type DeploymentDump struct {
	ID    string     `json:"id"`
	Phase wire.Phase `json:"phase"`
	// Goal is the configuration that it works for, with its pipeline version.
	Goal  *wire.Goal `json:"goal"`
	Steps []StepDump `json:"steps"`
}

// StepDump is what is known of a step, whatever happens to the agent.
type StepDump struct {
	Key    pipeline.StepKey    `json:"key"`
	Status pipeline.StepStatus `json:"status"`
	// Runs and Deletes count the attempts of the plugin's create and delete actions.
	Runs    int `json:"runs,omitempty"`
	Deletes int `json:"deletes,omitempty"`
	// GaveUp says why undoing it is not tried again.
	GaveUp   string         `json:"gave_up,omitempty"`
	Outputs  map[string]any `json:"outputs,omitempty"`
	Deadline time.Time      `json:"deadline,omitzero"`
}

// ReadStateDump reads a data folder and changes nothing, so that it may belong to an
// agent that runs.
func ReadStateDump(dir string) (StateDump, error) {
	var k StateDump
	f, err := readStateFile(dir)
	if err != nil {
		return k, err
	}
	k.Node, k.Plugins = f.Node, f.Plugins
	if k.Damaged, err = durable.FindDamaged(dir); err != nil {
		return k, err
	}
	data, err := readIfThere(filepath.Join(dir, journalName))
	if err != nil {
		return k, fmt.Errorf("read the journal: %w", err)
	}
	// Not with the mark: an agent that runs may be between the two.
	payloads, _, err := readFrames(data, 0)
	if err != nil {
		return k, fmt.Errorf("read %s: %w", filepath.Join(dir, journalName), err)
	}
	s := &store{}
	records, err := s.readEntries(payloads)
	if err != nil {
		return k, err
	}
	for _, id := range sortedKeys(records) {
		k.Deployments = append(k.Deployments, dumpDeployment(engine.Replay(id, records[id])))
	}
	k.History = slices.Clone(s.events)
	for i := range k.History {
		k.History[i].Sealed = nil // of no use to people
	}
	return k, nil
}

func readStateFile(dir string) (f stateFile, err error) {
	data, err := readIfThere(filepath.Join(dir, stateName))
	if err == nil && data == nil {
		return f, fmt.Errorf("no agent has worked in %s: it holds no %s", dir, stateName)
	}
	if err == nil {
		err = durable.UnmarshalChecked(data, &f)
	}
	if err != nil {
		return f, fmt.Errorf("read the agent's state: %w", err)
	}
	return f, nil
}

func dumpDeployment(m *engine.Machine) DeploymentDump {
	s := m.State()
	d := DeploymentDump{ID: s.Deployment, Phase: s.Phase, Goal: m.CurrentGoal()}
	for _, r := range m.Snapshot() {
		if r.Step == nil {
			continue
		}
		d.Steps = append(d.Steps, StepDump{Key: r.Step.Key, Status: r.Step.Status,
			Runs: r.Step.Attempt, Deletes: r.Step.Deletes, GaveUp: r.Step.GaveUp,
			Outputs: r.Step.Outputs, Deadline: r.Step.Deadline})
	}
	return d
}
