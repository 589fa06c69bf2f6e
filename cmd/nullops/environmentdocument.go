package main

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// environmentDocument is an environment with its gate, which the API keeps
// apart. A document that does not speak of the gate leaves it as it is: nobody
// opens one by leaving a line out.
type environmentDocument struct {
	apiclient.EnvironmentPut
	Gate          *apiclient.GateMode `json:"gate,omitempty"`
	RedirectHTTPS *bool               `json:"redirect_https,omitempty"`
}

// over is the gate that the document wants where there is this one.
func (e environmentDocument) over(now apiclient.EnvironmentGate) apiclient.EnvironmentGate {
	if e.Gate != nil {
		now.Gate = *e.Gate
	}
	if e.RedirectHTTPS != nil {
		now.RedirectHttps = *e.RedirectHTTPS
	}
	return now
}

func (c *client) environmentObjects(ctx context.Context) ([]object, error) {
	all, err := load(func(cursor *string) (answer, error) {
		return c.ListEnvironmentsWithResponse(ctx,
			&apiclient.ListEnvironmentsParams{Cursor: cursor})
	}, environmentObject)
	for i, o := range all {
		r, err := c.GetEnvironmentGateWithResponse(ctx, o.Name)
		if err := answered(r, err); err != nil {
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
			Description: e.Description, Domain: e.Domain, Restricted: given(e.Restricted),
			CleanupAfterHours: e.CleanupAfterHours, IgnoreVisits: e.IgnoreVisits,
			Placement: e.Placement,
		}}}
}

// environment sends the settings, then the gate if the document speaks of it.
func (a *applier) environment(ctx context.Context, d document) error {
	wish, err := decodeBody[environmentDocument](d, d.Body)
	if err != nil {
		return err
	}
	saved, err := a.api.PutEnvironmentWithResponse(ctx, d.Name, wish.EnvironmentPut)
	if err := answered(saved, err); err != nil {
		return err
	}
	if err := a.report(d.String(), saved.Body); err != nil {
		return err
	}
	if wish.Gate == nil && wish.RedirectHTTPS == nil {
		return nil
	}
	now, err := a.api.GetEnvironmentGateWithResponse(ctx, d.Name)
	if err := answered(now, err); err != nil {
		return err
	}
	next := wish.over(*now.JSON200)
	if next == *now.JSON200 {
		return a.say("gate "+d.Name, "unchanged")
	}
	r, err := a.api.PutEnvironmentGateWithResponse(ctx, d.Name, next)
	if err := answered(r, err); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return a.say("gate "+d.Name, "changed")
}

// keptBody is what a document wants, with what it keeps by not speaking of it.
func keptBody(now, wish any) any {
	is, one := now.(environmentDocument)
	want, other := wish.(environmentDocument)
	if !one || !other {
		return wish
	}
	gate := want.over(apiclient.EnvironmentGate{
		Gate: deref(is.Gate), RedirectHttps: deref(is.RedirectHTTPS)})
	want.Gate, want.RedirectHTTPS = &gate.Gate, &gate.RedirectHttps
	return want
}
