package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// withKey asks with an Idempotency-Key.
func (w *world) withKey(method, path, token, key string, body any) answer {
	w.t.Helper()
	header := bearerHeader(token)
	header.Set("Idempotency-Key", key)
	text := ""
	if body != nil {
		header.Set("Content-Type", "application/json")
		encoded, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		text = string(encoded)
	}
	return w.send(method, path, header, strings.NewReader(text))
}

// keyless are the operations that answer 201 and take no key: anyone who signs in twice is in
// twice, a ticket is good for one connection, for half a minute, a question to a passkey or an
// authenticator app is answered once, and a program that signs in polls until it has its token.
var keyless = map[string]bool{"createSession": true, "createToken": true,
	"createPasskeySession": true, "addPasskey": true, "confirmAuthenticator": true,
	"createReachTicket": true, "acceptInvitation": true,
	"enrolMachine": true, "beginDeviceLogin": true, "pollDeviceLogin": true}

// Every operation that makes something takes an Idempotency-Key.
func TestContract_EachCreateTakesAKey(t *testing.T) {
	t.Parallel()
	for id, o := range readOperations(t) {
		if o.method != http.MethodPost || o.op.Responses.Status(http.StatusCreated) == nil {
			continue
		}
		if (o.op.Parameters.GetByInAndName("header", "Idempotency-Key") == nil) != keyless[id] {
			t.Errorf("%s: takes a key, or does not, against the list", id)
		}
	}
}

// The same request with the same key makes nothing twice: it is answered as it
// was, or refused where the answer showed what is shown once. Another request
// with the key is refused, and a refusal uses no key up.
func TestOnce_EveryCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	root, all := w.token("root"), readOperations(t)
	for _, id := range []string{"createNode", "createResetLink", "createRobot", "createGuest",
		"createCertificateAuthority", "recreateDeployment", "provisionNode",
		"restorePipelineVersion", "createScratch", "createDeployment", "createInvitation",
		"createUserToken", "rotateNodeToken", "createComment"} {
		o := all[id]
		once, _ := o.op.Extensions["x-once"].(string)
		path, key := fillPath(o.visit.path, d), "key-"+id
		if a := w.withKey(o.method, path, w.token("stranger"), key, o.visit.body); a.status < 400 {
			t.Errorf("%s as a stranger: %d", id, a.status)
		}
		first := w.withKey(o.method, path, root, key, o.visit.body)
		again := w.withKey(o.method, path, root, key, o.visit.body)
		replayed := again.status == first.status && string(again.body) == string(first.body) &&
			again.header.Get("Idempotency-Replayed") == "true"
		refused := again.status == http.StatusConflict && again.field("code") == "already_created"
		switch {
		case first.status >= 300:
			t.Errorf("%s: %d %s", id, first.status, first.body)
		case once == "answer" && !replayed, once == "shown" && !refused:
			t.Errorf("%s again: %d %s", id, again.status, again.body)
		case id == "createDeployment" && again.field("id") != first.field("id"):
			t.Errorf("%s again makes %s", id, again.field("id"))
		case once == "" && id != "createDeployment" && !refused:
			t.Errorf("%s again: %d %s", id, again.status, again.body)
		}
		hasForm(t, id, o.op, again)
	}
	other := w.withKey("POST", "/api/v1/nodes", root, "key-createNode",
		object{"name": "else", "environment": "qa", "address": "127.0.0.1:5055"})
	if other.status != http.StatusConflict || other.field("code") != "idempotency_key_reused" ||
		other.field("field") != "Idempotency-Key" {
		t.Errorf("another request with the key: %d %s", other.status, other.body)
	}
	w.checkStoredAnswers()
	w.once(d, root)
}

// checkStoredAnswers looks at the answers that are kept, which are not sealed: they hold no secret
// that someone put in, and those that show one are not kept at all.
func (w *world) checkStoredAnswers() {
	w.t.Helper()
	all := pgtest.QueryValue[[]string](w.t, w.database, `SELECT array_agg(operation || chr(10) ||
		coalesce(convert_from(answer, 'UTF8'), '') ORDER BY operation) FROM idempotency_keys`)
	operations := readOperations(w.t)
	for _, one := range all {
		id, body, _ := strings.Cut(one, "\n")
		// The others are of use cases that keep the key with what they make.
		o, ok := operations[id]
		if (ok && o.op.Extensions["x-once"] == "answer") != (body != "") {
			w.t.Errorf("%s keeps %q", id, body)
		}
		for _, value := range typedIn {
			if containsValue(body, value) {
				w.t.Errorf("the answer kept of %s holds %q", id, value)
			}
		}
	}
	if len(all) < 10 {
		w.t.Errorf("%d keys", len(all))
	}
}

// once looks at keys that are not used up, and at another person's.
func (w *world) once(d controlplane.Deployment, root string) {
	w.t.Helper()
	node := object{"name": "late", "environment": "nowhere", "address": "127.0.0.1:5056"}
	if a := w.withKey("POST", "/api/v1/nodes", root, "k", node); a.status != http.StatusNotFound &&
		a.status != http.StatusBadRequest {
		w.t.Errorf("an environment that is not there: %d %s", a.status, a.body)
	}
	node["environment"] = "qa"
	if a := w.withKey("POST", "/api/v1/nodes", root, "k", node); a.status != http.StatusCreated {
		w.t.Errorf("the key of a refused request: %d %s", a.status, a.body)
	}
	path := "/api/v1/deployments/" + string(d.ID) + "/recreate"
	for _, token := range []string{root, w.token("full")} {
		a := w.withKey("POST", path, token, "mine", object{"name": "by-" + token[4:10]})
		if a.status != http.StatusCreated {
			w.t.Errorf("a key of one's own: %d %s", a.status, a.body)
		}
	}
}

// Of many at the same time one makes it; the others hear that it is under way,
// or what it made.
//
// fault: F1, F55
func TestOnce_AtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	full := w.token("full")
	path := "/api/v1/deployments/" + string(d.ID) + "/recreate"
	answers := make([]answer, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = w.withKey("POST", path, full, "race", object{"name": "racer"}) })
	}
	all.Wait()
	made := map[string]bool{}
	for _, a := range answers {
		if a.status == http.StatusCreated {
			made[a.field("id")] = true
		} else if a.field("code") != "idempotency_key_under_way" ||
			a.header.Get("Retry-After") == "" {
			t.Errorf("it says %d %s", a.status, a.body)
		}
	}
	list := w.call("GET", "/api/v1/deployments?name=racer", full, nil)
	// promise: B-14
	for id := range made {
		runs := w.call("GET", "/api/v1/deployments/"+id+"/runs", full, nil)
		if n := strings.Count(string(runs.body), `"number":`); n != 1 {
			t.Errorf("%d runs: %s", n, runs.body)
		}
	}
	if len(made) != 1 || strings.Count(string(list.body), `"name":"racer"`) != 1 {
		t.Errorf("%d were made: %s", len(made), list.body)
	}
}
