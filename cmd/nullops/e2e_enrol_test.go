package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// zeroTouch installs machines with one variable: three become nodes, and the token is then used up.
// One of them died after it was enrolled and before it knew, and one is behind NAT.
func zeroTouch(t *testing.T, p *product) {
	t.Helper()
	c := &terminal{p: p, env: []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token}}
	out, _ := c.run(t, 0, "node", "token", "create", "--env", "qa", "--uses", "3",
		"--label", "zone=fra", "--name", "auto-{n}")
	// promise: V-19
	found := regexp.MustCompile(`AGENT_CONTROL=(\S+) -e AGENT_PROVISIONING_TOKEN=(\S+)`).
		FindStringSubmatch(out)
	if found == nil || found[1] != p.url {
		t.Fatalf("the line says\n%s", out)
	}
	token := found[2]
	machines := make([]*node, 4)
	for i := range machines {
		machines[i] = &node{p: p, name: fmt.Sprintf("auto-%d", i+1), binary: p.w.binary,
			address: freeAddress(t), docker: p.w.docker, data: filepath.Join(shortDir(t), "data"),
			run:     dockertest.RunDir(t),
			subnets: fmt.Sprintf("10.222.%d.0/20", 16*(p.w.ranges.Add(1)%16)),
			env:     []string{"AGENT_PROVISIONING_TOKEN=" + token, "AGENT_CONTROL=" + p.url}}
	}
	machines[0].loseAnswer(t, token)
	behind := machines[2]
	behind.env = append(behind.env, "AGENT_CONNECT=ws"+strings.TrimPrefix(p.url, "http"))
	for _, n := range machines[:3] {
		n.start(t)
		eventually(t, n.name+" is a node", func() string {
			a := p.admin.ask(t, http.MethodGet, "/nodes/"+n.name, nil)
			if a.status != http.StatusOK {
				return a.body
			}
			return ""
		})
		shown := n.await(t, apiclient.NodeStatusOnline)
		// promise: V-12, V-19
		address := n.address
		if n == behind {
			address = ""
		}
		if shown.Address != address || shown.Environment != "qa" || shown.Settings == nil ||
			(*shown.Settings.Labels)["zone"] != "fra" ||
			textOf(shown.Thumbprint) != textOf(shown.ExpectedThumbprint) {
			t.Errorf("the machine became %+v", shown)
		}
	}
	late := machines[3]
	late.start(t)
	<-late.agent.done
	if said := lastLines(late.agent.log, 5); late.agent.cmd.ProcessState.ExitCode() == 0 ||
		!strings.Contains(said, "enrolled as many machines as it may") ||
		!strings.Contains(said, "nullops node token create") || strings.Contains(said, token) {
		t.Errorf("a machine too many says:\n%s", said)
	}
	// What it keeps is enough: neither the token nor the control plane is asked for again.
	n := machines[1]
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	n.env = []string{"AGENT_PROVISIONING_TOKEN=" + token, "AGENT_CONTROL=http://127.0.0.1:9"}
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline) // promise: V-13
	n.keepsNoSecret(t, token[len("nopp1_"):][9:52])
	out, _ = c.run(t, 0, "node", "token", "list")
	if !strings.Contains(out, "3 of 3") || !strings.Contains(out, "used_up") {
		t.Errorf("the list says\n%s", out)
	}
	c.run(t, 0, "node", "token", "revoke", token[6:14])
}

// loseAnswer enrols the machine as its agent does, and forgets the answer.
func (n *node) loseAnswer(t *testing.T, token string) {
	t.Helper()
	identity, err := wire.LoadOrCreateIdentity(n.data)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := identity.SignEnrolment(token)
	if err != nil {
		t.Fatal(err)
	}
	n.p.admin.want(t, http.StatusCreated, http.MethodPost, "/enrolments", object{"token": token,
		"certificate": identity.CertDER(), "signature": signature, "address": "127.0.0.1:1"}, nil)
}

// keepsNoSecret looks for a text in the agent's data.
func (n *node) keepsNoSecret(t *testing.T, secret string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.data, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), n.data, err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), secret) {
			t.Errorf("the token is in %s", file)
		}
	}
}
