package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/pipeline"
)

// Every host in the routing table says what it runs, to people and to programs, and no request for
// it reaches the application: the main name, the short and the flat one, those of a second port, of
// an alias, of what is prepared and of what was replaced, and those under a domain that the
// environment got meanwhile. Behind each gate, only the passes that the gate takes open that.
func TestUpdates_EveryHostSaysWhatItRuns(t *testing.T) {
	w := newUpdateWorld(t)
	w.prepareEveryHost()
	for _, r := range w.proxy.Table().Routes() {
		w.saysWhatItRuns(w.newVisitor(), r)
	}
	lena := w.addPerson("lena")
	_, robot, err := gate.New(w.store, nil).AddRobot(t.Context(), lena, "qa",
		gate.GuestLinkRequest{Label: "ci", Life: time.Hour})
	w.must(nil, err)
	for _, mode := range []controlplane.GateMode{controlplane.GateGuests, controlplane.GateMembers} {
		w.setGate(mode)
		for _, r := range w.proxy.Table().Routes() {
			w.saysNothingTo("a stranger", w.newVisitor(), r)
			person, program := w.newVisitor(), w.newVisitor()
			person.enterWith(w, r.Host, w.signInCode(lena, r.Host), "/.nullops/build")
			program.robot = robot.Reveal()
			w.saysWhatItRuns(person, r)
			w.saysWhatItRuns(program, r)
			w.asksGuest(lena, mode, r)
		}
	}
}

// prepareEveryHost has a build that was replaced, the one that has its place, and one that is
// prepared, so that each kind of host is there.
func (w *updateWorld) prepareEveryHost() {
	w.t.Helper()
	ctx := w.t.Context()
	w.must(w.catalog.SavePipeline(ctx, ingressTask, "shop", pipeline.Pipeline{Format: 1,
		Steps: []pipeline.Step{{Key: "web", Service: &pipeline.ServiceStep{Name: "web",
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ports: []pipeline.Port{{Name: "http", Port: 8080, Expose: true},
				{Name: "admin", Port: 8081, Expose: true}},
			Ready: &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}}}}, "two ports"))
	w.must(w.reviews.PutRule(ctx, ingressTask, review.RulePut{Rule: controlplane.ReviewRule{
		Name: "shop", Source: controlplane.ReviewGitHub, Project: "shop", Environment: "qa",
		Tag: "pr-{number}", Wait: time.Hour, Active: true, Aliases: true}}))
	w.putEnvironment("localhost")
	w.push("opened", 1)
	x := w.until("a deployment", func(x controlplane.Review) bool { return x.DeploymentID != "" })
	w.report(x.DeploymentID, controlplane.Applying, controlplane.Ready)
	w.until("ready", func(x controlplane.Review) bool { return x.State == controlplane.ReviewReady })
	second := w.pushUpdate(2)
	// An alias that is pointed after the domain was changed gets an address under the new one.
	const latest, branch = "latest--shop.qa.localhost", "branch--feature-cart.qa.localhost"
	for _, alias := range []string{latest, branch} {
		w.await("there is no "+alias, func() bool {
			r, ok := w.proxy.Table().Match(alias)
			return ok && r.DeploymentID == string(second)
		})
	}
	w.putEnvironment("qa-lab.example")
	w.push("synchronize", 3)
	w.until("an update", func(x controlplane.Review) bool { return x.NextID != "" })
	kinds := []string{updateHost, "shop-12.qa.localhost", "web--shop-12--qa.localhost", formerHost,
		"web.next--shop-12.qa.qa-lab.example", latest, branch, "admin--web.shop-12.qa.localhost"}
	for _, host := range kinds {
		w.await("there is no "+host, func() bool {
			_, ok := w.proxy.Table().Match(host)
			return ok
		})
	}
}

func (w *updateWorld) putEnvironment(domain string) {
	w.t.Helper()
	w.must(w.catalog.PutEnvironment(w.t.Context(), ingressTask, catalog.EnvironmentPut{Name: "qa",
		Domain: domain, CleanupAfterHours: 48}))
}

func (w *updateWorld) setGate(mode controlplane.GateMode) {
	w.t.Helper()
	w.must(nil, gate.New(w.store, nil).SetEnvironment(w.t.Context(), ingressTask, "qa",
		controlplane.EnvironmentGate{Gate: mode}))
	w.await("the gate does not reach the ingress", func() bool {
		for _, r := range w.proxy.Table().Routes() {
			if string(r.Gate) != string(mode) {
				return false
			}
		}
		return true
	})
}

// asksGuest visits with a link to the deployment, which only one of the gates takes.
func (w *updateWorld) asksGuest(by access.Actor, mode controlplane.GateMode, r ingress.Route) {
	w.t.Helper()
	_, _, link, err := gate.New(w.store, nil).CreateGuestLink(w.t.Context(), by,
		controlplane.DeploymentID(r.DeploymentID), gate.GuestLinkRequest{Label: "x", Life: time.Hour})
	w.must(nil, err)
	guest := w.newVisitor()
	guest.sendPass(w, r.Host, link.Reveal(), "/.nullops/build")
	if mode == controlplane.GateGuests {
		w.saysWhatItRuns(guest, r)
		return
	}
	w.saysNothingTo("a guest", guest, r)
}

// askHost returns what a host answers to somebody who comes from a page of it.
func (w *updateWorld) askHost(v *visitor, method, host, path string) (*http.Response, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+host+path, nil)
	w.must(nil, err)
	req.Header.Set("Referer", "http://"+host+"/cart?item=1")
	if v.robot != "" {
		req.Header.Set("Nullops-Pass", v.robot)
	}
	res, err := v.Do(req)
	w.must(nil, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	w.must(nil, err)
	return res, string(text)
}

func (w *updateWorld) saysNothingTo(who string, v *visitor, r ingress.Route) {
	w.t.Helper()
	for _, path := range []string{"/.nullops/", "/.nullops/build", "/"} {
		res, body := w.askHost(v, http.MethodGet, r.Host, path)
		// promise: W-04
		if res.StatusCode != http.StatusUnauthorized || strings.Contains(body, r.Deployment+" in ") ||
			strings.Contains(body, r.DeploymentID) || res.Header.Get("Nullops-Build") != "" {
			w.t.Errorf("%s%s to %s: %d %.300s", r.Host, path, who, res.StatusCode, body)
		}
	}
}

func (w *updateWorld) saysWhatItRuns(v *visitor, r ingress.Route) {
	w.t.Helper()
	res, page := w.askHost(v, http.MethodGet, r.Host, "/.nullops/")
	home := "http://nullops.test/d/" + r.DeploymentID
	report := home + "/capsule?address=" + url.QueryEscape("http://"+r.Host+"/cart?item=1")
	// promise: W-04
	for _, want := range []string{r.Deployment, "pull request 12",
		`href="` + home + `">Extend</a>`, `href="` + report + `">Report a bug from here</a>`} {
		if res.StatusCode != http.StatusOK || !strings.Contains(page, want) {
			w.t.Errorf("%s (%s) does not say %q: %d %s", r.Host, r.State, want, res.StatusCode, page)
		}
	}
	var about ingress.About
	res, text := w.askHost(v, http.MethodGet, r.Host, "/.nullops/build")
	if err := json.Unmarshal([]byte(text), &about); err != nil || res.StatusCode != http.StatusOK ||
		about.Deployment != r.Deployment || about.State != string(r.State) ||
		about.Page != home || about.ExpiresAt == nil || about.Why == nil || about.Why.Number != 12 ||
		len(about.Services) != 1 || !about.Services[0].Here {
		w.t.Fatalf("%s: %d %.900s: %v", r.Host, res.StatusCode, text, err)
	}
	w.namesItsBuild(v, r, about.Services[0])
	for _, path := range []string{"/.nullops/", "/.nullops/build"} {
		if res, text := w.askHost(v, http.MethodHead, r.Host, path); res.StatusCode != 200 ||
			text != "" {
			w.t.Errorf("HEAD %s%s: %d %q", r.Host, path, res.StatusCode, text)
		}
		if res, text := w.askHost(v, http.MethodPost, r.Host, path); res.StatusCode != 404 {
			w.t.Errorf("POST %s%s: %d %.200s", r.Host, path, res.StatusCode, text)
		}
	}
}

// namesItsBuild finds in the header of the service's responses what the page says. Where the
// service does not answer yet, there is no such header.
func (w *updateWorld) namesItsBuild(v *visitor, r ingress.Route, s ingress.AboutService) {
	w.t.Helper()
	const shown = len("sha256:") + 7
	want := ""
	if r.State == ingress.StateReady {
		want = s.Service + "=" + s.Tag + "@" + s.Digest[len("sha256:"):shown]
	}
	res, body := w.askHost(v, http.MethodGet, r.Host, "/")
	// promise: W-04
	if got := res.Header.Get("Nullops-Build"); got != want ||
		want != "" && !strings.HasPrefix(body, r.DeploymentID) {
		w.t.Errorf("%s (%s) is answered by the build %q, not by %q: %.200s", r.Host, r.State, got,
			want, body)
	}
}
