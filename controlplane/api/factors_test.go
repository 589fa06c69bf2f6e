package api_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// tab is a browser with a session.
type tab struct {
	w      *world
	cookie string
}

// ask sends what a page of ours sends, with the session's cookie if there is one.
func (b *tab) ask(method, path string, body any) answer {
	b.w.t.Helper()
	header := http.Header{"Origin": {"http://nullops.test"}, "Sec-Fetch-Site": {"same-origin"}}
	if b.cookie != "" {
		header.Set("Cookie", "nullops_session="+b.cookie)
	}
	text := ""
	if body != nil {
		header.Set("Content-Type", "application/json")
		text = string(must(json.Marshal(body))(b.w.t))
	}
	a := b.w.send(method, "/api/v1"+path, header, strings.NewReader(text))
	for _, cookie := range a.cookies {
		if cookie.Name == "nullops_session" {
			b.cookie = cookie.Value
		}
	}
	return a
}

// want asks, and fails the test unless the answer has the status.
func (b *tab) want(status int, method, path string, body any) answer {
	b.w.t.Helper()
	a := b.ask(method, path, body)
	if a.status != status {
		b.w.t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// refused asks, and expects a refusal with the code.
func (b *tab) refused(status int, code, method, path string, body any) {
	b.w.t.Helper()
	a := b.ask(method, path, body)
	if a.status != status || a.field("code") != code || a.field("detail") == "" ||
		a.field("remedy") == "" {
		b.w.t.Errorf("%s %s: %d %s, want %d %s", method, path, a.status, a.body, status, code)
	}
}

func (w *world) signedIn(user string) *tab {
	w.t.Helper()
	b := &tab{w: w}
	b.want(http.StatusCreated, "POST", "/sessions", object{"user": user, "password": password})
	return b
}

// codeAt is what an authenticator app shows so many steps from now.
func codeAt(t *testing.T, secret string, steps int64) string {
	t.Helper()
	mac := hmac.New(sha1.New, must(base32.StdEncoding.DecodeString(secret))(t))
	_ = binary.Write(mac, binary.BigEndian, time.Now().Unix()/30+steps)
	sum := mac.Sum(nil)
	at := sum[19] & 0xf
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&0x7fffffff)%1_000_000)
}

// addApp adds an authenticator app, and uses up the code of the step before now.
func (b *tab) addApp(name string) (secret string, recovery []string) {
	b.w.t.Helper()
	begun := b.want(http.StatusOK, "POST", "/me/authenticators", object{"name": name})
	secret = begun.field("secret")
	added := b.want(http.StatusCreated, "POST", "/me/authenticators/"+begun.field("id"),
		object{"code": codeAt(b.w.t, secret, -1)})
	return secret, decodeAnswer[api.FactorAdded](b.w.t, added).RecoveryCodes
}

// A person with an authenticator app needs a code to sign in, each code counts once, recovery codes
// too, and neither seed nor code is in the database, the log or the audit.
func TestFactors_AuthenticatorApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	b := w.signedIn("full")
	b.refused(409, "no_second_factor", "POST", "/me/recovery-codes", nil)
	begun := b.want(http.StatusOK, "POST", "/me/authenticators", object{"name": "phone"})
	secret, confirm := begun.field("secret"), "/me/authenticators/"+begun.field("id")
	if !strings.Contains(begun.field("uri"), "secret="+secret) {
		t.Errorf("the QR code says %s", begun.field("uri"))
	}
	// It counts for nothing before it has shown a code.
	w.signedIn("full")
	b.refused(400, "code_wrong", "POST", confirm, object{"code": codeAt(t, secret, 9)})
	first := codeAt(t, secret, -1)
	added := decodeAnswer[api.FactorAdded](t, b.want(http.StatusCreated, "POST", confirm,
		object{"code": first[:3] + " " + first[3:]}))
	if len(added.RecoveryCodes) != 8 || added.Factor.Name != "phone" {
		t.Fatalf("added: %+v", added)
	}
	signIn := func(code string) object {
		return object{"user": "full", "password": password, "code": code}
	}
	n := &tab{w: w}
	// promise: W-03
	n.refused(401, "second_factor_required", "POST", "/sessions",
		object{"user": "full", "password": password})
	n.refused(401, "second_factor_required", "POST", "/tokens",
		object{"user": "full", "password": password, "name": "cli"})
	n.refused(401, "sign_in_refused", "POST", "/sessions",
		object{"user": "full", "password": "wrong", "code": codeAt(t, secret, 0)})
	n.refused(401, "second_factor_wrong", "POST", "/sessions", signIn(first))
	now := codeAt(t, secret, 0)
	n.want(http.StatusCreated, "POST", "/sessions", signIn(now))
	// promise: W-03
	n.refused(401, "second_factor_wrong", "POST", "/sessions", signIn(now))
	n.want(http.StatusCreated, "POST", "/sessions", signIn(strings.ToUpper(added.RecoveryCodes[0])))
	n.refused(401, "second_factor_wrong", "POST", "/sessions", signIn(added.RecoveryCodes[0]))
	token := signIn(added.RecoveryCodes[1])
	token["name"] = "cli"
	n.want(http.StatusCreated, "POST", "/tokens", token)
	list := decodeAnswer[api.FactorList](t, b.want(http.StatusOK, "GET", "/me/factors", nil))
	if len(list.Items) != 1 || list.RecoveryCodes != 6 || list.Items[0].LastUsedAt == nil {
		t.Errorf("listed: %+v", list)
	}
	w.expectNowhere(secret, now, added.RecoveryCodes[0], added.RecoveryCodes[2])
	b.want(http.StatusNoContent, "DELETE", "/me/factors/"+list.Items[0].Id, nil)
	w.signedIn("full")
}

// expectNowhere looks for secrets where none may be.
func (w *world) expectNowhere(secrets ...string) {
	w.t.Helper()
	places := map[string]string{"the log": w.log.String(),
		"the audit": string(w.call("GET", "/api/v1/audit?limit=200", w.token("root"), nil).body),
		"the seeds": string(pgtest.QueryValue[[]byte](w.t, w.database,
			"SELECT string_agg(seed, '') FROM second_factors")),
		"the database": pgtest.QueryValue[string](w.t, w.database, `SELECT
			(SELECT string_agg(f::text, '') FROM second_factors f) ||
			(SELECT string_agg(r::text, '') FROM recovery_codes r)`)}
	for place, text := range places {
		for _, secret := range secrets {
			for _, form := range []string{secret, strings.ReplaceAll(secret, "-", "")} {
				if strings.Contains(text, form) {
					w.t.Errorf("%s has %s", place, form)
				}
			}
		}
	}
}

// Whoever knows a password has a few tries at the code, however many networks they have.
func TestFactors_GuessingCodesIsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	secret, _ := w.signedIn("full").addApp("phone")
	n, tries := &tab{w: w}, 0
	for tries < 50 {
		a := n.ask("POST", "/sessions", object{"user": "full", "password": password,
			"code": codeAt(t, secret, 1000)})
		if a.status == http.StatusTooManyRequests {
			break
		}
		tries++
	}
	if tries > 10 {
		t.Errorf("%d wrong codes in a row were looked at", tries)
	}
}

// addPasskey registers an authenticator.
func (b *tab) addPasskey(key *authenticator, name string) api.FactorAdded {
	b.w.t.Helper()
	q := decodeAnswer[api.PasskeyQuestion](b.w.t, b.want(http.StatusOK, "POST",
		"/me/passkeys/question", nil))
	return decodeAnswer[api.FactorAdded](b.w.t, b.want(http.StatusCreated, "POST", "/me/passkeys",
		object{"ticket": q.Ticket, "name": name, "credential": key.create(q.Options)}))
}

// answerTo asks for a passkey, and has the authenticator answer.
func (b *tab) answerTo(path string, key *authenticator) object {
	b.w.t.Helper()
	q := decodeAnswer[api.PasskeyQuestion](b.w.t, b.want(http.StatusOK, "POST", path, nil))
	return object{"ticket": q.Ticket, "credential": key.get(q.Options)}
}

// A passkey signs in without a password, once for each question. One of another site, of nobody,
// that did not check who uses it, or that was copied is refused, and so is a person who is switched
// off.
func TestFactors_Passkey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "full", Active: true,
		Role: controlplane.RoleUser, Address: "full@example.org"}))
	const ask, enter = "/sign-in/passkey", "/sign-in/passkey/answer"
	key, b, n := newAuthenticator(t), w.signedIn("full"), &tab{w: w}
	if added := b.addPasskey(key, "laptop"); len(added.RecoveryCodes) != 8 {
		t.Errorf("added: %+v", added)
	}
	n.refused(401, "second_factor_required", "POST", "/sessions",
		object{"user": "full", "password": password})
	right := n.answerTo(ask, key)
	// promise: W-03
	if me := n.want(http.StatusCreated, "POST", enter, right); me.field("name") != "full" {
		t.Errorf("signed in: %s", me.body)
	}
	n.want(http.StatusOK, "GET", "/me", nil)
	n.refused(400, "ticket_invalid", "POST", enter, right)

	elsewhere := *key
	elsewhere.origin, elsewhere.site = "https://nullops.evil.test", "nullops.evil.test"
	// promise: W-03
	n.refused(403, "passkey_of_another_site", "POST", enter, n.answerTo(ask, &elsewhere))
	elsewhere.origin = key.origin
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, &elsewhere))
	unverified := *key
	unverified.unverified = true
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, &unverified))
	unknown := newAuthenticator(t)
	unknown.user = key.user
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, unknown))
	unknown.id = key.id
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, unknown))
	if box := b.want(http.StatusOK, "GET", "/me/inbox", nil); strings.Contains(string(box.body),
		"passkey") {
		t.Errorf("the owner was told of tries of others: %s", box.body)
	}
	copied := *key
	copied.counter = 0
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, &copied))
	b.expectWarnedOfCopy()
	n.refused(400, "passkey_unreadable", "POST", enter, object{"credential": object{"id": "x"},
		"ticket": n.answerTo(ask, key)["ticket"]})
	key.counter = 40
	n.want(http.StatusCreated, "POST", enter, n.answerTo(ask, key))
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "full",
		Role: controlplane.RoleUser}))
	n.refused(403, "passkey_refused", "POST", enter, n.answerTo(ask, key))
}

// expectWarnedOfCopy expects that the owner of the passkey was told of its copy, by notice and
// mail, and that the audit log names them.
func (b *tab) expectWarnedOfCopy() {
	w := b.w
	w.t.Helper()
	const said = `Your passkey "laptop" was refused: there may be a copy of it`
	// promise: W-03
	box := b.want(http.StatusOK, "GET", "/me/inbox", nil)
	for _, want := range []string{`Your passkey \"laptop\" was refused: there may be a copy of it`,
		`"kind":"alert"`, "Remove it", `"link":"/account"`} {
		if !strings.Contains(string(box.body), want) {
			w.t.Errorf("%s is not in the owner's notices: %s", want, box.body)
		}
	}
	mails := pgtest.QueryValue[string](w.t, w.database,
		"SELECT coalesce(string_agg(email || ' ' || body, '|'), '') FROM deliveries WHERE subject = '"+
			"NullOps: "+said+"'")
	if !strings.HasPrefix(mails, "full@example.org ") ||
		!strings.Contains(mails, "By: somebody with this passkey, from ") {
		w.t.Errorf("the owner's mail is %q", mails)
	}
	audit := pgtest.QueryValue[string](w.t, w.database,
		"SELECT object FROM audit WHERE result = 'refused' ORDER BY id DESC LIMIT 1")
	if audit != "user full" {
		w.t.Errorf("the audit log names %q", audit)
	}
}

// age makes all sessions as old as their owners' last proof may not be.
func (w *world) age() {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, "UPDATE sessions SET confirmed_at = now() - interval '11 minutes'")
}

// What cannot be undone asks a session again who uses it, of every operation that says so. The
// password is enough for a person who has nothing else, and not with a second factor.
func TestStepUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	b, all := w.signedIn("root"), readOperations(t)
	w.age()
	var asked []string
	for _, id := range operationNames(all) {
		if o := all[id]; o.op.Extensions["x-step-up"] == true {
			asked = append(asked, id)
			// promise: W-03
			b.refused(403, "step_up_needed", o.method,
				strings.TrimPrefix(fillPath(o.visit.path, d), "/api/v1"), o.visit.body)
		}
	}
	for _, id := range []string{"deleteNode", "forgetNode", "rotateKeys", "rotateVerdictKey",
		"revealSecret",
		"resetUserFactors", "beginPasskey", "beginAuthenticator", "deleteFactor",
		"purgeDeployment", "giveUpMachine",
		// A token is not asked, and neither is a person whose password one has just chosen.
		"createOwnToken", "createUserToken", "createResetLink", "createInvitation", "putUser",
		"approveDeviceLogin"} {
		if !slices.Contains(asked, id) {
			t.Errorf("%s does not ask who it is", id)
		}
	}
	rotate := func(status int) { t.Helper(); b.want(status, "POST", "/keys/rotate", nil) }
	b.refused(400, "password_wrong", "POST", "/me/step-up", object{"password": "wrong"})
	b.refused(400, "required", "POST", "/me/step-up", object{})
	rotate(403)
	b.want(204, "POST", "/me/step-up", object{"password": password})
	rotate(200)
	w.stepUpWithFactors(b, rotate)
	// A token is not asked: it has nobody to ask.
	w.expect(http.StatusOK, "POST", "/keys/rotate", w.token("chief"), nil, nil)
}

func (w *world) stepUpWithFactors(b *tab, rotate func(int)) {
	w.t.Helper()
	secret, codes := b.addApp("phone")
	key, other := newAuthenticator(w.t), newAuthenticator(w.t)
	b.addPasskey(key, "laptop")
	w.signedIn("full").addPasskey(other, "not root's")
	w.expectSaved(w.accounts.PutUser(w.t.Context(), system, accounts.UserPut{Name: "chief",
		Role: controlplane.RoleAdmin, Active: true, Password: controlplane.NewPlain(password)}))
	const path = "/me/step-up"
	for _, proof := range []object{{"code": codeAt(w.t, secret, 0)}, {"code": codes[0]},
		{"passkey": b.answerTo(path+"/passkey", key)}} {
		w.age()
		rotate(403)
		b.refused(400, "second_factor_required", "POST", path, object{"password": password})
		b.refused(400, "code_wrong", "POST", path, object{"code": "abcd-efgh"})
		b.refused(403, "passkey_refused", "POST", path,
			object{"passkey": b.answerTo(path+"/passkey", other)})
		rotate(403)
		b.want(204, "POST", path, proof)
		rotate(200)
	}
	// A new password comes with a new session, which proves no more than the old one did.
	w.age()
	b.want(204, "PUT", "/me/password", object{"current": password, "password": password + " 2"})
	rotate(403)
	b.want(204, "POST", path, object{"code": codes[1]})
	rotate(200)
}

// invitedMemberMustAddOne joins the team by an invitation: the first answer says what is needed.
func (w *world) invitedMemberMustAddOne(root string) {
	w.t.Helper()
	var made api.LinkCreated
	w.expect(http.StatusCreated, "POST", "/invitations", root, object{"role": "user",
		"address": "new@example.org", "teams": []string{"team-full"}}, &made)
	_, link, _ := strings.Cut(made.Url, "#")
	b := &tab{w: w}
	me := b.want(http.StatusCreated, "POST", "/invitations/accept", object{"link": link,
		"address": "new@example.org", "name": "newcomer", "password": password})
	if me.field("second_factor_needed") != "true" {
		w.t.Errorf("an invited member: %s", me.body)
	}
}

// A person who must have a second factor and has none sees nothing, and gets no token, by any
// operation: what they may call is listed here.
func TestFactors_OpenNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.expect(http.StatusOK, "PUT", "/teams/team-full", w.token("root"), object{
		"members": []string{"full"}, "second_factor": true,
		"grants": []object{{"project": "shop", "level": "full"}}}, nil)
	b, all := w.signedIn("full"), readOperations(t)
	open := []string{"addPasskey", "beginAuthenticator", "beginPasskey", "beginStepUp",
		"confirmAuthenticator", "deleteCurrentSession", "getMe", "listFactors", "stepUp"}
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public || slices.Contains(open, id) {
			continue
		}
		// promise: W-03
		b.refused(403, "second_factor_needed", o.method,
			strings.TrimPrefix(fillPath(o.visit.path, d), "/api/v1"), o.visit.body)
	}
	if n := pgtest.QueryValue[int](t, w.database, `SELECT count(*) FROM api_tokens t
		JOIN users u ON u.id = t.user_id WHERE u.name = 'full'`); n != 0 {
		t.Errorf("they have %d tokens", n)
	}
	b.addApp("phone")
	b.want(http.StatusOK, "GET", "/deployments/"+string(d.ID), nil)
}

// A member of a team that requires a second factor can do nothing but add one, and gets no token.
// An admin helps somebody who has lost theirs, which the audit shows.
func TestFactors_RequiredAndLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	b, root := w.signedIn("full"), w.token("root")
	w.expect(http.StatusOK, "PUT", "/teams/team-full", root, object{"members": []string{"full"},
		"grants": []object{{"project": "shop", "level": "full"}}, "second_factor": true}, nil)
	team := w.call("GET", "/api/v1/teams/team-full", root, nil)
	if team.field("second_factor") != "true" {
		t.Errorf("the team says %s", team.body)
	}
	of := "/deployments/" + string(d.ID)
	b.refused(403, "second_factor_needed", "GET", of, nil)
	b.refused(403, "second_factor_needed", "POST", of+"/retry", nil)
	b.refused(403, "second_factor_needed", "GET", "/deployments", nil)
	if me := b.want(200, "GET", "/me", nil); me.field("second_factor_needed") != "true" {
		t.Errorf("me: %s", me.body)
	}
	b.refused(403, "second_factor_needed", "POST", "/tokens",
		object{"user": "full", "password": password, "name": "cli"})
	w.invitedMemberMustAddOne(root)
	_, codes := b.addApp("phone")
	b.want(200, "GET", of, nil)
	list := decodeAnswer[api.FactorList](t, b.want(200, "GET", "/me/factors", nil))
	b.refused(409, "last_factor", "DELETE", "/me/factors/"+list.Items[0].Id, nil)

	w.expect(http.StatusNoContent, "DELETE", "/users/full/factors", root, nil, nil)
	if entry := w.newest(root, "root").Items[0]; entry.Action != "reset second factors" ||
		entry.Object != "user full" || entry.Detail == nil || *entry.Detail != "1 removed" {
		t.Errorf("the audit says %+v", entry)
	}
	b.refused(401, "unauthenticated", "GET", "/me", nil)
	again := w.signedIn("full")
	again.refused(403, "second_factor_needed", "GET", of, nil)
	if len(codes) == 0 {
		t.Error("no recovery codes")
	}
}
