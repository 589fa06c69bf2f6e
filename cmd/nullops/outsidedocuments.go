package main

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

// hiddenFields are those that the API takes and never gives: a document names
// the environment variable that holds one, as in password_from_env.
var hiddenFields = map[string][]string{
	"registry": {"password"}, "user": {"password"},
	"webhook": {"url", "secret"}, "rule": {"secret", "token"},
}

// defaultRuleWait is what the control plane fills in, in minutes.
const defaultRuleWait = 30

// webhookDocument is what the API takes, with another word for its kind: that of
// a document says that it is a webhook.
type webhookDocument struct {
	Format      apiclient.WebhookKind   `json:"format"`
	Project     *string                 `json:"project,omitempty"`
	Environment *string                 `json:"environment,omitempty"`
	Events      []apiclient.NoticeEvent `json:"events"`
	Template    *string                 `json:"template,omitempty"`
	Active      *bool                   `json:"active,omitempty"`
	URL         *string                 `json:"url,omitempty"`
	Secret      *string                 `json:"secret,omitempty"`
}

func (w webhookDocument) put() apiclient.WebhookPut {
	return apiclient.WebhookPut{Kind: w.Format, Project: w.Project, Environment: w.Environment,
		Events: w.Events, Template: w.Template, Active: w.Active, Url: w.URL, Secret: w.Secret}
}

func webhookObject(w apiclient.Webhook) object {
	return object{Kind: "webhook", Name: w.Name, Body: webhookDocument{
		Format: w.Kind, Project: w.Project, Environment: w.Environment, Events: w.Events,
		Template: w.Template, Active: unless(w.Active),
	}}
}

func ruleObject(r apiclient.Rule) object {
	return object{Kind: "rule", Name: r.Name, Body: apiclient.RulePut{
		Source: r.Source, Repository: r.Repository, Project: r.Project, Environment: r.Environment,
		Branch: r.Branch, Tag: r.Tag, WaitMinutes: &r.WaitMinutes, ApiUrl: r.ApiUrl,
		Active: unless(r.Active),
	}}
}

// unless leaves out a yes that is meant anyway.
func unless(active bool) *bool {
	if active {
		return nil
	}
	return &active
}

func (a *applier) webhook(ctx context.Context, d document) error {
	return a.differing(ctx, d, func(wish object) (*string, error) {
		r, err := a.api.PutWebhookWithResponse(ctx, d.Name, wish.Body.(webhookDocument).put())
		if err := answered(r, err); err != nil {
			return nil, err
		}
		return r.JSON200.Secret, nil
	})
}

func (a *applier) rule(ctx context.Context, d document) error {
	return a.differing(ctx, d, func(wish object) (*string, error) {
		r, err := a.api.PutRuleWithResponse(ctx, d.Name, wish.Body.(apiclient.RulePut))
		if err := answered(r, err); err != nil {
			return nil, err
		}
		return r.JSON200.Secret, nil
	})
}

// differing sends an object only where it is not as the document wants it: the
// API does not say whether it changed anything. A secret that was made is shown
// once, as people have to give it to the other side.
func (a *applier) differing(
	ctx context.Context, d document, send func(wish object) (*string, error),
) error {
	wish, err := wished(d)
	if err != nil {
		return err
	}
	now, exists, err := newDryRun(a.api, a.out, nil).current(ctx, d)
	if err != nil {
		return err
	}
	result := "created"
	if exists {
		same, err := sameBody(now.Body, wish.Body)
		if err != nil {
			return err
		}
		if same {
			return a.say(d.String(), "unchanged")
		}
		result = "changed"
	}
	made, err := send(wish)
	if err != nil {
		return err
	}
	if err := a.say(d.String(), result); err != nil || made == nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "  secret %s\n  It is shown only now.\n", *made)
	return err
}

func sameBody(now, wish any) (bool, error) {
	before, err := comparableBody(now)
	if err != nil {
		return false, err
	}
	after, err := comparableBody(wish)
	if err != nil {
		return false, err
	}
	fields, err := pipeline.CompareJSON(before, after)
	return len(fields) == 0, err
}
