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
		return id, u.Call(ctx, http.MethodPut, u.realm, "/users/"+url.PathEscape(id), user,
			"update user "+p.Username, nil)
	}
	what := "create user " + p.Username
	if err := u.Call(ctx, http.MethodPost, u.realm, "/users", user, what, nil); err != nil {
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
	err := u.Call(ctx, http.MethodGet, u.realm, "/users?"+query.Encode(), nil,
		"look for user "+username, &found)
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
	return u.Call(ctx, http.MethodPut, u.realm, "/users/"+url.PathEscape(id)+"/reset-password",
		body, "set the password", nil)
}

// deleteUser treats a user that is gone as deleted.
func (u users) deleteUser(ctx context.Context, id string) error {
	err := u.Call(ctx, http.MethodDelete, u.realm, "/users/"+url.PathEscape(id), nil,
		"delete the user", nil)
	if keycloak.IsNotFound(err) {
		return nil
	}
	return err
}
