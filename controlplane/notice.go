package controlplane

import "time"

// WebhookID and DeliveryID name webhooks and what was sent.
type (
	WebhookID  string
	DeliveryID string
)

// WebhookKind is the message format of a webhook.
type WebhookKind string

// The kinds: our own signed form, and the message forms of chats.
const (
	WebhookJSON       WebhookKind = "json"
	WebhookSlack      WebhookKind = "slack"
	WebhookMattermost WebhookKind = "mattermost"
	WebhookTeams      WebhookKind = "teams"
)

// Webhook is a place outside that wants to hear of events. Its address and its
// signing key are sealed apart.
type Webhook struct {
	ID   WebhookID
	Name string
	Kind WebhookKind
	// Host is where it leads, without what may be secret.
	Host string
	// Project and Environment limit the events; empty means all.
	Project, Environment string
	Events               []string
	// Template replaces the usual sentence of a chat message.
	Template  string
	Active    bool
	CreatedBy string
	CreatedAt time.Time
}

// NotificationChoice is what one person wants to hear of by mail.
type NotificationChoice struct {
	User                 UserID
	Email                string
	Project, Environment string
	Events               []string
	// Mine narrows it to deployments that the person created.
	Mine bool
}

// Notice is an event that people can subscribe to.
type Notice struct {
	At         time.Time
	Event      string
	Deployment DeploymentID
	Node       NodeID
	Data       []byte
	// RequestID is the request that caused it; empty if there is none.
	RequestID string
}

// EventAccessAsked says that somebody asked an admin for access.
const EventAccessAsked = "access.asked"

// NoticeEvents lists every event there is.
func NoticeEvents() []string {
	return []string{
		"deployment.created", "deployment.ready", "deployment.failed", "deployment.canceled",
		"deployment.removed", "deployment.stuck", "deployment.forgotten", "deployment.expiring",
		"deployment.degraded", "deployment.recovered", "deployment.offline", "deployment.online",
		"deployment.verdict", "deployment.verdict_voided",
		"node.online", "node.offline", "node.untrusted", "node.incompatible",
		"controlplane.failing", "controlplane.recovered", EventAccessAsked, "alert.started",
		"alert.ended", "budget.reached", "budget.removing",
	}
}

// DeliveryStatus is how far a delivery is.
type DeliveryStatus string

// The statuses.
const (
	DeliveryWaiting DeliveryStatus = "waiting"
	DeliverySent    DeliveryStatus = "sent"
	DeliveryFailed  DeliveryStatus = "failed"
)

// Delivery is one message to one receiver, with its result.
type Delivery struct {
	ID      DeliveryID
	Webhook WebhookID
	// User and Email are set for mail.
	User     UserID
	Email    string
	Event    string
	Subject  string
	Body     string
	Status   DeliveryStatus
	Attempts int
	DueAt    time.Time
	// Answer is the status of the last answer; 0 if there was none.
	Answer    int
	Error     string
	CreatedAt time.Time
	EndedAt   *time.Time
	// Traceparent is the trace that it belongs to; empty without one.
	Traceparent string
}
