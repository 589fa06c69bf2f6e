package controlplane

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/text"
)

// AlertID names one alert.
type AlertID string

// AlertCause is a reason for an alert that is there now. Condition and Subject say which alert it
// is; Label and Detail are for people.
type AlertCause struct {
	Condition, Subject string
	Label, Detail      string
	Project            ProjectID
	Environment        EnvironmentID
	Deployment         DeploymentID
	Node               NodeID
}

// What an alert keeps of a cause, in bytes. Parts of causes come from outside: from an agent, or
// from a registry that says why it refuses.
const (
	mostAlertName   = 390
	mostAlertDetail = 1000
)

// Clipped returns the cause as an alert keeps it: one that is too long must not keep the alerts
// of all others from being stored.
func (c AlertCause) Clipped() AlertCause {
	c.Subject, c.Label = text.Clip(c.Subject, mostAlertName), text.Clip(c.Label, mostAlertName)
	c.Detail = text.Clip(c.Detail, mostAlertDetail)
	return c
}

// AlertStart is a cause that was found, and from when on its alert counts.
type AlertStart struct {
	AlertCause
	Severity Severity
	Delay    time.Duration
}

// Alert is something that needs a person's attention, from its start to its end.
type Alert struct {
	ID       AlertID
	Severity Severity
	AlertCause
	// NodeName is that of Node, EnvironmentName and Restricted the environment's.
	NodeName        string
	EnvironmentName string
	Restricted      bool
	StartedAt       time.Time
	EndedAt         *time.Time
	AcknowledgedAt  *time.Time
	AcknowledgedBy  string
	Silence         AlertSilence
}

// AlertSilence keeps notifications about a condition of a subject back until it ends.
type AlertSilence struct {
	// Until is nil for no silence.
	Until      *time.Time
	Reason, By string
}

// Summary says in one sentence what is wrong.
func (a Alert) Summary() string {
	rule, _ := FindAlertRule(a.Condition)
	return strings.NewReplacer("{label}", a.Label, "{detail}", a.Detail).Replace(rule.Sentence)
}

// Remedy says what to do.
func (a Alert) Remedy() string {
	rule, _ := FindAlertRule(a.Condition)
	return rule.Remedy
}

// Link is the page of the UI where the cause is shown.
func (a Alert) Link() string {
	switch {
	case a.Deployment != "":
		return "/deployments/" + string(a.Deployment)
	case a.NodeName != "":
		return "/nodes/" + a.NodeName
	}
	rule, _ := FindAlertRule(a.Condition)
	return rule.Page
}

// ProcessRole is what a process of ours does.
type ProcessRole string

// The roles.
const (
	RoleControlPlane ProcessRole = "controlplane"
	RoleIngress      ProcessRole = "ingress"
)

// Process is one that told that it is alive.
type Process struct {
	ID        string
	Role      ProcessRole
	Release   string
	StartedAt time.Time
	SeenAt    time.Time
	StoppedAt *time.Time
	// Skew is how far its clock is ahead of the database's.
	Skew   time.Duration
	Report ProcessReport
}

// ProcessReport is what only a process itself knows.
type ProcessReport struct {
	// PoolWaits is how often it waited for a connection to the database since its last report;
	// PoolExhausted, that it did so at each of the last reports, or got none at all.
	PoolWaits     int64 `json:"pool_waits"`
	PoolExhausted bool  `json:"pool_exhausted"`
	// RoutesAge is how long ago an ingress last knew that its routes are right, in seconds.
	RoutesAge float64 `json:"routes_age"`
	// Answers is what an ingress answered in the last minutes, by environment.
	Answers map[string]AnswerCount `json:"answers,omitempty"`
	// MissingKeys are master keys that a control plane does not have, with how many values are
	// sealed under each.
	MissingKeys map[string]int64 `json:"missing_keys,omitempty"`
}

// AnswerCount counts answers, and those with a status of 500 or more.
type AnswerCount struct {
	Answers int64 `json:"answers"`
	Errors  int64 `json:"errors"`
}

// AlertNotice is what a notification about an alert holds.
type AlertNotice struct {
	ID        AlertID  `json:"id"`
	Condition string   `json:"condition"`
	Severity  Severity `json:"severity"`
	Summary   string   `json:"summary"`
	Remedy    string   `json:"remedy"`
	Link      string   `json:"link"`
	// Environment is empty for what is about none.
	Environment   string        `json:"environment,omitempty"`
	EnvironmentID EnvironmentID `json:"environment_id,omitempty"`
	Restricted    bool          `json:"restricted,omitempty"`
}

// Notice encodes what subscribers are told; base is the address of the UI.
func (a Alert) Notice(base string) ([]byte, error) {
	return json.Marshal(AlertNotice{ID: a.ID, Condition: a.Condition, Severity: a.Severity,
		Summary: a.Summary(), Remedy: a.Remedy(), Link: base + cmp.Or(a.Link(), "/alerts"),
		Environment: a.EnvironmentName, EnvironmentID: a.Environment, Restricted: a.Restricted})
}
