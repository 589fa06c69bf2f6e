package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/documents"
)

func exportCommand() *cobra.Command {
	var to, asCompose string
	c := &cobra.Command{
		Use:   "export [KIND | KIND/NAME]...",
		Short: "Write all definitions as YAML documents for 'apply'",
		Long: "Write all definitions as YAML documents for 'apply': registries, services,\n" +
			"plugins, environments with their gates, nodes, users, projects with secrets, pipeline\n" +
			"and templates, teams, webhooks, and rules for pull requests. The same definitions produce\n" +
			"the same bytes, and applying them changes nothing.\n\n" +
			"Passwords and secret values cannot be read back. A secret with a value is written\n" +
			"as the environment variable that must hold it when the document is applied. Passwords\n" +
			"and a webhook's address are left out; applying keeps those that are stored, and\n" +
			"takes others from what password_from_env, url_from_env, secret_from_env and\n" +
			"token_from_env name. Certificates, tokens and guest links are not definitions.",
		RunE: func(c *cobra.Command, args []string) error {
			if asCompose != "" {
				return exportCompose(c, asCompose)
			}
			if err := checkTargets(args); err != nil {
				return err
			}
			api, err := newClient()
			if err != nil {
				return err
			}
			all, err := api.exportObjects(c.Context(), args)
			if err != nil {
				return err
			}
			if to == "-" {
				return writeDocuments(c.OutOrStdout(), all)
			}
			return writeFolder(c.OutOrStdout(), to, all)
		},
	}
	c.Flags().StringVar(&asCompose, "compose", "", "write this project as a Docker Compose file")
	c.Flags().StringVarP(&to, "output", "o", "-", "folder for one file each, or - for standard output")
	return c
}

func checkTargets(targets []string) error {
	for _, t := range targets {
		kind, name, named := strings.Cut(t, "/")
		if !slices.Contains(documents.Kinds[:], kind) || named && name == "" {
			return exit.AsUsageError(fmt.Errorf("%q: write KIND or KIND/NAME; kinds are %s", t,
				strings.Join(documents.Kinds[:], ", ")))
		}
	}
	return nil
}

// exportObjects loads what the targets name, or everything, in the order of kinds.
func (c *client) exportObjects(ctx context.Context, targets []string) ([]object, error) {
	missing := slices.Clone(targets)
	found := func(target string) bool {
		missing = slices.DeleteFunc(missing, func(t string) bool { return t == target })
		return slices.Contains(targets, target)
	}
	var all []object
	for _, kind := range documents.Kinds {
		whole := found(kind) || len(targets) == 0
		if !whole && !slices.ContainsFunc(targets, func(t string) bool {
			return strings.HasPrefix(t, kind+"/")
		}) {
			continue
		}
		objects, err := c.loadObjects(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if named := found(kind + "/" + o.Name); whole || named {
				all = append(all, o)
			}
		}
	}
	if len(missing) > 0 {
		return nil, exit.WithCode(fmt.Errorf("there is no %s", missing[0]), exit.Refused)
	}
	return all, nil
}

func writeDocuments(w io.Writer, all []object) error {
	for i, o := range all {
		text, err := o.toYAML()
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// writeFolder writes one file for each object and removes none: the folder may
// hold files of other people.
func writeFolder(w io.Writer, folder string, all []object) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, o := range all {
		text, err := o.toYAML()
		if err != nil {
			return err
		}
		file := filepath.Join(folder, o.Kind+"-"+o.Name+".yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		fmt.Fprintln(w, file)
	}
	return nil
}

// toYAML is the object in YAML: kind, name, then its fields.
func (o object) toYAML() ([]byte, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
		documents.TextNode("kind"), documents.TextNode(o.Kind),
		documents.TextNode("name"), documents.TextNode(o.Name),
	}}
	body, err := asNode(o.Body)
	if err != nil {
		return nil, fmt.Errorf("export %s %s: %w", o.Kind, o.Name, err)
	}
	n.Content = append(n.Content, body.Content...)
	for _, part := range []struct {
		field string
		given bool
		value any
	}{
		{"secrets", len(o.Secrets) > 0, o.Secrets}, {"pipeline", o.Pipeline != nil, o.Pipeline},
		{"templates", len(o.Templates) > 0, o.Templates},
	} {
		if !part.given {
			continue
		}
		value, err := asNode(part.value)
		if err != nil {
			return nil, fmt.Errorf("export %s of %s: %w", part.field, o.Name, err)
		}
		withoutEmptyResources(value)
		n.Content = append(n.Content, documents.TextNode(part.field), value)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("export %s %s: %w", o.Kind, o.Name, err)
	}
	return b.Bytes(), e.Close()
}

func asNode(v any) (*yaml.Node, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return documents.JSONToYAML(b.Bytes())
}

// withoutEmptyResources drops empty "resources: {}" of steps.
func withoutEmptyResources(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); {
			if n.Content[i].Value == "resources" && n.Content[i+1].Kind == yaml.MappingNode &&
				len(n.Content[i+1].Content) == 0 {
				n.Content = slices.Delete(n.Content, i, i+2)
				continue
			}
			// What a plugin is given is its own business.
			if n.Content[i].Value != "parameters" {
				withoutEmptyResources(n.Content[i+1])
			}
			i += 2
		}
		return
	}
	for _, item := range n.Content {
		withoutEmptyResources(item)
	}
}
