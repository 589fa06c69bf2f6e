package keyring

import (
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// mostOpened bounds how many values OpenAll holds in memory.
const mostOpened = 50_000

// OpenAll opens every sealed value there is, by what it is. It is for the search of what is about
// to leave the installation: none of them may be in it.
func (k *Keyring) OpenAll(
	ctx context.Context, actor access.Actor,
) (map[string][]controlplane.Plain, error) {
	if err := RequireSystem(actor); err != nil {
		return nil, err
	}
	var values []postgres.SealedValue
	err := k.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		// No key has an empty id, so all values are under others.
		values, err = tx.MasterKeys().ListValuesUnderOthers(ctx, "", mostOpened+1)
		return err
	})
	if err == nil && len(values) > mostOpened {
		err = fmt.Errorf("there are more than %d sealed values", mostOpened)
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]controlplane.Plain{}
	for _, v := range values {
		what, place, err := describePlace(v)
		if err != nil {
			return nil, err
		}
		text, err := k.openText(place, v.Value)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", what, err)
		}
		all[what] = append(all[what], text)
	}
	return all, nil
}

// describePlace says for people what a value is.
func describePlace(v postgres.SealedValue) (what string, at seal.Location, err error) {
	if at, err = locationOf(v); err != nil {
		return "", at, err
	}
	what = map[string]string{
		"secrets": "a project's secret", "registries": "a registry's password",
		"node_tokens": "the key of a node's token", "identity": "the identity of the control plane",
		"runs": "the key of a run", "deployment_secrets": "a generated secret",
		"run_secrets": "a run's secret", "audit_head": "the key of the audit log",
		"node_ssh": "an SSH credential", "certificates": "the key of an uploaded certificate",
		"certificate_authority": "the key of the own authority",
		"outward_secrets":       "a secret of a webhook, a rule or a chat",
		"acme_settings":         "a credential for ordering certificates",
		"acme_accounts":         "the key of an account for certificates",
		"acme_certificates":     "the key of an ordered certificate",
		"second_factors":        "the seed of a second factor",
		"verdict_key":           "the key that signs verdicts",
	}[v.Place]
	if what == "" {
		err = errors.New("sealed values of " + v.Place + " have no name for people")
	}
	return what, at, err
}
