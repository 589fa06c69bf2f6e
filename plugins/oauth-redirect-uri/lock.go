package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/nullops/nullops/plugins/keycloak"
)

const (
	// lockRole is a role of a client that exists while a run of this plugin changes it.
	// Keycloak has no other lock: it refuses a second role of the same name, and has no
	// conditional requests. The role is assigned to nobody, so it appears in no token.
	lockRole = "nullops-editing"
	// holdFor bounds how long a change takes.
	holdFor = 20 * time.Second
	// brokenAfter is when an unchanged lock counts as abandoned by a killed run.
	brokenAfter = 3 * holdFor
)

// acquireLock waits until nobody else changes the client.
func (c client) acquireLock(ctx context.Context, id string, log *slog.Logger) (func(), error) {
	roles := "/clients/" + url.PathEscape(id) + "/roles"
	var other string
	var since time.Time
	for {
		err := c.Call(ctx, keycloak.Request{Method: http.MethodPost, Realm: c.realm, Path: roles,
			Body: map[string]any{"name": lockRole,
				"description": "NullOps changes this client; it goes by itself"},
			What: "hold client " + c.name})
		switch {
		case keycloak.IsNotFound(err):
			return nil, fmt.Errorf("hold client %s: %w", c.name, errNoClient)
		case err != nil && !keycloak.IsConflict(err):
			return nil, err
		}
		holder, lookErr := c.lockHolder(ctx, roles)
		switch {
		case lookErr != nil:
			return nil, lookErr
		case err == nil:
			return func() { c.releaseLock(context.WithoutCancel(ctx), holder, log) }, nil
		case holder != other:
			other, since = holder, time.Now()
		case holder != "" && time.Since(since) > brokenAfter:
			log.Warn("whoever changed the client is gone", "client", c.name)
			c.releaseLock(ctx, holder, log)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for others who change client %s: %w", c.name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lockHolder is the id of the role that stands, or nothing.
func (c client) lockHolder(ctx context.Context, roles string) (string, error) {
	var role struct {
		ID string `json:"id"`
	}
	err := c.Call(ctx, keycloak.Request{Method: http.MethodGet, Realm: c.realm,
		Path: roles + "/" + lockRole,
		What: "see who holds client " + c.name, Into: &role})
	if keycloak.IsNotFound(err) {
		return "", nil
	}
	return role.ID, err
}

// releaseLock removes the one role that was seen: a later lock has another ID.
func (c client) releaseLock(ctx context.Context, role string, log *slog.Logger) {
	err := c.Call(ctx, keycloak.Request{Method: http.MethodDelete, Realm: c.realm,
		Path: "/roles-by-id/" + url.PathEscape(role),
		What: "release client " + c.name})
	if err != nil && !keycloak.IsNotFound(err) {
		log.Warn("the client stays held; others wait for a minute", "error", err)
	}
}
