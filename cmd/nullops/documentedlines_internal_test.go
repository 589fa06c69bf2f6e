package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// documentedLine is one command of a block of code.
type documentedLine struct{ page, text string }

// listDocumentedLines finds the lines of all blocks of shell: those between fences that name the
// shell, and indented ones. A line that goes on in the next is one.
func listDocumentedLines(t *testing.T) (all []documentedLine) {
	t.Helper()
	for _, name := range append(documentationFiles(t), "../../CONTRIBUTING.md") {
		if strings.Contains(name, "/reference/") || strings.HasSuffix(name, "/cli-json.md") {
			continue // its examples are run by TestContract
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range readShellLines(string(text)) {
			all = append(all, documentedLine{strings.TrimPrefix(name, "../../"), line})
		}
	}
	return all
}

var shellComment = regexp.MustCompile(`(^|\s+)#\s.*$`)

func readShellLines(page string) (lines []string) {
	fence, shell, indented, last, begun := false, false, false, "", ""
	for line := range strings.Lines(strings.ReplaceAll(page, "\t", "    ")) {
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, "```"):
			if begun != "" { // what is to be added to another line
				lines, begun = append(lines, strings.TrimSpace(begun)), ""
			}
			fence, shell = !fence, bare == "```sh"
		case fence && !shell:
		case !fence && (bare == "" || !strings.HasPrefix(line, "    ")):
			indented = false
		case !fence && !indented && last != "":
		default:
			indented = !fence
			if part, more := strings.CutSuffix(bare, `\`); more {
				begun += part
				continue
			}
			whole := strings.TrimSpace(shellComment.ReplaceAllString(begun+bare, ""))
			begun = ""
			if whole != "" {
				lines = append(lines, whole)
			}
		}
		last = bare
	}
	return lines
}

type otherLine struct{ line, file, says string }

// otherLines are lines of other programs, each with the file of the test that runs it, and what it
// says there. None that a block shows may be missing.
var otherLines = []otherLine{
	{`^make (demo|test)$`, "../../.ci/run", "make"},
	{`^make chaos`, "../../.ci/run", "tools/chaos.sh"},
	{`^(go test|tools/run services|cd ui)`, "../../tools/test.sh", "gotest"},
	{`^deploy/setup.sh`, "setup_test.go", `"./setup.sh"`},
	{`^docker compose `, "e2e_composeback_test.go", `"docker compose exec -T controlplane"`},
	{`^docker-compose .*observability`, "observability_test.go", "deploy/observability/compose.yaml"},
	{`^(cd deploy|docker volume rm nullops_database|(sed|echo) .*NULLOPS_VERSION)`,
		"e2e_composeback_test.go", `"cd deploy\n"`},
	{`^docker run -d .*nullops/agent`, "../../deploy/setup.sh", `eval "$line"`},
	{`^-v /run/nullops-ingress:/sockets`, "e2e_crash_test.go", "--agent.sockets="},
	{`^docker (build|push) `, "../../deploy/setup.sh", "--target agent"},
	{`^tools/run images push`, "../../tools/services/registry.go", `"images", "push"`},
	{`^kubectl .* create configmap registries`, "e2e_kubernetes_install_test.go", "registries"},
	{`^kubectl .* logs `, "e2e_kubernetes_install_test.go", `"logs", "deployment/nullops-`},
	{`^kubectl .* delete secret`, "e2e_kubernetes_install_test.go", `"nullops-agent-token"`},
	{`^kubectl .* exec `, "e2e_kubernetes_install_test.go", "exec "},
	{`^kubectl .*create `, "e2e_kubernetes_install_test.go", "create namespace"},
	{`^helm upgrade`, "e2e_kubernetes_install_test.go", "helm upgrade --install nullops "},
	{`^(mkdir -m 700 secrets|for role in|echo "\*:|done$|mv secrets/)`,
		"e2e_kubernetes_install_test.go", "from-file="},
	{`^curl .*/\.nullops/build`, "../../ingress/about_test.go", `"/.nullops/build", "Nullops-Pass"`},
	{`^(jq|printf|openssl dgst) `, "../../controlplane/api/verdicts_test.go", `"openssl", "dgst"`},
	// There is no cosign and no Vault here. What stands in for Vault speaks its API.
	{`^cosign verify-attestation`, "../../docs/deployments.md", "verify with openssl"},
	{`^(sha256sum --check|openssl pkeyutl)`, "../../deploy/setup.sh", "openssl pkeyutl -verify"},
	{`^(apt-get install ./nullops|editor |systemctl enable)`, "e2e_release_test.go", "dpkg"},
	{`^vault (secrets|write|kv)`, "../../controlplane/vault/vaulttest/server.go", "aes256"},
	{`^(NULLOPS_BACKUP_|OTEL_EXPORTER_OTLP_ENDPOINT=)`, "../../docs/reference/settings.md", ""},
}

// filledIn is what readers put in for the words in capitals, and for what a line before kept.
var filledIn = strings.NewReplacer("NODE", "worker-2", "DEPLOYMENT", "feature-7", "ENV", "qa",
	"NAME", "feature-7", "FOLDER", "backups", "FILE", "file", "~/.ssh/id_ed25519", "key.pem",
	"$before", "7", "https://nullops.example.org:8080", "https://nullops.example.org")

// asksFirst are lines of pages that ask something, and how they end without a terminal.
var asksFirst = map[string]int{
	"nullops sources apply platform": exit.Refused,
	"nullops node add NAME --env ENV --ssh root@10.20.4.14 --ssh-key ~/.ssh/id_ed25519 --forget": exit.
		Usage,
}

// Each line of a block of shell runs: one of ours as it stands, against a control plane that
// speaks the contract and without a terminal, and one of another program in the test that
// otherLines names.
func TestDocs_BlocksOfShellRun(t *testing.T) {
	lines := listDocumentedLines(t)
	checkOtherLines(t, lines)
	runner := newCommandRunner(t)
	placeFilesOfPages(t)
	ran := 0
	for _, l := range lines {
		text, ours := cutOwnCommand(l.text)
		if !ours {
			continue
		}
		c, _, err := rootCommand().Find(splitWords(text)[1:])
		if err != nil {
			t.Errorf("%s: %s: %v", l.page, text, err)
			continue
		}
		owner := strings.TrimPrefix(c.CommandPath(), "nullops ")
		if slices.Contains(runElsewhere, owner) {
			continue
		}
		ran++
		// promise: D-02
		if done := runner.run(t, filledIn.Replace(text)); done.code != asksFirst[text] ||
			done.waitedInput {
			t.Errorf("%s: %s: exit code %d, waits: %v\n%s%s", l.page, text, done.code, done.waitedInput,
				done.out, done.errs)
		}
	}
	if ran < 60 {
		t.Errorf("only %d lines were run: this test looks in the wrong place", ran)
	}
}

// placeFilesOfPages puts into the folder what the lines name: the examples, and files whose content
// the pages leave to the reader.
func placeFilesOfPages(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"deploy", "plugins"} {
		// The folder is two below one that leads to the plugins, see newCommandRunner.
		plugins, err := filepath.EvalSymlinks("../../plugins")
		if err == nil {
			err = os.Symlink(filepath.Join(filepath.Dir(plugins), folder), folder)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compose := "services:\n  web:\n    image: registry.example.org/web:${TAG:-v1}\n"
	for name, text := range map[string]string{"token": "token\n", "tsig.key": "c2VjcmV0\n",
		"qa.env": "TAG=v2\n", "compose.qa.yaml": compose,
		"shop.yaml": "kind: environment\nname: qa\ndomain: example.org\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkOtherLines finds the test of each line of another program.
func checkOtherLines(t *testing.T, lines []documentedLine) {
	t.Helper()
	used := make([]bool, len(otherLines))
	for _, l := range lines {
		if _, ours := cutOwnCommand(l.text); ours {
			continue
		}
		i := slices.IndexFunc(otherLines, func(o otherLine) bool {
			return regexp.MustCompile(o.line).MatchString(l.text)
		})
		if i < 0 {
			t.Errorf("%s: no test is known that runs %s: write one, and name it in otherLines", l.page,
				l.text)
			continue
		}
		used[i] = true
	}
	for i, o := range otherLines {
		text, err := os.ReadFile(o.file)
		// promise: D-02
		if err != nil || !strings.Contains(string(text), o.says) {
			t.Errorf("%s no longer runs %s: %v", o.file, o.line, err)
		}
		if !used[i] {
			t.Errorf("no page has a line like %s any more: take it out", o.line)
		}
	}
}

// cutOwnCommand takes a command of ours out of a line that passes its output on.
func cutOwnCommand(line string) (command string, ours bool) {
	line = strings.TrimPrefix(line, "before=$(")
	if !strings.HasPrefix(line, "nullops ") {
		return "", false
	}
	line, _, _ = strings.Cut(line, " | ")
	return line, true
}
