package controlplane

import (
	"cmp"
	"maps"
	"slices"
)

// NodeTemplate is settings that several nodes share. A change applies to all of them.
type NodeTemplate struct {
	Name        string
	Description string
	Settings    NodeSettings
	// Nodes counts those that follow it.
	Nodes int
}

// Apply returns the settings of a node that follows the template: what was set for the node itself
// counts more.
func (t NodeTemplate) Apply(own NodeSettings) (NodeSettings, error) {
	out := NodeSettings{
		RunLimit:        cmp.Or(own.RunLimit, t.Settings.RunLimit),
		DiskFloorMiB:    cmp.Or(own.DiskFloorMiB, t.Settings.DiskFloorMiB),
		Priority:        cmp.Or(own.Priority, t.Settings.Priority),
		RequireVRAMHint: own.RequireVRAMHint || t.Settings.RequireVRAMHint,
		Reactive:        own.Reactive || t.Settings.Reactive,
		Labels:          Labels{}, Taints: slices.Clone(own.Taints),
	}
	maps.Copy(out.Labels, t.Settings.Labels)
	maps.Copy(out.Labels, own.Labels)
	for _, shared := range t.Settings.Taints {
		overridden := slices.ContainsFunc(own.Taints, func(x Taint) bool { return x.Key == shared.Key })
		if !overridden {
			out.Taints = append(out.Taints, shared)
		}
	}
	return out.Normalize()
}
