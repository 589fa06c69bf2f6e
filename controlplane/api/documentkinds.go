package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
)

// documentOrder is the order in which kinds are applied: each only refers to ones
// before it.
var documentOrder = []DocumentKind{"registry", "service", "plugin", "environment", "node-template",
	"node", "user", "project", "team", "webhook", "rule"}

func kindOrder(k DocumentKind) int { return slices.Index(documentOrder, k) }

// documentKind says how the operations of one kind are used. They are the same
// that the kind's own paths have.
type documentKind struct {
	// schema is the contract's schema of the body that PUT takes.
	schema string
	// hidden are fields that cannot be read back.
	hidden []string
	// shown are fields to compare besides those of the body.
	shown []string
	get   func(s *server, ctx context.Context, name string) (any, error)
	put   func(s *server, ctx context.Context, name string, body []byte) (any, error)
	// remove deletes a definition that nothing uses.
	remove func(s *server, ctx context.Context, name string) error
}

var documentKinds = map[DocumentKind]documentKind{
	"registry": {schema: "RegistryPut", hidden: []string{"password"},
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetRegistry(ctx, GetRegistryRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *RegistryPut) (any, error) {
			return s.PutRegistry(ctx, PutRegistryRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Catalog.DeleteRegistry(ctx, actorOf(ctx), name)
		}},
	"service": {schema: "ServicePut",
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetService(ctx, GetServiceRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *ServicePut) (any, error) {
			return s.PutService(ctx, PutServiceRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Catalog.DeleteService(ctx, actorOf(ctx), name)
		}},
	"plugin": {schema: "PluginPut", shown: []string{"digest"},
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetPlugin(ctx, GetPluginRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *PluginPut) (any, error) {
			return s.PutPlugin(ctx, PutPluginRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Catalog.DeletePlugin(ctx, actorOf(ctx), name)
		}},
	"environment": {schema: "EnvironmentPut", shown: gateFields,
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.environmentWithGate(ctx, name)
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *EnvironmentPut) (any, error) {
			return s.PutEnvironment(ctx, PutEnvironmentRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Catalog.DeleteEnvironment(ctx, actorOf(ctx), name)
		}},
	"node-template": {schema: "NodeTemplatePut",
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetNodeTemplate(ctx, GetNodeTemplateRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *NodeTemplatePut) (any, error) {
			return s.PutNodeTemplate(ctx, PutNodeTemplateRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Nodes.DeleteTemplate(ctx, actorOf(ctx), name)
		}},
	"node": {schema: "NodePut",
		get: func(s *server, ctx context.Context, name string) (any, error) {
			n, err := s.Nodes.GetNode(ctx, actorOf(ctx), name)
			view := toNode(n)
			// A document has the expected one, which counts for a new node only.
			view.Thumbprint = nil
			return view, err
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *NodePut) (any, error) {
			return s.PutNode(ctx, PutNodeRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Nodes.RemoveNode(ctx, actorOf(ctx), name)
		}},
	"user": {schema: "UserPut", hidden: []string{"password"},
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetUser(ctx, GetUserRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *UserPut) (any, error) {
			return s.PutUser(ctx, PutUserRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Accounts.DeleteUser(ctx, actorOf(ctx), name)
		}},
	"project": {schema: "ProjectPut",
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetProject(ctx, GetProjectRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *ProjectPut) (any, error) {
			return s.PutProject(ctx, PutProjectRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Catalog.DeleteProject(ctx, actorOf(ctx), name)
		}},
	"team": {schema: "TeamPut",
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetTeam(ctx, GetTeamRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *TeamPut) (any, error) {
			return s.PutTeam(ctx, PutTeamRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Accounts.DeleteTeam(ctx, actorOf(ctx), name)
		}},
	"webhook": {schema: "WebhookPut", hidden: []string{"url", "secret"},
		get: func(s *server, ctx context.Context, name string) (any, error) {
			return s.GetWebhook(ctx, GetWebhookRequestObject{Name: name})
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *WebhookPut) (any, error) {
			return s.PutWebhook(ctx, PutWebhookRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Notify.DeleteWebhook(ctx, actorOf(ctx), name)
		}},
	"rule": {schema: "RulePut", hidden: []string{"secret", "token"},
		get: func(s *server, ctx context.Context, name string) (any, error) {
			found, _, err := s.Reviews.GetRule(ctx, actorOf(ctx), name)
			return toRule(found), err
		},
		put: putBody(func(s *server, ctx context.Context, name string, b *RulePut) (any, error) {
			return s.PutRule(ctx, PutRuleRequestObject{Name: name, Body: b})
		}),
		remove: func(s *server, ctx context.Context, name string) error {
			return s.Reviews.DeleteRule(ctx, actorOf(ctx), name)
		}},
}

// putProjectBeforePipeline leaves it to the pipeline of the same document to fit into
// the project's new limits: the stored one is about to be replaced.
var putProjectBeforePipeline = putBody(
	func(s *server, ctx context.Context, name string, b *ProjectPut) (any, error) {
		p := projectIn(name, b)
		p.PipelineFollows = true
		saved, err := s.Catalog.PutProject(ctx, actorOf(ctx), p)
		return savedState{Changed: saved.Changed}, err
	})

// putBody decodes the body as the type that the operation takes. The schema was checked before, so
// an error here is a bug.
func putBody[B any](
	send func(s *server, ctx context.Context, name string, body *B) (any, error),
) func(*server, context.Context, string, []byte) (any, error) {
	return func(s *server, ctx context.Context, name string, text []byte) (any, error) {
		var body B
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, fmt.Errorf("read the definition of %s: %w", name, err)
		}
		return send(s, ctx, name, &body)
	}
}

var gateFields = []string{"gate", "redirect_https"}

// environmentWithGate is an environment as documents have it.
func (s *server) environmentWithGate(ctx context.Context, name string) (any, error) {
	e, err := s.GetEnvironment(ctx, GetEnvironmentRequestObject{Name: name})
	if err != nil {
		return nil, err
	}
	g, err := s.Gate.Environment(ctx, actorOf(ctx), name)
	if err != nil {
		return nil, err
	}
	fields, err := jsonFields(e)
	if err != nil {
		return nil, err
	}
	fields["gate"], fields["redirect_https"] = string(g.Gate), g.RedirectHTTPS
	return fields, nil
}

// jsonFields is a view as programs see it.
func jsonFields(view any) (fields map[string]any, err error) {
	text, err := json.Marshal(view)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("read a definition: %w", err)
	}
	return fields, nil
}

// definitionFields returns the fields of what is defined now that a document can set; nil if it is
// not defined.
func (s *server) definitionFields(
	ctx context.Context, kind DocumentKind, name string,
) (map[string]any, error) {
	k := documentKinds[kind]
	view, err := k.get(s, ctx, name)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fields, err := jsonFields(view)
	if err != nil {
		return nil, err
	}
	known := s.schemas[k.schema].Value.Properties
	for name := range fields {
		if known[name] == nil && !slices.Contains(k.shown, name) {
			delete(fields, name)
		}
	}
	return fields, nil
}
