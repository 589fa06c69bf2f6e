package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// lostWithin bounds a look below the engine, and the end of what it finds.
const lostWithin = 2 * time.Minute

func agentLost() *cobra.Command {
	c := &cobra.Command{
		Use:   "lost [--end] [--json] [--SETTING=VALUE]…",
		Short: "List what a killed Docker Engine left running of this node's deployments, and end it",
		Long: "Lists processes, network interfaces and mounts of this node's deployments that the\n" +
			"Docker Engine does not know any more, as after it was killed. Only what belongs to\n" +
			"containers and networks that this agent made, on this engine, is looked for. --end ends\n" +
			"exactly these. Run it on the machine itself, as root, beside the agent or without one.\n" +
			"It takes the agent's settings.",
		DisableFlagParsing: true,
	}
	asJSON := output.JSONFlag[docker.LostObjects](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
			return c.Help()
		}
		if slices.Contains(args, "--json") {
			asJSON.Want()
		}
		rest := slices.DeleteFunc(slices.Clone(args),
			func(a string) bool { return a == "--end" || a == "--json" })
		s, err := loadSettings(rest, os.Environ())
		if err == nil {
			err = s.checkDoctor()
		}
		if err != nil {
			return exit.WithCode(err, exit.Usage)
		}
		return runLost(c.Context(), s, c.OutOrStdout(), slices.Contains(args, "--end"), asJSON)
	}
	return c
}

func runLost(
	ctx context.Context, s Settings, out io.Writer, end bool, asJSON output.JSON[docker.LostObjects],
) error {
	if s.Agent.Runtime == runtimeKubernetes {
		return errors.New("setting agent.runtime: a cluster looks after its machines itself; lost " +
			"containers are looked for with the runtime docker only")
	}
	ctx, cancel := context.WithTimeout(ctx, lostWithin)
	defer cancel()
	install, err := knownInstallID(s.Agent.Data)
	if err != nil {
		return fmt.Errorf("setting agent.data: %w; give the data folder of this machine's agent", err)
	}
	runtime, err := docker.New(ctx, docker.Config{Host: dockerHost(s.Agent.Docker),
		Install: install, DataDir: s.Agent.Data, RunDir: s.Agent.Run,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = runtime.Close() }()
	look := runtime.FindLostTwice
	if end {
		look = runtime.EndLost
	}
	found, err := look(ctx)
	if errors.Is(err, docker.ErrProcessesHidden) {
		return fmt.Errorf("%w: run '%s' on the machine itself, as root", err,
			strings.Replace(runtime.LostCommand(), " --end", "", 1))
	}
	if err != nil && found.IsEmpty() {
		return err
	}
	if asJSON.Wanted() {
		return errors.Join(err, asJSON.Print(out, found))
	}
	return errors.Join(err, printLost(out, found, end && err == nil))
}

func printLost(out io.Writer, found docker.LostObjects, ended bool) error {
	if found.IsEmpty() {
		_, err := fmt.Fprintln(out, "Nothing is lost: the engine knows all containers of this agent.")
		return err
	}
	rows := [][]string{{"KIND", "DEPLOYMENT", "STEP", "OBJECT", "PROCESSES"}}
	for _, c := range found.Containers {
		var processes []string
		for _, p := range c.Processes {
			processes = append(processes, strconv.Itoa(p.PID)+" "+output.SanitizeText(p.Name))
		}
		rows = append(rows, []string{string(c.Kind), c.Deployment, string(c.Step), c.ID[:12],
			strings.Join(processes, ", ")})
	}
	for _, l := range found.Links {
		name := l.Name
		if l.Name != l.Bridge {
			name += " on " + l.Bridge
		}
		rows = append(rows, []string{"interface", l.Deployment, "", name, ""})
	}
	for _, m := range found.Mounts {
		rows = append(rows, []string{"mount", m.Deployment, string(m.Step),
			output.SanitizeText(m.Path), ""})
	}
	if err := output.PrintTable(out, rows); err != nil {
		return err
	}
	said := "'nullops agent lost --end' with the same settings ends exactly these."
	if ended {
		said = "All of these were ended."
	}
	_, err := fmt.Fprintln(out, "\n"+said)
	return err
}
