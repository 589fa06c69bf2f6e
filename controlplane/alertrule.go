package controlplane

import "time"

// AlertRule says what a condition means for people.
type AlertRule struct {
	Condition string
	Severity  Severity
	// Delay is how long the cause has to last before the alert counts.
	Delay time.Duration
	// Sentence says what is wrong, with {label} and {detail} of the cause; Remedy what to do.
	Sentence, Remedy string
	// Page is where the UI shows the cause, of conditions that are about no deployment or node.
	Page string
}

// AlertTampered begins the failure of the job that verifies the audit, if that was changed.
const AlertTampered = "the audit was tampered with"

// clockJump is the delay of what seems to be so for a moment when the database's clock was set, or
// its machine slept: everything that tells regularly seems to be late until it does so again.
const clockJump = 15 * time.Second

// FindAlertRule returns the rule of a condition.
func FindAlertRule(condition string) (AlertRule, bool) {
	for _, r := range AlertRules() {
		if r.Condition == condition {
			return r, true
		}
	}
	return AlertRule{}, false
}

// AlertRules lists every condition there is.
func AlertRules() []AlertRule {
	all := append(nodeAlertRules(), deploymentAlertRules()...)
	return append(all, platformAlertRules()...)
}

func nodeAlertRules() []AlertRule {
	return []AlertRule{
		{"node.offline", SeverityCritical, time.Minute, "Node {label} is offline.",
			"Check that the machine runs, that its agent does, and that the network leads there.", ""},
		{"node.untrusted", SeverityCritical, 0, "Node {label} shows another certificate.",
			"Compare the certificate with what the agent prints, and approve or reject it.", ""},
		{"node.incompatible", SeverityWarning, time.Minute,
			"Node {label} runs another release: {detail}", "Upgrade its agent.", ""},
		{"node.flapping", SeverityWarning, 0, "Node {label} went offline {detail} within an hour.",
			"Look for what interrupts the network, or restarts the machine or its agent.", ""},
		{"node.check", SeverityCritical, time.Minute, "A check of node {label} is critical: {detail}",
			"Open the node: the check says what to do.", ""},
		{"node.disk", SeverityCritical, 0,
			"The disk of node {label} is below its floor: {detail}. It takes no new deployments.",
			"Remove deployments or files from the node, or give it a larger disk.", ""},
		{"node.disk_filling", SeverityWarning, 0,
			"At its present rate, the disk of node {label} will be full in {detail}.",
			"Find what grows, such as logs in a volume, and remove it or make room.", ""},
		{"node.no_lease", SeverityCritical, 2 * time.Minute,
			"No control plane holds the lease of node {label}.",
			"Check that a control plane runs and reaches its database.", ""},
	}
}

func deploymentAlertRules() []AlertRule {
	return []AlertRule{
		{"deployment.degraded", SeverityWarning, time.Minute,
			"Deployment {label} does not work: {detail}",
			"Read the logs of the service that is named, and retry or remove the deployment.", ""},
		{"deployment.stuck", SeverityCritical, 0,
			"Deployment {label} could not be removed completely: {detail}",
			"Open it: it lists what is left. Try again, or forget it.", ""},
		{"queue.slow", SeverityWarning, 0, "In {label}, {detail} waited for too long.",
			"Add a node, remove deployments, or raise the run limit of the environment's nodes.",
			"/deployments"},
		{"ingress.errors", SeverityWarning, time.Minute,
			"Of the answers of deployments in {label}, {detail} were errors in the last minutes.",
			"Open the environment's deployments and read the logs of those that fail.",
			"/deployments"},
	}
}

func platformAlertRules() []AlertRule {
	return []AlertRule{
		{"rule.schedule", SeverityWarning, 0, "The schedule of rule {label} failed: {detail}",
			"Open the rule: its results say what is missing. It tries again at its next time.", "/rules"},
		{"rule.refused", SeverityWarning, 0,
			"The code host refuses rule {label}: {detail}",
			"Give it a token that is valid, may read pull requests and may write comments and statuses.",
			"/rules"},
		{"registry.failing", SeverityWarning, 2 * time.Minute, "Registry {label} fails: {detail}",
			"Test it on the page Registries; check its address, credentials and certificate.",
			"/registries"},
		{"source.failing", SeverityWarning, 2 * time.Minute,
			"The source of definitions {label} fails: {detail}",
			"Open it on the page Sources: it says what to change.", "/sources"},
		{"certificate.expiring", SeverityWarning, 0, "The certificate {label} ends {detail}.",
			"Upload a new one, or look why it was not renewed.", "/environments"},
		{"certificate.expired", SeverityCritical, 0, "The certificate {label} has ended.",
			"Upload a new one, or look why it was not renewed.", "/environments"},
		{"certificate.order", SeverityWarning, 0,
			"The certificate {label} could not be ordered: {detail}",
			"Correct what the authority names; the order is tried again by itself.", "/environments"},
		{"backup.failed", SeverityCritical, 0, "The last backup failed: {detail}",
			"Run nullops backup again and read what it says.", ""},
		{"backup.old", SeverityWarning, 0, "The last backup is {detail} old.",
			"Check whatever runs nullops backup.", ""},
		{"audit.broken", SeverityCritical, 0, "The audit log does not verify: {detail}",
			"Run nullops audit verify, and find out who can write to the database.", "/audit"},
		{"job.failing", SeverityCritical, 0, "The job {label} of the control plane fails: {detail}",
			"Read the log of the control plane around the failure.", ""},
		{"key.missing", SeverityCritical, 0,
			"The key {label} is missing: {detail} sealed under it cannot be opened.",
			"Add the key to master.keys of that process, and rotate before you remove one.", ""},
		{"database.pool", SeverityWarning, 0,
			"The {label} has to wait for connections to the database: {detail}.",
			"Look for slow queries and locks in PostgreSQL, and at the load.", ""},
		{"database.size", SeverityWarning, 0, "The database has {detail}, more than its limit.",
			"Give it a larger disk and raise alerts.database, or keep less: audit.keep, removed.keep.",
			""},
		{"events.late", SeverityCritical, clockJump, "Events are {detail} late.",
			"Read the log of the control plane: notifications are behind.", ""},
		{"process.lost", SeverityCritical, clockJump, "The {label} has told nothing for {detail}.",
			"Check that it runs and reaches the database. One that is started again on its machine " +
				"ends this; one that was removed for good is forgotten after a day.", ""},
		{"process.clock", SeverityWarning, time.Minute,
			"The clock of the {label} is {detail} ahead of the database's.",
			"Let the machine's clock follow a time server.", ""},
		{"ingress.stale", SeverityCritical, 0,
			"The ingress {label} serves routes that are {detail} old.",
			"Check that the ingress reaches the database.", ""},
	}
}
