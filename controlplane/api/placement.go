package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) PutNode(
	ctx context.Context, r PutNodeRequestObject,
) (PutNodeResponseObject, error) {
	saved, err := s.Nodes.PutNode(ctx, actorOf(ctx), nodes.Put{
		Name: r.Name, Environment: r.Body.Environment, Address: r.Body.Address,
		Thumbprint: valueOr(r.Body.Thumbprint, ""), Settings: settingsIn(r.Body.Settings),
		Template: valueOr(r.Body.Template, ""),
		Connect:  controlplane.NodeConnect(valueOr(r.Body.Connect, "")),
	})
	if err != nil {
		return nil, err
	}
	return PutNode200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Node: toNode(saved.Object),
	}, nil
}

func settingsIn(s *NodeSettings) controlplane.NodeSettings {
	if s == nil {
		return controlplane.NodeSettings{}
	}
	return controlplane.NodeSettings{
		Labels: valueOr(s.Labels, nil), RunLimit: valueOr(s.RunLimit, 0),
		DiskFloorMiB: valueOr(s.DiskFloorMib, 0), Priority: valueOr(s.Priority, 0),
		RequireVRAMHint: valueOr(s.RequireVramHint, false), Reactive: valueOr(s.Reactive, false),
		Taints: convertAll(valueOr(s.Taints, nil), func(t Taint) controlplane.Taint {
			return controlplane.Taint{Key: t.Key, Value: valueOr(t.Value, ""),
				Effect: controlplane.TaintEffect(t.Effect)}
		}),
	}
}

func settingsOut(s controlplane.NodeSettings) *NodeSettings {
	out := &NodeSettings{RunLimit: ptrOrNil(s.RunLimit), DiskFloorMib: ptrOrNil(s.DiskFloorMiB),
		Priority: ptrOrNil(s.Priority), RequireVramHint: ptrOrNil(s.RequireVRAMHint),
		Reactive: ptrOrNil(s.Reactive)}
	if len(s.Labels) > 0 {
		labels := map[string]string(s.Labels)
		out.Labels = &labels
	}
	if len(s.Taints) > 0 {
		taints := convertAll(s.Taints, func(t controlplane.Taint) Taint {
			return Taint{Key: t.Key, Value: ptrOrNil(t.Value), Effect: TaintEffect(t.Effect)}
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
		Required: fromStrings[controlplane.Selector](
			p.Required,
		), GPUMemoryMiB: valueOr(p.GpuMemoryMib, 0),
		Forbidden:   fromStrings[controlplane.Selector](p.Forbidden),
		Preferred:   fromStrings[controlplane.Selector](p.Preferred),
		Tolerations: fromStrings[controlplane.Toleration](p.Tolerations),
	}
}

func fromStrings[T ~string](from *[]string) []T {
	if from == nil || len(*from) == 0 {
		return nil
	}
	return convertAll(*from, func(s string) T { return T(s) })
}

// placementOut omits empty fields.
func placementOut(p controlplane.Placement) *Placement {
	out := Placement{Required: toStrings(p.Required), Forbidden: toStrings(p.Forbidden),
		Preferred: toStrings(p.Preferred), Tolerations: toStrings(p.Tolerations),
		GpuMemoryMib: ptrOrNil(p.GPUMemoryMiB)}
	if out == (Placement{}) {
		return nil
	}
	return &out
}

func toStrings[T ~string](from []T) *[]string {
	if len(from) == 0 {
		return nil
	}
	all := convertAll(from, func(s T) string { return string(s) })
	return &all
}

func capacityIn(r *CapacityRules) controlplane.CapacityRules {
	if r == nil {
		return controlplane.CapacityRules{}
	}
	return controlplane.CapacityRules{CPUOvercommit: valueOr(r.CpuOvercommit, 0),
		BusyCPUPercent: valueOr(r.BusyCpuPercent, 0), BusySeconds: valueOr(r.BusySeconds, 0)}
}

// capacityOut omits what is the default.
func capacityOut(r controlplane.CapacityRules) *CapacityRules {
	if r == (controlplane.CapacityRules{}) {
		return nil
	}
	return &CapacityRules{CpuOvercommit: ptrOrNil(r.CPUOvercommit),
		BusyCpuPercent: ptrOrNil(r.BusyCPUPercent), BusySeconds: ptrOrNil(r.BusySeconds)}
}
