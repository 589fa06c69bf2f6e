package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// derive reads the secret's file.
func (o *OIDCSettings) derive() error {
	if o.Secret != "" || o.File == "" {
		return nil
	}
	text, err := os.ReadFile(o.File)
	if err != nil {
		return fmt.Errorf("setting oidc.file: %w", err)
	}
	o.Secret = strings.TrimSpace(string(text))
	return nil
}

func (o OIDCSettings) check() error {
	if o.Issuer == "" {
		return nil
	}
	_, err := o.teams()
	return errors.Join(absoluteURL("oidc.issuer", o.Issuer), err,
		required("oidc.client", o.Client, "the client id the provider knows NullOps by"))
}

// teams reads "group=team,group=team". A group's name may hold anything but a
// comma.
func (o OIDCSettings) teams() (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(o.Teams, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		at := strings.LastIndexByte(pair, '=')
		if at < 1 {
			return nil, fmt.Errorf("setting oidc.teams: %q is not group=team", pair)
		}
		team := strings.TrimSpace(pair[at+1:])
		if err := controlplane.ValidName("oidc.teams", team); err != nil {
			return nil, fmt.Errorf("setting oidc.teams: %q: %w", pair, err)
		}
		all[strings.TrimSpace(pair[:at])] = team
	}
	return all, nil
}

// provider is nil while there is no issuer.
func (o OIDCSettings) provider(home string) *accounts.Provider {
	teams, err := o.teams()
	if o.Issuer == "" || err != nil {
		return nil
	}
	return accounts.NewProvider(accounts.OIDCConfig{Name: o.Name, Issuer: o.Issuer,
		Client: o.Client, Secret: controlplane.NewPlain(o.Secret),
		Redirect: strings.TrimRight(home, "/") + "/oidc/callback",
		Scopes:   strings.Fields(o.Scopes), Claim: o.Claim, Teams: teams, Admins: o.Admins,
		Separator: o.Separator})
}
