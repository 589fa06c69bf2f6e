package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/logs"
)

func agentCommand() *cobra.Command {
	c := serverCommand("agent", "Run the agent of a node, next to its Docker Engine",
		Settings.checkAgent, runAgent)
	c.AddCommand(agentIdentity(), agentState(), doctorCommand(), agentLost(), agentManifest())
	return c
}

// agentGC collects twice as often as Go would: an agent holds a megabyte or two,
// so that is cheap, and memory belongs to the node's deployments.
const agentGC = 50

// runAgent waits for the control plane to dial, and works for it until ctx ends.
func runAgent(ctx context.Context, s Settings, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(agentGC)
	}
	token, err := agentToken(s.Agent.Token)
	if err != nil {
		return err
	}
	// Before anything of this release is written there, or made in Docker.
	if err := agent.CheckFolder(s.Agent.Data); err != nil {
		return fmt.Errorf("setting agent.data: %w", err)
	}
	if err := durable.MakeDir(durable.OS{}, s.Agent.Data, 0o700); err != nil {
		return fmt.Errorf("setting agent.data: %w", err)
	}
	floor, err := agent.ParseDiskFloor(s.Agent.Floor)
	if err != nil {
		return fmt.Errorf("setting agent.floor: %w", err)
	}
	install, err := loadInstallID(durable.OS{}, s.Agent.Data, log)
	if err != nil {
		return err
	}
	// The runtime and the agent count visits together.
	hook := failpoint.FromEnv(os.Getenv("NULLOPS_FAILPOINT"))
	runtime, err := openRuntime(ctx, s, install, hook, log)
	if err != nil {
		return err
	}
	defer runtime.Close()
	config := agent.Config{Data: s.Agent.Data, Token: token, Build: wire.Build(release),
		Log: logs.Of(log, "agent"), ProbeEvery: s.probeEvery(), DiskFloor: floor,
		Offers: s.Agent.Offers.config(), Sandboxes: s.Agent.Sandboxes.Ahead,
		Mails: s.Agent.Mails.limits(), Failpoint: hook}
	config.Sockets, config.Diagnosis = s.Agent.Sockets, agentDiagnosis(s)
	if config.IngressUser, err = s.Agent.ingressUser(); err != nil {
		return err
	}
	way, err := s.Agent.openWay(&config)
	if err != nil {
		return err
	}
	if s.enrolsItself() {
		if config.Token, err = enrolMachine(ctx, s, listenAddress(config.Listener),
			runtime.Inventory, log); err != nil {
			return errors.Join(ignoreCanceled(err), closeListener(config.Listener))
		}
	}
	a, err := agent.New(config, runtime)
	if err != nil {
		return errors.Join(err, closeListener(config.Listener))
	}
	// Log the thumbprint, so that a person can compare it with the one in the UI.
	log.InfoContext(ctx, way.does, "address", way.address, "build", release,
		"fingerprint", formatThumbprint(a))
	if err := tellSystemd("READY=1"); err != nil {
		log.WarnContext(ctx, "systemd was not told that the agent listens", "error", err)
	}
	err = runWithMetrics(ctx, s.Metrics.Listen, log, a.Run)
	logRunning(context.WithoutCancel(ctx), runtime.List, log)
	return err
}

// countRunningWithin bounds the question at the end of an agent.
const countRunningWithin = 3 * time.Second

// logRunning logs at the end of an agent what keeps running without it: a person who ends it with
// Ctrl-C may expect that everything ends.
func logRunning(
	ctx context.Context, list func(context.Context) ([]agent.Object, error), log *slog.Logger,
) {
	ctx, cancel := context.WithTimeout(ctx, countRunningWithin)
	defer cancel()
	all, err := list(ctx)
	if err != nil {
		return // without an engine it is unknown, and nothing can be done
	}
	services, deployments := 0, map[string]bool{}
	for _, o := range all {
		if o.Kind == agent.KindService {
			services++
			deployments[o.Deployment] = true
		}
	}
	if services > 0 {
		log.InfoContext(ctx, "the agent has ended, and the services of its deployments keep running; "+
			"'nullops remove' removes a deployment while the agent runs",
			"services", services, "deployments", len(deployments))
	}
}

// tellSystemd sends sd_notify(3) messages if a unit of Type=notify started us, and
// does nothing otherwise.
func tellSystemd(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", path)
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}

// agentToken returns nil for an agent that was enrolled before and got no token.
func agentToken(text string) (*wire.Token, error) {
	if text == "" {
		return nil, nil
	}
	token, err := wire.ParseToken(text)
	if err != nil {
		return nil, fmt.Errorf("setting agent.token: %w; copy it again, or rotate it", err)
	}
	return &token, nil
}

// formatThumbprint is spelled as the control plane shows it, so that comparing is easy.
func formatThumbprint(a *agent.Agent) string {
	t := a.Thumbprint()
	return hex.EncodeToString(t[:])
}

// openDocker does not wait for an engine that is down or still starting: running services must be
// reachable without it.
func openDocker(ctx context.Context, s Settings, install string, hook failpoint.Hook,
	log *slog.Logger) (*docker.Docker, error) {
	subnets, err := netip.ParsePrefix(s.Agent.Subnets)
	if err != nil {
		return nil, fmt.Errorf("setting agent.subnets: %w", err)
	}
	grace, err := s.stopGrace()
	if err != nil {
		return nil, err
	}
	config := docker.Config{Host: dockerHost(s.Agent.Docker), Install: install,
		DataDir: s.Agent.Data, RunDir: s.Agent.Run, SubnetRange: subnets, StopGrace: grace,
		SandboxMemory: s.Agent.Sandboxes.memoryBytes(), StartCPU: s.Agent.Starting.CPU,
		Runtime: s.Agent.OCI, Failpoint: hook,
		EngineMayBeDown: true, Log: logs.Of(log, "docker")}
	if s.Agent.Guard {
		config.Guard = &docker.Guard{Port: portOf(s.Agent.Listen)}
	}
	return docker.New(ctx, config)
}

func dockerHost(setting string) string {
	if setting != "" {
		return setting
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return "unix:///var/run/docker.sock"
}

// maxGrace bounds how long one service that ignores SIGTERM delays a removal.
const maxGrace = 10 * time.Minute

// stopGrace is agent.grace as the runtime takes it: none at all is negative.
func (s Settings) stopGrace() (time.Duration, error) {
	grace, err := time.ParseDuration(s.Agent.Grace)
	if err != nil || grace < 0 || grace > maxGrace {
		return 0, fmt.Errorf("setting agent.grace: %q is not a time from 0s to %s; write one like %s",
			s.Agent.Grace, maxGrace, defaultSettings().Agent.Grace)
	}
	if grace == 0 {
		return -1, nil
	}
	return grace, nil
}
