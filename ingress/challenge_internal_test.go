package ingress

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A challenge of ours is answered; every other request goes to the application, which may run an
// ACME client of its own.
func TestAnswerChallenge(t *testing.T) {
	t.Parallel()
	const token, other = "0123456789abcdef", "0123456789abcdeg"
	answered := 0
	p := &Proxy{config: Config{
		OnAnswer: func(string, int) { answered++ },
		Challenge: func(_ context.Context, host, asked string) (string, bool, error) {
			switch {
			case host != "web.example":
				return "", false, errors.New("no database")
			case asked != token:
				return "", false, nil
			}
			return token + ".thumbprint", true, nil
		}}.withDefaults()}
	zone := &Zone{}
	for name, c := range map[string]struct {
		method, path string
		at           requestTarget
		want         string
	}{
		"ours": {"GET", challengePath + token, requestTarget{host: "web.example", zone: zone},
			token + ".thumbprint"},
		"another token": {"GET", challengePath + other, requestTarget{host: "web.example", zone: zone},
			""},
		"a short token": {"GET", challengePath + token[1:], requestTarget{host: "web.example",
			zone: zone}, ""},
		"another path": {"GET", "/" + token, requestTarget{host: "web.example", zone: zone}, ""},
		"another zone": {"GET", challengePath + token, requestTarget{host: "web.example"}, ""},
		"a form": {"POST", challengePath + token, requestTarget{host: "web.example", zone: zone},
			""},
		"a failure": {"GET", challengePath + token, requestTarget{host: "api.example", zone: zone},
			""},
	} {
		w := httptest.NewRecorder()
		answered = 0
		done := p.answerChallenge(w, httptest.NewRequest(c.method, c.path, nil), &c.at)
		if done != (c.want != "") || w.Body.String() != c.want || (answered == 1) != done ||
			done && (w.Header().Get("Content-Type") != "application/octet-stream" ||
				w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %v, %q, %v", name, done, w.Body.String(), w.Header())
		}
	}
	r := httptest.NewRequest(http.MethodGet, challengePath+token, nil)
	at := requestTarget{host: "web.example", zone: zone}
	if (&Proxy{}).answerChallenge(httptest.NewRecorder(), r, &at) {
		t.Error("without any challenges one is answered")
	}
}

// A Host header beside the :authority of HTTP/2 may only repeat it.
func TestHasConflictingHost(t *testing.T) {
	t.Parallel()
	for want, all := range map[bool][][]string{
		false: {nil, {"web.example"}},
		true:  {{"api.example"}, {"web.example", "web.example"}, {""}},
	} {
		for _, hosts := range all {
			r := &http.Request{Host: "web.example", Header: http.Header{"Host": hosts}}
			if hasConflictingHost(r) != want {
				t.Errorf("%q: %v", hosts, !want)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://web.example/", nil)
	r.Header["Host"] = []string{"web.example"}
	r.Header.Set("Http2-Settings", "x")
	prepareRequest(httptest.NewRecorder(), r)
	if len(r.Header) > 0 {
		t.Errorf("passed on are %v", r.Header)
	}
}
