package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func supportCommand() *cobra.Command {
	var file string
	var nodes []string
	c := &cobra.Command{Use: "support [-o FILE] [--node NAME]…", Args: exit.ExactArgs(0),
		Short: "Write an archive with all that the processes know of themselves",
		Long: "Writes an archive for whoever helps you: versions, settings, what is wrong, and of\n" +
			"control planes, ingresses and agents the last lines of the log, metrics and goroutines.\n" +
			"The control plane searches it for every secret that it knows before it sends it; what it\n" +
			"finds is hidden, and README.txt in the archive, which is printed too, says where. It is\n" +
			"for admins."}
	c.Flags().StringVarP(&file, "output", "o", "",
		"the file to write; nullops-support-TIME.tar.gz unless given")
	c.Flags().StringSliceVar(&nodes, "node", nil,
		"ask this node's agent, instead of the first twenty that are online")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.CreateSupportArchiveWithResponse(c.Context(),
			&apiclient.CreateSupportArchiveParams{Node: nilIfEmpty(nodes)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if file == "" {
			file = "nullops-support-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
		}
		// It was searched for secrets, and still is nobody else's business.
		if err := os.WriteFile(file, r.Body, 0o600); err != nil {
			return fmt.Errorf("write the archive: %w; name another file with -o", err)
		}
		readme, err := readReadme(r.Body)
		if err != nil {
			return err
		}
		fmt.Fprint(c.OutOrStdout(), readme)
		fmt.Fprintf(c.OutOrStdout(), "\nWritten to %s, %d bytes.\n", file, len(r.Body))
		return nil
	}
	return c
}

func nilIfEmpty(all []string) *[]string {
	if len(all) == 0 {
		return nil
	}
	return &all
}

func logLevelCommand() *cobra.Command {
	c := &cobra.Command{Use: "log-level", Args: exit.ExactArgs(0),
		Short: "List which components log at another level for now",
		Long: "Lists which components log at another level than the settings say, and until when.\n" +
			"Levels of control planes and ingresses follow within ten seconds, those of an agent at\n" +
			"once."}
	asJSON := output.JSONFlag[apiclient.LogLevelList](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListLogLevelsWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printLogLevels(c.OutOrStdout(), *r.JSON200)
	}
	c.AddCommand(logLevelSet(), logLevelReset())
	return c
}

func printLogLevels(out io.Writer, all apiclient.LogLevelList) error {
	if len(all.Items) == 0 {
		fmt.Fprintln(out, "Everything logs as the settings say.")
	} else {
		rows := [][]string{{"COMPONENT", "NODE", "LEVEL", "UNTIL", "SET BY"}}
		for _, l := range all.Items {
			rows = append(rows, []string{l.Component, valueOrEmpty(l.Node), string(l.Level),
				l.Until.Local().Format(time.DateTime), l.SetBy})
		}
		if err := output.PrintTable(out, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nComponents: %s\nOf agents: %s\n",
		strings.Join(all.Components, ", "), strings.Join(all.AgentComponents, ", "))
	return err
}

func valueOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func logLevelSet() *cobra.Command {
	var during time.Duration
	var node string
	c := &cobra.Command{Use: "set COMPONENT LEVEL --for 30m [--node NAME]",
		Args:  exit.ExactArgs(2),
		Short: "Have a component log more, or less, for a while"}
	c.Flags().DurationVar(&during, "for", 0, "how long, as in 30m; at most 168h")
	c.Flags().StringVar(&node, "node", "", "the node whose agent it is about")
	c.RunE = func(c *cobra.Command, args []string) error {
		if during <= 0 {
			return exit.AsUsageError(errors.New("a level ends: say how long with --for, as in --for 30m"))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.SetLogLevelWithResponse(c.Context(), args[0], apiclient.LogLevelPut{
			Level: apiclient.LogLevelName(args[1]), Until: time.Now().Add(during),
			Node: nilIfZero(node)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s logs at level %s until %s.\n", args[0],
			r.JSON200.Level, r.JSON200.Until.Local().Format(time.DateTime))
		return err
	}
	return c
}

func logLevelReset() *cobra.Command {
	var node string
	c := &cobra.Command{Use: "reset COMPONENT [--node NAME]", Args: exit.ExactArgs(1),
		Short: "Have a component log as the settings say"}
	c.Flags().StringVar(&node, "node", "", "the node whose agent it is about")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.EndLogLevelWithResponse(c.Context(), args[0],
			&apiclient.EndLogLevelParams{Node: nilIfZero(node)})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s logs as the settings say.\n", args[0])
		return err
	}
	return c
}
