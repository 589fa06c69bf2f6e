package main_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const asvsPage = "docs/security/asvs.md"

// Each requirement of OWASP ASVS 5.0 that is ours has one row, with tests that exist, a page that
// says it, or a reason.
func TestASVS_EachRequirementHasItsRow(t *testing.T) {
	root := openRepository(t)
	levels := map[string]string{}
	for line := range strings.Lines(readText(t, root, "cmd/nullops/testdata/asvs.txt")) {
		if number, level, ok := strings.Cut(strings.TrimSpace(line), " "); ok && number != "#" {
			levels[number] = level
		}
	}
	if len(levels) != 289 {
		t.Fatalf("the list has %d requirements", len(levels))
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+\.\d+\.\d+) \| (\d) \| (.+?) \| (.+?) \| (.+) \|$`)
	for _, row := range rows.FindAllStringSubmatch(readText(t, root, asvsPage), -1) {
		number, level, state, shown := row[1], row[2], row[4], row[5]
		if levels[number] != level {
			t.Errorf("%s of level %s is not on the list, or has two rows", number, level)
		}
		delete(levels, number)
		tests := namedTests(t, root, shown)
		switch state {
		case "shown":
			if tests == 0 {
				t.Errorf("%s: no test shows it", number)
			}
		case "documented":
			checkLinks(t, root, asvsPage, shown)
			if !strings.Contains(shown, "](") {
				t.Errorf("%s: no page says it", number)
			}
		case "not applicable", "exception":
			checkLinks(t, root, asvsPage, shown)
		default:
			t.Errorf("%s: %q is no state", number, state)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(levels)) {
		t.Errorf("%s has no row", number)
	}
}

// namedTests counts the tests that a cell names, as `folder` TestName or `file` "what it says",
// and fails for each that is not there.
func namedTests(t *testing.T, root fs.FS, cell string) (count int) {
	t.Helper()
	named := regexp.MustCompile("`([a-z0-9/_.A-Z-]+)` (?:\"([^\"]+)\"|([A-Za-z]\\w*))")
	for _, match := range named.FindAllStringSubmatch(cell, -1) {
		place, words, function := match[1], match[2], match[3]
		if words == "" && !strings.HasPrefix(function, "Test") && place != "cmd/nullops" {
			continue // code in a sentence
		}
		count++
		if words != "" {
			if !strings.Contains(readText(t, root, place), words) {
				t.Errorf("%s does not say %q", place, words)
			}
			continue
		}
		if !hasTest(t, place, function) {
			t.Errorf("%s has no %s", place, function)
		}
	}
	return count
}

func hasTest(t *testing.T, folder, function string) bool {
	t.Helper()
	return slices.ContainsFunc(goFiles(t), func(file goFile) bool {
		return file.test && file.dir == folder && slices.ContainsFunc(file.syntax.Decls,
			func(decl ast.Decl) bool {
				f, ok := decl.(*ast.FuncDecl)
				return ok && f.Name.Name == function
			})
	})
}

// checkLinks follows links to pages of the repository and to their headings.
func checkLinks(t *testing.T, root fs.FS, from, cell string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]+))?\)`).
		FindAllStringSubmatch(cell, -1) {
		name := path.Join(path.Dir(from), match[1])
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Errorf("%s leads to %s: %v", from, name, err)
			continue
		}
		if match[2] != "" && !slices.Contains(headings(string(text)), match[2]) {
			t.Errorf("%s: %s has no heading %s", from, name, match[2])
		}
	}
}

// headings spells the headings of a page as links do.
func headings(page string) (all []string) {
	for _, match := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(match[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// primitives are the packages of which a use belongs into the inventory. Weak ones are refused,
// except where the value says who may use them.
var (
	primitives = regexp.MustCompile(`^(?:golang\.org/x/)?crypto/(aes|cipher|ecdsa|ecdh|ed25519|` +
		`hkdf|hmac|pbkdf2|rsa|sha\d+|argon2|md5|des|rc4|dsa|bcrypt|scrypt|chacha20poly1305)$`)
	weakPrimitives = map[string][]string{"md5": nil, "des": nil, "rc4": nil, "dsa": nil,
		"sha1": {"controlplane/accounts", "internal/gitfetch"}}
)

// The inventory of cryptography lists each package of the product with the primitives that it
// imports, and no other; and nothing that has to be unguessable is drawn from math/rand.
func TestCryptography_IsInTheInventory(t *testing.T) {
	root := openRepository(t)
	used := map[string][]string{}
	for _, file := range goFiles(t) {
		if file.test || !isProduct(file.name) {
			continue
		}
		name, folder := file.name, file.dir
		for _, i := range file.syntax.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			if imported == "math/rand" {
				t.Errorf("%s imports math/rand: use crypto/rand, or math/rand/v2 for pauses", name)
			}
			match := primitives.FindStringSubmatch(imported)
			if match == nil {
				continue
			}
			if only, weak := weakPrimitives[match[1]]; weak && !slices.Contains(only, folder) {
				t.Errorf("%s uses %s, which is weak", name, match[1])
			}
			if !slices.Contains(used[folder], match[1]) {
				used[folder] = append(used[folder], match[1])
			}
		}
	}
	page := readText(t, root, "docs/security/README.md")
	for folder, names := range used {
		slices.Sort(names)
		row := fmt.Sprintf("| `%s` | %s |", folder, strings.Join(names, ", "))
		if !strings.Contains(page, row) {
			t.Errorf("docs/security/README.md lacks %s", row)
		}
	}
	listed := regexp.MustCompile("(?m)^\\| `[a-z0-9/-]+` \\| [a-z0-9, ]+ \\|").FindAllString(page, -1)
	if len(listed) != len(used) {
		t.Errorf("the inventory has %d packages, and %d use cryptography", len(listed), len(used))
	}
}

func isProduct(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"agent", "cmd", "controlplane", "ingress", "internal",
		"pipeline", "plugins"}, top) && !strings.HasSuffix(path.Dir(name), "test") &&
		!strings.Contains(name, "servertest/")
}

// Memory is checked by the language: nothing of the product is C, only what calls the kernel leaves
// Go's checks, and binaries are built without cgo.
func TestMemory_IsCheckedByTheLanguage(t *testing.T) {
	root := openRepository(t)
	var unchecked []string
	for _, file := range goFiles(t) {
		if file.test || !isProduct(file.name) {
			continue
		}
		for _, i := range file.syntax.Imports {
			switch i.Path.Value {
			case `"C"`:
				t.Errorf("%s imports C", file.name)
			case `"unsafe"`:
				unchecked = append(unchecked, file.name)
			}
		}
	}
	slices.Sort(unchecked)
	if want := []string{"agent/heldsockets.go", "agent/sidecar/terminal.go",
		"internal/idleconn/now_linux.go", "internal/script/seccomp.go"}; !slices.Equal(unchecked, want) {
		t.Errorf("unsafe is imported by %v, and %v was looked at", unchecked, want)
	}
	if !strings.Contains(readText(t, root, "deploy/Dockerfile"), "\nENV CGO_ENABLED=0 ") {
		t.Error("deploy/Dockerfile builds with cgo")
	}
	for line := range strings.Lines(readText(t, root, "Makefile")) {
		if strings.Contains(line, "$(GO_BUILD)") && !strings.Contains(line, "CGO_ENABLED=0 ") {
			t.Errorf("the Makefile builds with cgo: %s", line)
		}
	}
}

// The browser's storage is written by these parts of the UI only: drafts of pipelines, the theme,
// folded menus and panes, whom an admin looks as, hints that were closed, recent commands, saved
// filters, the columns and favourites of the list, and the last place of a deployment. None of them
// has to do with secrets, and the session's cookie is out of reach of scripts.
func TestUI_StorageHoldsNoSecrets(t *testing.T) {
	root := openRepository(t)
	var writers []string
	for _, name := range sourceFiles(t) {
		if !strings.HasPrefix(name, "ui/src/") || strings.Contains(name, ".test.") {
			continue
		}
		text := readText(t, root, name)
		if regexp.MustCompile(`indexedDB|caches\.open|document\.cookie`).MatchString(text) {
			t.Errorf("%s stores something elsewhere", name)
		}
		if regexp.MustCompile(`(local|session)Storage\.setItem|(local|session)Storage\[`).
			MatchString(text) {
			writers = append(writers, name)
			if regexp.MustCompile(`(?i)secret|password|token`).MatchString(text) {
				t.Errorf("%s writes to the storage and knows secrets", name)
			}
		}
	}
	slices.Sort(writers)
	want := []string{"ui/src/api/viewAs.ts", "ui/src/components/Shell.tsx",
		"ui/src/components/theme.ts", "ui/src/editor/session/localDraft.ts",
		"ui/src/editor/usePanes.ts", "ui/src/pages/create/lastPlace.ts",
		"ui/src/pages/deployments/stars.ts", "ui/src/pages/deployments/views.ts",
		"ui/src/pages/shell/recentCommands.ts", "ui/src/pages/start/dismissed.ts"}
	if !slices.Equal(writers, want) {
		t.Errorf("the storage is written by %v, and %v was looked at", writers, want)
	}
}

// Fields for passwords hide what is typed, and nothing keeps a password manager or the clipboard
// away from them.
func TestUI_PasswordFields(t *testing.T) {
	root := openRepository(t)
	field := regexp.MustCompile(`(?s)<(?:TextField|Line|input|Input)\s[^<]*` +
		`name="(?:password|current|again)"[^<]*/>`)
	found := 0
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".tsx" || strings.Contains(name, ".test.") {
			continue
		}
		text := readText(t, root, name)
		if strings.Contains(text, "onPaste") && strings.Contains(text, `type="password"`) {
			t.Errorf("%s handles pasting beside a password field", name)
		}
		for _, one := range field.FindAllString(text, -1) {
			found++
			if !strings.Contains(one, `type="password"`) || strings.Contains(one, `"off"`) {
				t.Errorf("%s: %s", name, one)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d password fields were found: this test looks in the wrong place", found)
	}
}

// The images hold the program and what it needs to run: no sources, no shell, no history.
func TestHardening_ImagesHoldTheProgramOnly(t *testing.T) {
	root := openRepository(t)
	file := readText(t, root, "deploy/Dockerfile")
	allowed := regexp.MustCompile(`^COPY --from=go (?:--chown=65532:65532 )?` +
		`(?:/etc/ssl/certs/ca-certificates\.crt|/out/nullops|/out/state|/out/tmp|` +
		`/src/agent/docker/bin/sidecar) `)
	stages := strings.Split(file, "\nFROM ")
	shipped := 0
	for _, stage := range stages {
		if !strings.HasPrefix(stage, "scratch AS ") {
			continue
		}
		shipped++
		for line := range strings.Lines(stage) {
			if strings.HasPrefix(line, "RUN ") || strings.HasPrefix(line, "ADD ") ||
				strings.HasPrefix(line, "COPY ") && !allowed.MatchString(line) {
				t.Errorf("an image gets more than the program: %s", line)
			}
		}
	}
	if shipped != 2 {
		t.Errorf("%d images begin with nothing, wanted 2", shipped)
	}
}
