package lifecycle

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// hosts lists every name a deployment answers under: for each service with an
// exposed port service.deployment.environment.domain, its flat twin for a
// single wildcard certificate, and port--service… for further exposed ports.
func hosts(d controlplane.Deployment, p pipeline.Pipeline) []controlplane.Host {
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
			for i, name := range names(d, s.Key, port.Name, main) {
				all = append(all, controlplane.Host{Host: name, Deployment: d.ID, Step: s.Key,
					PortName: port.Name, Port: port.Port, Main: main && i == 0})
			}
			main = false
		}
	}
	return all
}

// names are the dotted and the flat form of one port's host.
func names(d controlplane.Deployment, step pipeline.StepKey, port string, main bool) []string {
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

// urls gives, by service, the address people open.
func (l *Lifecycle) urls(all []controlplane.Host) map[pipeline.StepKey]string {
	out := map[pipeline.StepKey]string{}
	for _, h := range all {
		if h.Main {
			out[h.Step] = l.URL(h.Host)
		}
	}
	return out
}
