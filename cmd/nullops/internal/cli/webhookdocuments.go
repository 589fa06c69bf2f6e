package cli

import "github.com/nullops/nullops/controlplane/apiclient"

// webhookDocument is the API's webhook with its kind renamed, since a document's kind
// is "webhook".
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

func webhookObject(w apiclient.Webhook) object {
	return object{Kind: "webhook", Name: w.Name, Body: webhookDocument{
		Format: w.Kind, Project: w.Project, Environment: w.Environment, Events: w.Events,
		Template: w.Template, Active: nilIfActive(w.Active),
	}}
}

func ruleObject(r apiclient.Rule) object {
	return object{Kind: "rule", Name: r.Name, Body: apiclient.RulePut{
		Source: r.Source, Repository: r.Repository, Project: r.Project, Environment: r.Environment,
		Branch: r.Branch, Filter: r.Filter, Tag: r.Tag, Input: r.Input,
		WaitMinutes: &r.WaitMinutes, ApiUrl: r.ApiUrl, Updates: r.Updates,
		Data: r.Data, Schedule: r.Schedule, Aliases: r.Aliases, Forks: r.Forks,
		Active: nilIfActive(r.Active),
	}}
}

// nilIfActive leaves out a yes that is meant anyway.
func nilIfActive(active bool) *bool {
	if active {
		return nil
	}
	return &active
}
