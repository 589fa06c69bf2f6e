package server

import (
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// What a wake-up is about takes the place of what was known of it, and of nothing else.
func TestRouteBook_Replace(t *testing.T) {
	route := func(host string, of controlplane.DeploymentID, s controlplane.DeploymentStatus,
	) controlplane.Route {
		return controlplane.Route{Host: host, Deployment: of, Status: s}
	}
	known := []controlplane.Route{
		route("a.one", "d1", controlplane.Ready), route("b.one", "d1", controlplane.Ready),
		route("was.here", "d2", controlplane.Removed),
		route("z.three", "d3", controlplane.Ready),
	}
	for name, c := range map[string]struct {
		of      controlplane.DeploymentID
		read    []controlplane.Route
		want    []controlplane.Route
		changed bool
	}{
		"the same":          {"d1", slices.Clone(known[:2]), known, false},
		"nothing of nobody": {"d9", nil, known, false},
		"another status": {"d3", []controlplane.Route{route("z.three", "d3", controlplane.Removing)},
			append(slices.Clone(known[:3]), route("z.three", "d3", controlplane.Removing)), true},
		"a host less": {"d1", known[1:2], known[1:], true},
		"gone":        {"d1", nil, known[2:], true},
		"takes the host of one that is gone": {"d4",
			[]controlplane.Route{route("was.here", "d4", controlplane.Queued)},
			[]controlplane.Route{known[0], known[1], route("was.here", "d4", controlplane.Queued),
				known[3]}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &routeCache{all: slices.Clone(known)}
			changed := b.replaceRoutes([]controlplane.DeploymentID{c.of}, c.read)
			if changed != c.changed || !slices.Equal(b.all, c.want) {
				t.Errorf("changed %v, routes %v", changed, b.all)
			}
		})
	}
}
