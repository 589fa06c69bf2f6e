package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const tutorial = "../../docs/tutorial.md"

// pullRequest is the one that is opened at the end of the tutorial.
const pullRequest = "7"

// fillIn puts the machine's own names in place of the tutorial's. The registry of the tests speaks
// plain HTTP, which is allowed on loopback only.
func (m *freshMachine) fillIn(text string) string {
	text = strings.ReplaceAll(text, "host: registry.example.org", "host: registry.example.org\n"+
		"insecure: true")
	return strings.NewReplacer("nullops.example.org", freshDomain, "ops@example.org",
		"ops@"+freshDomain, "registry.example.org", m.w.registry, "shop/web",
		"tutorial/web").Replace(text)
}

// pushes puts the shop's page into the repository of the tutorial, which only this story has.
func (m *freshMachine) pushes(t *testing.T, tag string) {
	t.Helper()
	from, err := name.NewTag(m.w.registry+"/shop/web:v1.1.0", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.NewTag(m.w.registry+"/tutorial/web:"+tag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(from, remote.WithContext(t.Context()))
	if err == nil {
		err = remote.Write(to, image, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tutorialLines are the lines of shell in the tutorial, in their order.
func (m *freshMachine) tutorialLines(t *testing.T) (lines []string) {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(readFile(t, tutorial),
		-1)
	for _, block := range blocks {
		joined := strings.ReplaceAll(block[1], "\\\n", "")
		lines = append(lines, splitLines(m.fillIn(joined))...)
	}
	return lines
}

// splitTutorial parts the lines that lead to a first deployment from those about pull requests.
func splitTutorial(t *testing.T, lines []string) (first, rest []string) {
	t.Helper()
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "nullops rule ") })
	if i < 0 {
		t.Fatalf("the tutorial sets no rule: %q", lines)
	}
	return lines[:i], lines[i:]
}

// followsTutorial signs in, defines a project and deploys it, and returns the URL that the last
// command printed.
func (m *freshMachine) followsTutorial(t *testing.T, browser *http.Client, lines []string,
	password string) (url string) {
	t.Helper()
	pid := strings.TrimSpace(m.run(t, nil, "", "docker", "inspect", "--format", "{{.State.Pid}}",
		"nullops_controlplane_1"))
	passBetween(t, fmt.Sprintf("/proc/%d/root/proc/%s/ns/net", m.pid, pid), m.w.registry, ownNetwork,
		m.w.registry)
	definition := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindStringSubmatch(
		readFile(t, tutorial))
	writeFile(t, filepath.Join(m.root, "shop.yaml"), m.fillIn(definition[1]), 0o644)
	m.pushes(t, "v1.1.0")
	for _, line := range lines {
		stdin := ""
		if strings.HasPrefix(line, "nullops login ") {
			// Nobody confirms a code here.
			line, stdin = line+" --password-stdin", password+"\n"
		}
		url = m.runLine(t, stdin, line)
	}
	if want := "https://web.first.qa." + freshDomain; strings.TrimSuffix(url, "/") != want {
		t.Fatalf("%s prints %q, wanted %s", lines[len(lines)-1], url, want)
	}
	return strings.TrimSuffix(url, "/")
}

// runLine runs a line of the tutorial with the release's command line.
func (m *freshMachine) runLine(t *testing.T, stdin, line string) string {
	t.Helper()
	return strings.TrimSpace(m.run(t, []string{"SSL_CERT_FILE=/opt/browser.pem",
		"PATH=/opt/program:/usr/sbin:/usr/bin:/bin"}, stdin, "sh", "-ec", line))
}

// deploysPullRequest sets the tutorial's rule, opens a pull request, and pushes its image.
func (m *freshMachine) deploysPullRequest(t *testing.T, browser *http.Client, lines []string) {
	t.Helper()
	writeFile(t, filepath.Join(m.root, "token"), "ghp_made_up\n", 0o600)
	m.opensPullRequest(t, browser, m.runLine(t, "", lines[0]))
	if push := "docker push " + m.w.registry + "/tutorial/web:pr-" + pullRequest; len(lines) != 2 ||
		lines[1] != push {
		t.Errorf("the tutorial goes on with %q, wanted %s", lines[1:], push)
	}
	m.pushes(t, "pr-"+pullRequest)
	m.opens(t, browser, "https://web.shop-"+pullRequest+".qa."+freshDomain+"/healthz", "")
}

// opensPullRequest sends what GitHub sends, signed with the secret that the command printed.
func (m *freshMachine) opensPullRequest(t *testing.T, browser *http.Client, printed string) {
	t.Helper()
	secret := regexp.MustCompile(`(?m)^secret (\S+)$`).FindStringSubmatch(
		printed)
	if secret == nil {
		t.Fatalf("the rule's command prints no secret: %s", printed)
	}
	body := fmt.Sprintf(`{"action":"opened","number":%s,"pull_request":{"number":%[1]s,
		"state":"open","title":"Cart","html_url":"https://github.com/acme/shop/pull/%[1]s",
		"head":{"ref":"feature/cart","sha":"c1","repo":{"id":1,"full_name":"acme/shop"}},
		"base":{"ref":"main","repo":{"id":1,"full_name":"acme/shop"}}},
		"repository":{"id":1,"full_name":"acme/shop"}}`, pullRequest)
	sum := hmac.New(sha256.New, []byte(secret[1]))
	_, _ = sum.Write([]byte(body))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"https://"+freshDomain+":8080/hooks/shop", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "pull_request")
	r.Header.Set("X-GitHub-Delivery", "delivery-1")
	r.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", sum.Sum(nil)))
	res, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("the event of the pull request is answered with %s", res.Status)
	}
}
