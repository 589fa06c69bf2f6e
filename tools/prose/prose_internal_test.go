package main

import (
	"strings"
	"testing"
)

// Words of the table are found in prose, in any case, and not in code, in longer words, in
// addresses or in generated pages.
func TestProse_FindsWordsOfTheGlossary(t *testing.T) {
	rules, err := readRules("# Glossary\n\n## Words that we leave out\n\n| not | write |\n" +
		"|---|---|\n| simply, in order to | nothing, or to |\n| via | through |" +
		"\n\n## More\n\n| x | y |\n")
	if err != nil || len(rules) != 2 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	for text, says := range map[string]string{
		"You Simply start it.":          `"Simply": write nothing`,
		"Stop it in order to\nsee.":     `"in order to": write nothing`,
		"It goes via the\ningress.":     `"via": write through`,
		"It is is there.":               `"is" stands twice`,
		"Run `simply via`.":             "",
		"    simply via":                "",
		"```sh\nsimply\n```\n":          "",
		"A viaduct, or a non-via.":      "",
		"[It](via.md) works.":           "",
		"<!-- Made by tools/x -->\nvia": "",
	} {
		all := checkText(text, rules)
		if says == "" && len(all) > 0 || says != "" &&
			(len(all) != 1 || !strings.Contains(all[0].says, says)) {
			t.Errorf("%q: %v, want %q", text, all, says)
		}
	}
	if _, err := readRules("# Glossary\n"); err == nil {
		t.Error("a glossary without the table is read")
	}
}
