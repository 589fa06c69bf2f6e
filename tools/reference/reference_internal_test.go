package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// Every field of every schema, parameter and event has a description; one without is an error of
// make verify.
func TestReference_DescribesEveryField(t *testing.T) {
	t.Chdir("../..")
	c, err := readContract("controlplane/api/openapi.yaml", "controlplane/api/fields.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page := c.apiPage()
	documents, err := c.documentsPage("controlplane/api/documentkinds.go")
	if err != nil {
		t.Fatal(err)
	}
	// promise: D-03
	if _ = c.eventsPage(); len(c.missing) > 0 {
		t.Errorf("without a description: %v", c.missing)
	}
	for _, part := range []string{"### createDeployment", "### Deployment\n", "| `next_cursor`"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page of the API lacks %q", part)
		}
	}
	for _, kind := range []string{"registry", "project", "rule"} {
		if !strings.Contains(documents, "\n## "+kind+"\n") {
			t.Errorf("the page of the documents lacks %s", kind)
		}
	}
	// What is missing is noticed.
	c.describe("Deployment", "speed", nil)
	if len(c.missing) != 1 {
		t.Error("a field without a description is not noticed")
	}
}

// The page's references are those that the parser takes, and its functions are all.
func TestReferences_AreThoseOfTheParser(t *testing.T) {
	code := regexp.MustCompile("`([a-z0-9]+)\\(…\\)`|`([a-z]+)\\.[^`]*`")
	functions := 0
	for _, m := range code.FindAllStringSubmatch(referencesText, -1) {
		if m[1] == "" {
			continue
		}
		functions++
		if _, err := pipeline.Parse("${{ " + m[1] + "(secrets.X) }}"); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
	if functions != 4 {
		t.Errorf("the page has %d functions", functions)
	}
	for _, reference := range []string{"steps.a.outputs.b", "secrets.A", "services.a.host",
		"services.a.port", "services.a.url", "deployment.id", "deployment.name",
		"deployment.environment", "deployment.project", "deployment.domain", "input.a"} {
		if _, err := pipeline.Parse("${{ " + reference + " }}"); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

// Codes of refusals come with what they say.
func TestErrors_ListCodesWithTheirWords(t *testing.T) {
	page, err := errorsPage("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"| `in_use` | conflict |", "| `oom` | Raise the step's memory"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if published, err := os.ReadFile("../../docs/reference/errors.md"); err != nil ||
		string(published) != page {
		t.Errorf("docs/reference/errors.md is not what the code says: run tools/generate.sh (%v)", err)
	}
}
