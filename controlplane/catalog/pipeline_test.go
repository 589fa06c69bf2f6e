package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/pipeline"
)

func TestSavePipeline_VersionsAreNewAndImmutable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	first, err := w.SavePipeline(ctx, w.admin, "shop", graph(), "first")
	if err != nil || !first.Changed || first.Version != 1 {
		t.Fatalf("save: %+v %v", first, err)
	}
	again, err := w.SavePipeline(ctx, w.admin, "shop", graph(), "again")
	if err != nil || again.Changed || again.Version != 1 {
		t.Errorf("unchanged: %+v %v", again, err)
	}
	before := must(w.PipelineVersion(ctx, w.admin, "shop", 1))(t)
	// The catalogue changes; the saved version must not.
	put := plugin()
	put.Tag = "v2"
	moved := w.push(t, "shop/plugin:v2")
	must(w.PutPlugin(ctx, w.admin, put))(t)
	must(w.PutService(ctx, w.admin, catalog.ServicePut{
		Name: "api", Registry: "local", Image: "shop/other", TagMode: pipeline.Pinned, Tag: "v9",
	}))(t)
	after := must(w.PipelineVersion(ctx, w.admin, "shop", 1))(t)
	// promise: N-053, N-072
	if d, _ := pipeline.Digest(after.Pipeline); d != before.Digest || d != after.Digest {
		t.Error("an old version changed with the catalogue")
	}
	second, err := w.SavePipeline(ctx, w.admin, "shop", graph(), "")
	// promise: N-049
	if err != nil || !second.Changed || second.Version != 2 {
		t.Fatalf("second save: %+v %v", second, err)
	}
	current := must(w.CurrentPipeline(ctx, w.admin, "shop"))(t)
	step, _ := current.Pipeline.Step("db")
	// promise: N-071
	if current.Version != 2 || step.Plugin.Image.Digest != moved {
		t.Errorf("current: version %d, plugin %+v", current.Version, step.Plugin.Image)
	}
	// promise: N-040
	if fmt.Sprint(current.Pipeline.Order) != "[db api]" || current.CreatedBy != "ada" {
		t.Errorf("order %v by %s", current.Pipeline.Order, current.CreatedBy)
	}
	versions, _, err := w.ListPipelineVersions(ctx, w.admin, "shop", controlplane.Page{})
	if err != nil || len(versions) != 2 || versions[0].Version != 2 || versions[1].Note != "first" {
		t.Errorf("versions %+v %v", versions, err)
	}
}

// What the body claims about images is worth nothing: the catalogue decides.
//
// threat: T18
func TestSavePipeline_ForgedImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	p := graph()
	p.Steps[0].Service.Image = &pipeline.Image{Registry: "evil.example.org", Repository: "x"}
	p.Steps[1].Plugin.Image = &pipeline.Image{Registry: "evil.example.org", Repository: "x"}
	p.Steps[1].Plugin.Component = &pipeline.Component{Network: true}
	must(w.SavePipeline(t.Context(), w.admin, "shop", p, ""))(t)
	v := must(w.CurrentPipeline(t.Context(), w.admin, "shop"))(t)
	for _, s := range v.Pipeline.Steps {
		if s.Service != nil && s.Service.Image.Registry != w.registry {
			t.Errorf("service image %+v", s.Service.Image)
		}
		if s.Plugin != nil && (s.Plugin.Image.Registry != w.registry || s.Plugin.Component.Network) {
			t.Errorf("plugin %+v %+v", s.Plugin.Image, s.Plugin.Component)
		}
	}
}

func TestSavePipeline_AllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	p := graph()
	p.Steps[0].Service.Env["X"] = "${{ secrets.NOT_THERE }}"
	p.Steps[0].Service.Resources.CPU = 3
	p.Steps[1].Plugin.Parameters = map[string]any{"name": "much too long a name", "size": "three"}
	p.Steps = append(p.Steps, pipeline.Step{
		Key: "ghost", Service: &pipeline.ServiceStep{
			Name: "ghost", Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 16},
		},
	})
	_, err := w.SavePipeline(t.Context(), w.admin, "shop", p, "")
	var said *controlplane.Error
	if !errors.As(err, &said) || said.Code != "pipeline_invalid" {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, x := range said.Problems {
		got = append(got, x.Step+" "+x.Field+" "+x.Code)
	}
	for _, want := range []string{
		"api service.env.X unknown_secret",
		" resources.cpu over_limit",
		"db plugin.parameters.name parameter_invalid",
		"ghost service.name unknown_service",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %q in %q", want, got)
		}
	}
	problems, _, err := w.ValidatePipeline(t.Context(), w.admin, "shop", p)
	if err != nil || len(problems) != len(said.Problems) {
		t.Errorf("validate found %d, save %d: %v", len(problems), len(said.Problems), err)
	}
	if n := w.query(t, `SELECT count(*) FROM pipeline_versions`); n != 0 {
		t.Errorf("%d versions were saved", n)
	}
}

// A reference stands for what is not known yet, so the schema does not
// complain about it, and still about what stands beside it.
func TestSavePipeline_ReferencesAreExcused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	p := graph()
	p.Steps[1].Plugin.Parameters = map[string]any{"name": "${{ deployment.name }}", "size": 0}
	problems, _, err := w.ValidatePipeline(t.Context(), w.admin, "shop", p)
	if err != nil || len(problems) != 1 || problems[0].Field != "plugin.parameters.size" {
		t.Errorf("problems %+v, %v", problems, err)
	}
}

func TestCatalog_InUseCannotGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	must(w.newNodes().AddNode(ctx, w.admin, nodes.Put{
		Name: "n1", Environment: "qa", Address: "10.0.0.5:5000",
	}))(t)
	for users, del := range map[string]func() error{
		"[plugin db service api]": func() error { return w.DeleteRegistry(ctx, w.admin, "local") },
		"[project shop]":          func() error { return w.DeleteService(ctx, w.admin, "api") },
		"[project shop] ":         func() error { return w.DeletePlugin(ctx, w.admin, "db") },
		"[node n1]":               func() error { return w.DeleteEnvironment(ctx, w.admin, "qa") },
		"[step api]": func() error {
			return w.DeleteSecret(ctx, w.admin, "shop", "API_TOKEN")
		},
	} {
		err := del()
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Kind != controlplane.Conflict ||
			fmt.Sprint(said.Users) != trim(users) {
			t.Errorf("%s: %v", users, err)
		}
	}
	if err := w.DeleteProject(ctx, w.admin, "shop"); err != nil {
		t.Errorf("a project without deployments: %v", err)
	}
	if err := w.DeleteService(ctx, w.admin, "api"); err != nil {
		t.Errorf("a service nobody uses: %v", err)
	}
}

func trim(s string) string {
	if s[len(s)-1] == ' ' {
		return s[:len(s)-1]
	}
	return s
}

func TestProject_WhatPeopleChoose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.PutService(ctx, w.admin, catalog.ServicePut{
		Name: "cache", Registry: "local", Image: "shop/cache", TagMode: pipeline.Pinned, Tag: "7",
	}))(t)
	p := graph()
	for _, s := range []struct {
		key  pipeline.StepKey
		name string
	}{{"cache", "cache"}, {"worker", "api"}} {
		p.Steps = append(p.Steps, pipeline.Step{Key: s.key, Service: &pipeline.ServiceStep{
			Name: s.name, Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 32},
		}})
	}
	must(w.SavePipeline(ctx, w.admin, "shop", p, ""))(t)
	view := must(w.GetProject(ctx, w.admin, "shop"))(t)
	pinned, selectable := 0, 0
	for _, s := range view.Services {
		if s.TagMode == pipeline.Pinned && s.Tag == "7" {
			pinned++
		}
		if s.TagMode == pipeline.Selectable && s.Pattern == "v*" {
			selectable++
		}
	}
	if pinned != 1 || selectable != 2 {
		t.Errorf("services %+v", view.Services)
	}
	_, err := w.PutProject(ctx, w.admin, catalog.ProjectPut{
		Name: "shop", Resources: pipeline.Resources{CPU: 1, MemoryMiB: 1024},
	})
	if controlplane.CodeOf(err) != "over_limit" {
		t.Errorf("limits below the pipeline: %v", err)
	}
}

// Without a grant there is nothing to see; with one, only what it shows.
func TestVisibility(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	must(w.PutProject(ctx, w.admin, catalog.ProjectPut{Name: "blog"}))(t)
	must(w.PutEnvironment(ctx, w.admin, catalog.EnvironmentPut{
		Name: "vault", Domain: "localhost", Restricted: true,
	}))(t)
	shop := must(w.GetProject(ctx, w.admin, "shop"))(t).ID
	nobody := person()
	reader := person(controlplane.Grant{Project: shop, Level: controlplane.LevelRead})
	for _, c := range []struct {
		who                              access.Actor
		projects, environments, services int
	}{{nobody, 0, 0, 0}, {reader, 1, 1, 1}, {w.admin, 2, 2, 1}} {
		projects, _, err1 := w.ListProjects(ctx, c.who, controlplane.Page{})
		environments, _, err2 := w.ListEnvironments(ctx, c.who, controlplane.Page{})
		services, _, err3 := w.ListServices(ctx, c.who, controlplane.Page{})
		// promise: N-007
		if err := errors.Join(err1, err2, err3); err != nil || len(projects) != c.projects ||
			len(environments) != c.environments || len(services) != c.services {
			t.Errorf("%v sees %d projects, %d environments, %d services; %v",
				c, len(projects), len(environments), len(services), err)
		}
	}
	for name, do := range map[string]func(access.Actor) error{
		"project": func(a access.Actor) error {
			_, err := w.GetProject(ctx, a, "blog")
			return err
		},
		"pipeline": func(a access.Actor) error {
			_, err := w.CurrentPipeline(ctx, a, "blog")
			return err
		},
		"environment": func(a access.Actor) error {
			_, err := w.GetEnvironment(ctx, a, "vault")
			return err
		},
	} {
		if err := do(reader); controlplane.KindOf(err) != controlplane.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.GetProject(ctx, access.Nobody(), "shop")
	if controlplane.KindOf(err) != controlplane.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
}

// newNodes makes the package beside this one, for nodes that use an environment.
func (w *world) newNodes() *nodes.Nodes {
	return nodes.New(nodes.Config{Store: w.store, Keys: w.keys,
		IssueToken: func() (nodes.IssuedToken, error) {
			return nodes.IssuedToken{Token: controlplane.NewPlain("token"), Kid: "kid0000001",
				Key: bytes.Repeat([]byte{7}, 32)}, nil
		}})
}

func person(grants ...controlplane.Grant) access.Actor {
	return access.User(controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: "eve", Role: controlplane.RoleUser,
	}, grants)
}

// Every mutation is refused to a person with full access who is no admin, and
// each attempt is in the journal.
func TestMutations_AdminOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	shop := must(w.GetProject(ctx, w.admin, "shop"))(t).ID
	eve := person(controlplane.Grant{Project: shop, Level: controlplane.LevelFull})
	value := controlplane.NewPlain("long enough")
	for action, do := range map[string]func() error{
		"put registry": func() error {
			_, err := w.PutRegistry(ctx, eve, catalog.RegistryPut{Name: "x", Host: "x.org"})
			return err
		},
		"delete registry": func() error { return w.DeleteRegistry(ctx, eve, "local") },
		"put service": func() error {
			_, err := w.PutService(ctx, eve, catalog.ServicePut{Name: "x"})
			return err
		},
		"delete service": func() error { return w.DeleteService(ctx, eve, "api") },
		"put plugin":     func() error { _, err := w.PutPlugin(ctx, eve, plugin()); return err },
		"delete plugin":  func() error { return w.DeletePlugin(ctx, eve, "db") },
		"put environment": func() error {
			_, err := w.PutEnvironment(ctx, eve, catalog.EnvironmentPut{Name: "x", Domain: "x"})
			return err
		},
		"delete environment": func() error { return w.DeleteEnvironment(ctx, eve, "qa") },
		"put project": func() error {
			_, err := w.PutProject(ctx, eve, catalog.ProjectPut{Name: "x"})
			return err
		},
		"delete project": func() error { return w.DeleteProject(ctx, eve, "shop") },
		"save pipeline": func() error {
			_, err := w.SavePipeline(ctx, eve, "shop", graph(), "")
			return err
		},
		"put secret": func() error {
			_, err := w.PutSecret(ctx, eve, catalog.SecretPut{
				Project: "shop", Name: "X", Value: &value,
			})
			return err
		},
		"delete secret": func() error { return w.DeleteSecret(ctx, eve, "shop", "API_TOKEN") },
	} {
		// promise: N-006
		if err := do(); controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s: %v", action, err)
		}
		n := w.query(t, `SELECT count(*) FROM audit WHERE actor = 'eve' AND action = $1
			AND result = 'refused' AND detail = 'forbidden'`, action)
		if n != 1 {
			t.Errorf("%s: %d entries in the journal", action, n)
		}
	}
}
