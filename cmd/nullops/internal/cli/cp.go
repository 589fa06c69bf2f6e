package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func cpCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use:   "cp FROM TO",
		Short: "Copy a file into a service or out of it",
		Long: "Copies one file; the service's end is DEPLOYMENT/SERVICE:/PATH. It takes full\n" +
			"access, and the audit log records it. Files of up to 256 MiB can be copied; links are not\n" +
			"followed when writing.",
		Args:    exit.ExactArgs(2),
		Example: "  nullops cp dump.sql daily/db:/tmp/\n  nullops cp daily/api:/var/log/app.log .",
	}
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.RunE = func(c *cobra.Command, args []string) error {
		from, isFrom := parseRemote(args[0])
		to, isTo := parseRemote(args[1])
		if isFrom == isTo {
			return exit.AsUsageError(errors.New("one of FROM and TO is DEPLOYMENT/SERVICE:/PATH, " +
				"the other a file here"))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		if isFrom {
			return api.copyOut(c, from, env, args[1])
		}
		return api.copyIn(c, args[0], to, env)
	}
	return c
}

// remoteFile is a path in a service.
type remoteFile struct{ deployment, service, path string }

// parseRemote parses deployment/service:/path. To name a local file that looks like
// that, write ./ in front.
func parseRemote(text string) (remoteFile, bool) {
	place, file, found := strings.Cut(text, ":")
	deployment, service, slash := strings.Cut(place, "/")
	if !found || !slash || !strings.HasPrefix(file, "/") || strings.Contains(service, "/") ||
		strings.HasPrefix(place, ".") || deployment == "" || service == "" {
		return remoteFile{}, false
	}
	return remoteFile{deployment, service, file}, true
}

func (c *client) copyOut(cmd *cobra.Command, from remoteFile, env, to string) error {
	d, err := c.findDeployment(cmd.Context(), from.deployment, env)
	if err != nil {
		return err
	}
	response, err := c.ReadServiceFile(cmd.Context(), d.Id, from.service,
		apiclient.ServiceFilePath{Path: from.path})
	if err != nil {
		return fmt.Errorf("ask the control plane: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return problemOf(response.StatusCode, response.Status, body)
	}
	if to == "-" {
		_, err := io.Copy(cmd.OutOrStdout(), response.Body)
		return err
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		// Use the name that was typed, never one that the service sends: it could lead
		// elsewhere.
		to = filepath.Join(to, path.Base(from.path))
	}
	return writeWhole(to, modeOf(response.Header.Get("Nullops-File")), response.Body)
}

// modeOf reads the permissions of "640 bmFtZQ==".
func modeOf(about string) fs.FileMode {
	digits, name, _ := strings.Cut(about, " ")
	mode, err := strconv.ParseUint(digits, 8, 32)
	if _, bad := base64.StdEncoding.DecodeString(name); err != nil || bad != nil {
		return 0o644
	}
	return fs.FileMode(mode).Perm()
}

func (c *client) copyIn(cmd *cobra.Command, from string, to remoteFile, env string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return exit.AsUsageError(fmt.Errorf("%s is not a regular file: copy files one by one", from))
	}
	d, err := c.findDeployment(cmd.Context(), to.deployment, env)
	if err != nil {
		return err
	}
	name, mode := filepath.Base(from), fmt.Sprintf("%03o", info.Mode().Perm())
	sized := func(_ context.Context, r *http.Request) error {
		r.ContentLength = info.Size()
		return nil
	}
	r, err := c.WriteServiceFileWithBodyWithResponse(cmd.Context(), d.Id, to.service,
		&apiclient.WriteServiceFileParams{Path: to.path, Name: &name, Mode: &mode},
		"application/octet-stream", f, sized)
	return checkAnswer(r, err)
}
