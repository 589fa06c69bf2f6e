package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

// dryRun says what applying would do. It only reads, and has the control plane
// validate pipelines, which saves nothing. What a registry would answer is not
// asked: a plugin's tag that moved shows when it is applied.
type dryRun struct {
	api *client
	out io.Writer
	// known is what is defined now, by kind; a kind is loaded once.
	known map[string][]object
	// wanted are the documents' own "kind name", for what refers to them.
	wanted map[string]bool
	// refused counts what applying would stumble over.
	refused int
}

func newDryRun(api *client, out io.Writer, docs []document) *dryRun {
	d := &dryRun{api: api, out: out, known: map[string][]object{}, wanted: map[string]bool{}}
	for _, doc := range docs {
		d.wanted[doc.String()] = true
	}
	return d
}

// all ends with a refusal when applying would.
func (d *dryRun) all(ctx context.Context, docs []document) error {
	for _, doc := range docs {
		if err := d.one(ctx, doc); err != nil {
			return fmt.Errorf("%s: %w", doc, err)
		}
	}
	if d.refused > 0 {
		fmt.Fprintln(d.out, "\nApplying would be refused.")
		return codedError{errSilent, exitRefused}
	}
	return nil
}

func (d *dryRun) one(ctx context.Context, doc document) error {
	wish, err := wished(doc)
	if err != nil {
		return err
	}
	now, exists, err := d.current(ctx, doc)
	if err != nil {
		return err
	}
	if err := d.body(doc, now, wish, exists); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wish.Secrets)) {
		if err := d.secret(doc.Name, name, now, wish.Secrets[name]); err != nil {
			return err
		}
	}
	if wish.Pipeline != nil {
		if err := d.pipeline(ctx, doc, now, wish, exists); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wish.Templates)) {
		was, exists := now.Templates[name]
		result := changeOf(exists, sameTemplate(was, wish.Templates[name]))
		if err := d.say("template "+doc.Name+" "+name, result); err != nil {
			return err
		}
	}
	return nil
}

func changeOf(exists, same bool) string {
	switch {
	case !exists:
		return "would be created"
	case !same:
		return "would change"
	}
	return "unchanged"
}

func (d *dryRun) current(ctx context.Context, doc document) (o object, exists bool, err error) {
	if _, loaded := d.known[doc.Kind]; !loaded {
		if d.known[doc.Kind], err = d.api.objects(ctx, doc.Kind); err != nil {
			return o, false, err
		}
	}
	all := d.known[doc.Kind]
	i := slices.IndexFunc(all, func(o object) bool { return o.Name == doc.Name })
	if i < 0 {
		return o, false, nil
	}
	return all[i], true, nil
}

// wished reads a document as the object that it wants.
func wished(doc document) (object, error) {
	o := object{Kind: doc.Kind, Name: doc.Name}
	if err := doc.readFromEnv(hiddenFields[doc.Kind]...); err != nil {
		return o, err
	}
	var err error
	switch doc.Kind {
	case "registry":
		if err := doc.readCA(); err != nil {
			return o, err
		}
		o.Body, err = decodeBody[apiclient.RegistryPut](doc, doc.Body)
	case "service":
		o.Body, err = decodeBody[apiclient.ServicePut](doc, doc.Body)
	case "plugin":
		if err := doc.readComponent(); err != nil {
			return o, err
		}
		o.Body, err = decodeBody[apiclient.PluginPut](doc, doc.Body)
	case "environment":
		o.Body, err = decodeBody[environmentDocument](doc, doc.Body)
	case "node":
		o.Body, err = decodeBody[apiclient.NodePut](doc, doc.Body)
	case "user":
		o.Body, err = decodeBody[apiclient.UserPut](doc, doc.Body)
	case "team":
		o.Body, err = decodeBody[apiclient.TeamPut](doc, doc.Body)
	case "webhook":
		o.Body, err = decodeBody[webhookDocument](doc, doc.Body)
	case "rule":
		o.Body, err = decodeBody[apiclient.RulePut](doc, doc.Body)
	default:
		return wishedProject(doc)
	}
	return o, err
}

func wishedProject(doc document) (object, error) {
	o := object{Kind: doc.Kind, Name: doc.Name}
	secrets, graph, templates := doc.take("secrets"), doc.take("pipeline"), doc.take("templates")
	body, err := decodeBody[apiclient.ProjectPut](doc, doc.Body)
	if err != nil {
		return o, err
	}
	o.Body = body
	if secrets != nil {
		if o.Secrets, err = decodeBody[map[string]secretDocument](doc, secrets); err != nil {
			return o, err
		}
	}
	if templates != nil {
		o.Templates, err = decodeBody[map[string]apiclient.TemplatePut](doc, templates)
		if err != nil {
			return o, err
		}
	}
	if graph == nil {
		return o, nil
	}
	p, err := decodePipeline(doc, graph)
	o.Pipeline = &p
	return o, err
}

// body compares the fields that the API takes.
func (d *dryRun) body(doc document, now, wish object, exists bool) error {
	if !exists {
		return d.say(doc.String(), "would be created")
	}
	before, err := comparableBody(now.Body)
	if err != nil {
		return err
	}
	after, err := comparableBody(keptBody(now.Body, wish.Body))
	if err != nil {
		return err
	}
	var unseen []string
	for _, field := range hiddenFields[doc.Kind] {
		if after[field] != nil {
			unseen = append(unseen, field)
			delete(after, field)
		}
	}
	fields, err := pipeline.CompareJSON(before, after)
	if err != nil {
		return err
	}
	result := "unchanged"
	if len(fields) > 0 {
		result = "would change"
	}
	if len(unseen) > 0 {
		result += "; its " + strings.Join(unseen, " and ") + " would be set, and cannot be compared"
	}
	if err := d.say(doc.String(), result); err != nil {
		return err
	}
	printFields(d.out, "    ", fields)
	return nil
}

// comparableBody is a body as a JSON tree without what says nothing: an absent
// field and an empty one mean the same. A project's cleanup of 0 says "never".
func comparableBody(body any) (map[string]any, error) {
	switch b := body.(type) {
	case apiclient.PluginPut:
		if len(b.Component.Actions) == 0 {
			b.Component.Actions = []string{"create"}
		}
		body = b
	case apiclient.UserPut:
		return tidied(b, map[string]any{"active": b.Active == nil || *b.Active})
	case apiclient.TeamPut:
		body = teamObject(apiclient.Team{Description: b.Description,
			Members: slices.Compact(slices.Sorted(slices.Values(deref(b.Members)))),
			Grants:  slices.Clone(deref(b.Grants))}).Body
	case webhookDocument:
		return tidied(b, map[string]any{"active": b.Active == nil || *b.Active})
	case apiclient.RulePut:
		b.WaitMinutes = new(cmp.Or(deref(b.WaitMinutes), defaultRuleWait))
		return tidied(b, map[string]any{"active": b.Active == nil || *b.Active})
	case environmentDocument:
		b.CleanupAfterHours = given(deref(b.CleanupAfterHours))
		b.Placement = tidyPlacement(b.Placement)
		body = b
	case apiclient.ProjectPut:
		b.Placement = tidyPlacement(b.Placement)
		// The control plane tells them in order, and an empty list as none.
		names := slices.Compact(slices.Sorted(slices.Values(deref(b.Environments))))
		if b.Environments = nil; len(names) > 0 {
			b.Environments = &names
		}
		body = b
	case apiclient.NodePut:
		b.Settings, b.Thumbprint = tidySettings(b.Settings), nil
		body = b
	}
	return tidied(body, nil)
}

func tidied(body any, with map[string]any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	maps.DeleteFunc(tree, func(_ string, v any) bool { return v == nil || v == "" || v == false })
	maps.Copy(tree, with)
	return tree, nil
}

// secret compares rules; values cannot be read back.
func (d *dryRun) secret(project, name string, now object, wish secretDocument) error {
	what := "secret " + project + " " + name
	if _, err := wish.body(name); err != nil {
		d.refused++
		return d.say(what, err.Error())
	}
	was, exists := now.Secrets[name]
	switch {
	case !exists:
		return d.say(what, "would be created")
	case wish.Generate == nil && was.Generate == nil:
		return d.say(what, "would be set from "+wish.FromEnv+"; values cannot be compared")
	case wish.Generate == nil || was.Generate == nil || !sameRule(*wish.Generate, *was.Generate):
		return d.say(what, "would change")
	}
	return d.say(what, "unchanged")
}

func sameRule(a, b apiclient.SecretGenerate) bool {
	alphabet := func(g apiclient.SecretGenerate) apiclient.SecretGenerateAlphabet {
		if g.Alphabet == nil {
			return apiclient.SecretGenerateAlphabetAlphanumeric
		}
		return *g.Alphabet
	}
	return deref(a.Length) == deref(b.Length) && alphabet(a) == alphabet(b) &&
		deref(a.Pattern) == deref(b.Pattern)
}

func (d *dryRun) say(what, result string) error {
	_, err := fmt.Fprintf(d.out, "%-40s %s\n", what, result)
	return err
}
