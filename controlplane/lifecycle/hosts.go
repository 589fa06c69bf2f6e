package lifecycle

import (
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// deploymentHosts lists every name a deployment answers under: for each service with an
// exposed port service.deployment.environment.domain, its flat twin for a
// single wildcard certificate, port--service… for further exposed ports, and
// deployment.environment.domain for its primary service.
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
	return append(all, primaryHost(d, all)...)
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
		service = port + "--" + service
	}
	suffix := d.Environment + "." + d.Domain
	return []string{
		fmt.Sprintf("%s.%s.%s", service, d.Name, suffix),
		fmt.Sprintf("%s--%s--%s", service, d.Name, suffix),
	}
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
	d controlplane.Deployment, step pipeline.StepKey, all []controlplane.Host,
) map[string]string {
	out := map[string]string{}
	for _, h := range all {
		if h.Step == step && (h.Main || h.Host == hostNames(d, step, h.PortName, false)[0]) {
			out[h.PortName] = l.URL(h.Host)
		}
	}
	return out
}
