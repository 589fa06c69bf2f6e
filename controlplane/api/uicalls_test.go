package api_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

var (
	// uiCall is one use of the typed client, uiPath any other address.
	uiCall = regexp.MustCompile(`client\s*\.(GET|POST|PUT|DELETE)\(\s*["'\x60](/[^"'\x60]*)`)
	uiPath = regexp.MustCompile(`["'\x60](/api[^"'\x60]*)["'\x60]`)
	// uiDoor is every way out of a browser besides the typed client.
	uiDoor = regexp.MustCompile(
		`\bnew (EventSource|WebSocket|XMLHttpRequest)\b|\bsendBeacon\(|[^.\w]fetch\(`)
	filled = regexp.MustCompile(`\$?\{[^}]*\}`)
)

// uiSources returns what the browser runs, without tests and what is generated.
func uiSources(t *testing.T) map[string]string {
	t.Helper()
	all, root := map[string]string{}, os.DirFS("../../ui/src")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, ".test.") ||
			strings.Contains(name, ".gen.") ||
			!strings.HasSuffix(name, ".ts") && !strings.HasSuffix(name, ".tsx") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ownDoors are the contract's client itself, which bounds its wait; files that are
// saved, which may take as long as they take; and the terminal, which the contract
// has as a WebSocket.
var ownDoors = map[string]string{
	"api/client.ts":                 "fetch(",
	"api/file.ts":                   "fetch(",
	"pages/deployment/Terminal.tsx": "new WebSocket",
}

// The UI asks for nothing that is not in the contract: every address in it is one
// of its operations, and it has no other door.
func TestUI_UsesOnlyTheContract(t *testing.T) {
	t.Parallel()
	spec, err := api.GetSpec()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for place, item := range spec.Paths.Map() {
		place = filled.ReplaceAllString(place, "{}")
		known[place] = true
		for method := range item.Operations() {
			known[method+" "+place] = true
		}
	}
	calls := 0
	for name, text := range uiSources(t) {
		for _, m := range uiCall.FindAllStringSubmatch(text, -1) {
			calls++
			// promise: N-302
			if !known[m[1]+" "+filled.ReplaceAllString(m[2], "{}")] {
				t.Errorf("%s: %s %s is not in the contract", name, m[1], m[2])
			}
		}
		for _, m := range uiPath.FindAllStringSubmatch(text, -1) {
			place, _, _ := strings.Cut(filled.ReplaceAllString(m[1], "{}"), "?")
			if !known[place] {
				t.Errorf("%s: %s is not in the contract", name, m[1])
			}
		}
		for _, door := range uiDoor.FindAllString(text, -1) {
			if ownDoors[name] != strings.TrimSpace(door) {
				t.Errorf("%s: %q goes past the contract's client", name, door)
			}
		}
	}
	if calls < 100 {
		t.Errorf("%d calls were found: the search is broken", calls)
	}
}
