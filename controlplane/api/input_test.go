package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// inputPipeline is the shop, whose service reads two fields of the input.
func inputPipeline() object {
	p := shopPipeline()
	p.Steps[0].Service.Env["SEED"] = "${{ input.seed }}"
	p.Steps[0].Service.Env["MODE"] = "${{ input.mode }}"
	text, _ := json.Marshal(p)
	var out object
	_ = json.Unmarshal(text, &out)
	out["input"] = []object{
		{"name": "seed", "type": "string", "required": true, "max_length": 12, "label": "Seed data"},
		{"name": "mode", "type": "choice", "choices": []string{"fast", "full"}, "default": "fast"},
		{"name": "count", "type": "integer", "min": 1, "max": 9},
	}
	return out
}

func (w *world) publishInput(root string, change func(object)) {
	w.t.Helper()
	p := inputPipeline()
	if change != nil {
		change(p)
	}
	w.expect(200, "PUT", "/projects/shop/pipeline", root, object{"pipeline": p}, nil)
}

// refusedInput asks for a deployment and expects these problems, as "field code".
func (w *world) refusedInput(root string, input object, want ...string) {
	w.t.Helper()
	var p api.Problem
	w.expect(http.StatusBadRequest, "POST", "/deployments", root, object{"name": "refused",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.0"}, "input": input}, &p)
	var got []string
	for _, one := range *p.Problems {
		got = append(got, one.Field+" "+one.Code)
	}
	if p.Code != "input_refused" || !slices.Equal(got, want) ||
		!strings.HasPrefix(want[0], *p.Field+" ") || !strings.Contains(*p.Detail, *p.Field) {
		w.t.Errorf("%v: refused with %v %+v, want %v", input, got, p, want)
	}
}

func (w *world) deployInput(root, name string, input object, more object) (d api.Deployment) {
	w.t.Helper()
	body := object{"name": name, "project": "shop", "environment": "qa",
		"versions": object{"api": "1.0"}, "input": input}
	maps.Copy(body, more)
	w.expect(http.StatusCreated, "POST", "/deployments", root, body, &d)
	return d
}

func (w *world) hasInput(what string, got *api.Input, want api.Input) {
	w.t.Helper()
	if got == nil || !reflect.DeepEqual(*got, want) {
		w.t.Errorf("%s has input %v, want %v", what, got, want)
	}
}

// A request may set what the pipeline declares and nothing else; each refusal names its field.
func TestInput_OnlyWhatThePipelineDeclares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.refusedInput(root, object{"seed": "x"}, "input.seed unknown_input")
	a := w.call("PUT", "/api/v1/projects/shop/pipeline", root, object{"pipeline": func() object {
		p := inputPipeline()
		p["input"] = []object{{"name": "seed", "type": "string"}}
		return p
	}()})
	for _, says := range []string{"service.env.SEED", "optional_input", "service.env.MODE",
		"unknown_input"} {
		if a.status != http.StatusBadRequest || !strings.Contains(string(a.body), says) {
			t.Errorf("%d %s, want %s", a.status, a.body, says)
		}
	}
	w.publishInput(root, nil)
	w.refusedInput(root, object{}, "input.seed required")
	w.refusedInput(root, object{"seed": strings.Repeat("x", 13), "mode": 1, "count": 1.5, "sed": "x"},
		"input.count wrong_value", "input.mode wrong_value", "input.sed unknown_input",
		"input.seed wrong_value")
	found := w.preflight(root, object{"name": "checked", "project": "shop", "environment": "qa",
		"versions": object{"api": "1.0"}, "input": object{"seed": "x", "count": 10}})
	if found.Ok || !slices.ContainsFunc(found.Checks, func(c api.PreflightCheck) bool {
		return c.Id == "input" && c.Field != nil && *c.Field == "input.count"
	}) {
		t.Errorf("%+v", found)
	}
	d := w.deployInput(root, "first", object{"seed": "${{ x }}"}, nil)
	want := api.Input{"seed": "${{ x }}", "mode": "fast"}
	w.hasInput("deployment", d.Input, want)
	var run api.Run
	w.got("/api/v1/deployments/"+d.Id+"/runs/1", root, &run)
	w.hasInput("run", run.Input, want)
	var capsule api.Capsule
	w.got("/api/v1/deployments/"+d.Id+"/capsule", root, &capsule)
	w.hasInput("capsule", capsule.Input, want)
	w.goalHas(controlplane.DeploymentID(d.Id), want)
	entry := w.newest(root, "root").Items[0]
	if entry.Action != "create deployment" || entry.Detail == nil || *entry.Detail != "input seed" {
		t.Errorf("%+v", entry)
	}
}

// goalHas checks what the node is sent.
func (w *world) goalHas(id controlplane.DeploymentID, want api.Input) {
	w.t.Helper()
	d, err := w.lifecycle.Get(w.t.Context(), system, id)
	w.expectSaved(nil, err)
	w.expectSaved(nil, w.store.Read(w.t.Context(), func(tx *postgres.Tx) error {
		goals, err := tx.NodeSessions().ListGoals(w.t.Context(), d.NodeID)
		for _, g := range goals {
			if g.Deployment == id && (!reflect.DeepEqual(api.Input(g.Input), want) ||
				g.Pipeline.Steps[0].Service.Env["SEED"] != "${{ input.seed }}" ||
				pipeline.FormatOf(g.Pipeline) != 4 ||
				g.Limits != (pipeline.Resources{CPU: 2, MemoryMiB: 1024})) {
				w.t.Errorf("the node gets %v and %v of %+v", g.Input, g.Limits, g.Pipeline)
			}
		}
		return err
	}))
}

// A clone keeps the input. What the pipeline no longer takes is a question in the sheet.
func TestInput_CloneAndDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.publishInput(root, nil)
	d := w.deployInput(root, "first", object{"seed": "abcdef", "mode": "full", "count": 3}, nil)
	sheet := func() (s api.CloneSheet, rows string) {
		w.got("/api/v1/deployments/"+d.Id+"/clone-sheet", root, &s)
		for _, i := range *s.Input {
			problem := ""
			if i.Problem != nil {
				problem = *i.Problem
			}
			rows += i.Name + "|" + string(i.State) + "|" + jsonOf(i.Source) + "|" + jsonOf(i.Choice) +
				"|" + problem + "\n"
		}
		return s, rows
	}
	if s, rows := sheet(); rows != "seed|same|\"abcdef\"|\"abcdef\"|\nmode|same|\"full\"|\"full\"|\n"+
		"count|same|3|3|\n" || !slices.Contains(s.CarriedOver, "input seed") {
		t.Errorf("%s%v", rows, s.CarriedOver)
	}
	w.publishInput(root, func(p object) {
		p["input"] = []object{
			{"name": "seed", "type": "string", "required": true, "max_length": 4},
			{"name": "mode", "type": "choice", "choices": []string{"fast"}, "default": "fast"},
			{"name": "owner", "type": "string", "required": true}}
	})
	s, rows := sheet()
	if rows != "seed|same|\"abcdef\"|null|6 characters; give at most 4\n"+
		"mode|same|\"full\"|\"fast\"|choose one of fast\n"+
		"owner|added|null|null|fill in owner\n"+
		"count|removed|3|null|the pipeline no longer declares it; it is left out\n" {
		t.Error(rows)
	}
	if s.InputChanges == nil || (*s.InputChanges)[0].Path != `input["count"]` {
		t.Errorf("%+v", s.InputChanges)
	}
	copied := w.deployInput(root, "copy", object{"seed": "abcd", "owner": "me"},
		object{"cloned_from": d.Id})
	w.hasInput("clone", copied.Input, api.Input{"seed": "abcd", "mode": "fast", "owner": "me"})
	var diff api.DeploymentDiff
	w.got("/api/v1/deployments/"+d.Id+"/diff?with="+copied.Id, root, &diff)
	var fields string
	for _, f := range diff.Fields {
		if strings.HasPrefix(f.Path, "input") {
			fields += f.Path + " " + jsonOf(f.Left) + " " + jsonOf(f.Right) + "\n"
		}
	}
	if fields != "input.count 3 null\ninput.mode \"full\" \"fast\"\ninput.owner null \"me\"\n"+
		"input.seed \"abcdef\" \"abcd\"\n" {
		t.Error(fields)
	}
}

// Retrying and recreating keep the input; what the pipeline no longer declares is left out, and
// what it no longer takes is refused by name.
func TestInput_RetryAndRecreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.publishInput(root, nil)
	made := w.deployInput(root, "first", object{"seed": "abcdef", "count": 3}, nil)
	id := controlplane.DeploymentID(made.Id)
	d, err := w.lifecycle.Get(t.Context(), system, id)
	w.expectSaved(nil, err)
	for _, status := range []controlplane.DeploymentStatus{controlplane.Applying,
		controlplane.Undoing, controlplane.Failed} {
		w.reaches(d, status)
	}
	w.publishInput(root, func(p object) {
		p["input"] = []object{{"name": "seed", "type": "string", "required": true, "max_length": 4},
			{"name": "mode", "type": "string", "default": "new"}}
	})
	var p api.Problem
	w.expect(http.StatusBadRequest, "POST", "/deployments/"+made.Id+"/retry", root, nil, &p)
	if *p.Field != "input.seed" || !strings.Contains(*p.Remedy, "same pipeline version") {
		t.Errorf("%+v", p)
	}
	w.publishInput(root, func(p object) {
		p["input"] = []object{{"name": "seed", "type": "string", "required": true},
			{"name": "mode", "type": "string", "default": "new"},
			{"name": "size", "type": "integer", "default": 2}}
	})
	var again api.Deployment
	w.expect(http.StatusAccepted, "POST", "/deployments/"+made.Id+"/retry", root, nil, &again)
	want := api.Input{"seed": "abcdef", "mode": "fast", "size": 2.0}
	w.hasInput("retry", again.Input, want)
	var runs api.RunList
	w.got("/api/v1/deployments/"+made.Id+"/runs", root, &runs)
	w.hasInput("first run", runs.Items[1].Input,
		api.Input{"seed": "abcdef", "mode": "fast", "count": 3.0})
	w.expect(http.StatusCreated, "POST", "/deployments/"+made.Id+"/recreate", root,
		object{"name": "second"}, &again)
	w.hasInput("recreated", again.Input, want)
}

// Templates and rules keep values for later requests; unknown fields are refused at once.
func TestInput_TemplatesAndRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.publishInput(root, nil)
	var p api.Problem
	w.expect(http.StatusBadRequest, "PUT", "/projects/shop/templates/demo", root,
		object{"input": object{"sed": "x"}}, &p)
	if *p.Field != "input.sed" {
		t.Errorf("%+v", p)
	}
	var template api.Template
	w.expect(200, "PUT", "/projects/shop/templates/demo", root,
		object{"input": object{"mode": "full"}}, &template)
	w.got("/api/v1/projects/shop/templates/demo", root, &template)
	w.hasInput("template", template.Input, api.Input{"mode": "full"})
	rule := object{"source": "generic", "project": "shop", "environment": "qa", "tag": "{tag}",
		"input": object{"count": 10}}
	w.expect(http.StatusBadRequest, "PUT", "/rules/pulls", root, rule, &p)
	if *p.Field != "input.count" {
		t.Errorf("%+v", p)
	}
	rule["input"] = object{"seed": "pulls"}
	var saved api.RuleSaved
	w.expect(200, "PUT", "/rules/pulls", root, rule, &saved)
	w.hasInput("rule", saved.Rule.Input, api.Input{"seed": "pulls"})
	w.expect(200, "PUT", "/rules/pulls", root, rule, &saved)
	if *saved.Changed {
		t.Error("the same rule changed something")
	} // What is stored stays possible after the pipeline has changed.
	rule["active"] = false
	w.publishPipeline(func(*pipeline.Pipeline) {})
	w.expect(200, "PUT", "/rules/pulls", root, rule, nil)
	w.expect(200, "PUT", "/projects/shop/templates/demo", root,
		object{"description": "x", "input": object{"mode": "full"}}, nil)
	w.expect(http.StatusBadRequest, "PUT", "/projects/shop/templates/demo", root,
		object{"input": object{"mode": "fast"}}, &p)
	if *p.Field != "input.mode" {
		t.Errorf("%+v", p)
	}
}

// A rule's deployments get its input.
func TestInput_OfARule(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.publishInput(w.token("root"), nil)
	w.makeRule("pulls", "github", "", object{"input": object{"seed": "pulls"}})
	w.github("pulls", pullRequest("opened", "feature/cart", "abc1234def", "acme/shop"))
	d := w.awaitDeployment("pulls-12", isQueued)
	w.hasInput("deployment", new(api.Input(d.Input)), api.Input{"seed": "pulls", "mode": "fast"})
}
