package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/durable"
)

// contexts are the control planes that the user signed in to, in one file that only
// its owner can read. The current one is at the top level, as in files from before
// there were several.
type contexts struct {
	login
	// Name is what the one in use is called.
	Name   string           `json:"name,omitempty"`
	Others map[string]login `json:"others,omitempty"`
}

// loadContexts reads the file; a missing one is no error.
func loadContexts() (contexts, error) {
	var c contexts
	path, err := loginPath()
	if err != nil {
		return c, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read login: %w", err)
	}
	if err := durable.UnmarshalChecked(text, &c); err != nil {
		// Nothing of it is used: a token must not be sent to a host whose name was changed.
		return contexts{}, fmt.Errorf("%s: %w; remove it and run 'nullops login URL' again", path, err)
	}
	if c.Name == "" && c.URL != "" {
		c.Name = contextName(c.URL)
	}
	return c, nil
}

// save replaces the file in one step: a reader sees the old one or the new one.
func (c contexts) save() error {
	path, err := loginPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save login: %w", err)
	}
	text, err := durable.MarshalChecked(c)
	if err == nil {
		err = durable.WriteFile(durable.OS{}, path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("save login: %w", err)
	}
	return nil
}

// switchTo makes another control plane the current one; it returns false if none has that name.
func (c *contexts) switchTo(name string) bool {
	if name == c.Name && c.URL != "" {
		return true
	}
	next, ok := c.Others[name]
	if !ok {
		return false
	}
	delete(c.Others, name)
	c.stashCurrent()
	c.login, c.Name = next, name
	return true
}

// stashCurrent moves the current context to the others.
func (c *contexts) stashCurrent() {
	if c.URL == "" {
		return
	}
	if c.Others == nil {
		c.Others = map[string]login{}
	}
	c.Others[c.Name] = c.login
}

// put adds a login and uses it. One of the same name is replaced.
func (c *contexts) put(name string, l login) {
	if name != c.Name {
		c.stashCurrent()
	}
	delete(c.Others, name)
	c.login, c.Name = l, name
}

// keyringOf is the entry of the keyring that the login of this name has; empty if it has none.
func (c contexts) keyringOf(name string) string {
	if name == c.Name {
		return c.Keyring
	}
	return c.Others[name].Keyring
}

func (c contexts) contextNames() []string {
	names := slices.Collect(maps.Keys(c.Others))
	if c.URL != "" {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// contextName is the default name of a control plane's context.
func contextName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "default"
	}
	return u.Host
}

func contextCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "context", Short: "List and choose the control planes you signed in to",
		Long: "Each login is remembered under a name, its host unless 'nullops login --context' says\n" +
			"otherwise. NULLOPS_CLI_CONTEXT uses another one for a command or a shell.",
	}
	c.AddCommand(contextList(), contextUse(), contextRemove())
	return c
}

// contextEntry is one control plane, as JSON.
type contextEntry struct {
	// Name is what 'nullops context use' takes.
	Name string `json:"name"`
	// URL is the control plane's address.
	URL string `json:"url"`
	// Used is set for the one that commands speak to.
	Used bool `json:"used"`
}

func contextList() *cobra.Command {
	c := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: exit.ExactArgs(0),
		Short: "List the control planes you signed in to"}
	asJSON := output.JSONFlag[[]contextEntry](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		known, err := loadContexts()
		if err != nil {
			return err
		}
		all, rows := []contextEntry{}, [][]string{{"", "NAME", "URL"}}
		for _, name := range known.contextNames() {
			l, mark := known.Others[name], ""
			if name == known.Name {
				l, mark = known.login, "*"
			}
			all = append(all, contextEntry{name, l.URL, mark != ""})
			rows = append(rows, []string{mark, name, l.URL})
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func completeContext(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	known, err := loadContexts()
	if err != nil {
		return nil, noFiles
	}
	return known.contextNames(), noFiles
}

func contextUse() *cobra.Command {
	return &cobra.Command{Use: "use NAME", Args: exit.ExactArgs(1), ValidArgsFunction: completeContext,
		Short: "Switch to another control plane",
		RunE: func(c *cobra.Command, args []string) error {
			known, err := loadContexts()
			if err != nil {
				return err
			}
			if !known.switchTo(args[0]) {
				return noContext(args[0])
			}
			if err := known.save(); err != nil {
				return err
			}
			fmt.Fprintf(
				c.OutOrStdout(),
				"Using %s (%s).\n",
				output.SanitizeText(known.Name),
				output.SanitizeText(known.URL),
			)
			return nil
		}}
}

func noContext(name string) error {
	return exit.WithCode(fmt.Errorf("no context %q: 'nullops context list' shows yours", name),
		exit.Refused)
}

func contextRemove() *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Args: exit.ExactArgs(1),
		ValidArgsFunction: completeContext,
		Short:             "Forget a control plane; 'nullops logout' revokes its token too",
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := loadContexts()
			if err != nil {
				return err
			}
			if !known.switchTo(args[0]) {
				return noContext(args[0])
			}
			entry := known.Keyring
			known.login, known.Name = login{}, ""
			if err := known.save(); err != nil {
				return err
			}
			forgetInKeyring(entry)
			return nil
		}}
}
