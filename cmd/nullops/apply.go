package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

func applyCommand() *cobra.Command {
	var path string
	var settings []string
	var dry bool
	c := &cobra.Command{
		Use: "apply -f PATH", Args: exactArgs(0),
		Short: "Create or change what YAML documents define; the same twice changes nothing",
		RunE: func(c *cobra.Command, _ []string) error {
			docs, err := readDocuments(path, c.InOrStdin())
			if err != nil {
				return codedError{err, exitRefused}
			}
			if err := override(docs, settings); err != nil {
				return err
			}
			api, err := newClient()
			if err != nil {
				return err
			}
			if dry {
				return newDryRun(api, c.OutOrStdout(), docs).all(c.Context(), docs)
			}
			return (&applier{api: api, out: c.OutOrStdout()}).all(c.Context(), docs)
		},
	}
	c.Flags().StringVarP(&path, "file", "f", "", "file, folder, or - for standard input")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would change, and change nothing")
	c.Flags().StringArrayVar(&settings, "set", nil, "override a field: KIND/NAME.FIELD=VALUE")
	_ = c.MarkFlagRequired("file")
	return c
}

type applier struct {
	api *client
	out io.Writer
}

func (a *applier) all(ctx context.Context, docs []document) error {
	for _, d := range docs {
		if err := a.one(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return nil
}

func (a *applier) one(ctx context.Context, d document) error {
	if err := d.readFromEnv(hiddenFields[d.Kind]...); err != nil {
		return err
	}
	switch d.Kind {
	case "registry":
		if err := d.readCA(); err != nil {
			return err
		}
		return put(ctx, a, d, a.api.PutRegistryWithResponse)
	case "service":
		return put(ctx, a, d, a.api.PutServiceWithResponse)
	case "plugin":
		return a.plugin(ctx, d)
	case "environment":
		return a.environment(ctx, d)
	case "node":
		return a.node(ctx, d)
	case "user":
		return put(ctx, a, d, a.api.PutUserWithResponse)
	case "project":
		return a.project(ctx, d)
	case "team":
		return put(ctx, a, d, a.api.PutTeamWithResponse)
	case "webhook":
		return a.webhook(ctx, d)
	case "rule":
		return a.rule(ctx, d)
	}
	return fmt.Errorf("unknown kind %q", d.Kind)
}

// put sends one body and says what came of it.
func put[B any, R answer](ctx context.Context, a *applier, d document,
	send func(context.Context, string, B, ...apiclient.RequestEditorFn) (R, error)) error {
	body, err := decodeBody[B](d, d.Body)
	if err != nil {
		return err
	}
	r, err := send(ctx, d.Name, body)
	if err := answered(r, err); err != nil {
		return err
	}
	return a.report(d.String(), r.GetBody())
}

func (a *applier) report(what string, body []byte) error {
	var saved struct{ Changed, Created bool }
	if err := json.Unmarshal(body, &saved); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	result := "unchanged"
	if saved.Created {
		result = "created"
	} else if saved.Changed {
		result = "changed"
	}
	return a.say(what, result)
}

func (a *applier) say(what, result string) error {
	_, err := fmt.Fprintf(a.out, "%-40s %s\n", what, result)
	return err
}

// node says how a new one gets its token: a document never holds one.
func (a *applier) node(ctx context.Context, d document) error {
	body, err := decodeBody[apiclient.NodePut](d, d.Body)
	if err != nil {
		return err
	}
	r, err := a.api.PutNodeWithResponse(ctx, d.Name, body)
	if err := answered(r, err); err != nil {
		return err
	}
	if err := a.report(d.String(), r.Body); err != nil || !r.JSON200.Created {
		return err
	}
	_, err = fmt.Fprintf(a.out, "  it has no token yet; 'nullops node rotate %s' shows its first\n",
		d.Name)
	return err
}

func (a *applier) plugin(ctx context.Context, d document) error {
	if err := d.readComponent(); err != nil {
		return err
	}
	return put(ctx, a, d, a.api.PutPluginWithResponse)
}

// readFromEnv fills fields that are secret from the environment of whoever
// applies, so that they need not stand in a file: password from the variable that
// password_from_env names.
func (d document) readFromEnv(fields ...string) error {
	for _, field := range fields {
		name, ok := d.take(field + "_from_env").(string)
		if !ok {
			continue
		}
		if d.Body[field] != nil {
			return fmt.Errorf("give one of %s and %s_from_env", field, field)
		}
		value := os.Getenv(name)
		if value == "" {
			return fmt.Errorf("%s_from_env: the environment variable %s is empty; set it and "+
				"apply again", field, name)
		}
		d.Body[field] = value
	}
	return nil
}

// readComponent reads a plugin's component from the file that the document may
// name instead: an absolute path, or one beside the document.
func (d document) readComponent() error {
	file, ok := d.take("component_file").(string)
	if !ok {
		return nil
	}
	text, err := d.readFile(file)
	if err != nil {
		return fmt.Errorf("component_file: %w", err)
	}
	if err := pipeline.CheckJSON(text); err != nil {
		return fmt.Errorf("component_file %s: %w", file, err)
	}
	var component any
	if err := json.Unmarshal(text, &component); err != nil {
		return fmt.Errorf("component_file %s: %w", file, err)
	}
	d.Body["component"] = component
	return nil
}

// readCA reads a registry's authorities from the file that the document may
// name instead.
func (d document) readCA() error {
	file, ok := d.take("ca_file").(string)
	if !ok {
		return nil
	}
	if d.Body["ca"] != nil {
		return errors.New("give one of ca and ca_file")
	}
	text, err := d.readFile(file)
	if err != nil {
		return fmt.Errorf("ca_file: %w", err)
	}
	d.Body["ca"] = string(text)
	return nil
}

// readFile reads a file that the document names: by an absolute path, or by one
// that begins beside the document.
func (d document) readFile(file string) ([]byte, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(d.File), file)
	}
	return os.ReadFile(file)
}

// project sends the settings, then the secrets the pipeline refers to, then
// the pipeline, then the templates that choose versions for it.
func (a *applier) project(ctx context.Context, d document) error {
	secrets, graph, templates := d.take("secrets"), d.take("pipeline"), d.take("templates")
	if err := put(ctx, a, d, a.api.PutProjectWithResponse); err != nil {
		return err
	}
	if secrets != nil {
		if err := a.secrets(ctx, d, secrets); err != nil {
			return err
		}
	}
	if graph != nil {
		if err := a.pipeline(ctx, d, graph); err != nil {
			return err
		}
	}
	if templates == nil {
		return nil
	}
	return a.templates(ctx, d, templates)
}

func (a *applier) pipeline(ctx context.Context, d document, graph any) error {
	p, err := decodePipeline(d, graph)
	if err != nil {
		return err
	}
	r, err := a.api.PutPipelineWithResponse(ctx, d.Name, apiclient.PipelinePut{Pipeline: p})
	if err := answered(r, err); err != nil {
		return err
	}
	return a.report(fmt.Sprintf("pipeline %s v%d", d.Name, r.JSON200.Version), r.Body)
}

func decodePipeline(d document, graph any) (pipeline.Pipeline, error) {
	body, err := decodeBody[apiclient.PipelinePut](d, map[string]any{"pipeline": graph})
	if body.Pipeline.Format == 0 {
		body.Pipeline.Format = pipeline.Format
	}
	return body.Pipeline, err
}

func (a *applier) secrets(ctx context.Context, d document, value any) error {
	bodies, err := decodeBody[map[string]secretDocument](d, value)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body, err := bodies[name].body(name)
		if err != nil {
			return err
		}
		r, err := a.api.PutSecretWithResponse(ctx, d.Name, name, body)
		if err := answered(r, err); err != nil {
			return fmt.Errorf("secrets.%s: %w", name, err)
		}
		if err := a.report("secret "+d.Name+" "+name, r.Body); err != nil {
			return err
		}
	}
	return nil
}

// secretDocument is a secret in YAML: generated, or taken from the environment
// of whoever applies, so that no value stands in a file.
type secretDocument struct {
	Generate *apiclient.SecretGenerate `json:"generate,omitempty"`
	FromEnv  string                    `json:"from_env,omitempty"`
}

func (s secretDocument) body(name string) (apiclient.SecretPut, error) {
	if (s.Generate == nil) == (s.FromEnv == "") {
		return apiclient.SecretPut{}, fmt.Errorf(
			"secrets.%s: give exactly one of generate and from_env", name)
	}
	if s.Generate != nil {
		return apiclient.SecretPut{Generate: s.Generate}, nil
	}
	value := os.Getenv(s.FromEnv)
	if value == "" {
		return apiclient.SecretPut{}, fmt.Errorf(
			"secrets.%s: the environment variable %s is empty; set it and apply again",
			name, s.FromEnv)
	}
	return apiclient.SecretPut{Value: &value}, nil
}
