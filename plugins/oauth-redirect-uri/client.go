package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/nullops/nullops/plugins/keycloak"
)

// client is one client of a realm.
type client struct {
	*keycloak.Client
	realm, name string
}

var errNoClient = errors.New("the realm has no such client")

// maxTries bounds a race with others who change the same client.
const maxTries = 10

// edit changes a client's representation and says whether that was needed.
type edit func(representation map[string]any) bool

func addURIs(redirect, origin string) edit {
	return func(c map[string]any) bool {
		added := addToList(c, "redirectUris", redirect)
		return addToList(c, "webOrigins", origin) || added
	}
}

func removeURIs(redirect, origin string) edit {
	return func(c map[string]any) bool {
		removed := dropFromList(c, "redirectUris", redirect)
		return dropFromList(c, "webOrigins", origin) || removed
	}
}

func addToList(c map[string]any, field, value string) bool {
	list, _ := c[field].([]any)
	if value == "" || slices.Contains(list, any(value)) {
		return false
	}
	c[field] = append(list, value)
	return true
}

func dropFromList(c map[string]any, field, value string) bool {
	list, _ := c[field].([]any)
	if value == "" || !slices.Contains(list, any(value)) {
		return false
	}
	c[field] = slices.DeleteFunc(list, func(v any) bool { return v == value })
	return true
}

// changeLocked applies an edit while it holds the lock on the client against other runs of
// this plugin.
func (c client) changeLocked(ctx context.Context, e edit, log *slog.Logger) error {
	now, err := c.readClient(ctx)
	if err != nil {
		return err
	}
	id, _ := now["id"].(string)
	unlock, err := c.acquireLock(ctx, id, log)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, holdFor)
	defer cancel()
	return c.replaceUntilStable(ctx, id, e, log)
}

// replaceUntilStable applies an edit to the client's current state until no edit is needed:
// people who save the client in Keycloak's own pages do not use the lock. All other fields
// are written back unchanged.
func (c client) replaceUntilStable(ctx context.Context, id string, e edit, log *slog.Logger) error {
	for try := range maxTries {
		now, err := c.readClient(ctx)
		if err != nil {
			return err
		}
		if !e(now) {
			log.Info("the client is as it should be", "client", c.name)
			return nil
		}
		if try > 0 {
			log.Warn("somebody else changed the client in the same moment", "client", c.name)
		}
		err = c.Call(ctx, keycloak.Request{Method: http.MethodPut, Realm: c.realm,
			Path: "/clients/" + url.PathEscape(id),
			Body: now, What: "change client " + c.name})
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("change client %s: others overwrote it %d times", c.name, maxTries)
}

func (c client) readClient(ctx context.Context) (map[string]any, error) {
	query := url.Values{"clientId": {c.name}}
	var found []map[string]any
	err := c.Call(ctx, keycloak.Request{Method: http.MethodGet, Realm: c.realm,
		Path: "/clients?" + query.Encode(),
		What: "look for client " + c.name, Into: &found})
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		if one["clientId"] == c.name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("look for client %s: %w", c.name, errNoClient)
}
