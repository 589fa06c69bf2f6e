package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

func toService(s dbsqlc.Service, r dbsqlc.Registry) (controlplane.Service, error) {
	out := controlplane.Service{
		ID: controlplane.ServiceID(s.ID), Name: s.Name, Registry: r.Name, Host: r.Host,
		Insecure: r.Insecure, Image: s.Image, TagMode: pipeline.TagMode(s.TagMode),
		Tag: s.Tag, Pattern: s.Pattern, Description: s.Description,
	}
	if s.Step == nil {
		return out, nil
	}
	if err := json.Unmarshal(s.Step, &out.Step); err != nil {
		return out, fmt.Errorf("decode the step of service %s: %w", s.Name, err)
	}
	return out, nil
}

// ByName loads a service; not found is a *controlplane.Error.
func (t Services) ByName(ctx context.Context, name string) (controlplane.Service, error) {
	r, err := t.q.GetService(ctx, name)
	if err != nil {
		return controlplane.Service{}, fmt.Errorf("load service: %w",
			translateMissing(err, "service", name))
	}
	return toService(r.Service, r.Registry)
}

// List returns up to most services after the name.
func (t Services) List(
	ctx context.Context, after string, most int,
) ([]controlplane.Service, error) {
	rows, err := t.q.ListServices(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	all := make([]controlplane.Service, len(rows))
	for i, r := range rows {
		if all[i], err = toService(r.Service, r.Registry); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces the service of that id.
func (t Services) Put(ctx context.Context, s controlplane.Service) error {
	var step []byte
	if s.Step != nil {
		text, err := json.Marshal(s.Step)
		if err != nil {
			return fmt.Errorf("encode the step of service %s: %w", s.Name, err)
		}
		step = text
	}
	n, err := t.q.PutService(ctx, dbsqlc.PutServiceParams{
		ID: string(s.ID), Name: s.Name, Registry: s.Registry, Image: s.Image,
		TagMode: string(s.TagMode), Tag: s.Tag, Pattern: s.Pattern, Description: s.Description,
		Step: step,
	})
	if err != nil {
		return fmt.Errorf("put service: %w", translateError(err))
	}
	if n == 0 {
		return unknownNameError("registry", "registry", s.Registry)
	}
	return nil
}

// Delete removes a service that no current pipeline uses.
func (t Services) Delete(ctx context.Context, id controlplane.ServiceID) error {
	users, err := t.q.ListUsersOfService(ctx, string(id))
	if err := inUseError("service", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteService(ctx, string(id)); err != nil {
		return fmt.Errorf("delete service: %w", translateError(err))
	}
	return nil
}
