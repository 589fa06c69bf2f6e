package nodes_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/nodes"
)

// machine is one that has a certificate and nothing else.
type machine struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert []byte
	host string
}

func newMachine(t *testing.T, host string) machine {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return machine{t: t, key: key, cert: cert, host: host}
}

// saying is what it sends with a token.
func (m machine) saying(token controlplane.Plain) nodes.Machine {
	m.t.Helper()
	sum := sha256.Sum256([]byte("nullops enrolment 1\n" + token.Reveal()))
	signature, err := ecdsa.SignASN1(rand.Reader, m.key, sum[:])
	if err != nil {
		m.t.Fatal(err)
	}
	return nodes.Machine{Token: token, Certificate: m.cert, Signature: signature, Port: 5000,
		Build: "1.0", Inventory: controlplane.Inventory{Hostname: m.host, CPU: 8, Memory: 1 << 33,
			GPUs: []controlplane.GPU{{ID: "0", Model: "L40S"}}}}
}

// from is a caller without a name, as a machine is, at an address.
func from(n int) access.Actor {
	return access.Nobody().WithOrigin(fmt.Sprintf("10.9.%d.%d", n/250, 1+n%250), "req")
}

func (w *world) provisioning(t *testing.T, r nodes.ProvisioningRequest) (
	prefix string, token controlplane.Plain,
) {
	t.Helper()
	must(w.PutEnvironment(t.Context(), w.admin, catalog.EnvironmentPut{
		Name: "qa", Domain: "localhost"}))(t)
	r.Environment = "qa"
	made, token, err := w.CreateProvisioningToken(t.Context(), w.admin, r)
	if err != nil {
		t.Fatal(err)
	}
	return made.Prefix, token
}

// wantRefusal checks the code of an error, and that it says what to do.
func wantRefusal(t *testing.T, what string, err error, code string) {
	t.Helper()
	known, ok := errors.AsType[*controlplane.Error](err)
	if !ok || known.Code != code || known.Remedy == "" {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// A provisioning token enrols machines up to its limit; each gets a node with the token's settings,
// a token of its own, and its certificate as the only one that counts.
//
// promise: V-12, V-15, V-16
func TestEnrolMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prefix, token := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 2, NamePattern: "gpu-{n}",
		Settings: controlplane.NodeSettings{Labels: controlplane.Labels{"zone": "fra"},
			Taints: []controlplane.Taint{{Key: "gpu", Effect: "no_schedule"}}}})
	if !strings.HasPrefix(token.Reveal(), "nopp1_"+prefix+"_") {
		t.Errorf("the token does not begin with its prefix %q", prefix)
	}
	secret := token.Reveal()[len("nopp1_"+prefix+"_"):][:43]
	if n := w.query(t, `SELECT count(*) FROM provisioning_tokens p
		WHERE p::text LIKE '%' || $1 || '%'`, secret); n != 0 {
		t.Error("the token is readable in the database")
	}
	if n := w.query(t, `SELECT count(*) FROM provisioning_tokens WHERE prefix = $1
		AND hash = sha256($2::bytea)`, prefix, []byte(token.Reveal())); n != 1 {
		t.Error("the token is not stored as SHA-256 under its prefix")
	}
	// The look-up by prefix needs an index that has it first.
	if n := w.query(t, `SELECT count(*) FROM pg_indexes
		WHERE tablename IN ('provisioning_tokens', 'api_tokens')
		AND indexdef LIKE 'CREATE UNIQUE INDEX % USING btree (prefix)'`); n != 2 {
		t.Errorf("%d of 2 kinds of tokens are looked up by an index of their prefix", n)
	}
	for i := 1; i <= 2; i++ {
		m := newMachine(t, "host")
		e := must(w.EnrolMachine(t.Context(), from(i), m.saying(token)))(t)
		sum := sha256.Sum256(m.cert)
		n := e.Node
		if n.Name != fmt.Sprintf("gpu-%d", i) || n.Address != fmt.Sprintf("10.9.0.%d:5000", i+1) ||
			string(n.Expected) != hex.EncodeToString(sum[:]) || n.Settings.Labels["zone"] != "fra" ||
			len(n.Settings.Taints) != 1 || n.TokenKid == "" || e.Token.IsEmpty() ||
			n.Inventory == nil || n.Inventory.CPU != 8 || n.Status != controlplane.NodeEnrolled {
			t.Errorf("machine %d became %+v", i, n)
		}
	}
	_, err := w.EnrolMachine(t.Context(), from(3), newMachine(t, "host").saying(token))
	wantRefusal(t, "a third machine", err, "provisioning_token_used_up")
	if n := w.query(t, "SELECT count(*) FROM nodes"); n != 2 {
		t.Errorf("%d nodes", n)
	}
	for sql, want := range map[string]int{
		`action = 'create provisioning token' AND result = 'ok' AND actor = 'ada'`: 1,
		`action = 'enrol node' AND object = 'node gpu-1' AND result = 'ok'`:        1,
		`action = 'enrol node' AND result = 'refused'
			AND detail = 'provisioning_token_used_up'`: 1,
		`audit::text LIKE '%nopp1%'`: 0,
	} {
		if n := w.query(t, "SELECT count(*) FROM audit WHERE "+sql); n != want {
			t.Errorf("%d entries of the audit with %s, want %d", n, sql, want)
		}
	}
}

// Who has not the whole token learns nothing of it; who has it is told why it does not work.
//
// threat: T54
func TestEnrolMachine_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prefix, token := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 9})
	m := newMachine(t, "host")
	_, other := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 9})
	forged := m.saying(token)
	forged.Signature = newMachine(t, "x").saying(token).Signature
	_, err := w.EnrolMachine(t.Context(), from(1), forged)
	wantRefusal(t, "another's certificate", err, "certificate_unproven")
	_, err = w.EnrolMachine(t.Context(), from(1), nodes.Machine{Token: token})
	wantRefusal(t, "no certificate", err, "certificate_unproven")

	wrong := wrongSecret(token.Reveal())
	_, unknown := w.EnrolMachine(t.Context(), from(1), m.saying(wrongPrefix(token.Reveal())))
	_, bad := w.EnrolMachine(t.Context(), from(1), m.saying(wrong))
	wantRefusal(t, "a wrong secret", bad, "provisioning_token_invalid")
	wantRefusal(t, "an unknown prefix", unknown, "provisioning_token_invalid")
	if fmt.Sprintf("%+v", bad) != fmt.Sprintf("%+v", unknown) {
		t.Errorf("a wrong secret is told from an unknown prefix: %v, %v", bad, unknown)
	}
	for _, text := range []string{"", "nopp1_", "nop_x", token.Reveal()[1:], token.Reveal() + "0"} {
		_, err = w.EnrolMachine(t.Context(), from(1), m.saying(controlplane.NewPlain(text)))
		wantRefusal(t, "garbage", err, "provisioning_token_invalid")
	}
	local := m.saying(token)
	local.Address = "127.0.0.1:5000"
	_, err = w.EnrolMachine(t.Context(), from(1), local)
	wantRefusal(t, "this machine", err, "address_invalid")

	w.exec(t, "UPDATE provisioning_tokens SET expires_at = now() WHERE prefix <> $1", prefix)
	_, err = w.EnrolMachine(t.Context(), from(1), m.saying(other))
	wantRefusal(t, "an expired token", err, "provisioning_token_expired")
	enrolled := must(w.EnrolMachine(t.Context(), from(1), m.saying(token)))(t)
	if err := w.RevokeProvisioningToken(t.Context(), w.admin, prefix); err != nil {
		t.Fatal(err)
	}
	_, err = w.EnrolMachine(t.Context(), from(2), newMachine(t, "late").saying(token))
	wantRefusal(t, "a revoked token", err, "provisioning_token_revoked")
	n := must(w.GetNode(t.Context(), w.admin, enrolled.Node.Name))(t)
	if n.TokenKid != enrolled.Node.TokenKid || !n.IsEnabled() {
		t.Errorf("revoking the provisioning token left the node %+v", n)
	}
	if n := w.query(t, "SELECT count(*) FROM nodes"); n != 1 {
		t.Errorf("%d nodes", n)
	}
	if n := w.query(t, `SELECT count(*) FROM audit WHERE action = 'enrol node'
		AND result = 'refused' AND detail = 'provisioning_token_invalid'`); n != 2 {
		t.Errorf("%d refused uses are in the audit, want those of the two well-formed tokens", n)
	}
}

// wrongSecret is a well-formed token with the same prefix and another secret.
func wrongSecret(token string) controlplane.Plain {
	return nodes.Reseal(token[:15] + strings.Repeat("A", 43))
}

func wrongPrefix(token string) controlplane.Plain {
	return nodes.Reseal("nopp1_zzzzzzzz" + token[14:58])
}

// A machine whose answer was lost asks again and gets the same node, not a second one and not a
// second use, also when the limit is reached. Once the node was met, nobody gets its token so.
func TestEnrolMachine_Again(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, token := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 1})
	_, second := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 1})
	m := newMachine(t, "Rack.example.org")
	first := must(w.EnrolMachine(t.Context(), from(1), m.saying(token)))(t)
	again := must(w.EnrolMachine(t.Context(), from(2), m.saying(token)))(t)
	if again.Node.ID != first.Node.ID || again.Node.Name != "rack" ||
		again.Node.Address != "10.9.0.3:5000" || again.Node.TokenKid == first.Node.TokenKid {
		t.Errorf("first %+v, then %+v", first.Node, again.Node)
	}
	if n := w.query(t, "SELECT sum(uses)::int FROM provisioning_tokens"); n != 1 {
		t.Errorf("%d uses", n)
	}
	_, err := w.EnrolMachine(t.Context(), from(2), m.saying(second))
	wantRefusal(t, "the same machine with another token", err, "machine_enrolled")
	_, err = w.EnrolMachine(t.Context(), from(2), newMachine(t, "b").saying(second))
	wantRefusal(t, "another machine at the same address", err, "address_taken")
	w.online(t, first.Node.ID)
	_, err = w.EnrolMachine(t.Context(), from(2), m.saying(token))
	wantRefusal(t, "a node that was met", err, "machine_enrolled")
	if n := w.query(t, "SELECT count(*) FROM nodes"); n != 1 {
		t.Errorf("%d nodes", n)
	}
}

// A machine that nobody can reach says so, and needs no address, however many there are. If it can
// be reached the next time it asks, its node has an address then.
func TestEnrolMachine_WhoseAgentDials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, token := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 3})
	m := newMachine(t, "a")
	behind := m.saying(token)
	behind.Connect = controlplane.ConnectAgent
	n := must(w.EnrolMachine(t.Context(), from(1), behind))(t).Node
	if n.Connect != controlplane.ConnectAgent || n.Address != "" {
		t.Errorf("a machine behind NAT became %+v", n)
	}
	second := newMachine(t, "b").saying(token)
	second.Connect = controlplane.ConnectAgent
	must(w.EnrolMachine(t.Context(), from(1), second))(t)
	again := must(w.EnrolMachine(t.Context(), from(1), m.saying(token)))(t).Node
	if again.ID != n.ID || again.Connect != controlplane.ConnectControlPlane ||
		again.Address != "10.9.0.2:5000" {
		t.Errorf("a machine that can be reached now became %+v", again)
	}
	third := newMachine(t, "c").saying(token)
	third.Connect, third.Address = controlplane.ConnectAgent, "10.9.0.9:5000"
	_, err := w.EnrolMachine(t.Context(), from(3), third)
	wantRefusal(t, "a machine behind NAT with an address", err, "address_unused")
}

// However many machines come at once, the limit holds, and names and machines are one to one.
func TestEnrolMachine_AtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const limit, comers = 5, 16
	_, token := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: limit})
	_, other := w.provisioning(t, nodes.ProvisioningRequest{MaxUses: limit})
	var group sync.WaitGroup
	var mu sync.Mutex
	names, refused := map[string]int{}, 0
	for i := range comers {
		m := newMachine(t, "gpu").saying([]controlplane.Plain{token, other}[i%2])
		group.Go(func() {
			e, err := w.EnrolMachine(t.Context(), from(i), m)
			mu.Lock()
			defer mu.Unlock()
			switch controlplane.CodeOf(err) {
			case "provisioning_token_used_up":
				refused++
			default:
				if err != nil {
					t.Error(err)
				}
				names[e.Node.Name]++
			}
		})
	}
	group.Wait()
	if len(names) != 2*limit || refused != comers-2*limit || names["gpu"] != 1 ||
		names["gpu-10"] != 1 {
		t.Errorf("enrolled %v, refused %d", names, refused)
	}
	if n := w.query(t, "SELECT sum(uses)::int FROM provisioning_tokens"); n != 2*limit {
		t.Errorf("%d uses", n)
	}
}

func TestCreateProvisioningToken_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provisioning(t, nodes.ProvisioningRequest{MaxUses: 1})
	for code, r := range map[string]nodes.ProvisioningRequest{
		"max_uses_invalid":      {},
		"token_expiry":          {MaxUses: 1, Lasts: -time.Hour},
		"name_pattern_invalid":  {MaxUses: 1, NamePattern: "GPU_{n}"},
		"unknown_node-template": {MaxUses: 1, Template: "none"},
		"label_invalid": {MaxUses: 1, Settings: controlplane.NodeSettings{
			Labels: controlplane.Labels{"nullops/arch": "x"}}},
	} {
		r.Environment = "qa"
		_, _, err := w.CreateProvisioningToken(t.Context(), w.admin, r)
		if controlplane.CodeOf(err) != code {
			t.Errorf("%+v: %v, want %s", r, err, code)
		}
	}
	_, _, err := w.CreateProvisioningToken(t.Context(), w.admin,
		nodes.ProvisioningRequest{MaxUses: 1, Environment: "none"})
	if controlplane.CodeOf(err) != "unknown_environment" {
		t.Errorf("an environment that is not there: %v", err)
	}
	user := access.User(controlplane.User{Name: "bob", Role: controlplane.RoleUser}, nil)
	_, _, err = w.CreateProvisioningToken(t.Context(), user,
		nodes.ProvisioningRequest{MaxUses: 1, Environment: "qa"})
	if controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("made by a user: %v", err)
	}
}
