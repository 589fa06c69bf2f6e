package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

func importCommand() *cobra.Command {
	var project string
	var files, envFiles, settings []string
	c := &cobra.Command{
		Use:   "import [FILE] --project NAME",
		Short: "Make documents for 'apply' from Docker Compose files",
		Long: "Make documents for 'apply' from Docker Compose files: services and a project with its\n" +
			"pipeline. They are written to standard output; what could not be carried over is listed\n" +
			"with its line on standard error. Later files are merged over earlier ones, as Compose\n" +
			"does. Variables have the values that --env-file and --set give them, and no others.\n" +
			"Nothing that the files name is opened.",
	}
	c.Flags().StringVar(&project, "project", "", "name of the project to create")
	c.Flags().StringArrayVarP(&files, "file", "f", nil,
		"compose file, or - for standard input; give it again for files that are merged over it")
	c.Flags().StringArrayVar(&envFiles, "env-file", nil,
		"file of variables, one NAME=VALUE a line; later files count more")
	c.Flags().StringArrayVar(&settings, "set", nil,
		"value of a variable, which counts more than --env-file: NAME=VALUE")
	c.RunE = func(c *cobra.Command, args []string) error {
		files := append(args, files...)
		switch {
		case project == "":
			return exit.AsUsageError(errors.New("--project: give the project a name"))
		case len(files) == 0:
			return exit.AsUsageError(errors.New("name a compose file, or - for standard input"))
		}
		variables, err := importVariables(envFiles, settings)
		if err != nil {
			return err
		}
		found, err := readCompose(c, files, variables)
		if err != nil {
			return err
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListRegistriesWithResponse(c.Context(), nil)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return writeImport(c.OutOrStdout(), project, found, r.JSON200.Items)
	}
	return c
}

// importVariables are those of the settings and the files. In a file, a value may
// refer to what counts more or stands before it.
func importVariables(files, settings []string) (map[string]string, error) {
	set := map[string]string{}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, exit.AsUsageError(errors.New("--set: write NAME=VALUE"))
		}
		set[name] = value
	}
	all := maps.Clone(set)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--env-file: %w", err)
		}
		if all, err = compose.ParseVariables(compose.File{Name: path, Text: text}, all); err != nil {
			return nil, fmt.Errorf("--env-file: %w", err)
		}
		maps.Copy(all, set)
	}
	return all, nil
}

// readCompose lists what is lost, also when nothing can be made of the files.
func readCompose(c *cobra.Command, files []string, variables map[string]string) (
	compose.Result, error) {
	var all []compose.File
	for _, path := range files {
		text, err := readFileOr(path, c.InOrStdin())
		if err != nil {
			return compose.Result{}, err
		}
		all = append(all, compose.File{Name: path, Text: text})
	}
	found, err := compose.ReadFiles(c.Context(), all, variables)
	for _, n := range found.Notes {
		fmt.Fprintf(c.ErrOrStderr(), "%s:%d: %s\n", output.SanitizeText(n.File), n.Line,
			output.SanitizeText(strings.TrimSpace(n.Service+" "+n.Message)))
	}
	return found, err
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
		found.Pipeline.Steps[i].Container().Name = name
		docs = append(docs, map[string]any{"kind": "service", "name": name,
			"registry": names[s.Registry], "image": s.Repository, "tag_mode": "selectable",
			"tag": s.Tag})
	}
	body, err := asMap(found.Pipeline)
	if err != nil {
		return err
	}
	whole := map[string]any{"kind": "project", "name": project, "pipeline": body,
		"resources": sumResources(found.Pipeline)}
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

// sumResources is the limit of a project in which all services and jobs fit.
func sumResources(p pipeline.Pipeline) map[string]any {
	var all pipeline.Resources
	for _, s := range p.Steps {
		all.CPU += s.Container().Resources.CPU
		all.MemoryMiB += s.Container().Resources.MemoryMiB
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
	if err := checkAnswer(r, err); err != nil {
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
