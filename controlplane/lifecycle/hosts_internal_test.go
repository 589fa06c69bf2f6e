package lifecycle

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// Of any pipeline: each exposed port has a dotted and a flat name that lead to it, no
// name leads to two ports, what is not exposed has none, and the deployment's own short
// name leads to one of the services.
func TestDeploymentHosts_EachExposedPortHasItsOwnNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := controlplane.Deployment{ID: "d", Name: "demo", Environment: "qa", Domain: "example.org"}
		var p pipeline.Pipeline
		exposed := 0
		for i := range rapid.IntRange(0, 4).Draw(t, "services") {
			s := &pipeline.ServiceStep{}
			for j := range rapid.IntRange(0, 3).Draw(t, "ports") {
				port := pipeline.Port{Name: fmt.Sprintf("p%d", j), Port: 8000 + j,
					Expose: rapid.Bool().Draw(t, "exposed")}
				if port.Expose {
					exposed++
				}
				s.Ports = append(s.Ports, port)
			}
			p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(fmt.Sprintf("s%d", i)),
				Service: s})
		}
		all := deploymentHosts(d, p)
		names := make([]string, len(all))
		for i, h := range all {
			names[i] = h.Host
			s, _ := p.Step(h.Step)
			if !slices.ContainsFunc(s.Service.Ports, func(one pipeline.Port) bool {
				return one.Expose && one.Name == h.PortName && one.Port == h.Port
			}) {
				t.Fatalf("%s leads to port %d of %s, which is not exposed", h.Host, h.Port, h.Step)
			}
		}
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
			t.Fatalf("a name is there twice: %q", names)
		}
		want := 2 * exposed
		if exposed > 0 {
			want++
		}
		_, short := slices.BinarySearch(names, "demo.qa.example.org")
		if len(all) != want || short != (exposed > 0) {
			t.Fatalf("%d exposed ports have %q", exposed, names)
		}
	})
}

func TestDeploymentHosts_NamesAndURLs(t *testing.T) {
	t.Parallel()
	l := &Lifecycle{ingress: &url.URL{Scheme: "https", Host: "ingress:8443"}}
	d := controlplane.Deployment{Name: "demo", Environment: "qa", Domain: "example.org"}
	p := pipeline.Pipeline{Steps: []pipeline.Step{{Key: "web", Service: &pipeline.ServiceStep{
		Ports: []pipeline.Port{{Name: "http", Port: 80, Expose: true}, {Name: "internal", Port: 81},
			{Name: "admin", Port: 82, Expose: true}}}}}}
	all := deploymentHosts(d, p)
	var names []string
	for _, h := range all {
		names = append(names, h.Host)
	}
	if want := []string{"web.demo.qa.example.org", "web--demo--qa.example.org",
		"admin--web.demo.qa.example.org", "admin--web--demo--qa.example.org",
		"demo.qa.example.org"}; !slices.Equal(names, want) {
		t.Errorf("its names are %q", names)
	}
	if got := l.serviceURLs(all)["web"]; got != "https://web.demo.qa.example.org:8443" {
		t.Errorf("its URL is %s", got)
	}
	ports := l.portURLs("web", all)
	if len(ports) != 2 || ports["http"] != "https://web.demo.qa.example.org:8443" ||
		ports["admin"] != "https://admin--web.demo.qa.example.org:8443" {
		t.Errorf("its ports' URLs are %v", ports)
	}
}

// Services that ask for a number of GPUs get different ones out of those reserved, and
// never one that another asked for by name.
func TestWithGPUs_NoGPUIsAssignedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pipeline.Pipeline
		var reserved []string
		for i := range rapid.IntRange(1, 4).Draw(t, "services") {
			g := &pipeline.GPUs{Count: rapid.IntRange(0, 2).Draw(t, "count")}
			for range g.Count {
				reserved = append(reserved, fmt.Sprintf("gpu-%d", len(reserved)))
			}
			if g.Count == 0 {
				g.DeviceIDs = []string{fmt.Sprintf("named-%d", i)}
				reserved = append(reserved, g.DeviceIDs...)
			}
			p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(fmt.Sprintf("s%d", i)),
				Service: &pipeline.ServiceStep{GPUs: g}})
		}
		var given []string
		for i, s := range withGPUs(p, reserved).Steps {
			asked := p.Steps[i].Service.GPUs
			// promise: V-28
			if n := max(asked.Count, len(asked.DeviceIDs)); len(s.Service.GPUs.DeviceIDs) != n {
				t.Fatalf("%s asked for %d and has %v", s.Key, n, s.Service.GPUs.DeviceIDs)
			}
			given = append(given, s.Service.GPUs.DeviceIDs...)
		}
		slices.Sort(given)
		slices.Sort(reserved)
		if !slices.Equal(given, reserved) {
			t.Fatalf("of %v, %v were given", reserved, given)
		}
	})
}

// With the longest names that each part may have, no address is longer than DNS can hold, and
// different ports have different ones. What does not fit is refused in a sentence.
func TestDeploymentHosts_FitIntoDNS(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", controlplane.MaxName-1)
	label := strings.Repeat("d", 50)
	for _, domain := range []string{"example.org", label + "." + label} {
		d := controlplane.Deployment{ID: "d", Name: long + "d", Environment: long + "e", Domain: domain}
		var p pipeline.Pipeline
		for _, end := range []string{"a", "b"} {
			p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(long + end),
				Service: &pipeline.ServiceStep{Ports: []pipeline.Port{{Name: "http", Port: 80, Expose: true},
					{Name: long + "1", Port: 81, Expose: true}, {Name: long + "2", Port: 82, Expose: true}}}})
		}
		all := deploymentHosts(d, p)
		seen := map[string]bool{}
		for _, h := range all {
			if len(h.Host) > 253 || seen[h.Host] {
				t.Errorf("%d octets, or there twice: %s", len(h.Host), h.Host)
			}
			seen[h.Host] = true
			for label := range strings.SplitSeq(h.Host, ".") {
				if len(label) > 63 {
					t.Errorf("a label of %d octets: %s", len(label), h.Host)
				}
			}
		}
		if len(all) != 2*6+1 {
			t.Errorf("%d addresses", len(all))
		}
		if err := addressesFit(d, p); err != nil {
			t.Errorf("they are refused: %v", err)
		}
		d.Domain = strings.Repeat(strings.Repeat("d", 49)+".", 3) + "org"
		if err := addressesFit(d, p); controlplane.CodeOf(err) != "address_too_long" {
			t.Errorf("what DNS cannot hold: %v", err)
		}
	}
}

// An address of exactly 253 octets fits into DNS, and one of 254 does not.
func TestDeploymentHosts_TakeAllThatDNSHolds(t *testing.T) {
	t.Parallel()
	p := pipeline.Pipeline{Steps: []pipeline.Step{{Key: "web", Service: &pipeline.ServiceStep{
		Ports: []pipeline.Port{{Name: "http", Port: 80, Expose: true}}}}}}
	labels := strings.Repeat(strings.Repeat("d", 49)+".", 4)
	d := controlplane.Deployment{ID: "d", Name: "demo", Environment: "qa"}
	for octets, fits := range map[int]bool{253: true, 254: false} {
		d.Domain = labels + strings.Repeat("e", octets-len("web.demo.qa."+labels))
		main := func(h controlplane.Host) bool { return h.Main && len(h.Host) == octets }
		if given := slices.ContainsFunc(deploymentHosts(d, p), main); given != fits {
			t.Errorf("an address of %d octets is given: %t", octets, given)
		}
		if err := addressesFit(d, p); (err == nil) != fits {
			t.Errorf("an address of %d octets: %v", octets, err)
		}
	}
}
