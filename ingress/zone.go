package ingress

import "strings"

// Gate says who has access to the services of a host.
type Gate string

// The gates, from open to strict.
const (
	GateOpen    Gate = ""
	GateGuests  Gate = "guests"
	GateMembers Gate = "members"
)

// Zone is the part of the name space that belongs to an environment. Its rules hold for every name
// below, whether there is a deployment or not, so that visitors without access cannot tell.
type Zone struct {
	// Suffix is "environment.domain".
	Suffix      string `json:"suffix"`
	Environment string `json:"environment"`
	// EnvironmentID is what a pass for the whole environment names.
	EnvironmentID string `json:"environment_id"`
	Gate          Gate   `json:"gate,omitempty"`
	// RedirectHTTPS sends plain HTTP to HTTPS.
	RedirectHTTPS bool `json:"redirect_https,omitempty"`
}

// WithZones adds zones to a table that is not in use yet, and returns it. A zone with an
// invalid suffix is left out. No route is more open than its zone.
func (t *Table) WithZones(zones []Zone) *Table {
	t.zones = make(map[string]*Zone, len(zones))
	for i := range zones {
		z := zones[i]
		if suffix, ok := Canonical(z.Suffix); ok {
			z.Suffix = suffix
			t.zones[suffix] = &z
			t.gated = t.gated || z.Gate != GateOpen
		}
	}
	for _, r := range t.routes {
		if r.zone = t.zoneOf(r.Host); r.zone != nil {
			r.Gate = r.Gate.stricterOf(r.zone.Gate)
		}
		t.gated = t.gated || r.Gate != GateOpen
	}
	return t
}

func (g Gate) stricterOf(other Gate) Gate {
	if g == GateMembers || other == GateMembers {
		return GateMembers
	}
	if g == GateGuests || other == GateGuests {
		return GateGuests
	}
	return GateOpen
}

// Zones lists them, in no order.
func (t *Table) Zones() []Zone {
	all := make([]Zone, 0, len(t.zones))
	for _, z := range t.zones {
		all = append(all, *z)
	}
	return all
}

// InZone reports whether a host is below an environment.
func (t *Table) InZone(host string) bool {
	name, ok := Canonical(host)
	return ok && t.zoneOf(name) != nil
}

// zoneOf finds the zone of a canonical host: a.b.env.domain, the flat
// a--b--env.domain, or env.domain itself.
func (t *Table) zoneOf(host string) *Zone {
	if len(t.zones) == 0 {
		return nil
	}
	first, rest, _ := strings.Cut(host, ".")
	if i := strings.LastIndex(first, "--"); i >= 0 {
		if z := t.zones[first[i+2:]+"."+rest]; z != nil {
			return z
		}
	}
	for name := host; name != ""; _, name, _ = strings.Cut(name, ".") {
		if z := t.zones[name]; z != nil {
			return z
		}
	}
	return nil
}
