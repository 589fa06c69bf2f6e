package notify

import (
	"encoding/json"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// alert is what receivers are told of an alert.
type alert struct {
	ID          string `json:"id"`
	Condition   string `json:"condition"`
	Severity    string `json:"severity"`
	Summary     string `json:"summary"`
	Remedy      string `json:"remedy"`
	Link        string `json:"link"`
	Environment string `json:"environment,omitempty"`
}

// readAlert reads what an alert's notice holds, which then is no further data.
func (m *message) readAlert(data []byte) error {
	var n controlplane.AlertNotice
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("read the notice of an alert: %w", err)
	}
	m.Data = nil
	m.Alert = &alert{ID: string(n.ID), Condition: n.Condition, Severity: string(n.Severity),
		Summary: n.Summary, Remedy: n.Remedy, Link: n.Link, Environment: n.Environment}
	m.environment, m.restricted = n.EnvironmentID, n.Restricted
	return nil
}

// alertSubject is the alert as far as decides who may see it.
func (m message) alertSubject() (a controlplane.Alert) {
	a.Condition = m.Alert.Condition
	a.Project, a.Environment, a.Restricted = m.project, m.environment, m.restricted
	if m.Deployment != nil {
		a.Deployment = controlplane.DeploymentID(m.Deployment.ID)
	}
	if m.Node != nil {
		a.Node = controlplane.NodeID(m.Node.Name)
	}
	return a
}

// fill adds what templates may name.
func (a alert) fill(fields map[string]string) {
	fields["condition"], fields["severity"] = a.Condition, a.Severity
	fields["summary"], fields["remedy"], fields["link"] = a.Summary, a.Remedy, a.Link
	if fields["environment"] == "" {
		fields["environment"] = a.Environment
	}
}
