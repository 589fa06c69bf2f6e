package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/text"
)

// logFlags is which lines are wanted, and how they are shown.
type logFlags struct {
	env          string
	follow       bool
	tail, run    int
	since, until string
	search       string
	stamps       bool
	download     string
	asJSON       output.JSON[apiclient.DeploymentLogLine]
}

func logsCommand() *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "logs DEPLOYMENT [SERVICE or STEP]…",
		Short: "Print the logs of services and steps, merged by time",
		Long: "Prints the logs of the services and steps that are named, or of all of the latest run,\n" +
			"merged by time. The last lines of a removed service are kept.",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: completeLogs,
	}
	flags := c.Flags()
	flags.StringVar(&f.env, "env", "", "environment, if the name exists in several")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on printing")
	flags.IntVar(&f.tail, "tail", 500, "how many lines back to start, of each")
	flags.IntVar(&f.run, "run", 0, "the run whose steps are printed; the latest by default")
	flags.StringVar(&f.since, "since", "", "nothing older: 10m, 2h or a time (RFC 3339)")
	flags.StringVar(&f.until, "until", "", "nothing newer: 10m, 2h or a time (RFC 3339)")
	flags.StringVar(&f.search, "search", "", "only lines with this text")
	flags.BoolVarP(&f.stamps, "timestamps", "t", false, "print when each line was written")
	flags.StringVarP(&f.download, "output", "o", "", "write everything to a file instead")
	f.asJSON = output.JSONLinesFlag[apiclient.DeploymentLogLine](c)
	for _, other := range []string{"follow", "tail", "timestamps", "json"} {
		c.MarkFlagsMutuallyExclusive("output", other) // a file has all lines, with times
	}
	c.RunE = func(c *cobra.Command, args []string) error { return f.printLogs(c, args[0], args[1:]) }
	return c
}

func (f logFlags) printLogs(c *cobra.Command, deployment string, sources []string) error {
	query, err := f.buildQuery(sources)
	if err != nil {
		return err
	}
	api, err := newClient()
	if err != nil {
		return err
	}
	d, err := api.findDeployment(c.Context(), deployment, f.env)
	if err != nil {
		return err
	}
	place := "/api/v1/deployments/" + d.Id + "/logs"
	if f.download != "" {
		return api.downloadLogs(c, place+"/download?"+query.Encode(), f.download)
	}
	query.Set("follow", strconv.FormatBool(f.follow))
	query.Set("tail", strconv.Itoa(f.tail))
	show := lineShower{out: c.OutOrStdout(), err: c.ErrOrStderr(), stamps: f.stamps,
		asJSON: f.asJSON.Wanted(), colours: output.WantsColors(c.OutOrStdout())}
	if len(sources) != 1 {
		show.widest = widestSource(sources, d)
	}
	return api.followEvents(c.Context(), place, query, show.printEvent)
}

func (f logFlags) buildQuery(sources []string) (url.Values, error) {
	query := url.Values{"source": sources}
	for name, value := range map[string]string{"since": f.since, "until": f.until} {
		if value == "" {
			continue
		}
		at, err := parseMoment(value, time.Now())
		if err != nil {
			return nil, exit.AsUsageError(fmt.Errorf("--%s: %w", name, err))
		}
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
	if f.search != "" {
		query.Set("search", f.search)
	}
	if f.run > 0 {
		query.Set("run", strconv.Itoa(f.run))
	}
	return query, nil
}

// parseMoment reads how long ago something was, or when.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a duration such as 10m nor a time such as "+
			"2026-11-22T08:00:00Z", text)
	}
	return at, nil
}

func widestSource(sources []string, d apiclient.Deployment) (n int) {
	if len(sources) == 0 {
		for _, s := range d.Services {
			n = max(n, len(s.Step))
		}
	}
	for _, s := range sources {
		n = max(n, len(s))
	}
	return n
}

// lineShower prints the events of a log.
type lineShower struct {
	out, err io.Writer
	stamps   bool
	asJSON   bool
	colours  bool
	// widest is the width of the sources' names; 0 prints none.
	widest int
}

func (s lineShower) printEvent(e sse) (done bool, err error) {
	switch e.Event {
	case "end":
		return true, nil
	case "trouble":
		var t apiclient.LogTrouble
		if err := json.Unmarshal([]byte(e.Data), &t); err != nil {
			return false, fmt.Errorf("read log: %w", err)
		}
		_, err = fmt.Fprintf(s.err, "%s: %s\n", output.SanitizeText(t.Source),
			output.SanitizeText(t.Detail))
		return false, err
	case "line":
	default:
		return false, nil
	}
	if s.asJSON {
		_, err = fmt.Fprintln(s.out, e.Data)
		return false, err
	}
	var l apiclient.DeploymentLogLine
	if err := json.Unmarshal([]byte(e.Data), &l); err != nil {
		return false, fmt.Errorf("read log line: %w", err)
	}
	_, err = io.WriteString(s.out, s.formatLine(l))
	return false, err
}

func (s lineShower) formatLine(l apiclient.DeploymentLogLine) string {
	var prefix string
	if s.stamps {
		prefix = l.At.Local().Format("2006-01-02 15:04:05.000") + "  "
	}
	if s.widest > 0 {
		prefix += fmt.Sprintf("%-*s  ", s.widest, output.SanitizeText(l.Source))
	}
	var b strings.Builder
	if n := valueOrZero(l.Dropped); n > 0 {
		fmt.Fprintf(&b, "%s… %d lines left out\n", prefix, n)
	}
	if s.colours {
		// A colour that the line leaves on must not reach the next one.
		b.WriteString(prefix + text.SanitizeKeepingColors(l.Text) + resetColours(l.Text) + "\n")
	} else {
		b.WriteString(prefix + text.SanitizeText(l.Text) + "\n")
	}
	return b.String()
}

func resetColours(text string) string {
	if strings.Contains(text, "\x1b[") {
		return "\x1b[0m"
	}
	return ""
}

// downloadLogs writes a file whole or not at all.
func (c *client) downloadLogs(cmd *cobra.Command, path, file string) error {
	r, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet,
		strings.TrimRight(c.login.URL, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.login.Token)
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return problemOf(response.StatusCode, response.Status, body)
	}
	if file == "-" {
		_, err = io.Copy(cmd.OutOrStdout(), response.Body)
		return err
	}
	return writeWhole(file, 0o644, response.Body)
}

// writeWhole replaces a file once all of its content is there.
func writeWhole(file string, mode os.FileMode, from io.Reader) error {
	part, err := os.OpenFile(file+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, from)
	if err = errors.Join(err, part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return os.Rename(part.Name(), file)
}
