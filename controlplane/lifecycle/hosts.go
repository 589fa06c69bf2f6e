package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// Limits of DNS on a label of a name and on a whole name, in octets.
const (
	maxHostLabel = 63
	maxHost      = 253
)

// deploymentHosts lists every name a deployment answers under: for each service with an
// exposed port service.deployment.environment.domain, its flat twin for a
// single wildcard certificate, port--service… for further exposed ports, and
// deployment.environment.domain for its primary service. A name that DNS cannot hold is left
// out: an authority would refuse a certificate for all names because of it.
func deploymentHosts(d controlplane.Deployment, p pipeline.Pipeline) []controlplane.Host {
	var all []controlplane.Host
	for _, s := range p.Steps {
		if s.Service == nil {
			continue
		}
		main := true
		for _, port := range s.Service.Ports {
			if !port.Expose {
				continue
			}
			for i, name := range hostNames(d, s.Key, port.Name, main) {
				all = append(all, controlplane.Host{Host: name, Deployment: d.ID, Step: s.Key,
					PortName: port.Name, Port: port.Port, Main: main && i == 0})
			}
			main = false
		}
	}
	all = append(all, primaryHost(d, all)...)
	return slices.DeleteFunc(all, func(h controlplane.Host) bool { return len(h.Host) > maxHost })
}

// addressesFit refuses a deployment whose services would have addresses that DNS cannot hold.
func addressesFit(d controlplane.Deployment, p pipeline.Pipeline) error {
	for _, s := range p.Steps {
		if s.Service == nil || !slices.ContainsFunc(s.Service.Ports,
			func(port pipeline.Port) bool { return port.Expose }) {
			continue
		}
		if name := hostNames(d, s.Key, "", true)[0]; len(name) > maxHost {
			return &controlplane.Error{Kind: controlplane.Invalid, Code: "address_too_long", Field: "name",
				Message: fmt.Sprintf("the address of service %s would have %d characters, and DNS holds %d",
					s.Key, len(name), maxHost),
				Remedy: "Choose a shorter name, or an environment with a shorter domain."}
		}
	}
	return nil
}

// primaryHost is the short name deployment.environment.domain. It leads to the last
// service with a URL, as 'nullops open' does.
func primaryHost(d controlplane.Deployment, all []controlplane.Host) []controlplane.Host {
	for _, h := range slices.Backward(all) {
		if h.Main {
			h.Host, h.Main = d.Name+"."+d.Environment+"."+d.Domain, false
			return []controlplane.Host{h}
		}
	}
	return nil
}

// hostNames are the dotted and the flat form of one port's host.
func hostNames(d controlplane.Deployment, step pipeline.StepKey, port string, main bool) []string {
	service := string(step)
	if !main {
		service = furtherPort(step, port)
	}
	return []string{
		fmt.Sprintf("%s.%s.%s.%s", fitLabel(service), d.Name, d.Environment, d.Domain),
		fitLabel(service+"--"+d.Name+"--"+d.Environment) + "." + d.Domain,
	}
}

// furtherPort is how the hosts of a service's further exposed ports begin.
func furtherPort(step pipeline.StepKey, port string) string { return port + "--" + string(step) }

// fitLabel cuts a label that DNS cannot hold, and ends it with a hash of the whole.
func fitLabel(label string) string {
	const digits = 8
	if len(label) <= maxHostLabel {
		return label
	}
	sum := sha256.Sum256([]byte(label))
	return strings.TrimRight(label[:maxHostLabel-1-digits], "-") + "-" +
		hex.EncodeToString(sum[:])[:digits]
}

// serviceURLs returns the URL of each service.
func (l *Lifecycle) serviceURLs(all []controlplane.Host) map[pipeline.StepKey]string {
	out := map[pipeline.StepKey]string{}
	for _, h := range all {
		if h.Main {
			out[h.Step] = l.URL(h.Host)
		}
	}
	return out
}

// portURLs returns the URL of each exposed port of a service by its name; the first
// port's URL is the service's.
func (l *Lifecycle) portURLs(
	step pipeline.StepKey, all []controlplane.Host,
) map[string]string {
	out := map[string]string{}
	for _, h := range all {
		if h.Step == step && isShown(h) {
			out[h.PortName] = l.URL(h.Host)
		}
	}
	return out
}

// isShown reports whether people are told this host of a port, and not its flat form or the
// short name. It looks at the first label only: the environment's domain may have changed
// since the deployment got its hosts.
func isShown(h controlplane.Host) bool {
	label, _, _ := strings.Cut(h.Host, ".")
	return h.Main || label == fitLabel(furtherPort(h.Step, h.PortName))
}

// Addresses returns the URLs of all exposed ports: those of the services come first, then
// those of their further ports.
func (l *Lifecycle) Addresses(all []controlplane.Host) []string {
	urls, further := []string{}, []string{}
	for _, h := range all {
		switch {
		case h.Main:
			urls = append(urls, l.URL(h.Host))
		case isShown(h):
			further = append(further, l.URL(h.Host))
		}
	}
	return append(urls, further...)
}
