package cli

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// environmentDocument is an environment with its gate, which the API keeps separate. A
// document without a gate leaves it unchanged, so that deleting a line opens nothing.
type environmentDocument struct {
	apiclient.EnvironmentPut
	Gate          *apiclient.GateMode `json:"gate,omitempty"`
	RedirectHTTPS *bool               `json:"redirect_https,omitempty"`
}

func (c *client) environmentObjects(ctx context.Context) ([]object, error) {
	all, err := loadPages(func(cursor *string) (answer, error) {
		return c.ListEnvironmentsWithResponse(ctx,
			&apiclient.ListEnvironmentsParams{Cursor: cursor})
	}, environmentObject)
	for i, o := range all {
		r, err := c.GetEnvironmentGateWithResponse(ctx, o.Name)
		if err := checkAnswer(r, err); err != nil {
			return nil, fmt.Errorf("gate of environment %s: %w", o.Name, err)
		}
		body := o.Body.(environmentDocument)
		body.Gate, body.RedirectHTTPS = &r.JSON200.Gate, &r.JSON200.RedirectHttps
		all[i].Body = body
	}
	return all, err
}

func environmentObject(e apiclient.Environment) object {
	return object{Kind: "environment", Name: e.Name, Body: environmentDocument{
		EnvironmentPut: apiclient.EnvironmentPut{
			Description: e.Description, Domain: e.Domain, Restricted: nilIfZero(e.Restricted),
			CleanupAfterHours: e.CleanupAfterHours, IgnoreVisits: e.IgnoreVisits,
			IgnorePresence: e.IgnorePresence,
			Placement:      e.Placement, Capacity: e.Capacity,
		}}}
}
