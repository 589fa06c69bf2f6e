package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

func importCommand() *cobra.Command {
	var project string
	c := &cobra.Command{
		Use: "import FILE --project NAME", Args: exactArgs(1),
		Short: "Make documents for 'apply' from a Docker Compose file",
		Long: "Make documents for 'apply' from a Docker Compose file: services and a project with its\n" +
			"pipeline. They are written to standard output; what could not be carried over is listed\n" +
			"with its line on standard error. Nothing that the file names is opened.",
	}
	c.Flags().StringVar(&project, "project", "", "name of the project to make")
	c.RunE = func(c *cobra.Command, args []string) error {
		if project == "" {
			return usageError{fmt.Errorf("--project: give the project a name")}
		}
		text, err := readFileOr(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		found, err := compose.Read(c.Context(), text)
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListRegistriesWithResponse(c.Context(), nil)
		if err := answered(r, err); err != nil {
			return err
		}
		for _, n := range found.Notes {
			fmt.Fprintf(c.ErrOrStderr(), "%s:%d: %s\n", visible(args[0]), n.Line,
				visible(strings.TrimSpace(n.Service+" "+n.Message)))
		}
		return writeImport(c.OutOrStdout(), project, found, r.JSON200.Items)
	}
	return c
}

// writeImport writes the documents, registries that are not there yet first.
func writeImport(out io.Writer, project string, found compose.Result,
	known []apiclient.Registry) error {
	names := map[string]string{}
	for _, r := range known {
		names[r.Host] = r.Name
	}
	var docs []map[string]any
	for _, s := range found.Services {
		if names[s.Registry] == "" {
			names[s.Registry] = strings.NewReplacer(".", "-", ":", "-").Replace(s.Registry)
			docs = append(docs, map[string]any{"kind": "registry", "name": names[s.Registry],
				"host": s.Registry})
		}
	}
	for i, s := range found.Services {
		// Two projects may both have a service called db.
		name := project + "-" + s.Name
		found.Pipeline.Steps[i].Service.Name = name
		docs = append(docs, map[string]any{"kind": "service", "name": name,
			"registry": names[s.Registry], "image": s.Repository, "tag_mode": "selectable",
			"tag": s.Tag})
	}
	body, err := asMap(found.Pipeline)
	if err != nil {
		return err
	}
	whole := map[string]any{"kind": "project", "name": project, "pipeline": body,
		"resources": sum(found.Pipeline)}
	if len(found.Secrets) > 0 {
		secrets := map[string]any{}
		for _, s := range found.Secrets {
			secrets[s] = map[string]any{"from_env": s}
		}
		whole["secrets"] = secrets
	}
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	for _, d := range append(docs, whole) {
		if err := encoder.Encode(d); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// sum is the limit of a project in which all services fit.
func sum(p pipeline.Pipeline) map[string]any {
	var all pipeline.Resources
	for _, s := range p.Steps {
		all.CPU += s.Service.Resources.CPU
		all.MemoryMiB += s.Service.Resources.MemoryMiB
	}
	return map[string]any{"cpu": all.CPU, "memory_mib": all.MemoryMiB}
}

func asMap(v any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = json.Unmarshal(b, &m)
	delete(m, "format")
	return m, err
}

// exportCompose writes a project's pipeline as a compose file.
func exportCompose(c *cobra.Command, project string) error {
	api, err := newClient()
	if err != nil {
		return err
	}
	r, err := api.GetPipelineWithResponse(c.Context(), project)
	if err := answered(r, err); err != nil {
		return err
	}
	var got struct {
		Pipeline pipeline.Pipeline `json:"pipeline"`
	}
	if err := json.Unmarshal(r.Body, &got); err != nil {
		return err
	}
	text, err := compose.Write(project, got.Pipeline)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.OutOrStdout(), text)
	return err
}
