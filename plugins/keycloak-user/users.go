package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/nullops/nullops/plugins/keycloak"
)

// users are those of one realm.
type users struct {
	*keycloak.Client
	realm string
}

// ensureUser creates the user, or brings an existing one up to date.
func (u users) ensureUser(ctx context.Context, p parameters, log *slog.Logger) (string, error) {
	user := map[string]any{
		"username": p.Username, "email": p.Email, "enabled": true, "emailVerified": true,
		"firstName": p.FirstName, "lastName": p.LastName,
	}
	id, err := u.findUser(ctx, p.Username)
	if err != nil {
		return "", err
	}
	if id != "" {
		log.Info("the user is already there; updating", "user", p.Username)
		return id, u.Call(ctx, keycloak.Request{Method: http.MethodPut, Realm: u.realm,
			Path: "/users/" + url.PathEscape(id),
			Body: user, What: "update user " + p.Username})
	}
	what := "create user " + p.Username
	err = u.Call(ctx, keycloak.Request{Method: http.MethodPost, Realm: u.realm, Path: "/users",
		Body: user, What: what})
	if err != nil {
		return "", err
	}
	// The answer names the user in a header only, which proxies rewrite; asking
	// is the safe way.
	id, err = u.findUser(ctx, p.Username)
	if err == nil && id == "" {
		err = fmt.Errorf("%s: Keycloak accepted it, but does not know the user", what)
	}
	return id, err
}

// findUser returns the id of the user of exactly this name, or "".
func (u users) findUser(ctx context.Context, username string) (string, error) {
	query := url.Values{"username": {username}, "exact": {"true"}}
	var found []struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	}
	err := u.Call(ctx, keycloak.Request{Method: http.MethodGet, Realm: u.realm,
		Path: "/users?" + query.Encode(),
		What: "look for user " + username, Into: &found})
	if err != nil {
		return "", err
	}
	for _, user := range found {
		// Keycloak keeps names in lower case.
		if strings.EqualFold(user.Username, username) {
			return user.ID, nil
		}
	}
	return "", nil
}

func (u users) setPassword(ctx context.Context, id, password string) error {
	body := map[string]any{"type": "password", "value": password, "temporary": false}
	return u.Call(ctx, keycloak.Request{Method: http.MethodPut, Realm: u.realm,
		Path: "/users/" + url.PathEscape(id) + "/reset-password",
		Body: body, What: "set the password"})
}

// deleteUser treats a user that is gone as deleted.
func (u users) deleteUser(ctx context.Context, id string) error {
	err := u.Call(ctx, keycloak.Request{Method: http.MethodDelete, Realm: u.realm,
		Path: "/users/" + url.PathEscape(id),
		What: "delete the user"})
	if keycloak.IsNotFound(err) {
		return nil
	}
	return err
}
