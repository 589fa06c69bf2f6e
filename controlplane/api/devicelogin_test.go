package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// begin has a program ask to be signed in.
func (w *world) beginLogin(body object) (s api.DeviceLoginStart) {
	w.t.Helper()
	w.expect(http.StatusCreated, "POST", "/device-logins", "", body, &s)
	return s
}

// pollDeviceLogin asks for the program's token, as if it had waited for as long as it has to.
func (w *world) pollDeviceLogin(s api.DeviceLoginStart) answer {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, "UPDATE device_logins SET polled_at = polled_at - interval '1 hour'")
	return w.pollAgain(s)
}

func (w *world) pollAgain(s api.DeviceLoginStart) answer {
	w.t.Helper()
	return w.call("POST", "/api/v1/device-logins/token", "", object{"device_code": s.DeviceCode})
}

func (w *world) expectPoll(s api.DeviceLoginStart, status int, code string) {
	w.t.Helper()
	if a := w.pollDeviceLogin(s); a.status != status || a.field("code") != code ||
		a.field("remedy") == "" {
		w.t.Errorf("poll: %d %s, want %d %s", a.status, a.body, status, code)
	}
}

// A program without a browser gets a token once a person confirmed its code in theirs: who it is
// and where it asked from is shown, it happens once, and the audit has it.
func TestDeviceLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	s := w.beginLogin(object{"name": "nullops on laptop", "scope": "read", "expires_in_days": 30})
	if s.VerificationUri != "https://nullops.test/device" || s.Interval != 5 || s.ExpiresIn != 600 ||
		s.VerificationUriComplete != s.VerificationUri+"?code="+s.UserCode || len(s.UserCode) != 9 {
		t.Errorf("begun: %+v", s)
	}
	w.expectPoll(s, http.StatusConflict, "authorization_pending")
	b := w.signedIn("full")
	shown := decodeAnswer[api.DeviceLogin](t, b.want(http.StatusOK, "GET",
		"/me/device-logins/"+strings.ToLower(strings.ReplaceAll(s.UserCode, "-", "")), nil))
	if shown.Name != "nullops on laptop" || shown.Address == "" || shown.Scope != "read" ||
		shown.TokenDays == nil || *shown.TokenDays != 30 || shown.Code != s.UserCode {
		t.Errorf("what is shown: %+v", shown)
	}
	w.age()
	path := "/me/device-logins/" + s.UserCode
	b.refused(http.StatusForbidden, "step_up_needed", "POST", path, nil)
	b.want(http.StatusNoContent, "POST", "/me/step-up", object{"password": password})
	b.want(http.StatusNoContent, "POST", path, nil)
	b.refused(http.StatusNotFound, "code_unknown", "POST", path, nil)
	got := w.pollDeviceLogin(s)
	token := got.field("token")
	// promise: W-03
	if got.status != http.StatusCreated || token == "" {
		t.Fatalf("the token: %d %s", got.status, got.body)
	}
	var me api.Me
	if w.expect(http.StatusOK, "GET", "/me", token, nil, &me); me.Name != "full" {
		t.Errorf("the token is %s's", me.Name)
	}
	w.expect(http.StatusForbidden, "POST", "/deployments", token, object{"name": "x",
		"project": "shop", "environment": "qa"}, nil)
	w.expectPoll(s, http.StatusBadRequest, "expired_token")
	text := string(w.call("GET", "/api/v1/audit?limit=50", w.token("root"), nil).body)
	if !strings.Contains(text, "approve device login") || !strings.Contains(text, "create token") {
		t.Errorf("the audit: %s", text)
	}
	stored := pgtest.QueryValue[string](t, w.database,
		"SELECT coalesce(string_agg(d::text, ''), '') FROM device_logins d")
	if strings.Contains(stored+text+w.log.String(), s.DeviceCode) {
		t.Error("the secret of the program is stored")
	}
}

// What goes wrong says so, each with its own code: too fast, denied, too late, a wrong code, too
// many guesses, a token instead of a person, and a flood of programs.
func TestDeviceLogin_Refusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	s := w.beginLogin(object{"name": "tv"})
	w.expectPoll(s, http.StatusConflict, "authorization_pending")
	for _, pause := range []string{"10", "15"} {
		a := w.pollAgain(s)
		if a.status != http.StatusTooManyRequests || a.field("code") != "slow_down" ||
			a.header.Get("Retry-After") != pause {
			t.Errorf("too fast: %d %s, Retry-After %s", a.status, a.body, a.header.Get("Retry-After"))
		}
	}
	b := w.signedIn("full")
	b.want(http.StatusNoContent, "DELETE", "/me/device-logins/"+s.UserCode, nil)
	w.expectPoll(s, http.StatusForbidden, "access_denied")
	w.expectPoll(s, http.StatusBadRequest, "expired_token")

	late := w.beginLogin(object{"name": "late"})
	pgtest.Exec(t, w.database, "UPDATE device_logins SET expires_at = now() - interval '1 second'")
	b.refused(http.StatusNotFound, "code_unknown", "GET", "/me/device-logins/"+late.UserCode, nil)
	w.expectPoll(late, http.StatusBadRequest, "expired_token")

	// Whoever was locked out after the confirmation gets nothing.
	gone := w.beginLogin(object{"name": "gone"})
	w.signedIn("reader").want(http.StatusNoContent, "POST", "/me/device-logins/"+gone.UserCode, nil)
	pgtest.Exec(t, w.database, "UPDATE users SET active = false WHERE name = 'reader'")
	w.expectPoll(gone, http.StatusForbidden, "access_denied")

	waits := w.beginLogin(object{"name": "waits"})
	a := w.call("POST", "/api/v1/me/device-logins/"+waits.UserCode, w.token("full"), nil)
	if a.status != http.StatusForbidden || a.field("code") != "session_needed" {
		t.Errorf("a token confirms another one: %d %s", a.status, a.body)
	}
	for range 5 { // one wrong code was counted above
		b.refused(http.StatusNotFound, "code_unknown", "GET", "/me/device-logins/BBBB-BBBB", nil)
	}
	b.refused(http.StatusTooManyRequests, "too_many_attempts", "GET",
		"/me/device-logins/"+waits.UserCode, nil)
	w.signedIn("root").want(http.StatusOK, "GET", "/me/device-logins/"+waits.UserCode, nil)

	w.expect(http.StatusBadRequest, "POST", "/device-logins", "", object{"name": ""}, nil)
	flooded := ""
	for range 25 {
		a := w.call("POST", "/api/v1/device-logins", "", object{"name": "flood"})
		if a.status != http.StatusCreated {
			flooded = a.field("code")
			break
		}
	}
	if flooded != "too_many_device_logins" {
		t.Errorf("a flood ends with %q", flooded)
	}
}
