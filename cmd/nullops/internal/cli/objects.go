package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

// object is one defined thing as its document has it, which 'export' writes.
type object struct {
	Kind string
	Name string
	// Body is what the API takes, with neither passwords nor secret values.
	Body any
	// Secrets, Pipeline and Templates are a project's.
	Secrets   map[string]secretDocument
	Pipeline  *pipeline.Pipeline
	Templates map[string]apiclient.TemplatePut
}

// loadObjects loads everything of one kind, by name.
func (c *client) loadObjects(ctx context.Context, kind string) ([]object, error) {
	switch kind {
	case "registry":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListRegistriesWithResponse(ctx, &apiclient.ListRegistriesParams{Cursor: cursor})
		}, registryObject)
	case "service":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListServicesWithResponse(ctx, &apiclient.ListServicesParams{Cursor: cursor})
		}, serviceObject)
	case "plugin":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListPluginsWithResponse(ctx, &apiclient.ListPluginsParams{Cursor: cursor})
		}, pluginObject)
	case "environment":
		return c.environmentObjects(ctx)
	case "node-template":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListNodeTemplatesWithResponse(ctx,
				&apiclient.ListNodeTemplatesParams{Cursor: cursor})
		}, nodeTemplateObject)
	case "node":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListNodesWithResponse(ctx, &apiclient.ListNodesParams{Cursor: cursor})
		}, nodeObject)
	case "user":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListUsersWithResponse(ctx, &apiclient.ListUsersParams{Cursor: cursor})
		}, userObject)
	case "team":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListTeamsWithResponse(ctx, &apiclient.ListTeamsParams{Cursor: cursor})
		}, teamObject)
	case "webhook":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListWebhooksWithResponse(ctx, &apiclient.ListWebhooksParams{Cursor: cursor})
		}, webhookObject)
	case "rule":
		return loadPages(func(cursor *string) (answer, error) {
			return c.ListRulesWithResponse(ctx, &apiclient.ListRulesParams{Cursor: cursor})
		}, ruleObject)
	}
	all, err := loadPages(func(cursor *string) (answer, error) {
		return c.ListProjectsWithResponse(ctx, &apiclient.ListProjectsParams{Cursor: cursor})
	}, projectObject)
	for i := range all {
		if err := c.addProjectParts(ctx, &all[i]); err != nil {
			return nil, fmt.Errorf("project %s: %w", all[i].Name, err)
		}
	}
	return all, err
}

// loadPages follows the pages to their end. What is not to be written has no kind.
func loadPages[T any](
	page func(cursor *string) (answer, error),
	to func(T) object,
) ([]object, error) {
	var all []object
	var cursor *string
	for {
		r, err := page(cursor)
		if err := checkAnswer(r, err); err != nil {
			return nil, err
		}
		var found struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		if err := json.Unmarshal(r.GetBody(), &found); err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		for _, item := range found.Items {
			if o := to(item); o.Kind != "" {
				all = append(all, o)
			}
		}
		if cursor = &found.NextCursor; found.NextCursor == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// nilIfZero leaves out an empty field.
func nilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// registryObject leaves out the built-in public registries, except those with
// credentials.
func registryObject(r apiclient.Registry) object {
	if r.Builtin && valueOrZero(r.Username) == "" && !r.HasPassword && valueOrZero(r.Ca) == "" {
		return object{}
	}
	return object{Kind: "registry", Name: r.Name, Body: apiclient.RegistryPut{
		Description: r.Description, Host: r.Host, Insecure: nilIfZero(r.Insecure), Username: r.Username,
		Ca: r.Ca,
	}}
}

func serviceObject(s apiclient.Service) object {
	return object{Kind: "service", Name: s.Name, Body: apiclient.ServicePut{
		Description: s.Description, Registry: s.Registry, Image: s.Image, TagMode: s.TagMode,
		Tag: s.Tag, Pattern: s.Pattern, Step: s.Step,
	}}
}

func pluginObject(p apiclient.Plugin) object {
	return object{Kind: "plugin", Name: p.Name, Body: apiclient.PluginPut{
		Registry: p.Registry, Image: p.Image, Tag: p.Tag,
		Component: pipeline.DeclaredComponent{Component: p.Component},
	}}
}

func userObject(u apiclient.User) object {
	body := apiclient.UserPut{DisplayName: nilIfZero(u.DisplayName), Role: u.Role, Address: u.Address}
	if !u.Active {
		body.Active = &u.Active
	}
	if u.Kind == apiclient.UserKindService {
		body.Kind = &u.Kind
	}
	return object{Kind: "user", Name: u.Name, Body: body}
}

func teamObject(t apiclient.Team) object {
	body := apiclient.TeamPut{Description: t.Description, SecondFactor: t.SecondFactor,
		Verdicts: t.Verdicts}
	if len(t.Members) > 0 {
		slices.Sort(t.Members)
		body.Members = &t.Members
	}
	if len(t.Grants) > 0 {
		slices.SortFunc(t.Grants, func(a, b apiclient.Grant) int {
			return strings.Compare(grantKey(a), grantKey(b))
		})
		body.Grants = &t.Grants
	}
	return object{Kind: "team", Name: t.Name, Body: body}
}

func grantKey(g apiclient.Grant) string {
	return valueOrZero(g.Project) + "/" + valueOrZero(g.Environment) + "/" + string(g.Level)
}

func projectObject(p apiclient.Project) object {
	return object{Kind: "project", Name: p.Name, Body: apiclient.ProjectPut{
		Description: p.Description, Resources: p.Resources, CleanupAfterHours: p.CleanupAfterHours,
		Placement: p.Placement, Environments: p.Environments,
	}}
}

func (c *client) addProjectParts(ctx context.Context, o *object) error {
	secrets, err := c.ListSecretsWithResponse(ctx, o.Name)
	if err := checkAnswer(secrets, err); err != nil {
		return err
	}
	o.Secrets = map[string]secretDocument{}
	for _, s := range secrets.JSON200.Items {
		o.Secrets[s.Name] = toSecretDocument(o.Name, s)
	}
	if o.Templates, err = c.templateBodies(ctx, o.Name); err != nil {
		return err
	}
	r, err := c.GetPipelineWithResponse(ctx, o.Name)
	if err == nil && r.StatusCode() == 404 {
		return nil
	}
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	p := pipeline.AsWritten(r.JSON200.Pipeline)
	o.Pipeline = &p
	return nil
}

// secretVariable names the variable that holds a secret's value when the document
// is applied: SHOP_API_TOKEN.
func secretVariable(project, secret string) string {
	return strings.ToUpper(strings.ReplaceAll(project, "-", "_")) + "_" + secret
}

// secretDocument is a secret in YAML: generated, kept in Vault, or taken from the environment
// of the caller, so that no value stands in a file.
type secretDocument struct {
	Generate *apiclient.SecretGenerate `json:"generate,omitempty"`
	Vault    *apiclient.SecretVault    `json:"vault,omitempty"`
	FromEnv  string                    `json:"from_env,omitempty"`
}

func toSecretDocument(project string, s apiclient.Secret) secretDocument {
	out := secretDocument{Generate: s.Generate, Vault: s.Vault}
	if s.Generate == nil && s.Vault == nil {
		out.FromEnv = secretVariable(project, s.Name)
	}
	return out
}
