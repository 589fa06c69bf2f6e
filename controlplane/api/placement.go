package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
)

func (s *server) PutNode(
	ctx context.Context, r PutNodeRequestObject,
) (PutNodeResponseObject, error) {
	saved, err := s.Catalog.PutNode(ctx, actorOf(ctx), catalog.NodePut{
		Name: r.Name, Environment: r.Body.Environment, Address: r.Body.Address,
		Thumbprint: or(r.Body.Thumbprint, ""), Settings: settingsIn(r.Body.Settings),
	})
	if err != nil {
		return nil, err
	}
	return PutNode200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Node: node(saved.Object),
	}, nil
}

func settingsIn(s *NodeSettings) controlplane.NodeSettings {
	if s == nil {
		return controlplane.NodeSettings{}
	}
	return controlplane.NodeSettings{
		Labels: or(s.Labels, nil), RunLimit: or(s.RunLimit, 0),
		DiskFloorMiB: or(s.DiskFloorMib, 0), Priority: or(s.Priority, 0),
		Taints: each(or(s.Taints, nil), func(t Taint) controlplane.Taint {
			return controlplane.Taint{Key: t.Key, Value: or(t.Value, ""),
				Effect: controlplane.TaintEffect(t.Effect)}
		}),
	}
}

func settingsOut(s controlplane.NodeSettings) *NodeSettings {
	out := &NodeSettings{RunLimit: some(s.RunLimit), DiskFloorMib: some(s.DiskFloorMiB),
		Priority: some(s.Priority)}
	if len(s.Labels) > 0 {
		labels := map[string]string(s.Labels)
		out.Labels = &labels
	}
	if len(s.Taints) > 0 {
		taints := each(s.Taints, func(t controlplane.Taint) Taint {
			return Taint{Key: t.Key, Value: some(t.Value), Effect: TaintEffect(t.Effect)}
		})
		out.Taints = &taints
	}
	return out
}

func placementIn(p *Placement) controlplane.Placement {
	if p == nil {
		return controlplane.Placement{}
	}
	return controlplane.Placement{
		Required: typed[controlplane.Selector](p.Required), GPUMemoryMiB: or(p.GpuMemoryMib, 0),
		Forbidden:   typed[controlplane.Selector](p.Forbidden),
		Preferred:   typed[controlplane.Selector](p.Preferred),
		Tolerations: typed[controlplane.Toleration](p.Tolerations),
	}
}

func typed[T ~string](from *[]string) []T {
	if from == nil {
		return nil
	}
	return each(*from, func(s string) T { return T(s) })
}

// placementOut leaves out what asks for nothing.
func placementOut(p controlplane.Placement) *Placement {
	out := Placement{Required: spelled(p.Required), Forbidden: spelled(p.Forbidden),
		Preferred: spelled(p.Preferred), Tolerations: spelled(p.Tolerations),
		GpuMemoryMib: some(p.GPUMemoryMiB)}
	if out == (Placement{}) {
		return nil
	}
	return &out
}

func spelled[T ~string](from []T) *[]string {
	if len(from) == 0 {
		return nil
	}
	all := each(from, func(s T) string { return string(s) })
	return &all
}
