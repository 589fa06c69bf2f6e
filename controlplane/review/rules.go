package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// RulePut is an admin's settings of a rule.
type RulePut struct {
	Rule controlplane.ReviewRule
	// Secret verifies events; nil keeps the stored one, or generates one.
	Secret *controlplane.Plain
	// Token authenticates to the code host; nil keeps the stored one, an empty one deletes
	// it.
	Token *controlplane.Plain
}

// RuleSaved is a rule, and its secret if one was made: that is shown once.
type RuleSaved struct {
	Rule    controlplane.ReviewRule
	Created bool
	// Changed is false when everything was stored as it is.
	Changed bool
	Made    controlplane.Plain
}

// ListRules returns one page of rules.
func (r *Reviews) ListRules(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.ReviewRule, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.ReviewRules().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(x controlplane.ReviewRule) string { return x.Name })
	return all, next, err
}

// GetRule loads one rule with its latest reviews.
func (r *Reviews) GetRule(ctx context.Context, actor access.Actor, name string) (
	rule controlplane.ReviewRule, reviews []controlplane.Review, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return rule, nil, err
	}
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if rule, err = tx.ReviewRules().ByName(ctx, name); err != nil {
			return err
		}
		reviews, err = tx.Reviews().List(ctx, rule.ID, 100)
		return err
	})
	return rule, reviews, err
}

// PutRule creates or changes a rule. Changing the API address deletes the token, so
// that nobody can have it sent to another host.
func (r *Reviews) PutRule(
	ctx context.Context, actor access.Actor, p RulePut,
) (out RuleSaved, err error) {
	err = r.changeRule(ctx, actor, "put rule", p.Rule.Name, func(tx *postgres.Tx) error {
		out = RuleSaved{}
		old, err := tx.ReviewRules().ByName(ctx, p.Rule.Name)
		out.Created = controlplane.KindOf(err) == controlplane.NotFound
		if err != nil && !out.Created {
			return err
		}
		rule := p.Rule
		rule.ID, rule.CreatedBy, rule.CreatedAt = old.ID, old.CreatedBy, old.CreatedAt
		if out.Created {
			rule.ID = controlplane.NewID[controlplane.ReviewRuleID]()
			rule.CreatedBy, rule.CreatedAt = actor.Name(), time.Now().UTC()
		}
		if len(rule.Input) == 0 {
			rule.Input = nil
		}
		rule.Updates = cmp.Or(rule.Updates, controlplane.UpdateAside)
		rule.Data = cmp.Or(rule.Data, controlplane.DataFresh)
		if err := checkRule(ctx, tx, rule, old); err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		if rule.NextRun, err = checkSchedule(rule, old, now); err != nil {
			return err
		}
		out.Rule = rule
		if err := tx.ReviewRules().Put(ctx, rule); err != nil {
			return err
		}
		old.Refusal = "" // forgotten, but no change that somebody made
		out.Changed = !reflect.DeepEqual(rule, old)
		return r.sealKeys(ctx, tx, actor, p, old, &out)
	})
	return out, err
}

func (r *Reviews) sealKeys(ctx context.Context, tx *postgres.Tx, actor access.Actor, p RulePut,
	old controlplane.ReviewRule, out *RuleSaved) error {
	secret := p.Secret
	if secret == nil && out.Created && out.Rule.Source != controlplane.ReviewSchedule {
		out.Made = keyring.NewWebhookSecret()
		secret = &out.Made
	}
	if secret != nil {
		if len(secret.Reveal()) < 16 {
			return controlplane.NewInvalidError("secret", "secret_short",
				"a secret has at least 16 characters",
				"Give a longer one, or none to have one made.")
		}
		if err := r.sealSecret(ctx, tx, actor, keyOf(out.Rule.ID), *secret, out); err != nil {
			return err
		}
	}
	token := p.Token
	if token == nil && old.APIURL != out.Rule.APIURL {
		token = &controlplane.Plain{}
	}
	if token != nil {
		if err := r.sealSecret(ctx, tx, actor, tokenOf(out.Rule.ID), *token, out); err != nil {
			return err
		}
	}
	return r.checkHostKnown(ctx, tx, actor, out.Rule)
}

// checkHostKnown refuses a filter that only the code host can answer, without a token for it.
func (r *Reviews) checkHostKnown(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	rule controlplane.ReviewRule) error {
	if !needsHost(rule) {
		return nil
	}
	id := tokenOf(rule.ID)
	sealed, err := tx.OutwardSecrets().Get(ctx, id)
	if err != nil {
		return err
	}
	if sealed != nil {
		token, err := r.Keys.OpenWebhookSecret(actor, id, sealed)
		if err != nil || !token.IsEmpty() {
			return err
		}
	}
	return controlplane.NewInvalidError("token", "token_missing",
		"the events of this code host do not hold the changed files, and those of GitLab not the author",
		"Give a token that may read pull requests, or remove these entries from the filter.")
}

// sealSecret stores a hidden value, and notes a change unless it is stored already.
func (r *Reviews) sealSecret(ctx context.Context, tx *postgres.Tx, actor access.Actor, id string,
	plain controlplane.Plain, out *RuleSaved) error {
	changed, err := r.Keys.PutWebhookSecret(ctx, tx, actor, id, plain)
	out.Changed = out.Changed || changed
	return err
}

func secretObject(id controlplane.ReviewRuleID) string { return "rule/" + string(id) }
func keyOf(id controlplane.ReviewRuleID) string        { return secretObject(id) + "/key" }
func tokenOf(id controlplane.ReviewRuleID) string      { return secretObject(id) + "/token" }

// DeleteRule removes a rule. Its deployments stay.
func (r *Reviews) DeleteRule(ctx context.Context, actor access.Actor, name string) error {
	return r.changeRule(ctx, actor, "delete rule", name, func(tx *postgres.Tx) error {
		rule, err := tx.ReviewRules().ByName(ctx, name)
		if err != nil {
			return err
		}
		aliases, err := tx.Reviews().ListAliases(ctx, rule.ID)
		for _, a := range aliases {
			err = errors.Join(err, lifecycle.LeaveAlias(ctx, tx, a))
		}
		if err != nil {
			return err
		}
		if err := tx.OutwardSecrets().DeleteOf(ctx, secretObject(rule.ID)); err != nil {
			return err
		}
		return tx.ReviewRules().Delete(ctx, rule.ID)
	})
}

func (r *Reviews) changeRule(ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx) error) error {
	return audit.ChangeAsAdmin(ctx, r.Store, actor, action, "rule "+name, fn)
}

func checkRule(
	ctx context.Context, tx *postgres.Tx, rule, old controlplane.ReviewRule,
) error {
	if err := controlplane.ValidName("name", rule.Name); err != nil {
		return err
	}
	if len(rule.Name) > 24 {
		return controlplane.NewInvalidError("name", "name_long",
			"a rule's name begins the names of its deployments",
			"Choose one of at most 24 characters.")
	}
	target, err := tx.Projects().LoadRunTarget(ctx, rule.Project)
	if err != nil {
		return invalidField("project", err)
	}
	// What is stored stays possible after the pipeline has changed; deployments say what is wrong.
	if rule.Project != old.Project || !reflect.DeepEqual(rule.Input, old.Input) {
		if err := lifecycle.CheckStoredInput(target.Pipeline, rule.Input); err != nil {
			return err
		}
	}
	if _, err := tx.Environments().GetTarget(ctx, rule.Environment); err != nil {
		return invalidField("environment", err)
	}
	if _, err := pipeline.MatchTag(rule.Branch, "x"); err != nil {
		return controlplane.NewInvalidError(
			"branch",
			"pattern_invalid",
			err.Error(),
			"Write it as release/*, for example.",
		)
	}
	if err := cmp.Or(checkFilter(rule), checkBitbucket(rule)); err != nil {
		return err
	}
	if err := cmp.Or(checkTag(rule.Tag), checkForks(rule)); err != nil {
		return err
	}
	if rule.Data == controlplane.DataKeep && rule.Updates != controlplane.UpdateAside {
		return controlplane.NewInvalidError("data", "data_not_kept",
			"an update that replaces the deployment that runs cannot begin with its data",
			"Set updates to aside, or data to fresh.")
	}
	return checkAPI(rule)
}

// invalidField turns a not-found error into one about a field of the request.
func invalidField(field string, err error) error {
	said, ok := err.(*controlplane.Error) //nolint:errorlint // only our own errors are shown
	if !ok {
		return err
	}
	return controlplane.NewInvalidError(field, "unknown", said.Message, said.Remedy)
}

func checkTag(tag string) error {
	rest := tag
	for {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains([]string{"branch", "number", "commit", "short", "tag"}, name) {
			return controlplane.NewInvalidError("tag", "tag_invalid",
				fmt.Sprintf("{%s} is not the name of anything", name),
				"Use {branch}, {number}, {commit}, {short} or {tag}.")
		}
		rest = tail
	}
	if tag == "" || strings.ContainsAny(tag, "*?[] ") {
		return controlplane.NewInvalidError("tag", "tag_invalid",
			"this is not the tag of one image",
			"Write it as pr-{number} or {branch}-{short}.")
	}
	return nil
}

func checkAPI(rule controlplane.ReviewRule) error {
	if rule.APIURL == "" {
		return nil
	}
	u, err := url.Parse(rule.APIURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return controlplane.NewInvalidError("api_url", "url_invalid",
			"this is not the address of a code host's API",
			"Write it as https://gitea.example.org/api/v1, without name and password.")
	}
	return nil
}
