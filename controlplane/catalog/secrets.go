package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/pipeline"
)

// SecretPut is what an admin says about a secret: a value, or a rule.
type SecretPut struct {
	Project string
	Name    string
	Value   *controlplane.Plain
	Rule    *controlplane.SecretRule
}

// ListSecrets names a project's secrets, and never their values.
func (c *Catalog) ListSecrets(
	ctx context.Context, actor access.Actor, project string,
) (all []controlplane.Secret, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		all, err = tx.ListSecrets(ctx, p.ID)
		return err
	})
	for i := range all {
		// What leaves this package holds nothing to open.
		all[i].Value = nil
	}
	return all, err
}

// PutSecret sets a secret's value or rule. It cannot be read back.
func (c *Catalog) PutSecret(
	ctx context.Context, actor access.Actor, p SecretPut,
) (out controlplane.Saved[controlplane.Secret], err error) {
	object := "secret " + p.Name + " of " + p.Project
	err = c.change(ctx, actor, "put secret", object, func(tx *postgres.Tx) error {
		if err := checkSecret(&p); err != nil {
			return err
		}
		x, err := tx.LockProject(ctx, p.Project)
		if err != nil {
			return err
		}
		out, err = c.putSecret(ctx, tx, x, p)
		return err
	})
	out.Object.Value = nil
	return out, err
}

func checkSecret(p *SecretPut) error {
	if err := controlplane.ValidSecretName("secret", p.Name); err != nil {
		return err
	}
	if (p.Value == nil) == (p.Rule == nil) {
		return invalid("value", "value_or_rule", "a secret has a value or a rule to generate one",
			"Give exactly one of value and generate.")
	}
	if p.Value != nil {
		if n := len(p.Value.Reveal()); n < 1 || n > 65536 {
			return invalid("value", "value_length", "a secret has 1 to 65536 bytes", "Shorten it.")
		}
		return nil
	}
	rule := *p.Rule
	if rule.Alphabet == "" {
		rule.Alphabet = controlplane.Alphanumeric
	}
	p.Rule = &rule
	if rule.Length < 12 || rule.Length > 128 {
		return invalid("generate.length", "range", "a generated secret has 12 to 128 characters",
			"Choose a length in between.")
	}
	if _, ok := letters(rule.Alphabet); !ok {
		return invalid("generate.alphabet", "alphabet_invalid",
			"an alphabet is alphanumeric, hex or base64url", "Choose one of them.")
	}
	return nil
}

func (c *Catalog) putSecret(
	ctx context.Context, tx *postgres.Tx, x controlplane.Project, p SecretPut,
) (out controlplane.Saved[controlplane.Secret], err error) {
	s, exists, err := tx.SecretByName(ctx, x.ID, p.Name)
	if err != nil {
		return out, err
	}
	if !exists {
		s = controlplane.Secret{
			ID: controlplane.NewID[controlplane.SecretID](), Project: x.ID, Name: p.Name,
		}
	}
	unchanged, err := c.sameSecret(s, p)
	if err != nil || unchanged {
		out.Object = s
		return out, err
	}
	s.Version++
	s.UpdatedAt, s.Rule, s.Value = c.now(), p.Rule, nil
	if p.Value != nil {
		if s.Value, err = c.keys.Seal(secretPlace(s), []byte(p.Value.Reveal())); err != nil {
			return out, fmt.Errorf("seal secret: %w", err)
		}
	}
	out = controlplane.Saved[controlplane.Secret]{Changed: true, Created: !exists, Object: s}
	tx.Wake(controlplane.TopicCatalog, "")
	return out, tx.PutSecret(ctx, s)
}

func (c *Catalog) sameSecret(s controlplane.Secret, p SecretPut) (bool, error) {
	if p.Rule != nil {
		return s.Rule != nil && *s.Rule == *p.Rule, nil
	}
	if len(s.Value) == 0 {
		return false, nil
	}
	have, err := c.openSecret(s)
	return err == nil && same(have, *p.Value), err
}

func secretPlace(s controlplane.Secret) seal.Place {
	return seal.Place{Table: "secrets", Row: string(s.ID), Column: "value", Version: s.Version}
}

func (c *Catalog) openSecret(s controlplane.Secret) (controlplane.Plain, error) {
	b, err := c.keys.Open(secretPlace(s), s.Value)
	if err != nil {
		return controlplane.Plain{}, fmt.Errorf("open secret %s: %w", s.Name, err)
	}
	return controlplane.NewPlain(string(b)), nil
}

// DeleteSecret removes a secret that the current pipeline does not refer to.
func (c *Catalog) DeleteSecret(
	ctx context.Context, actor access.Actor, project, name string,
) error {
	object := "secret " + name + " of " + project
	return c.change(ctx, actor, "delete secret", object, func(tx *postgres.Tx) error {
		x, err := tx.LockProject(ctx, project)
		if err != nil {
			return err
		}
		s, ok, err := tx.SecretByName(ctx, x.ID, name)
		if err != nil {
			return err
		}
		if !ok {
			return controlplane.Missing("secret", name)
		}
		if err := notReferred(ctx, tx, x.ID, name); err != nil {
			return err
		}
		tx.Wake(controlplane.TopicCatalog, "")
		return tx.DeleteSecret(ctx, s.ID)
	})
}

func notReferred(
	ctx context.Context, tx *postgres.Tx, id controlplane.ProjectID, name string,
) error {
	v, ok, err := tx.LatestVersion(ctx, id)
	if err != nil || !ok {
		return err
	}
	refs, err := secretRefs(v.Pipeline)
	if err != nil {
		return err
	}
	if steps := refs[name]; len(steps) > 0 {
		users := make([]string, len(steps))
		for i, key := range steps {
			users[i] = "step " + string(key)
		}
		return &controlplane.Error{
			Kind: controlplane.Conflict, Code: "in_use", Users: users,
			Message: "the current pipeline refers to this secret",
			Remedy:  "Save a pipeline without it first.",
		}
	}
	return nil
}

// secretRefs finds the secrets that a pipeline refers to, with the steps that
// do. It looks at every string, wherever it stands, so that no field can be
// forgotten here.
func secretRefs(p pipeline.Pipeline) (map[string][]pipeline.StepKey, error) {
	all := map[string][]pipeline.StepKey{}
	for _, s := range p.Steps {
		b, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("encode step %s: %w", s.Key, err)
		}
		var tree any
		if err := json.Unmarshal(b, &tree); err != nil {
			return nil, fmt.Errorf("decode step %s: %w", s.Key, err)
		}
		walk(tree, func(text string) {
			t, err := pipeline.Parse(text)
			if err != nil {
				return
			}
			for _, r := range t.Refs() {
				if r.Scope == pipeline.ScopeSecrets && !slices.Contains(all[r.Name], s.Key) {
					all[r.Name] = append(all[r.Name], s.Key)
				}
			}
		})
	}
	return all, nil
}

func walk(tree any, visit func(string)) {
	switch v := tree.(type) {
	case string:
		visit(v)
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	case map[string]any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}
