package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

// engineOf has docker's compose plugin be Debian's program, as deploy/README.md says of both.
const engineOf = `docker() {
  if [[ $1 == compose ]]; then shift; command docker-compose "$@"; else command docker "$@"; fi
}
`

// comesBack runs the blocks of the pages as they stand there: one that restores a backup into an
// empty database, and one that goes back to the release before an upgrade.
func (s *shipped) comesBack(t *testing.T, home string) {
	t.Helper()
	token := readLogin(t, filepath.Join(home, "nullops", "login.json")).Token
	s.defines(t, token, "kept")
	s.runBlock(t, s.dir, readBlock(t, "../../deploy/README.md", "docker compose exec -T controlplane"),
		"FILE", "kept.backup")
	s.has(t, token, "kept", true)

	before := s.imageID(t)
	// Another label is another image, as another release is.
	dockerfile := filepath.Join(s.dir, "Dockerfile")
	writeFile(t, dockerfile, readFile(t, dockerfile)+"\nLABEL nullops.upgraded=yes\n", 0o644)
	said := s.setup(t)
	backups, err := filepath.Glob(filepath.Join(s.dir, "backups", "before-*.backup"))
	if err != nil || len(backups) != 1 || !strings.Contains(said, "this is an upgrade") ||
		s.imageID(t) == before {
		t.Fatalf("no upgrade with a backup before it: %v %v\n%s", backups, err, said)
	}
	s.defines(t, token, "later")
	s.runBlock(t, filepath.Dir(s.dir), readBlock(t, "../../docs/releases.md", "cd deploy\n"),
		"nullops_database", s.project+"_database", "before-VERSION-TIME.backup",
		filepath.Base(backups[0]))
	s.has(t, token, "later", false)
	s.has(t, token, "kept", true)
	if s.imageID(t) != before {
		t.Error("the release before does not run")
	}
	// From there, the way leads on again.
	if said := s.setup(t); !strings.Contains(said, "this is an upgrade") || s.imageID(t) == before {
		t.Errorf("it is not upgraded again: %s", said)
	}
	s.has(t, token, "kept", true)
	s.setVersion(t)
}

// readBlock returns the block of shell on a page that has the text.
func readBlock(t *testing.T, page, text string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").
		FindAllStringSubmatch(readFile(t, page), -1) {
		if strings.Contains(block[1], text) {
			return block[1]
		}
	}
	t.Fatalf("%s has no block with %q", page, text)
	return ""
}

// runBlock runs a page's block in a shell, with what a reader puts in.
func (s *shipped) runBlock(t *testing.T, dir, block string, fillIn ...string) {
	t.Helper()
	script := engineOf + strings.NewReplacer(fillIn...).Replace(block)
	c := exec.CommandContext(t.Context(), "bash", "-euc", script)
	c.Dir, c.Env, c.WaitDelay = dir, append(cleanEnv(), s.env...), time.Second
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
}

// login is what the command line keeps of a sign-in.
type login struct{ Token, Fingerprint string }

func readLogin(t *testing.T, file string) (l login) {
	t.Helper()
	kept, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(kept, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// as is how the command line signs in: with the volumes, the UI's own certificate changed too.
func (s *shipped) as(t *testing.T, token string) []string {
	t.Helper()
	return []string{"NULLOPS_CLI_URL=" + s.url, "NULLOPS_CLI_TOKEN=" + token,
		"NULLOPS_CLI_FINGERPRINT=" + s.awaitLogLine(t, `sha256:[0-9a-f]{64}`)}
}

func (s *shipped) defines(t *testing.T, token, environment string) {
	t.Helper()
	_, errs, code := runCommand(t, s.w.binary, s.as(t, token), "kind: environment\nname: "+environment+
		"\ndomain: "+environment+".test\n", "apply", "-f", "-")
	if code != 0 {
		t.Fatalf("define %s: %s", environment, errs)
	}
}

// has waits until the control plane answers, and looks whether it knows an environment.
func (s *shipped) has(t *testing.T, token, environment string, want bool) {
	t.Helper()
	eventually(t, "the control plane answers", func() string {
		_, errs, code := runCommand(t, s.w.binary, s.as(t, token), "", "list")
		if code != 0 {
			return errs
		}
		return ""
	})
	_, errs, code := runCommand(t, s.w.binary, s.as(t, token), "", "export",
		"environment/"+environment)
	if (code == 0) != want {
		t.Errorf("the environment %s is there: %v, wanted %v: %s", environment, code == 0, want, errs)
	}
}

// imageID is the image that the control plane runs.
func (s *shipped) imageID(t *testing.T) string {
	t.Helper()
	api := dockertest.Client(t, s.w.docker)
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{Filters: client.Filters{}.
		Add("label", "com.docker.compose.project="+s.project).
		Add("label", "com.docker.compose.service=controlplane")})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d control planes, %v", len(list.Items), err)
	}
	return list.Items[0].ImageID
}
