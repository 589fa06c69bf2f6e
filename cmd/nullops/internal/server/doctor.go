package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// doctorWithin bounds the whole examination: each part has its own end.
const doctorWithin = 5 * time.Minute

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [--json] [--SETTING=VALUE]…",
		Short: "Check what this machine needs to be a node, without a control plane",
		Long: "Checks what this machine needs to be a node, as its agent does, and says what to do. " +
			"It takes the agent's settings, starts two containers for a moment, and changes nothing. " +
			"The exit code is 1 if a problem is critical.",
		DisableFlagParsing: true,
	}
	asJSON := output.JSONFlag[diagnosis](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
			return c.Help()
		}
		rest := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--json" })
		if len(rest) < len(args) {
			asJSON.Want()
		}
		s, err := loadSettings(rest, os.Environ())
		if err == nil {
			err = s.checkDoctor()
		}
		if err != nil {
			return exit.WithCode(err, exit.Usage)
		}
		return runDoctor(c.Context(), s, c.OutOrStdout(), asJSON)
	}
	return c
}

// diagnosis is the doctor's JSON output.
type diagnosis struct {
	Healthy   bool           `json:"healthy"`
	Checks    []wire.Check   `json:"checks"`
	Inventory wire.Inventory `json:"inventory"`
	// Guard is what to type where the agent itself may not set the rules.
	Guard []string `json:"guard_commands,omitempty"`
}

func runDoctor(
	ctx context.Context, s Settings, out io.Writer, asJSON output.JSON[diagnosis],
) error {
	ctx, cancel := context.WithTimeout(ctx, doctorWithin)
	defer cancel()
	d, err := examineNode(ctx, s)
	if err != nil {
		return err
	}
	if asJSON.Wanted() {
		err = asJSON.Print(out, d)
	} else {
		err = printDiagnosis(out, d)
	}
	if err == nil && !d.Healthy {
		return exit.WithCode(exit.ErrSilent, exit.Failed)
	}
	return err
}

// examineNode runs the agent's checks. If they cannot run, that is a result too.
func examineNode(ctx context.Context, s Settings) (diagnosis, error) {
	var d diagnosis
	if s.Agent.Runtime == runtimeKubernetes {
		return examineCluster(ctx, s)
	}
	config, clean, err := doctorConfig(s)
	if err != nil {
		return d, err
	}
	defer clean()
	runtime, err := docker.New(ctx, config)
	if err == nil {
		defer runtime.Close()
		// A lost container shows at the second look only. Reasons why it cannot be seen are among
		// the inventory's checks.
		_, _ = runtime.FindLostTwice(ctx)
		d.Inventory, err = runtime.Inventory(ctx)
	}
	if err != nil {
		d.Checks = []wire.Check{{ID: "engine", Severity: wire.SeverityCritical,
			Detail: err.Error(), Remedy: "Start the Docker Engine, or correct the settings " +
				"agent.docker, agent.data and agent.run."}}
		return d, nil
	}
	d.Checks = append(d.Inventory.Checks, runtime.ProbeIsolation(ctx))
	d.Inventory.Checks = nil
	d.Healthy = !slices.ContainsFunc(d.Checks, func(c wire.Check) bool {
		return c.Severity == wire.SeverityCritical
	})
	if slices.ContainsFunc(d.Checks, func(c wire.Check) bool {
		return c.ID == "guard" && c.Severity != wire.SeverityOK
	}) {
		d.Guard = runtime.GuardCommands()
	}
	return d, nil
}

// examineCluster runs the checks of an agent on Kubernetes. Without its rights an agent does not
// start, so they are looked for first.
func examineCluster(ctx context.Context, s Settings) (d diagnosis, err error) {
	config, err := s.kubernetesConfig()
	if err != nil {
		return d, err
	}
	missing, err := kubernetes.FindMissingRights(ctx, config)
	if err == nil && len(missing) > 0 {
		d.Checks = missingRightChecks(missing, len(kubernetes.ListRights(config.AgentNamespace)))
		return d, nil
	}
	// It holds no Lease, which the agent beside it has.
	config.Install, config.Log = "doctor", slog.New(slog.DiscardHandler)
	runtime, err := kubernetes.New(ctx, config)
	if err == nil {
		defer runtime.Close()
		d.Inventory, err = runtime.Inventory(ctx)
	}
	if err != nil {
		d.Checks = []wire.Check{{ID: wire.CheckEngine, Severity: wire.SeverityCritical,
			Detail: err.Error(), Remedy: "Correct the settings agent.kubernetes, or see to it that the " +
				"cluster's API server answers and gives the agent its rights."}}
		return d, nil
	}
	d.Checks, d.Inventory.Checks = append(d.Inventory.Checks, runtime.ProbeIsolation(ctx)), nil
	d.Healthy = !slices.ContainsFunc(d.Checks, func(c wire.Check) bool {
		return c.Severity == wire.SeverityCritical
	})
	return d, nil
}

// missingRightChecks has a line for each missing right, and one that says how to grant them.
func missingRightChecks(missing []string, all int) []wire.Check {
	checks := []wire.Check{{ID: "rights", Severity: wire.SeverityCritical,
		Detail: fmt.Sprintf("the agent's account lacks %d of its %d rights in the cluster",
			len(missing), all),
		Remedy: "install the agent with this release's chart or manifest, which grants all of them, as " +
			"somebody who has them; docs/kubernetes.md says what each is for"}}
	for _, name := range missing {
		checks = append(checks, wire.Check{ID: "right", Severity: wire.SeverityCritical,
			Detail: "the agent's account may not " + name})
	}
	return checks
}

// doctorConfig is the configuration of the agent on this machine, or the default one.
// Its probes do not collide with those of a running agent.
func doctorConfig(s Settings) (c docker.Config, clean func(), err error) {
	clean = func() {}
	c = docker.Config{Host: dockerHost(s.Agent.Docker), DataDir: s.Agent.Data, RunDir: s.Agent.Run,
		Runtime: s.Agent.OCI, ProbeName: "doctor",
		Guard: &docker.Guard{Port: portOf(s.Agent.Listen), LookOnly: true},
		Log:   slog.New(slog.DiscardHandler)}
	if c.SubnetRange, err = netip.ParsePrefix(s.Agent.Subnets); err != nil {
		return c, clean, fmt.Errorf("setting agent.subnets: %w", err)
	}
	install, err := knownInstallID(s.Agent.Data)
	if err == nil {
		c.Install = install
		return c, clean, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, clean, fmt.Errorf("setting agent.data: %w", err)
	}
	c.Install = "doctor"
	if c.DataDir, err = os.MkdirTemp("", "nullops-doctor-"); err != nil {
		return c, clean, err
	}
	return c, func() { _ = os.RemoveAll(c.DataDir) }, nil
}

// portOf is zero for an address whose port is not known yet.
func portOf(address string) int {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

func printDiagnosis(out io.Writer, d diagnosis) error {
	if d.Inventory.Hostname != "" {
		fmt.Fprintf(out, "%s: %s\n\n", output.SanitizeText(d.Inventory.Hostname),
			output.SanitizeText(describeEngine(d.Inventory)))
	}
	if err := output.PrintChecks(out, toChecks(d.Checks)); err != nil {
		return err
	}
	if len(d.Guard) > 0 {
		fmt.Fprintf(out, "\nTo keep containers from link-local addresses and the agent's port, "+
			"run on the machine:\n\n  %s\n", strings.Join(d.Guard, "\n  "))
	}
	return nil
}

// describeEngine says what the node is, in its own terms.
func describeEngine(i wire.Inventory) string {
	c := i.Cluster
	if c == nil {
		return i.OS + ", Docker Engine " + i.EngineVersion
	}
	parts := []string{"Kubernetes " + strings.TrimPrefix(c.Version, "v"),
		fmt.Sprintf("machines: %d", c.MachineCount)}
	if c.Network != "" {
		parts = append(parts, "network "+c.Network)
	}
	for _, class := range c.StorageClasses {
		part := "StorageClass " + class.Name
		if class.Default {
			part += " (default)"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func toChecks(all []wire.Check) (checks []output.Check) {
	for _, c := range all {
		checks = append(checks,
			output.Check{ID: c.ID, Severity: output.Severity(c.Severity), Detail: c.Detail,
				Remedy: c.Remedy})
	}
	return checks
}
