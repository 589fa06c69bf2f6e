package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/controlplane"
)

// typeOf is a schema in a few words; page is where named schemas are described.
func (c *contract) typeOf(n *yaml.Node, page string) string {
	if ref := refName(n); ref != "" {
		return "[" + ref + "](" + page + "#" + strings.ToLower(ref) + ")"
	}
	kind := text(n, "type")
	if kinds := items(n, "type"); len(kinds) > 0 {
		kind = strings.Join(kinds, " or ")
	}
	switch {
	case len(items(n, "enum")) > 0:
		return "`" + strings.Join(items(n, "enum"), "`, `") + "`"
	case kind == "array":
		return "list of " + c.typeOf(find(n, "items"), page)
	case kind == "object" && find(n, "additionalProperties", "type") != nil:
		return "object of " + c.typeOf(find(n, "additionalProperties"), page)
	case kind == "object" && refName(find(n, "additionalProperties")) != "":
		return "object of " + c.typeOf(find(n, "additionalProperties"), page)
	case text(n, "format") == "date-time":
		return "time"
	case kind == "":
		return "anything"
	}
	return kind
}

// bounds are the limits of a value, as the contract checks them.
func bounds(n *yaml.Node) string {
	var all []string
	for _, b := range [][2]string{{"default", "default %s"}, {"minimum", "at least %s"},
		{"maximum", "at most %s"}, {"minLength", "at least %s characters"},
		{"maxLength", "at most %s characters"}, {"minItems", "at least %s items"},
		{"maxItems", "at most %s items"}} {
		if said := text(n, b[0]); said != "" {
			all = append(all, fmt.Sprintf(b[1], said))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// writeFields writes the fields of a schema as a table, and those of objects within it.
func (c *contract) writeFields(b *strings.Builder, name string, n *yaml.Node, page string) {
	fields, required := c.properties(n)
	if len(fields) == 0 {
		if values := items(n, "enum"); len(values) > 0 {
			fmt.Fprintf(b, "One of `%s`.\n\n", strings.Join(values, "`, `"))
		}
		return
	}
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	var within []pair
	for _, f := range fields {
		mark := ""
		if slices.Contains(required, f.key) {
			mark = " *"
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s%s |\n", f.key, mark, c.typeOf(f.value, page),
			cell(c.describe(name, f.key, f.value)), bounds(f.value))
		for _, inner := range []*yaml.Node{f.value, find(f.value, "items"),
			find(f.value, "additionalProperties")} {
			if find(inner, "properties") != nil {
				within = append(within, pair{f.key, inner})
			}
		}
	}
	b.WriteString("\n")
	for _, w := range within {
		fmt.Fprintf(b, "In `%s`:\n\n", w.key)
		c.writeFields(b, name+"."+w.key, w.value, page)
	}
}

const starNote = "A field with a star must be given, or is always there.\n\n"

func (c *contract) apiPage() string {
	var b strings.Builder
	b.WriteString("# API\n\n" + generatedNote + text(c.root, "info", "description") +
		"\nThe contract itself is `controlplane/api/openapi.yaml`, which a control plane serves " +
		"at `/api/v1/openapi.json`.\n\n" + starNote)
	for _, tag := range find(c.root, "tags").Content {
		name := text(tag, "name")
		fmt.Fprintf(&b, "## Operations: %s\n\n%s.\n\n", name, text(tag, "description"))
		for _, path := range entries(find(c.root, "paths")) {
			for _, operation := range entries(path.value) {
				if slices.Contains(items(operation.value, "tags"), name) {
					c.writeOperation(&b, path, operation)
				}
			}
		}
	}
	b.WriteString("## Schemas\n\n")
	for _, s := range c.schemas {
		fmt.Fprintf(&b, "### %s\n\n", s.key)
		if said := text(s.value, "description"); said != "" {
			b.WriteString(escape(said) + "\n\n")
		}
		c.writeFields(&b, s.key, s.value, "")
	}
	return b.String()
}

// escape keeps braces and angles of a text from being read as markup.
func escape(said string) string {
	return strings.NewReplacer("<", "&lt;", "{{", "&#123;&#123;", "}}", "&#125;&#125;").Replace(said)
}

func (c *contract) writeOperation(b *strings.Builder, path, operation pair) {
	o := operation.value
	fmt.Fprintf(b, "### %s\n\n`%s %s`, for %s. %s.", text(o, "operationId"),
		strings.ToUpper(operation.key), path.key, text(o, "x-access"),
		strings.TrimSuffix(text(o, "summary"), "."))
	if said := text(o, "description"); said != "" {
		b.WriteString("\n\n" + escape(strings.TrimSpace(said)))
	}
	b.WriteString("\n\n")
	c.writeParameters(b, text(o, "operationId"), path.value, o)
	if body := find(o, "requestBody", "content"); body != nil {
		for _, media := range entries(body) {
			fmt.Fprintf(b, "Takes %s.\n\n", c.typeOf(find(media.value, "schema"), ""))
		}
	}
	for _, answer := range entries(find(o, "responses")) {
		for _, media := range entries(find(answer.value, "content")) {
			if strings.HasPrefix(answer.key, "2") {
				fmt.Fprintf(b, "Answers %s with %s.\n\n", answer.key,
					c.typeOf(find(media.value, "schema"), ""))
			}
		}
	}
}

func (c *contract) writeParameters(b *strings.Builder, operation string, nodes ...*yaml.Node) {
	var all []*yaml.Node
	for _, n := range nodes {
		if list := find(n, "parameters"); list != nil {
			all = append(all, list.Content...)
		}
	}
	if len(all) == 0 {
		return
	}
	b.WriteString("| parameter | in | type | meaning |\n|---|---|---|---|\n")
	for _, p := range all {
		if ref := refName(p); ref != "" {
			p = find(c.root, "components", "parameters", ref)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", text(p, "name"), text(p, "in"),
			c.typeOf(find(p, "schema"), ""), cell(c.describe(operation, text(p, "name"), p)))
	}
	b.WriteString("\n")
}

// kindSchema finds the schema of each kind of document in the code that applies them.
var kindSchema = regexp.MustCompile(`"([a-z-]+)":\s*\{schema: "(\w+)"`)

func (c *contract) documentsPage(source string) (string, error) {
	code, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	schemas := map[string]string{}
	for _, m := range kindSchema.FindAllStringSubmatch(string(code), -1) {
		schemas[m[1]] = m[2]
	}
	var b strings.Builder
	b.WriteString("# Documents\n\n" + generatedNote +
		"`nullops apply -f` takes YAML documents, one for each definition. Each has `kind` and " +
		"`name` besides the\nfields of its kind. `nullops export` writes all of them, with the " +
		"fields that a kind takes besides:\na project's `pipeline`, `secrets` and `templates`, and " +
		"the names of environment variables for what cannot be\nread back (`password_from_env`).\n\n" +
		starNote)
	kinds := items(c.schema("DocumentKind"), "enum")
	for _, kind := range kinds {
		schema := c.schema(schemas[kind])
		if schema == nil {
			return "", fmt.Errorf("%s: there is no schema of the kind %s", source, kind)
		}
		fmt.Fprintf(&b, "## %s\n\n", kind)
		if said := text(schema, "description"); said != "" {
			b.WriteString(escape(said) + "\n\n")
		}
		c.writeFields(&b, schemas[kind], schema, "api.md")
	}
	return b.String(), nil
}

func (c *contract) stepsPage() string {
	var b strings.Builder
	b.WriteString("# Pipelines and steps\n\n" + generatedNote +
		"The fields of a pipeline, as a project's document has them. A step has exactly one of " +
		"`service`, `plugin`,\n`job`, `script` and `approval`. [Steps](../steps.md) explains them.\n\n" +
		starNote)
	for _, name := range []string{"Pipeline", "InputField", "PipelineStep", "ServiceStep", "JobStep",
		"PluginStep", "ScriptStep", "ApprovalStep", "ApprovalField", "Readiness", "Resources",
		"Component"} {
		fmt.Fprintf(&b, "## %s\n\n", name)
		if said := text(c.schema(name), "description"); said != "" {
			b.WriteString(escape(said) + "\n\n")
		}
		c.writeFields(&b, name, c.schema(name), "api.md")
	}
	b.WriteString(referencesText)
	return b.String()
}

// referencesText is held to the parser by TestReferences_AreThoseOfTheParser.
const referencesText = `## References

In values of environment variables, parameters, commands and files, ` + "`${{ … }}`" + ` stands for
a value that is known when the step runs.

| reference | is |
|---|---|
| ` + "`steps.KEY.outputs.NAME`" + ` | an output of an earlier step |
| ` + "`secrets.NAME`" + ` | a secret of the project |
| ` + "`services.KEY.host`, `services.KEY.port`" + ` | where other steps reach a service |
| ` + "`services.KEY.url`" + ` | where people reach it |
| ` + "`deployment.id`, `.name`, `.project`, `.environment`, `.domain`" + ` | the deployment |
| ` + "`input.NAME`" + ` | a field that the pipeline declares |

` + "`urlencode(…)`, `base64(…)`, `json(…)` and `lower(…)`" + ` write a reference in the form that a
place needs.
`

func (c *contract) eventsPage() string {
	var b strings.Builder
	b.WriteString("# Events\n\n" + generatedNote +
		"[Webhooks and mails](../notifications.md) tell of these events.\n\n" +
		"| event | when |\n|---|---|\n")
	for _, event := range controlplane.NoticeEvents() {
		said := c.fields["NoticeEvent "+event]
		if said == "" {
			c.missing = append(c.missing, "NoticeEvent "+event)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", event, cell(said))
	}
	b.WriteString("\n## Streams\n\nThese operations answer with server-sent events.\n\n" +
		"| operation | events |\n|---|---|\n")
	for _, path := range entries(find(c.root, "paths")) {
		for _, operation := range entries(path.value) {
			if find(operation.value, "responses", "200", "content", "text/event-stream") == nil {
				continue
			}
			id := text(operation.value, "operationId")
			fmt.Fprintf(&b, "| [%s](api.md#%s) | %s |\n", id, strings.ToLower(id),
				cell(text(operation.value, "description")))
		}
	}
	return b.String()
}
