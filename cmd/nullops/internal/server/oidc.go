package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (o OIDCSettings) check() error {
	if o.Issuer == "" {
		return nil
	}
	_, err := o.parseTeams()
	return errors.Join(absoluteURL("oidc.issuer", o.Issuer), err,
		checkRequired("oidc.client", o.Client, "the client id the provider knows NullOps by"))
}

// parseTeams reads "group=team,group=team". A group's name may hold anything but a
// comma.
func (o OIDCSettings) parseTeams() (map[string]string, error) {
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

// newProvider is nil while there is no issuer.
func (o OIDCSettings) newProvider(home string) *accounts.Provider {
	teams, err := o.parseTeams()
	if o.Issuer == "" || err != nil {
		return nil
	}
	return accounts.NewProvider(accounts.OIDCConfig{Name: o.Name, Issuer: o.Issuer,
		Client: o.Client, Secret: controlplane.NewPlain(o.Secret),
		Redirect: strings.TrimRight(home, "/") + "/oidc/callback",
		Scopes:   strings.Fields(o.Scopes), Claim: o.Claim, Teams: teams, Admins: o.Admins,
		Separator: o.Separator})
}
