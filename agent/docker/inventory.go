package docker

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/wire"
)

// isolatedEngine is the first major version that drops packets to a
// container's address from another machine by itself.
const isolatedEngine = 28

// Inventory describes the node.
func (d *Docker) Inventory(ctx context.Context) (wire.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := d.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe node: %w", unavailable(err))
	}
	total, _, err := disk(d.config.DataDir)
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe node: %w", err)
	}
	i := r.Info
	return wire.Inventory{
		Hostname: i.Name, OS: i.OperatingSystem, Kernel: i.KernelVersion, Arch: i.Architecture,
		EngineVersion: i.ServerVersion, APIVersion: d.api.ClientVersion(),
		CPU: float64(i.NCPU), Memory: i.MemTotal, Disk: total,
		Subnets:  subnets(d.config.SubnetRange, d.config.SubnetBits),
		Warnings: warnings(i, forwardPolicy(ctx)),
	}, nil
}

// warnings are what weakens our promises on this node, each with the remedy.
func warnings(i system.Info, forward string) []string {
	var w []string
	if forward == "ACCEPT" && major(i.ServerVersion) < isolatedEngine {
		w = append(w, "The FORWARD policy of iptables is ACCEPT and the engine is older than 28: "+
			"machines on the node's own network can reach containers directly. "+
			"Set the policy to DROP, or upgrade the engine.")
	}
	if !i.MemoryLimit || !i.SwapLimit {
		w = append(w, "The kernel does not limit memory and swap of containers: "+
			"boot with cgroup_enable=memory swapaccount=1.")
	}
	if !i.PidsLimit {
		w = append(w, "The kernel does not limit the number of processes of containers.")
	}
	if !i.LiveRestoreEnabled {
		w = append(w, "live-restore is off: a restart of the engine restarts every service. "+
			`Put "live-restore": true into /etc/docker/daemon.json.`)
	}
	return w
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// forwardPolicy returns the policy of the FORWARD chain, or "" where we may
// not look: not root, or no iptables, as inside a container.
func forwardPolicy(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "iptables", "-w", "-S", "FORWARD").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "-P FORWARD "); ok {
			return policy
		}
	}
	return ""
}
