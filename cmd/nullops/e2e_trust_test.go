package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// twoHosts uses one token on two machines, and a certificate that nobody
// expected; a person decides each time.
//
// threat: T51
// fault: F30
func twoHosts(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.admin.put(t, "/environments/qa", object{"domain": "localhost"}, nil)
	n := p.enrol(t, "first", "qa")
	told := n.await(t, apiclient.NodeStatusOnline)
	trusted := textOf(told.Thumbprint)
	if told.Inventory == nil || told.Inventory.Memory == 0 { // promise: V-12
		t.Errorf("the agent's hardware is not known: %+v", told)
	}
	n.enrolledInOrder(t)
	if shown := p.admin.ask(t, http.MethodGet, "/nodes/first", nil); trusted == "" ||
		strings.Contains(shown.body, n.token) { // promise: V-17
		t.Errorf("the token is shown again, or no certificate is: %s", shown.body)
	}

	// The second machine has the address now: the first one is down, say.
	second := n.twin(t)
	n.agent.stop(t)
	second.start(t)
	shown := n.await(t, apiclient.NodeStatusUntrusted)
	pending := textOf(shown.PendingThumbprint)
	if pending == "" || pending == trusted || textOf(shown.Thumbprint) != trusted ||
		shown.PendingProofValid == nil || !*shown.PendingProofValid ||
		!strings.Contains(textOf(shown.StatusDetail), "second machine") {
		t.Errorf("both thumbprints and the proof: %+v", shown)
	}
	second.awaitLogLine(t, "another certificate is trusted for this node")
	p.findAuditEntry(t, "distrust certificate", "token proof valid for "+pending)

	// Turned down, it stays so, whatever answers there.
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/nodes/first/reject",
		object{"thumbprint": trusted})
	c := &terminal{p: p, env: []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token}}
	out, _ := c.run(t, 0, "node", "show", "first")
	if !strings.Contains(out, "nullops node reject first "+pending) {
		t.Errorf("node show does not say what to do:\n%s", out)
	}
	c.run(t, 0, "node", "reject", "first", pending)
	eventually(t, "the rejected certificate is named", func() string {
		shown = n.show(t)
		if shown.Status == apiclient.NodeStatusUntrusted {
			t.Fatal("what was rejected is asked again")
		}
		if !strings.Contains(textOf(shown.StatusDetail), "rejected still answers") {
			return textOf(shown.StatusDetail)
		}
		return ""
	})
	second.agent.stop(t)
	n.start(t)
	if now := n.await(t, apiclient.NodeStatusOnline); textOf(now.Thumbprint) != trusted {
		t.Errorf("after the rejection %s is trusted, not %s", textOf(now.Thumbprint), trusted)
	}

	// The second machine under an address of its own: it holds another's token.
	other := p.addNode(t, "second", "qa")
	second.address = other.address
	second.start(t)
	eventually(t, "the control plane says what the agent refuses", func() string {
		if d := textOf(other.show(t).StatusDetail); !strings.Contains(d, "refused the token") {
			return d
		}
		return ""
	})
	second.awaitLogLine(t, "was it meant for another machine")
	n.await(t, apiclient.NodeStatusOnline)
	var known apiclient.NodeList
	p.admin.get(t, "/nodes", &known)
	// promise: Y-05
	if len(known.Items) != 2 || known.Items[0].Status == "" { // promise: N-231
		t.Errorf("agents that nobody added made nodes: %+v", known.Items)
	}
	addCopiedNode(t, n)
	addKnownNodes(t, p)
}

// addCopiedNode adds a node whose data folder is that of another one: neither could be
// distinguished from the other.
func addCopiedNode(t *testing.T, n *node) {
	t.Helper()
	second := n.p.addNode(t, "copied", "qa")
	if err := os.MkdirAll(second.data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cert.pem", "key.pem"} {
		text, err := os.ReadFile(filepath.Join(n.data, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(second.data, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second.start(t)
	eventually(t, "the copy is refused", func() string {
		shown := second.show(t)
		if shown.Status == apiclient.NodeStatusOnline {
			t.Fatal("two nodes have one certificate")
		}
		if d := textOf(shown.StatusDetail); !strings.Contains(d, "is that of node "+n.name) {
			return d
		}
		return ""
	})
	second.agent.stop(t)
}

// twin is another machine that was given this node's token.
func (n *node) twin(t *testing.T) *node {
	t.Helper()
	twin := *n
	twin.name, twin.agent = n.name+"-twin", nil
	twin.data, twin.run = filepath.Join(shortDir(t), "data"), dockertest.RunDir(t)
	return &twin
}

// enrolledInOrder looks at what the node's history says of its first contact.
func (n *node) enrolledInOrder(t *testing.T) {
	t.Helper()
	var all apiclient.NodeEventList
	n.p.admin.get(t, "/nodes/"+n.name+"/events", &all)
	var kinds []string
	for _, e := range slices.Backward(all.Items) {
		kinds = append(kinds, e.Kind)
	}
	// promise: N-233, V-14
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "added met synced online") {
		t.Errorf("node %s was enrolled by: %s", n.name, got)
	}
}

// awaitLogLine waits for a line of the agent's log.
func (n *node) awaitLogLine(t *testing.T, says string) {
	t.Helper()
	eventually(t, "the agent's log says "+says, func() string {
		log, err := os.ReadFile(n.agent.log)
		if err != nil || !strings.Contains(string(log), says) {
			return "not yet: " + lastLines(n.agent.log, 3)
		}
		return ""
	})
}

// findAuditEntry looks for an entry of the journal.
func (p *product) findAuditEntry(t *testing.T, action, detail string) {
	t.Helper()
	a := p.admin.ask(t, http.MethodGet, "/audit?limit=200", nil)
	if !strings.Contains(a.body, `"`+action+`"`) || !strings.Contains(a.body, detail) {
		t.Errorf("the journal has no %q with %q", action, detail)
	}
}

// addKnownNodes adds nodes whose certificate an admin knows beforehand: a wrong one
// is not trusted at first contact, and the right one is.
func addKnownNodes(t *testing.T, p *product) {
	t.Helper()
	n := p.enrol(t, "known", "qa")
	print := textOf(n.show(t).Thumbprint)
	n.agent.stop(t)
	p.admin.want(t, http.StatusNoContent, http.MethodDelete, "/nodes/known", nil, nil)
	for _, c := range []struct {
		name, print string
		status      apiclient.NodeStatus
	}{
		{"strange", strings.Repeat("ab", 32), apiclient.NodeStatusUntrusted},
		{"known", print, apiclient.NodeStatusOnline},
	} {
		var made apiclient.NodeEnrolment
		p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes", object{"name": c.name,
			"environment": "qa", "address": n.address, "thumbprint": c.print}, &made)
		n.name, n.token = c.name, made.Token
		n.start(t)
		if shown := n.await(t, c.status); c.status == apiclient.NodeStatusUntrusted {
			if textOf(shown.PendingThumbprint) != print || shown.Thumbprint != nil {
				t.Errorf("expected one certificate, met another: %+v", shown)
			}
		} else if textOf(shown.Thumbprint) != print {
			t.Errorf("the expected certificate is %s, stored %s", print, textOf(shown.Thumbprint))
		}
		n.agent.stop(t)
		p.admin.want(t, http.StatusNoContent, http.MethodDelete, "/nodes/"+c.name, nil, nil)
	}
}

// revocations rotates and revokes while the agent is away, and kills the control
// plane in between.
func revocations(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.admin.put(t, "/environments/qa", object{"domain": "localhost"}, nil)
	n := p.enrol(t, "away", "qa")
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	old := n.token
	n.token = n.rotate(t)
	if !n.show(t).RevocationPending {
		t.Error("the revocation is not pending, and nobody told the agent")
	}
	out, _, _ := p.admin.cli(t, "node", "show", "away")
	if !strings.Contains(out, "revocation pending") {
		t.Errorf("node show keeps the pending revocation to itself:\n%s", out)
	}
	// Between the two phases: the new token is stored, the old one not refused.
	p.controlPlane.kill()
	p.startControlPlane(t)
	fresh := n.token
	n.token = old
	n.start(t) // nobody told it yet
	n.revokedOnDisk(t, old)
	n.agent.stop(t)
	n.start(t)
	n.awaitLogLine(t, "this agent's token was revoked") // it remembers
	staysAway(t, n)
	n.agent.stop(t)
	n.token = fresh
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline) // promise: N-211

	// A rotation that nobody hears of, killed at once, does not lock it out.
	n.freeze(t)
	lost := n.rotate(t)
	p.controlPlane.kill()
	n.thaw(t)
	p.startControlPlane(t)
	n.revokedOnDisk(t, n.token)
	n.agent.stop(t)
	n.token = n.rotate(t)
	if n.token == lost {
		t.Error("the same token was made twice")
	}
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)

	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	p.admin.want(t, http.StatusOK, http.MethodDelete, "/nodes/away/token", nil, nil)
	n.start(t)
	n.revokedOnDisk(t, n.token)
	eventually(t, "a node without a token says what to do", func() string {
		if d := textOf(n.show(t).StatusDetail); !strings.Contains(d, "rotate it") {
			return "it says " + d
		}
		return ""
	})
}

// rotate issues a new token for the node.
func (n *node) rotate(t *testing.T) string {
	t.Helper()
	var made apiclient.NodeEnrolment
	n.p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes/"+n.name+"/token", nil, &made)
	return made.Token
}

// revokedOnDisk waits until the agent itself refuses a token, and the control
// plane knows that it does.
func (n *node) revokedOnDisk(t *testing.T, token string) {
	t.Helper()
	kid := strings.Split(token, "_")[1]
	eventually(t, "the agent refuses token "+kid, func() string {
		var state struct {
			Refused []string `json:"refused"`
		}
		data, err := os.ReadFile(filepath.Join(n.data, "state.json"))
		if err != nil || json.Unmarshal(data, &state) != nil || !slices.Contains(state.Refused, kid) {
			return "its state does not say so"
		}
		if n.show(t).RevocationPending {
			return "the revocation is still pending"
		}
		return ""
	})
}

// freeze stops the agent's process where it stands.
func (n *node) freeze(t *testing.T) {
	t.Helper()
	if err := n.agent.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func (n *node) thaw(t *testing.T) {
	t.Helper()
	if err := n.agent.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
