package sources

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/internal/documents"
)

// DefaultKinds are what a source may define unless an admin says otherwise: not who signs in, which
// teams have which rights, and which machines are nodes.
func DefaultKinds() []string {
	return []string{"registry", "service", "plugin", "environment", "node-template", "project",
		"webhook", "rule"}
}

// SourcePut is an admin's settings of a source.
type SourcePut struct {
	Source controlplane.DefinitionSource
	// Token signs in at the code host; nil keeps the stored one, an empty one deletes it.
	Token *controlplane.Plain
	// Secret verifies events of the code host; nil keeps the stored one, or generates one.
	Secret *controlplane.Plain
}

// SourceSaved is a source, and the secret of its webhook if one was made: that is shown once.
type SourceSaved struct {
	Source  controlplane.DefinitionSource
	Created bool
	Changed bool
	Made    controlplane.Plain
}

// ListSources returns one page of sources.
func (s *Sources) ListSources(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.DefinitionSource, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = s.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.DefinitionSources().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all,
		func(x controlplane.DefinitionSource) string { return x.Name })
	return all, next, err
}

// GetSource loads one source.
func (s *Sources) GetSource(
	ctx context.Context, actor access.Actor, name string,
) (x controlplane.DefinitionSource, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return x, err
	}
	return s.loadSource(ctx, name)
}

func (s *Sources) loadSource(
	ctx context.Context, name string,
) (x controlplane.DefinitionSource, err error) {
	err = s.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		x, err = tx.DefinitionSources().ByName(ctx, name)
		return err
	})
	return x, err
}

// PutSource creates or changes a source, in whose name it applies from now on. Changing where it
// leads deletes the token, so that nobody can have it sent to another host.
func (s *Sources) PutSource(
	ctx context.Context, actor access.Actor, p SourcePut,
) (out SourceSaved, err error) {
	err = s.changeSource(ctx, actor, "put source", p.Source.Name, func(tx *postgres.Tx) error {
		out = SourceSaved{}
		old, err := tx.DefinitionSources().LockByName(ctx, p.Source.Name)
		found, err := controlplane.IsFound(err)
		if err != nil {
			return err
		}
		x := p.Source
		x.ID, x.CreatedAt, x.Generation = old.ID, old.CreatedAt, old.Generation
		x.Status, x.State = old.Status, old.State
		x.Owner, x.OwnerID = actor.Name(), actor.UserID()
		if !found {
			x.ID, x.CreatedAt = controlplane.NewID[controlplane.DefinitionSourceID](), time.Now().UTC()
			x.Status, out.Created = controlplane.SourceNew, true
		}
		if err := checkSettings(&x, p.Token != nil && !p.Token.IsEmpty()); err != nil {
			return err
		}
		if out.Changed = !reflect.DeepEqual(x, old); out.Changed {
			x.Generation++
		}
		if err := tx.DefinitionSources().Put(ctx, x); err != nil {
			return err
		}
		out.Source = x
		return s.sealKeys(ctx, tx, actor, p, old, &out)
	})
	return out, err
}

func (s *Sources) sealKeys(ctx context.Context, tx *postgres.Tx, actor access.Actor, p SourcePut,
	old controlplane.DefinitionSource, out *SourceSaved) error {
	token := p.Token
	if token == nil && old.URL != "" && !sameHost(old.URL, out.Source.URL) {
		token = &controlplane.Plain{}
	}
	if token != nil {
		if err := s.sealSecret(ctx, tx, actor, tokenOf(out.Source.ID), *token, out); err != nil {
			return err
		}
	}
	secret := p.Secret
	if secret == nil && out.Source.Webhook != "" {
		stored, err := tx.OutwardSecrets().Get(ctx, keyOf(out.Source.ID))
		if err != nil || stored != nil {
			return err
		}
		out.Made = keyring.NewWebhookSecret()
		secret = &out.Made
	}
	if secret == nil {
		return nil
	}
	if len(secret.Reveal()) < 16 {
		return controlplane.NewInvalidError("secret", "secret_short",
			"a secret has at least 16 characters", "Give a longer one, or none to have one made.")
	}
	return s.sealSecret(ctx, tx, actor, keyOf(out.Source.ID), *secret, out)
}

// sealSecret stores a hidden value, and notes a change unless it is stored already.
func (s *Sources) sealSecret(ctx context.Context, tx *postgres.Tx, actor access.Actor, id string,
	plain controlplane.Plain, out *SourceSaved) error {
	changed, err := s.Keys.PutWebhookSecret(ctx, tx, actor, id, plain)
	out.Changed = out.Changed || changed
	return err
}

func secretObject(id controlplane.DefinitionSourceID) string { return "source/" + string(id) }
func keyOf(id controlplane.DefinitionSourceID) string        { return secretObject(id) + "/key" }
func tokenOf(id controlplane.DefinitionSourceID) string      { return secretObject(id) + "/token" }

// DeleteSource removes a source. What it defined stays, and is nobody's from then on.
func (s *Sources) DeleteSource(ctx context.Context, actor access.Actor, name string) error {
	return s.changeSource(ctx, actor, "delete source", name, func(tx *postgres.Tx) error {
		x, err := tx.DefinitionSources().LockByName(ctx, name)
		if err != nil {
			return err
		}
		if err := tx.OutwardSecrets().DeleteOf(ctx, secretObject(x.ID)); err != nil {
			return err
		}
		return tx.DefinitionSources().Delete(ctx, x)
	})
}

func (s *Sources) changeSource(ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx) error) error {
	return audit.ChangeAsAdmin(ctx, s.Store, actor, action, "source "+name, fn)
}

// CheckOwner refuses a name of an owner of documents that belongs to a source.
func (s *Sources) CheckOwner(ctx context.Context, owner string) error {
	x, err := s.loadSource(ctx, owner)
	if found, err := controlplane.IsFound(err); err != nil || !found {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "owner_is_source", Field: "owner",
		Message: "the owner " + owner + " is a source of definitions, which applies " + x.URL,
		Remedy:  "Change the documents in that repository, or choose another owner."}
}

// FindOrigin returns the owner of a definition, and the source of that name if there is one.
func (s *Sources) FindOrigin(ctx context.Context, actor access.Actor, d controlplane.Definition) (
	owner string, source *controlplane.DefinitionSource, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return "", nil, err
	}
	err = s.Store.Read(ctx, func(tx *postgres.Tx) error {
		if owner, err = tx.DefinitionOwners().Get(ctx, d); err != nil || owner == "" {
			return err
		}
		x, err := tx.DefinitionSources().ByName(ctx, owner)
		if found, err := controlplane.IsFound(err); err != nil || !found {
			return err
		}
		source = &x
		return nil
	})
	return owner, source, err
}

// checkSettings refuses what cannot work, and brings the rest into its usual form.
func checkSettings(x *controlplane.DefinitionSource, tokenGiven bool) error {
	if err := controlplane.ValidName("name", x.Name); err != nil {
		return err
	}
	u, err := url.Parse(x.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return controlplane.NewInvalidError("url", "url_invalid",
			"this is not the address of a git repository over HTTPS",
			"Write it as https://git.example.org/team/definitions.git, without name and password.")
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		message := "over plain HTTP, anybody on the way can change the definitions"
		if tokenGiven {
			message += " and read the token"
		}
		return controlplane.NewInvalidError("url", "url_plain", message, "Use https.")
	}
	if x.Branch = cmp.Or(x.Branch, "main"); !isBranch(x.Branch) {
		return controlplane.NewInvalidError("branch", "branch_invalid",
			"this is not the name of a branch", "Write it as main or release/2.")
	}
	x.Folder = strings.Trim(x.Folder, "/")
	if x.Folder != "" && path.Clean(x.Folder) != x.Folder || strings.HasPrefix(x.Folder, "..") {
		return controlplane.NewInvalidError("folder", "folder_invalid",
			"this is not a folder of the repository", "Write it as deploy/nullops.")
	}
	if len(x.Kinds) == 0 {
		x.Kinds = DefaultKinds()
	}
	for _, kind := range x.Kinds {
		if !slices.Contains(documents.Kinds[:], kind) {
			return controlplane.NewInvalidError("kinds", "kind_unknown",
				kind+" is no kind of documents", "Use "+strings.Join(documents.Kinds[:], ", ")+".")
		}
	}
	if x.CA == "" {
		return nil
	}
	return registry.CheckCA(x.CA, time.Now())
}

func isBranch(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsAny(name, " ~^:?*[\\\x00\n\r\t") &&
		!strings.Contains(name, "..") && !strings.HasPrefix(name, "-") &&
		!strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func sameHost(a, b string) bool {
	from, err1 := url.Parse(a)
	to, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && from.Scheme == to.Scheme && from.Host == to.Host
}

// trustedBy trusts the system's authorities and those of a bundle.
func trustedBy(bundle string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if bundle == "" {
		return config, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	roots.AppendCertsFromPEM([]byte(bundle))
	config.RootCAs = roots
	return config, nil
}
