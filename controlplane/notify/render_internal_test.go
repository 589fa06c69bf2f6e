package notify

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

func sampleMessage() message {
	return message{Event: "deployment.failed", At: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Deployment: &deployment{ID: "d", Name: "first", Project: "shop", Environment: "qa",
			Status: "failed", CreatedBy: "ada", Link: "http://nullops.test/deployments/d",
			URLs: []string{"http://api.first.qa.localhost", "http://web"}, Reason: "Port is taken."}}
}

// Receivers of every kind, and mail, read the same sentence.
func TestFailure_IsTheSameForEveryReceiver(t *testing.T) {
	t.Parallel()
	m := sampleMessage()
	m.Deployment.Reason = controlplane.Failure{Step: "api", Message: "no disk"}.Sentence()
	bodies := map[string]string{"mail": m.mailText()}
	for _, kind := range []controlplane.WebhookKind{controlplane.WebhookJSON,
		controlplane.WebhookSlack, controlplane.WebhookMattermost, controlplane.WebhookTeams} {
		body, err := m.webhookBody("delivery-1", controlplane.Webhook{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		bodies[string(kind)] = body
	}
	for kind, body := range bodies {
		// promise: U-01
		if !strings.Contains(body, "Step api failed: no disk.") || strings.Contains(body, ".:") {
			t.Errorf("%s reads %q", kind, body)
		}
	}
}

func TestFillTemplate_FillsEachName(t *testing.T) {
	t.Parallel()
	node := message{Event: "node.offline", Node: &node{Name: "alpha", Environment: "qa",
		Status: "offline"}}
	failing := message{Event: "controlplane.failing",
		Data: map[string]any{"job": "expire", "reason": "no disk"}}
	expiring := sampleMessage()
	expiring.Event = "deployment.expiring"
	ready := sampleMessage()
	ready.Event, ready.Deployment.Reason = "deployment.ready", ""
	for _, c := range []struct {
		m              message
		template, want string
	}{
		{sampleMessage(), "{deployment}|{project}|{environment}|{event}|{status}|{by}",
			"first|shop|qa|deployment.failed|failed|ada"},
		{sampleMessage(), "{url}|{link}|{reason}|{time}|{node}|",
			"http://api.first.qa.localhost|http://nullops.test/deployments/d|Port is taken.|" +
				"2030-01-02T03:04:05Z||"},
		{sampleMessage(), "", "first in qa: deployment.failed. Port is taken. " +
			"http://nullops.test/deployments/d"},
		{ready, "", "first in qa: deployment.ready http://api.first.qa.localhost"},
		{node, "", "Node alpha of qa: offline"},
		{expiring, "", "first in qa will be removed soon unless somebody extends it: " +
			"http://nullops.test/deployments/d"},
		{message{Event: "test"}, "", "A test message of NullOps"},
		{failing, "", "The control plane is in trouble. Its job expire failed three times: no disk"},
		{failing, "{job}|{reason}|{deployment}", "expire|no disk|"},
		{message{Event: "controlplane.recovered", Data: map[string]any{"job": "expire"}}, "",
			"The control plane's job expire works again"},
	} {
		if got := c.m.fillTemplate(c.template); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.template, got, c.want)
		}
	}
}

// A value that looks like a template stays text: a name cannot pull in another field.
func TestFillTemplate_FillsOnce(t *testing.T) {
	t.Parallel()
	m := sampleMessage()
	m.Deployment.Name, m.Deployment.Reason = "{reason}", "{link}"
	if got := m.fillTemplate("{deployment} {reason}"); got != "{reason} {link}" {
		t.Errorf("filled twice: %q", got)
	}
}

// A template that is accepted leaves no known name unfilled, and one that is refused
// holds an unknown one.
func TestCheckTemplate_AcceptsExactlyTheKnownNames(t *testing.T) {
	t.Parallel()
	known := slices.Sorted(maps.Keys(message{}.templateFields()))
	for _, name := range known {
		if err := checkTemplate("a {" + name + "} b"); err != nil {
			t.Errorf("{%s}: %v", name, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom([]string{"text ", "}", "ä"}),
			rapid.Map(rapid.SampledFrom(known), func(s string) string { return "{" + s + "}" }))
		good := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		if err := checkTemplate(good); err != nil {
			t.Fatalf("%q: %v", good, err)
		}
		if filled := sampleMessage().fillTemplate(good + "."); strings.Contains(filled, "{") {
			t.Fatalf("%q becomes %q", good, filled)
		}
		bad := rapid.SampledFrom([]string{"{secret}", "{", "{}", "{ event}", "{{event}}"}).Draw(t, "bad")
		if err := checkTemplate(good + bad); controlplane.CodeOf(err) != "template_invalid" {
			t.Fatalf("%q: %v", good+bad, err)
		}
	})
}

// Whatever people write, each form is valid JSON that a chat accepts, and holds no link
// or call that Slack would follow.
func TestWebhookBody_AnyTextIsValidJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := sampleMessage()
		m.Deployment.Reason = rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"<!channel>", "<http://evil|x>", "a&b", "\xff"})).Draw(t, "reason")
		for _, kind := range []controlplane.WebhookKind{controlplane.WebhookJSON,
			controlplane.WebhookSlack, controlplane.WebhookMattermost, controlplane.WebhookTeams} {
			body, err := m.webhookBody("delivery-1", controlplane.Webhook{Kind: kind, Template: "{reason}"})
			var form map[string]any
			if err != nil || json.Unmarshal([]byte(body), &form) != nil || !utf8.ValidString(body) {
				t.Fatalf("%s: %s %v", kind, body, err)
			}
			text, _ := form["text"].(string)
			if kind == controlplane.WebhookSlack && strings.ContainsAny(text, "<>") {
				t.Fatalf("Slack gets %q", text)
			}
			if kind == controlplane.WebhookJSON && (form["id"] != "delivery-1" ||
				form["event"] != m.Event) {
				t.Fatalf("the signed form is %s", body)
			}
		}
	})
	if _, err := sampleMessage().webhookBody("x", controlplane.Webhook{Kind: "pager"}); err == nil {
		t.Error("an unknown kind has a form")
	}
}

// What a program said calls nobody in Mattermost; what the admin wrote into the
// template does.
func TestWebhookBody_CallsNobodyInMattermost(t *testing.T) {
	t.Parallel()
	m := sampleMessage()
	m.Deployment.Reason = "@channel @all @here @ada"
	body, err := m.webhookBody("delivery-1", controlplane.Webhook{
		Kind: controlplane.WebhookMattermost, Template: "@qa {reason}"})
	var form struct{ Text string }
	if err != nil || json.Unmarshal([]byte(body), &form) != nil {
		t.Fatalf("%s, %v", body, err)
	}
	const want = "@qa @\u200bchannel @\u200ball @\u200bhere @\u200bada"
	if form.Text != want {
		t.Errorf("Mattermost gets %q, want %q", form.Text, want)
	}
}

// The outbox is one transaction: a text that the table does not take would hold up
// every notification. A template may repeat a long reason many times.
func TestWebhookBody_StaysSmallWhateverTheTemplate(t *testing.T) {
	t.Parallel()
	m := sampleMessage()
	m.Deployment.Reason = strings.Repeat("<é>", 400)
	for _, kind := range []controlplane.WebhookKind{controlplane.WebhookSlack,
		controlplane.WebhookMattermost, controlplane.WebhookTeams} {
		body, err := m.webhookBody("delivery-1", controlplane.Webhook{Kind: kind,
			Template: strings.Repeat("{reason}", 250)})
		if err != nil || len(body) > 100_000 || !strings.Contains(body, "é") {
			t.Errorf("%s: %d bytes, %v", kind, len(body), err)
		}
	}
}

// A clipped text is still text: PostgreSQL takes no half of a character.
func TestClip_CutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"é", "a€", "🙂"})).
			Draw(t, "text"), rapid.IntRange(0, 300).Draw(t, "times"))
		for most, clip := range map[int]func(string) string{80: controlplane.ClipText, 500: clipLong} {
			got := clip(s)
			if !utf8.ValidString(got) || len(got) > most+len("…") || len(s) <= most && got != s {
				t.Fatalf("%q becomes %q", s, got)
			}
		}
	})
}
