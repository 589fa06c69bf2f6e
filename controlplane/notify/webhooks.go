package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
)

// WebhookPut is what an admin says about a webhook.
type WebhookPut struct {
	Name string
	Kind controlplane.WebhookKind
	// URL is nil to keep the stored one.
	URL *controlplane.Plain
	// Secret signs; nil keeps the stored one, or generates one for a new webhook.
	Secret               *controlplane.Plain
	Project, Environment string
	Events               []string
	Template             string
	Active               bool
}

// WebhookSaved is a webhook, and its signing key if one was made: that is
// shown once.
type WebhookSaved struct {
	Webhook controlplane.Webhook
	Created bool
	// Changed is false when everything was stored as it is.
	Changed bool
	Made    controlplane.Plain
}

// ListWebhooks returns one page of webhooks.
func (n *Notifier) ListWebhooks(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Webhook, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = n.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Webhooks().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(w controlplane.Webhook) string { return w.Name })
	return all, next, err
}

// GetWebhook loads one webhook.
func (n *Notifier) GetWebhook(
	ctx context.Context, actor access.Actor, name string,
) (w controlplane.Webhook, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return w, err
	}
	err = n.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		w, err = tx.Webhooks().ByName(ctx, name)
		return err
	})
	return w, err
}

// PutWebhook creates or changes a webhook. Changing the address deletes the signing
// key, because it is not meant for the new receiver.
func (n *Notifier) PutWebhook(
	ctx context.Context, actor access.Actor, p WebhookPut,
) (out WebhookSaved, err error) {
	err = n.changeWebhook(ctx, actor, "put webhook", p.Name, func(tx *postgres.Tx) error {
		out = WebhookSaved{}
		w, err := tx.Webhooks().ByName(ctx, p.Name)
		out.Created = controlplane.KindOf(err) == controlplane.NotFound
		if err != nil && !out.Created {
			return err
		}
		old := w
		if out.Created {
			w = controlplane.Webhook{ID: controlplane.NewID[controlplane.WebhookID](),
				Name: p.Name, CreatedBy: actor.Name(), CreatedAt: time.Now().UTC()}
		}
		if err := p.check(out.Created); err != nil {
			return err
		}
		given, err := n.withoutStored(ctx, tx, actor, w.ID, p)
		if err != nil {
			return err
		}
		if w, err = n.applyPut(ctx, tx, actor, w, given, &out); err != nil {
			return err
		}
		out.Webhook = w
		out.Changed = out.Created || given.URL != nil || given.Secret != nil ||
			!reflect.DeepEqual(w, old)
		return tx.Webhooks().Put(ctx, w)
	})
	return out, err
}

// withoutStored leaves out hidden values that are stored already: the same address
// sent again is no reason for a new signing key.
func (n *Notifier) withoutStored(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.WebhookID, p WebhookPut) (WebhookPut, error) {
	for key, value := range map[string]**controlplane.Plain{
		addressOf(id): &p.URL, keyOf(id): &p.Secret} {
		if *value == nil {
			continue
		}
		sealed, err := tx.OutwardSecrets().Get(ctx, key)
		if err != nil {
			return p, err
		}
		if sealed == nil {
			continue
		}
		have, err := n.Vault.OpenWebhookSecret(actor, key, sealed)
		if err == nil && have.Equal(**value) {
			*value = nil
		}
	}
	return p, nil
}

// applyPut changes the webhook and stores what is sealed.
func (n *Notifier) applyPut(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	w controlplane.Webhook, p WebhookPut, out *WebhookSaved) (controlplane.Webhook, error) {
	w.Kind, w.Project, w.Environment = p.Kind, p.Project, p.Environment
	w.Events, w.Template, w.Active = p.Events, p.Template, p.Active
	secret := p.Secret
	if p.URL != nil {
		host, err := checkURL(p.URL.Reveal())
		if err != nil {
			return w, err
		}
		if secret == nil && w.Kind == controlplane.WebhookJSON {
			made := newSecret()
			secret, out.Made = &made, made
		}
		w.Host = host
		if err := n.sealSecret(ctx, tx, actor, addressOf(w.ID), *p.URL); err != nil {
			return w, err
		}
	}
	if secret == nil {
		return w, nil
	}
	return w, n.sealSecret(ctx, tx, actor, keyOf(w.ID), *secret)
}

func (n *Notifier) sealSecret(ctx context.Context, tx *postgres.Tx, actor access.Actor, id string,
	plain controlplane.Plain) error {
	sealed, err := n.Vault.SealWebhookSecret(actor, id, plain)
	if err != nil {
		return err
	}
	return tx.OutwardSecrets().Put(ctx, id, sealed)
}

func secretObject(id controlplane.WebhookID) string { return "webhook/" + string(id) }
func addressOf(id controlplane.WebhookID) string    { return secretObject(id) + "/url" }
func keyOf(id controlplane.WebhookID) string        { return secretObject(id) + "/key" }

func newSecret() controlplane.Plain {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails, it ends the process
	return controlplane.NewPlain("whs_" + hex.EncodeToString(b[:]))
}

// DeleteWebhook removes it with its delivery log.
func (n *Notifier) DeleteWebhook(ctx context.Context, actor access.Actor, name string) error {
	return n.changeWebhook(ctx, actor, "delete webhook", name, func(tx *postgres.Tx) error {
		w, err := tx.Webhooks().ByName(ctx, name)
		if err != nil {
			return err
		}
		if err := tx.OutwardSecrets().DeleteOf(ctx, secretObject(w.ID)); err != nil {
			return err
		}
		return tx.Webhooks().Delete(ctx, w.ID)
	})
}

// changeWebhook runs an admin's change with its audit entry, a refused one too.
func (n *Notifier) changeWebhook(ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx) error) error {
	return audit.ChangeAsAdmin(ctx, n.Store, actor, action, "webhook "+name, fn)
}

func (p WebhookPut) check(created bool) error {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if created && p.URL == nil {
		return controlplane.NewInvalidError("url", "url_missing", "a new webhook needs an address",
			"Give the address that messages are sent to.")
	}
	if p.Secret != nil && len(p.Secret.Reveal()) < 16 {
		return controlplane.NewInvalidError("secret", "secret_short",
			"a signing key has at least 16 characters",
			"Give a longer one, or none to have one made.")
	}
	if err := checkEvents("events", p.Events); err != nil {
		return err
	}
	return checkTemplate(p.Template)
}

func checkEvents(field string, events []string) error {
	if len(events) == 0 {
		return controlplane.NewInvalidError(field, "events_missing", "there is no event to tell of",
			"Choose among "+strings.Join(controlplane.NoticeEvents(), ", ")+".")
	}
	for _, e := range events {
		if !slices.Contains(controlplane.NoticeEvents(), e) {
			return controlplane.NewInvalidError(field, "event_unknown",
				fmt.Sprintf("there is no event %q",
					controlplane.ClipText(e)),
				"Choose among "+strings.Join(controlplane.NoticeEvents(), ", ")+".")
		}
	}
	return nil
}

// checkURL returns the host to show. Whether it may be contacted is checked when
// dialing, since DNS may change.
func checkURL(address string) (host string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || len(address) > 2000 ||
		u.Scheme != "https" && u.Scheme != "http" {
		// The address itself may be a password: it is not repeated.
		return "", controlplane.NewInvalidError("url", "url_invalid",
			"this is not the address of a webhook",
			"Give an address that begins with https:// and holds no user name.")
	}
	return u.Scheme + "://" + u.Host, nil
}
