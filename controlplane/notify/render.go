package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/text"
)

// message is one event with everything that receivers may see.
type message struct {
	Event       string         `json:"event"`
	At          time.Time      `json:"at"`
	Deployment  *deployment    `json:"deployment,omitempty"`
	Node        *node          `json:"node,omitempty"`
	Alert       *alert         `json:"alert,omitempty"`
	Data        map[string]any `json:"data,omitempty"`
	RequestID   string         `json:"request_id,omitempty"`
	project     controlplane.ProjectID
	environment controlplane.EnvironmentID
	restricted  bool
	// trace is that of the deployment's latest run.
	trace string
}

type deployment struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Project     string    `json:"project"`
	Environment string    `json:"environment"`
	Status      string    `json:"status"`
	CreatedBy   string    `json:"created_by"`
	Link        string    `json:"link"`
	URLs        []string  `json:"urls"`
	Versions    []version `json:"versions"`
	Reason      string    `json:"reason,omitempty"`
}

type version struct {
	Service string `json:"service"`
	Tag     string `json:"tag"`
	Digest  string `json:"digest"`
}

type node struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Status      string `json:"status"`
}

// usual is the sentence of a chat message and of a mail's subject.
const usual = "{deployment} in {environment}: {event}"

// templateFields are what a template may name.
func (m message) templateFields() map[string]string {
	f := map[string]string{"event": m.Event, "time": m.At.UTC().Format(time.RFC3339),
		"deployment": "", "project": "", "environment": "", "status": "", "by": "", "link": "",
		"url": "", "reason": "", "node": "", "job": "", "condition": "", "severity": "",
		"summary": "", "remedy": "", "budget": ""}
	if m.concernsControlPlane() {
		f["job"], _ = m.Data["job"].(string)
		f["reason"], _ = m.Data["reason"].(string)
	}
	if m.Event == controlplane.EventAccessAsked {
		f["by"], _ = m.Data["by"].(string)
		f["reason"], _ = m.Data["wanted"].(string)
		f["link"], _ = m.Data["link"].(string)
	}
	if m.concernsBudget() {
		f["budget"], _ = m.Data["budget"].(string)
		f["reason"], _ = m.Data["reason"].(string)
		if scope, _ := m.Data["scope"].(string); scope == "project" || scope == "environment" {
			f[scope], _ = m.Data["subject"].(string)
		}
	}
	if d := m.Deployment; d != nil {
		f["deployment"], f["project"], f["environment"] = d.Name, d.Project, d.Environment
		f["status"], f["by"], f["link"], f["reason"] = d.Status, d.CreatedBy, d.Link, d.Reason
		if len(d.URLs) > 0 {
			f["url"] = d.URLs[0]
		}
	}
	if m.Node != nil {
		f["node"], f["environment"], f["status"] = m.Node.Name, m.Node.Environment, m.Node.Status
	}
	if m.Alert != nil {
		m.Alert.fill(f)
	}
	return f
}

// fillTemplate fills in a template's {names}. There is nothing else in the language: a template can
// neither loop nor reach other data.
func (m message) fillTemplate(template string) string {
	return m.fillEscaped(template, func(value string) string { return value })
}

// fillEscaped is fillTemplate with each value escaped for its receiver.
func (m message) fillEscaped(template string, escape func(value string) string) string {
	if template == "" {
		template = m.defaultTemplate()
	}
	var pairs []string
	for name, value := range m.templateFields() {
		pairs = append(pairs, "{"+name+"}", escape(value))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// concernsControlPlane reports whether a message is about the control plane itself.
func (m message) concernsControlPlane() bool {
	return strings.HasPrefix(m.Event, "controlplane.")
}

// concernsBudget reports whether a message is about a budget.
func (m message) concernsBudget() bool { return strings.HasPrefix(m.Event, "budget.") }

func (m message) defaultTemplate() string {
	switch {
	case m.Event == "alert.started":
		return "{severity}: {summary} {remedy} {link}"
	case m.Event == "alert.ended":
		return "Over: {summary} {link}"
	case m.Node != nil:
		return "Node {node} of {environment}: {status}"
	case m.Event == "deployment.expiring":
		return "{deployment} in {environment} will be removed soon unless somebody extends it: {link}"
	case m.Event == "controlplane.failing":
		return "The control plane is in trouble. Its job {job} failed three times: {reason}"
	case m.Event == "controlplane.recovered":
		return "The control plane's job {job} works again"
	case m.Event == controlplane.EventAccessAsked:
		return "{by} asks an admin for {reason}: {link}"
	case m.concernsBudget():
		return "Budget {budget}: {reason}"
	case m.Deployment == nil:
		return "A test message of NullOps"
	case m.Deployment.Reason != "":
		// The reason is a sentence of its own.
		return usual + ". {reason} {link}"
	default:
		return usual + " {url}"
	}
}

func checkTemplate(template string) error {
	rest := template
	for {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			return nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if _, known := (message{}).templateFields()[name]; !closed || !known {
			return controlplane.NewInvalidError("template", "template_invalid",
				fmt.Sprintf("{%s} is not the name of anything", controlplane.ClipText(name)),
				"Use "+templateNames()+".")
		}
		rest = tail
	}
}

func templateNames() string {
	var all []string
	for name := range (message{}).templateFields() {
		all = append(all, "{"+name+"}")
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// maxText bounds the sentence of a chat message in bytes. Escaped, each may take ten,
// and a stored body has at most 100,000 characters: one that is longer would roll back
// the transaction that hands out notices, again and again.
const maxText = 8000

// webhookBody is what a webhook of the kind is sent.
func (m message) webhookBody(id controlplane.DeliveryID, w controlplane.Webhook) (string, error) {
	var form any
	sentence := text.Clip(m.fillTemplate(w.Template), maxText)
	switch w.Kind {
	case controlplane.WebhookJSON:
		form = struct {
			ID string `json:"id"`
			message
		}{string(id), m}
	case controlplane.WebhookSlack:
		form = map[string]string{"text": escapeSlack(sentence)}
	case controlplane.WebhookMattermost:
		sentence = text.Clip(m.fillEscaped(w.Template, breakMentions), maxText)
		form = map[string]string{"text": sentence, "username": "NullOps"}
	case controlplane.WebhookTeams:
		form = map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content": map[string]any{"type": "AdaptiveCard", "version": "1.4",
				"body": []any{map[string]any{"type": "TextBlock", "text": sentence, "wrap": true}}},
		}}}
	default:
		return "", fmt.Errorf("webhook %s has an unknown kind %q", w.Name, w.Kind)
	}
	b, err := json.Marshal(form)
	return string(b), err
}

// escapeSlack is Slack's: names that people chose must not become links or calls
// to a whole channel.
func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// breakMentions puts a zero-width space after each @, so that Mattermost finds neither
// @channel nor a person's name: reasons hold what images and registries said. What an
// admin wrote into the template itself may call people.
func breakMentions(s string) string { return strings.ReplaceAll(s, "@", "@\u200b") }

// mailSubject is the subject of a mail.
func (m message) mailSubject() string {
	if m.Event == "alert.started" {
		return m.fillTemplate("{severity}: {summary}")
	}
	if m.Alert != nil {
		return m.fillTemplate("Over: {summary}")
	}
	return m.fillTemplate(usual)
}

// mailText is the text of a mail.
func (m message) mailText() string {
	var b strings.Builder
	b.WriteString(m.fillTemplate("") + "\n\n")
	if a := m.Alert; a != nil {
		fmt.Fprintf(&b, "Condition: %s\nSeverity: %s\n", a.Condition, a.Severity)
	}
	if d := m.Deployment; d != nil {
		fmt.Fprintf(&b, "Project: %s\nEnvironment: %s\nStatus: %s\nCreated by: %s\n", d.Project,
			d.Environment, d.Status, d.CreatedBy)
		for _, u := range d.URLs {
			fmt.Fprintf(&b, "Open: %s\n", u)
		}
		fmt.Fprintf(&b, "Details: %s\n", d.Link)
	}
	return b.String()
}
