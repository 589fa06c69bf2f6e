package docker

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// The limits that a name meets, in octets.
const (
	interfaceName = 15
	socketPath    = 107
	volumeName    = 255
)

// Every name with the longest of its parts is within the limits of what it ends
// in: a container's and a network's name become labels of DNS.
func TestNames_LongestPartsStayWithinTheLimits(t *testing.T) {
	t.Parallel()
	n := newNames("installation")
	key := pipeline.StepKey(strings.Repeat("k", pipeline.MaxKey))
	action := strings.Repeat("a", maxName)
	volume := strings.Repeat("v", maxName)
	for _, id := range []string{uuid.NewString(), strings.Repeat("d", maxName)} {
		v := agent.VolumeName{Deployment: id, Service: key, Name: volume}
		d := assembleParts(&engine{names: n, config: Config{DataDir: "/var/lib/nullops"}},
			sidecarBinary{})
		for _, c := range []struct {
			what, name string
			most       int
		}{
			{"service", n.serviceName(id, key), maxName},
			{"service of any label", n.serviceName(id, pipeline.StepKey(volume)), maxName},
			{"plugin", n.pluginName(agent.PluginSpec{Deployment: id, Step: key, Action: action}), maxName},
			{"copy", n.copyName(v), maxName},
			{"relay", n.relayName(id), maxName},
			{"network", n.networkName(id), maxName},
			{"probe", n.fitName("probedoctor", "b"), maxName},
			{"alias", string(key), maxName},
			{"volume", n.oldVolumeName(id, key, volume), volumeName},
			{"volume with a dot", n.separableVolumeName(v), volumeName},
			{"socket of a relay", d.relaySocket(id), socketPath},
			{"interface of the engine", "br-0123456789ab", interfaceName},
		} {
			if len(c.name) > c.most || c.name == "" {
				t.Errorf("%s: %q has %d octets, of %d", c.what, c.name, len(c.name), c.most)
			}
		}
	}
}

// A network keeps the name that it has on every node, and the old name of a relay is the one that
// earlier releases gave it.
func TestNames_NetworkAndRelay(t *testing.T) {
	t.Parallel()
	n := newNames("installation")
	id := uuid.NewString()
	if got := n.networkName(id); got != "nullops-"+n.short+"-"+id+"-net" {
		t.Errorf("network %s", got)
	}
	if got := n.relayName(id); got != "nullops-"+n.short+"-"+id+"-relay" {
		t.Errorf("relay %s", got)
	}
	if got := n.oldRelayName(id); got != "nullops-"+n.short+"-"+id+"-gate" {
		t.Errorf("relay of an earlier release %s", got)
	}
}

// Parts that read the same when they are joined have names of their own.
func TestNames_JoinsAreUnambiguous(t *testing.T) {
	t.Parallel()
	n := newNames("installation")
	id := uuid.NewString()
	seen := map[string]string{}
	note := func(what, name string) {
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s are both called %s", what, other, name)
		}
		seen[name] = what
	}
	for _, pair := range [][2]string{{"a", "b-c"}, {"a-b", "c"}, {"a-b-c", ""}} {
		v := agent.VolumeName{Deployment: id, Service: pipeline.StepKey(pair[0]), Name: pair[1]}
		note("the copy of "+strings.Join(pair[:], " "), n.copyName(v))
		note("the volume of "+strings.Join(pair[:], " "), n.separableVolumeName(v))
		note("the plugin of "+strings.Join(pair[:], " "), n.pluginName(agent.PluginSpec{
			Deployment: id, Action: pair[0], Step: pipeline.StepKey(pair[1])}))
	}
	long := strings.Repeat("k", pipeline.MaxKey-1)
	for _, key := range []string{"web", "plugin-web", long + "a", long + "b"} {
		note("service "+key, n.serviceName(id, pipeline.StepKey(key)))
		note("service "+key+" of another", n.serviceName(id[:8]+uuid.NewString()[8:],
			pipeline.StepKey(key)))
		note("service "+key+" of another installation",
			newNames("other").serviceName(id, pipeline.StepKey(key)))
	}
}
