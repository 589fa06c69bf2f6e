// Command oauth-redirect-uri is a plugin that lets a client of a Keycloak realm
// send people back to a deployment after they signed in: it adds a redirect URI,
// and a web origin if asked, to the client. Its delete takes away what it added.
//
// Both actions may be repeated. Keycloak replaces a client as a whole, so two
// deployments that change it in the same moment would overwrite each other: each
// locks the client by creating a role of it that is granted to nobody.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/keycloak"
	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createRedirect, Delete: removeRedirect, Check: checkRedirect})
}

type parameters struct {
	URL            string  `json:"url"`
	Realm          string  `json:"realm"`
	AdminUser      string  `json:"admin_user"`
	AdminRealm     string  `json:"admin_realm"`
	ClientID       string  `json:"client_id"`
	RedirectURI    string  `json:"redirect_uri"`
	WebOrigin      string  `json:"web_origin"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{AdminUser: "admin", AdminRealm: "master", ConnectSeconds: 60}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	redirect, err := url.Parse(p.RedirectURI)
	switch {
	case !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://"):
		return p, fmt.Errorf("parameter \"url\" must begin with http:// or https://, not %q", p.URL)
	case p.Realm == "" || p.ClientID == "":
		return p, errors.New("parameters \"realm\" and \"client_id\" are required")
	// A bare "*" would let anybody receive the client's codes.
	case err != nil || redirect.Scheme == "" || redirect.Host == "" ||
		strings.Contains(redirect.Host, "*"):
		return p, errors.New("parameter \"redirect_uri\" must be an absolute address, such as " +
			"http://web.pr-42.qa.example.com/*; a * in the host is not allowed")
	case req.Secrets["adminPassword"] == "":
		return p, errors.New("secret \"adminPassword\" is required; " +
			"map it to a reference such as ${{ secrets.KEYCLOAK_ADMIN_PASSWORD }}")
	}
	p.URL = strings.TrimRight(p.URL, "/")
	return p, nil
}

func signIn(
	ctx context.Context, p parameters, password string, log *slog.Logger,
) (client, error) {
	k, err := keycloak.SignIn(ctx, keycloak.Admin{
		URL: p.URL, Realm: p.AdminRealm, User: p.AdminUser, Password: password,
		Patience: wait.Seconds(p.ConnectSeconds),
	}, log)
	return client{k, p.Realm, p.ClientID}, err
}

func createRedirect(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	c, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	if err := c.changeLocked(ctx, addURIs(p.RedirectURI, p.WebOrigin), log); err != nil {
		return stdio.Response{}, err
	}
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("client %s may send people to %s", p.ClientID, p.RedirectURI),
		Outputs: map[string]any{
			"clientId": p.ClientID, "redirectUri": p.RedirectURI, "webOrigin": p.WebOrigin,
			"issuer": p.URL + "/realms/" + url.PathEscape(p.Realm),
		},
		Metadata: []stdio.Metadatum{
			{Name: "Client", Value: p.ClientID}, {Name: "Redirect URI", Value: p.RedirectURI},
		},
	}, nil
}

func removeRedirect(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	// What create really added counts, should the parameters differ by now.
	var made struct {
		RedirectURI string `json:"redirectUri"`
		WebOrigin   string `json:"webOrigin"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.RedirectURI != "" {
		p.RedirectURI, p.WebOrigin = made.RedirectURI, made.WebOrigin
	}
	c, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	err = c.changeLocked(ctx, removeURIs(p.RedirectURI, p.WebOrigin), log)
	// A client that is gone has no redirect URIs.
	if err != nil && !errors.Is(err, errNoClient) {
		return stdio.Response{}, err
	}
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("client %s no longer sends people to %s", p.ClientID, p.RedirectURI),
	}, nil
}

// checkRedirect looks for what create added: saving an old copy of the client in Keycloak's own
// pages removes it again.
func checkRedirect(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		RedirectURI string `json:"redirectUri"`
		WebOrigin   string `json:"webOrigin"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.RedirectURI == "" {
		return stdio.Response{}, errors.New("create has not said which address it added")
	}
	c, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	now, err := c.readClient(ctx)
	if err != nil {
		return stdio.Response{}, err
	}
	// What would have to be added is missing.
	if addURIs(made.RedirectURI, made.WebOrigin)(now) {
		return stdio.Response{}, fmt.Errorf("client %s does not send people to %s any more",
			p.ClientID, made.RedirectURI)
	}
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("client %s sends people to %s", p.ClientID, made.RedirectURI)}, nil
}
