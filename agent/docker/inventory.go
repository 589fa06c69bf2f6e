package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/wire"
)

// What is on a disk, as people read it.
const (
	holdsImages  = "images and containers"
	holdsVolumes = "volumes and logs"
	holdsData    = "the agent's data"
)

// inventory describes the node and checks it.
type inventory struct {
	*engine
	networks *networks
	lost     *lostObjects
	guard    *hostGuard
	folder   *runFolder
}

// Inventory describes the node, and checks what it needs for our promises.
// Whether its networks are really apart takes longer: see ProbeIsolation.
func (iv *inventory) Inventory(ctx context.Context) (wire.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := iv.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe node: %w", wrapUnavailable(err))
	}
	i := r.Info
	inv := wire.Inventory{
		Hostname: i.Name, OS: i.OperatingSystem, Kernel: i.KernelVersion, Arch: i.Architecture,
		EngineVersion: i.ServerVersion, APIVersion: iv.api.ClientVersion(),
		CgroupVersion: i.CgroupVersion, CgroupDriver: i.CgroupDriver, StorageDriver: i.Driver,
		LogDriver: i.LoggingDriver, LiveRestore: i.LiveRestoreEnabled,
		CPU: float64(i.NCPU), Memory: i.MemTotal,
		Subnets: countSubnets(iv.config.SubnetRange, iv.config.SubnetBits),
	}
	if inv.CgroupVersion == "" {
		inv.CgroupVersion = "1" // An engine that does not say knows no other.
	}
	inv.RuncVersion = iv.runcVersion(ctx, i)
	if inv.Disks, err = iv.listDisks(); err != nil {
		return wire.Inventory{}, fmt.Errorf("describe node: %w", err)
	}
	for _, on := range inv.Disks {
		if inv.Disk == 0 || on.Size < inv.Disk {
			inv.Disk = on.Size
		}
	}
	f := iv.gatherFacts(ctx, i)
	inv.GPUs, f.gpuProblem = listGPUs(ctx)
	inv.Checks = hostChecks(f)
	return inv, nil
}

// runcVersion asks for the components; an engine that names none still knows the commit. An engine
// that runs containers with another program than runc, such as crun, has that one's name in front.
func (iv *inventory) runcVersion(ctx context.Context, i system.Info) string {
	v, err := iv.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		v.Components = nil
	}
	return runtimeVersion(usedRuntime(iv.config.Runtime, i), i, v.Components)
}

// runtimeVersion reads the engine's answers, which call the component by the runtime's name. They
// have the version of the engine's default runtime only.
func runtimeVersion(used string, i system.Info, components []system.ComponentVersion) string {
	version := ""
	if used == runc {
		version = i.RuncCommit.ID
	}
	for _, c := range components {
		if c.Name == used {
			version = c.Version
		}
	}
	if used == runc {
		return version
	}
	return strings.TrimSpace(used + " " + version)
}

func (iv *inventory) listDisks() ([]wire.Disk, error) {
	host := iv.hostPaths()
	all := []wire.Disk{{Holds: holdsData, Path: iv.config.DataDir}}
	if host.imageRoot != "" {
		all = append(all, wire.Disk{Holds: holdsImages, Path: host.imageRoot})
	}
	if host.engineRoot != host.imageRoot {
		all = append(all, wire.Disk{Holds: holdsVolumes, Path: host.engineRoot})
	}
	for i := range all {
		size, _, err := diskSpace(all[i].Path)
		if err != nil {
			return nil, err
		}
		all[i].Size = size
	}
	return all, nil
}

// hostFacts are what the checks look at; gathering may fail in parts, judging not.
type hostFacts struct {
	info    system.Info
	network hostNetwork
	// collisions are routes and networks of others inside our address range.
	collisions []string
	freeRange  int
	diskFree   int64
	// unsynchronised is set if the kernel says that its clock is not synchronised.
	unsynchronised bool
	gpuProblem     error
	guard          error
	// lost is what a killed engine left running, or why that is unknown.
	lost        LostObjects
	lostProblem error
	// lostCommand ends it, typed on the machine itself.
	lostCommand string
	// memoryProblem is why there is no folder in memory for secrets.
	memoryProblem error
	// runtime is the OCI runtime that is configured, and crunPath where crun is installed.
	runtime, crunPath string
}

func (iv *inventory) gatherFacts(ctx context.Context, i system.Info) hostFacts {
	f := hostFacts{info: i, network: iv.readNetwork(ctx), unsynchronised: isClockUnsynchronised(),
		runtime: iv.config.Runtime, crunPath: iv.crunPath()}
	// Left at zero it would look full; a disk that cannot be asked is not.
	f.diskFree = -1
	if free, err := iv.diskFree(); err == nil {
		f.diskFree = free
	}
	f.collisions, f.freeRange = iv.findCollisions(ctx)
	f.guard = iv.guard.guardProblem(ctx, f.network)
	f.lost, f.lostProblem = iv.lost.FindLost(ctx)
	f.lostCommand = iv.lost.LostCommand()
	f.memoryProblem = iv.folder.ensureRunFolder(ctx)
	return f
}

// hostNetwork is what we can see of the host's packet filter.
type hostNetwork struct {
	// visible is false when iptables is not there, or is not allowed, or is
	// about another network than the engine's.
	visible bool
	missing bool
	// forward is the policy of the FORWARD chain.
	forward string
}

// filterWithin bounds one question to iptables, which may wait for its lock.
const filterWithin = 5 * time.Second

func (iv *inventory) readNetwork(ctx context.Context) hostNetwork {
	out, err := runIptables(ctx, "-S", "FORWARD")
	if errors.Is(err, exec.ErrNotFound) {
		return hostNetwork{missing: true}
	}
	if err != nil || iv.hostPaths().ownNetwork {
		return hostNetwork{}
	}
	n := hostNetwork{visible: strings.Contains(out, userChain)}
	for line := range strings.Lines(out) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "-P FORWARD "); ok {
			n.forward = policy
		}
	}
	return n
}

// runIptables runs the tool by its arguments; -w waits for the lock that every
// user of the tables shares.
func runIptables(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, filterWithin)
	defer cancel()
	c := exec.CommandContext(ctx, "iptables", append([]string{"-w", "3"}, args...)...)
	c.WaitDelay = time.Second
	out, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = fmt.Errorf("iptables %s: %s", strings.Join(args, " "), clipOutput(string(failed.Stderr)))
	}
	return string(out), err
}

// findCollisions lists what is in our range and not ours, and how many subnets are
// left for deployments.
func (iv *inventory) findCollisions(ctx context.Context) (others []string, free int) {
	all, err := iv.networks.listNetworks(ctx, nil)
	if err != nil {
		return nil, -1
	}
	used, err := iv.networks.usedSubnets(all)
	if err != nil {
		return nil, -1
	}
	ours := iv.networks.ourSubnets(all)
	for _, p := range used {
		if p.Overlaps(iv.config.SubnetRange) && !ours[p] {
			others = append(others, p.String())
			ours[p] = true // Once is enough: a network is a route too.
		}
	}
	return others, freeSubnets(iv.config.SubnetRange, iv.config.SubnetBits, used)
}
