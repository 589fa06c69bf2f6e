package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// backupsCommand shows scheduled backups. 'nullops backup' writes one where it is started.
func backupsCommand() *cobra.Command {
	c := &cobra.Command{Use: "backups", Args: exit.ExactArgs(0),
		Short: "List the backups that the control plane made",
		Long: "List how the last backups ended. The control plane makes them where backup.to says,\n" +
			"and proves each by restoring it; see 'nullops settings'."}
	asJSON := output.JSONFlag[apiclient.BackupList](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListBackupsWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printBackups(c.OutOrStdout(), *r.JSON200)
	}
	c.AddCommand(backupsStart())
	return c
}

func printBackups(out io.Writer, all apiclient.BackupList) error {
	line := "No backups are scheduled: set backup.to where the control plane is started."
	if s := all.Schedule; s != nil {
		line = fmt.Sprintf("Every %s to %s; the newest %d are kept.",
			quantity.FormatCount(s.EveryHours, "hour", "hours"), s.Target, s.Keep)
	}
	if _, err := fmt.Fprintln(out, line); err != nil || len(all.Items) == 0 {
		return err
	}
	rows := [][]string{{"ENDED", "FILE", "SIZE", "STATE"}}
	for _, b := range all.Items {
		state := "written"
		if b.VerifiedAt != nil {
			state = "verified"
		}
		if b.Error != nil {
			state = "failed: " + *b.Error
		}
		rows = append(rows, []string{b.At.Local().Format(time.DateTime), valueOrZero(b.Name),
			quantity.FormatBytes(valueOrZero(b.Bytes)), state})
	}
	return output.PrintTable(out, rows)
}

func backupsStart() *cobra.Command {
	c := &cobra.Command{Use: "start", Args: exit.ExactArgs(0), Short: "Make the next backup now"}
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.StartBackupWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.ErrOrStderr(), "A backup begins; 'nullops backups' shows how it ended.")
		return err
	}
	return c
}
