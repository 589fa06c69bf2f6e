package review

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/pipeline"
)

// plainOf opens a stored secret of a rule.
func (w *world) plainOf(id string) string {
	w.t.Helper()
	plain, err := w.Keys.LoadWebhookSecret(w.t.Context(), worker, id)
	w.failOnError(err)
	return plain.Reveal()
}

// A rule without a secret gets one that is shown once, keeps it when it is changed, and is found
// unchanged when the same is stored again.
func TestPutRule_MakesAndKeepsTheSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := RulePut{Rule: controlplane.ReviewRule{Name: "hub", Source: controlplane.ReviewGitHub,
		Project: "shop", Environment: "qa", Tag: "pr-{number}", Wait: time.Hour, Active: true}}
	first, err := w.PutRule(t.Context(), system, p)
	w.failOnError(err)
	made := first.Made.Reveal()
	if !first.Created || !first.Changed || len(made) != 64 ||
		w.plainOf(keyOf(first.Rule.ID)) != made || first.Rule.CreatedBy != system.Name() ||
		time.Since(first.Rule.CreatedAt).Abs() > time.Minute {
		t.Errorf("created: %+v", first)
	}
	again, err := w.PutRule(t.Context(), system, p)
	w.failOnError(err)
	if again.Created || again.Changed || !again.Made.IsEmpty() || again.Rule.ID != first.Rule.ID ||
		again.Rule.CreatedAt.Sub(first.Rule.CreatedAt).Abs() > time.Minute {
		t.Errorf("stored again: %+v", again)
	}
	p.Rule.Tag = "{branch}"
	changed, err := w.PutRule(t.Context(), system, p)
	w.failOnError(err)
	if !changed.Changed || w.plainOf(keyOf(first.Rule.ID)) != made {
		t.Errorf("changed: %+v", changed)
	}
	for i, secret := range []string{made, strings.Repeat("s", 16), made} {
		key := controlplane.NewPlain(secret)
		p.Secret = &key
		got, err := w.PutRule(t.Context(), system, p)
		w.failOnError(err)
		if got.Changed != (i > 0) || w.plainOf(keyOf(first.Rule.ID)) != secret {
			t.Errorf("with secret %d: changed is %v", i, got.Changed)
		}
	}
	short := controlplane.NewPlain(strings.Repeat("s", 15))
	p.Secret = &short
	if _, err := w.PutRule(t.Context(), system, p); controlplane.CodeOf(err) != "secret_short" {
		t.Errorf("a secret of 15 characters: %v", err)
	}
}

// The token of a code host is deleted when the rule's address changes, so that nobody has it sent
// elsewhere, and kept by every other change.
func TestPutRule_TokenStaysAtItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(address, tag string, token *controlplane.Plain) RuleSaved {
		t.Helper()
		saved, err := w.PutRule(t.Context(), system, RulePut{Token: token,
			Rule: controlplane.ReviewRule{Name: "hub", Source: controlplane.ReviewGitHub,
				Project: "shop", Environment: "qa", Tag: tag, Wait: time.Hour, Active: true,
				APIURL: address}})
		w.failOnError(err)
		return saved
	}
	token := controlplane.NewPlain(ruleToken)
	rule := put("https://code.example", "a", &token).Rule
	if got := w.plainOf(tokenOf(rule.ID)); got != ruleToken {
		t.Fatalf("the token is %q", got)
	}
	put("https://code.example", "b", nil)
	if got := w.plainOf(tokenOf(rule.ID)); got != ruleToken {
		t.Error("another tag deletes the token")
	}
	if saved := put("https://code.example", "b", &token); saved.Changed {
		t.Error("the same token is a change")
	}
	put("https://evil.example", "b", nil)
	if got := w.plainOf(tokenOf(rule.ID)); got != "" {
		t.Error("the token moved to another address")
	}
	if saved := put("https://evil.example", "b", &token); !saved.Changed {
		t.Error("a new token is no change")
	}
	none := controlplane.Plain{}
	if saved := put("https://evil.example", "b", &none); !saved.Changed ||
		w.plainOf(tokenOf(rule.ID)) != "" {
		t.Error("an empty token does not delete the stored one")
	}
	if saved := put("https://evil.example", "b", &none); saved.Changed {
		t.Error("no token instead of none is a change")
	}
}

// What is wrong with a rule is said of its field, and nothing is stored.
func TestPutRule_SaysWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	good := controlplane.ReviewRule{Name: strings.Repeat("r", 24), Source: controlplane.ReviewGitHub,
		Project: "shop", Environment: "qa", Branch: "release/*", Tag: "{branch}-{short}",
		Wait: time.Hour, Active: true, APIURL: "http://gitea.example:3000/api/v1"}
	for name, c := range map[string]struct {
		change      func(*controlplane.ReviewRule)
		field, code string
	}{
		"good":      {func(*controlplane.ReviewRule) {}, "", ""},
		"no name":   {func(r *controlplane.ReviewRule) { r.Name = "" }, "name", "*"},
		"long name": {func(r *controlplane.ReviewRule) { r.Name += "r" }, "name", "name_long"},
		"project": {func(r *controlplane.ReviewRule) { r.Project = "none" }, "project",
			"unknown"},
		"environment": {func(r *controlplane.ReviewRule) { r.Environment = "none" }, "environment",
			"unknown"},
		"branch": {func(r *controlplane.ReviewRule) { r.Branch = "[" }, "branch", "pattern_invalid"},
		"tag":    {func(r *controlplane.ReviewRule) { r.Tag = "{title}" }, "tag", "tag_invalid"},
		"two tags, one wrong": {func(r *controlplane.ReviewRule) { r.Tag = "{number}{nothing}" }, "tag",
			"tag_invalid"},
		"input": {func(r *controlplane.ReviewRule) { r.Input = map[string]any{"size": 1} }, "*", "*"},
		"scheme": {func(r *controlplane.ReviewRule) { r.APIURL = "ftp://a" }, "api_url",
			"url_invalid"},
		"no host": {func(r *controlplane.ReviewRule) { r.APIURL = "https://" }, "api_url",
			"url_invalid"},
		"password": {func(r *controlplane.ReviewRule) { r.APIURL = "https://a:b@c" }, "api_url",
			"url_invalid"},
		"query": {func(r *controlplane.ReviewRule) { r.APIURL = "https://a?b" }, "api_url",
			"url_invalid"},
		"no URL": {func(r *controlplane.ReviewRule) { r.APIURL = "https://a\x7f" }, "api_url",
			"url_invalid"},
	} {
		rule := good
		c.change(&rule)
		_, err := w.PutRule(t.Context(), system, RulePut{Rule: rule})
		field := ""
		if e, ok := errors.AsType[*controlplane.Error](err); ok {
			field = e.Field
		}
		if (err == nil) != (c.code == "") || c.field != "*" && field != c.field ||
			c.code != "*" && controlplane.CodeOf(err) != c.code {
			t.Errorf("%s: field %q, %v", name, field, err)
		}
	}
	all, next, err := w.ListRules(t.Context(), system, controlplane.Page{Limit: 10})
	if err != nil || len(all) != 1 || next != "" || all[0].Name != good.Name {
		t.Errorf("stored are %+v, %q, %v", all, next, err)
	}
}

// Values of a pipeline's input are checked when they or the project change. Those that are stored
// stay possible when the pipeline has changed.
func TestPutRule_ChecksItsInputOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putServices()
	_, err := w.Catalog.PutProject(t.Context(), system, catalog.ProjectPut{Name: "other",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}})
	w.failOnError(err)
	save := func(project string, fields ...string) {
		t.Helper()
		p := pipeline.Pipeline{Format: 2, Steps: []pipeline.Step{{Key: "api",
			Service: &pipeline.ServiceStep{Name: "api", Resources: pipeline.Resources{CPU: 0.1,
				MemoryMiB: 64}, Env: map[string]string{}}}}}
		for _, name := range fields {
			p.Input = append(p.Input, pipeline.InputField{ApprovalField: pipeline.ApprovalField{
				Name: name, Type: pipeline.FieldString, Required: true}})
			p.Steps[0].Service.Env[strings.ToUpper(name)] = "${{ input." + name + " }}"
		}
		_, err := w.Catalog.SavePipeline(t.Context(), system, project, p, "")
		w.failOnError(err)
	}
	put := func(project, tag, field string) error {
		_, err := w.PutRule(t.Context(), system, RulePut{Rule: controlplane.ReviewRule{Name: "hub",
			Source: controlplane.ReviewGitHub, Project: project, Environment: "qa", Tag: tag,
			Wait: time.Hour, Active: true, Input: map[string]any{field: "large"}}})
		return err
	}
	save("shop", "size")
	save("other", "color")
	w.failOnError(put("shop", "a", "size"))
	save("shop", "color")
	if err := put("shop", "b", "size"); err != nil {
		t.Errorf("what is stored cannot be stored with another tag: %v", err)
	}
	for project, field := range map[string]string{"other": "size", "shop": "weight"} {
		if err := put(project, "b", field); controlplane.KindOf(err) != controlplane.Invalid {
			t.Errorf("%s takes %s: %v", project, field, err)
		}
	}
	w.failOnError(put("other", "b", "color"))
}

// Rules are an admin's, and one that is deleted takes its secrets along.
func TestRules_AreForAdminsAndGoWithTheirSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := controlplane.NewPlain(ruleToken)
	rule := w.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) { p.Token = &token })
	w.putRule("other", controlplane.ReviewGitHub)
	ada := access.User(controlplane.User{ID: controlplane.NewID[controlplane.UserID](), Name: "ada",
		Role: controlplane.RoleUser, Active: true}, nil)
	_, _, err1 := w.ListRules(t.Context(), ada, controlplane.Page{Limit: 10})
	_, _, err2 := w.GetRule(t.Context(), ada, "hub")
	_, err3 := w.PutRule(t.Context(), ada, RulePut{Rule: rule})
	err4 := w.DeleteRule(t.Context(), ada, "hub")
	_, err5 := w.Receive(t.Context(), ada, "hub", nil, nil)
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("a user may do number %d: %v", i+1, err)
		}
	}
	all, next, err := w.ListRules(t.Context(), system, controlplane.Page{Limit: 1})
	if err != nil || len(all) != 1 || all[0].Name != "hub" || next == "" {
		t.Errorf("the first page is %+v, %q, %v", all, next, err)
	}
	w.failOnError(w.DeleteRule(t.Context(), system, "hub"))
	if w.plainOf(keyOf(rule.ID))+w.plainOf(tokenOf(rule.ID)) != "" {
		t.Error("secrets of a deleted rule are stored")
	}
	if _, _, err := w.GetRule(t.Context(), system, "hub"); controlplane.KindOf(err) !=
		controlplane.NotFound {
		t.Errorf("a deleted rule: %v", err)
	}
	if err := w.DeleteRule(t.Context(), system, "hub"); controlplane.KindOf(err) !=
		controlplane.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// A delivery is known by its id and its body: under another id the same body is another event,
// which changes nothing because the review knows as much already.
func TestReceive_AnotherIDIsAnotherDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for source, body := range map[controlplane.ReviewSource]string{
		controlplane.ReviewGitHub: fmt.Sprintf(hubForm, "opened", "open", own),
		controlplane.ReviewGitea:  fmt.Sprintf(hubForm, "opened", "open", own),
		controlplane.ReviewGitLab: fmt.Sprintf(labForm, "open", "opened", 7),
	} {
		rule := w.putRule(string(source), source)
		for i, want := range []string{taken, "the same commit"} {
			if got := w.deliverEvent(rule, body); got != want {
				t.Errorf("%s, delivery %d: %q, want %q", source, i, got, want)
			}
		}
	}
}

// Harbor sends no ids: each of its pushes counts, and what is the same changes nothing.
func TestReceive_PushesWithoutIDsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.putRule("push", controlplane.ReviewRegistry, func(p *RulePut) { p.Rule.Tag = "{tag}" })
	const push = `{"type":"PUSH_ARTIFACT","event_data":{"repository":{"repo_full_name":"shop/api"},
		"resources":[{"tag":"1.1","digest":"sha256:%s"}]}}`
	for i, c := range []struct{ digest, want string }{
		{"a", taken}, {"a", "the same commit"}, {"b", taken}, {"a", taken},
	} {
		if got := w.deliverEvent(rule, fmt.Sprintf(push, c.digest)); got != c.want {
			t.Errorf("push %d: %q, want %q", i, got, c.want)
		}
	}
}

// A key shows a repository of up to 250 bytes as it is; a longer one is shortened and told apart
// by a hash. Branches have 128 bytes, beside repositories of 150.
func TestReviewKey_ShortensWhatIsLong(t *testing.T) {
	t.Parallel()
	name := func(n int) string { return strings.Repeat("r", n) }
	for _, c := range []struct {
		e     event
		plain string
	}{
		{event{repository: name(250), number: 7}, name(250) + "#7"},
		{event{repository: name(251), number: 7}, ""},
		{event{repository: name(150), branch: name(128)}, name(150) + "@" + name(128)},
		{event{repository: name(151), branch: "b"}, ""},
		{event{repository: "a", branch: name(129)}, ""},
		{event{repository: "a@b", branch: "c"}, ""},
	} {
		key := c.e.reviewKey()
		if c.plain != "" && key != c.plain || c.plain == "" && !strings.Contains(key, "~") ||
			len(key) > 300 {
			t.Errorf("%d and %d bytes: %q", len(c.e.repository), len(c.e.branch), key)
		}
	}
	e := event{repository: name(200), branch: name(200)}
	hash := e.identityHash("")[:12]
	if want := name(150) + "~" + hash + "@" + name(128); e.reviewKey() != want {
		t.Errorf("shortened, it is %q, want %q", e.reviewKey(), want)
	}
	if e.number = 9; e.reviewKey() != name(200)+"#9" {
		t.Errorf("with a number it is %q", e.reviewKey())
	}
}

// Without a rhythm of its own the loop asks registries every 15 seconds.
func TestNew_AsksEvery15Seconds(t *testing.T) {
	t.Parallel()
	for ask, want := range map[time.Duration]time.Duration{0: 15 * time.Second, 1: 1} {
		if got := New(Config{Ask: ask}).Ask; got != want {
			t.Errorf("%s is %s", ask, got)
		}
	}
}
