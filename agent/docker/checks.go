package docker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/system"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// isolatedEngine is the first major version that drops packets to a
	// container's address from another machine by itself.
	isolatedEngine = 28
	// diskFloor is where placement stops by default; diskLow leaves time to act.
	diskFloor = 1 << 30
	diskLow   = 5 << 30
	// fewSubnets is the number of free subnets below which the check recommends a larger range.
	fewSubnets = 16
)

// The checks' ids. They are stable: people write rules about them.
const (
	checkEngine    = wire.CheckEngine
	checkForward   = "forward-policy"
	checkGuard     = "guard"
	checkIsolation = "isolation"
	checkRestore   = "live-restore"
	checkMemory    = "memory-limit"
	checkSwap      = "swap-limit"
	checkPids      = "pids-limit"
	checkCPU       = "cpu-limit"
	checkSeccomp   = "seccomp"
	checkLogs      = "log-driver"
	checkStorage   = "storage-driver"
	checkRange     = "address-range"
	checkDisk      = "disk"
	checkClock     = "clock"
	checkTools     = "tools"
	checkGPU       = "gpu"
	checkLost      = "lost"
	checkRuntime   = "oci-runtime"
	checkSecrets   = "secrets"
)

// hostChecks judges what was found. It is pure; the order is the one people read.
func hostChecks(f hostFacts) []wire.Check {
	all := []wire.Check{
		okCheck(checkEngine, "Docker Engine "+f.info.ServerVersion+" answers."),
		forwardCheck(f), guardCheck(f), rangeCheck(f), diskCheck(f),
		limitCheck(checkMemory, f.info.MemoryLimit, wire.SeverityCritical, "memory",
			"Boot with cgroup_enable=memory."),
		limitCheck(checkSwap, f.info.SwapLimit, wire.SeverityWarning, "swap",
			"Boot with swapaccount=1, or switch swap off."),
		limitCheck(checkPids, f.info.PidsLimit, wire.SeverityCritical, "the number of processes",
			"Use a kernel with CONFIG_CGROUP_PIDS and mount its controller."),
		limitCheck(checkCPU, f.info.CPUCfsQuota, wire.SeverityWarning, "CPU",
			"Use a kernel with CONFIG_CFS_BANDWIDTH and mount its controller."),
		seccompCheck(f), logCheck(f), storageCheck(f), restoreCheck(f), runtimeCheck(f), clockCheck(f),
		toolsCheck(f), lostCheck(f), secretsCheck(f),
	}
	if !errors.Is(f.gpuProblem, errNoGPUTool) {
		all = append(all, gpuCheck(f))
	}
	return all
}

func okCheck(id, detail string) wire.Check {
	return wire.Check{ID: id, Severity: wire.SeverityOK, Detail: detail}
}

func failedCheck(id string, severity wire.Severity, detail, remedy string) wire.Check {
	return wire.Check{ID: id, Severity: severity, Detail: detail, Remedy: remedy}
}

func limitCheck(id string, works bool, severity wire.Severity, what, remedy string) wire.Check {
	if works {
		return okCheck(id, "The kernel limits "+what+" of containers.")
	}
	return failedCheck(id, severity, "The kernel does not limit "+what+
		" of containers: one deployment can starve all others.", remedy)
}

func forwardCheck(f hostFacts) wire.Check {
	switch {
	case majorVersion(f.info.ServerVersion) >= isolatedEngine:
		return okCheck(checkForward, "This engine keeps other machines away from containers by itself.")
	case !f.network.visible:
		return failedCheck(checkForward, wire.SeverityUnknown,
			"The policy of iptables' FORWARD chain cannot be read from here.",
			"Look yourself: 'iptables -S FORWARD' on the machine should begin with -P FORWARD DROP.")
	case f.network.forward == "ACCEPT":
		return failedCheck(
			checkForward,
			wire.SeverityWarning,
			"The FORWARD policy of iptables is ACCEPT "+
				"and the engine is older than 28: machines on the node's own network can reach "+
				"containers directly.",
			"Set the policy: 'iptables -P FORWARD DROP'. Or upgrade the engine.",
		)
	}
	return okCheck(checkForward, "The FORWARD policy of iptables is "+f.network.forward+".")
}

func guardCheck(f hostFacts) wire.Check {
	switch {
	case f.guard == nil:
		return okCheck(checkGuard, "Containers reach neither link-local addresses nor the agent's port.")
	case errors.Is(f.guard, errGuardOff):
		return failedCheck(
			checkGuard,
			wire.SeverityWarning,
			"The setting agent.guard is off: containers may "+
				"reach link-local addresses, such as a cloud's metadata, and the agent's port.",
			"Switch agent.guard on, or block these addresses with rules of your own.",
		)
	}
	return failedCheck(checkGuard, wire.SeverityWarning, "Containers are not kept from link-local "+
		"addresses, such as a cloud's metadata, and from the agent's port: "+f.guard.Error()+".",
		"Add the rules yourself; 'nullops agent doctor' prints them. Or run the agent on the host's "+
			"network with the capability NET_ADMIN.")
}

func rangeCheck(f hostFacts) wire.Check {
	switch {
	case f.freeRange < 0:
		return failedCheck(checkRange, wire.SeverityUnknown, "The networks in use cannot be listed.",
			"Look why the engine does not list its networks.")
	case f.freeRange == 0:
		return failedCheck(checkRange, wire.SeverityCritical, "No subnet is free in the agent's range.",
			"Remove deployments, or give the agent a larger range: setting agent.subnets.")
	case len(f.collisions) > 0:
		return failedCheck(checkRange, wire.SeverityWarning, "The agent's range is used by others too: "+
			strings.Join(f.collisions[:min(len(f.collisions), 5)], ", ")+
			". Deployments are given other subnets, and cannot reach these.",
			"Choose a range that nobody uses: setting agent.subnets.")
	case f.freeRange < fewSubnets:
		return failedCheck(checkRange, wire.SeverityWarning, fmt.Sprintf(
			"Only %d subnets are free in the agent's range.", f.freeRange),
			"Give the agent a larger range: setting agent.subnets.")
	}
	return okCheck(checkRange, "The agent's range has room, and nobody else uses it.")
}

func diskCheck(f hostFacts) wire.Check {
	const remedy = "Free some disk: 'docker system df' shows what takes it."
	detail := quantity.FormatBytes(f.diskFree) + " of disk are free"
	switch {
	case f.diskFree < 0:
		return failedCheck(checkDisk, wire.SeverityUnknown, "The free disk cannot be read.",
			"Look whether the file system of the agent's data is mounted.")
	case f.diskFree < diskFloor:
		return failedCheck(
			checkDisk,
			wire.SeverityCritical,
			detail+", less than the floor of 1 GiB.",
			remedy,
		)
	case f.diskFree < diskLow:
		return failedCheck(checkDisk, wire.SeverityWarning, detail+".", remedy)
	}
	// Without a number: a check whose text changes each minute would count as a change of the
	// inventory.
	return okCheck(checkDisk, "Enough disk is free.")
}

func seccompCheck(f hostFacts) wire.Check {
	on := slices.ContainsFunc(f.info.SecurityOptions, func(o string) bool {
		return strings.HasPrefix(o, "name=seccomp") && !strings.Contains(o, "unconfined")
	})
	if on {
		return okCheck(checkSeccomp, "Containers' system calls are filtered.")
	}
	return failedCheck(
		checkSeccomp,
		wire.SeverityWarning,
		"Containers' system calls are not filtered.",
		"Use a kernel with seccomp, and the engine's default profile.",
	)
}

// logCheck looks for the driver that services are given: the engine's default
// one is never used.
func logCheck(f hostFacts) wire.Check {
	if !slices.Contains(f.info.Plugins.Log, "local") {
		return failedCheck(checkLogs, wire.SeverityCritical,
			"The engine has no log driver called local, which services are given.",
			"Upgrade the engine to 19.03 or newer.")
	}
	return okCheck(checkLogs, "Logs are kept by the driver local, with a size limit.")
}

func storageCheck(f hostFacts) wire.Check {
	// native is containerd's vfs.
	better := map[string]string{"vfs": "overlay2", "native": "overlayfs"}[f.info.Driver]
	if better != "" {
		return failedCheck(checkStorage, wire.SeverityWarning, "The storage driver "+f.info.Driver+
			" copies every image for every container.",
			`Put "storage-driver": "`+better+`" into /etc/docker/daemon.json.`)
	}
	return okCheck(checkStorage, "The storage driver is "+f.info.Driver+".")
}

func restoreCheck(f hostFacts) wire.Check {
	if f.info.LiveRestoreEnabled {
		return okCheck(checkRestore, "Services survive a restart of the engine.")
	}
	return failedCheck(checkRestore, wire.SeverityWarning,
		"live-restore is off: a restart of the engine restarts every service.",
		`Put "live-restore": true into /etc/docker/daemon.json.`)
}

// clockCheck is the node's own half; the control plane compares the clocks.
func clockCheck(f hostFacts) wire.Check {
	if f.unsynchronised {
		return failedCheck(checkClock, wire.SeverityWarning, "Nobody keeps the machine's clock right.",
			"Run a time service, such as systemd-timesyncd or chrony.")
	}
	return okCheck(checkClock, "The machine's clock is synchronised.")
}

// staUnsync is STA_UNSYNC of adjtimex(2).
const staUnsync = 0x40

func isClockUnsynchronised() bool {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&staUnsync != 0
}

func toolsCheck(f hostFacts) wire.Check {
	if f.network.missing {
		return failedCheck(checkTools, wire.SeverityWarning,
			"iptables is not installed beside the agent: it can neither see nor set the host's rules.",
			"Run the agent on the machine itself, with iptables installed there.")
	}
	return okCheck(checkTools, "iptables is installed beside the agent.")
}

func secretsCheck(f hostFacts) wire.Check {
	if f.memoryProblem != nil {
		return failedCheck(checkSecrets, wire.SeverityWarning,
			"Services with secrets or files cannot start: "+f.memoryProblem.Error()+".", runFolderRemedy)
	}
	return okCheck(checkSecrets, "Secrets are kept in memory, in a folder that the engine sees.")
}

func gpuCheck(f hostFacts) wire.Check {
	if f.gpuProblem != nil {
		return failedCheck(checkGPU, wire.SeverityWarning, "The GPUs cannot be listed: "+
			f.gpuProblem.Error()+".", "Run nvidia-smi on the machine and mend what it complains of.")
	}
	// Engines since 28.3 can be given the cards as CDI devices, and then need no such runtime.
	devices := slices.ContainsFunc(f.info.DiscoveredDevices, func(d system.DeviceInfo) bool {
		return d.Source == "cdi" && strings.HasPrefix(d.ID, "nvidia.com/gpu=")
	})
	if _, ok := f.info.Runtimes["nvidia"]; !ok && !devices {
		return failedCheck(checkGPU, wire.SeverityWarning,
			"There are GPUs, and the engine has no runtime that hands them to containers.",
			"Install the NVIDIA Container Toolkit, then restart the engine.")
	}
	return okCheck(checkGPU, "GPUs can be handed to containers.")
}

func majorVersion(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}
