package cli

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// Failed tests that only mark a run are beside its state, and named under the steps, without
// what would move the cursor of a terminal.
func TestPrintDeployment_TellsOfTests(t *testing.T) {
	tests := apiclient.TestSummary{Tests: 120, Failed: 3, Skipped: 2, Seconds: 41.52, Marked: true,
		Names: &[]string{"pays \x1b[2Jby card"}}
	d := apiclient.Deployment{Name: "cart", Status: "ready", Tests: &tests}
	run := apiclient.Run{Number: 1, Steps: []apiclient.Step{{Key: "e2e", Status: "done",
		Tests: &tests}, {Key: "web", Status: "done"}}}
	var b strings.Builder
	if err := printDeployment(&b, d, run); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"cart  ready  tests: 3 of 120 failed, 2 skipped, in 42 s\n",
		"\nTests of e2e: 3 of 120 failed, 2 skipped, in 42 s\n  failed: pays ", "  and 2 more\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "Tests of web") {
		t.Errorf("it says %q", got)
	}
	problem := "no file matches"
	d.Tests = &apiclient.TestSummary{Problem: &problem, Marked: true}
	if said := detailOf(d); said != "tests: no results" {
		t.Errorf("without results: %q", said)
	}
}

// A list and a page say the same of a failure; the page also what can be tried and where to read.
func TestFailure_IsTheSameInListAndPage(t *testing.T) {
	said, remedy := "Step web failed: it ended; its log says: no disk.", "Make room."
	f := apiclient.Failure{Code: "exit_code", Step: new("web"), Message: "it ended", Sentence: &said,
		Remedy: &remedy, Line: new(int64(1<<20 + 3))}
	d := apiclient.Deployment{Name: "cart", Environment: "qa", Status: "failed", Failure: &f,
		Detail: &said}
	var page, list strings.Builder
	if err := printDeployment(&page, d, apiclient.Run{Number: 1, Failure: &f}); err != nil {
		t.Fatal(err)
	}
	if err := printDeployments(&list, []apiclient.Deployment{d}); err != nil {
		t.Fatal(err)
	}
	// promise: U-01
	want := said + " " + remedy +
		"\nits log says so in attempt 2, line 3: nullops logs cart web --env qa\n"
	if !strings.Contains(page.String(), want) {
		t.Errorf("the page says %q", page.String())
	}
	if !strings.Contains(list.String(), said) {
		t.Errorf("the list says %q", list.String())
	}
}

func TestPrintDeployment_TellsWhichNodesDeclined(t *testing.T) {
	why := "closed \x1b[2Jtoday"
	run := apiclient.Run{Number: 1, Offers: &[]apiclient.NodeOffer{
		{Node: "site-a", Status: apiclient.NodeOfferStatusDeclined, Reason: &why},
		{Node: "site-b", Status: apiclient.NodeOfferStatusTaken}}}
	var b strings.Builder
	if err := printDeployment(&b, apiclient.Deployment{Name: "cart"}, run); err != nil {
		t.Fatal(err)
	}
	want := "Run 1\nnode site-a declined it: closed \uFFFD[2Jtoday\nnode site-b claimed it\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("it says %q", b.String())
	}
}

// What lists and pages of a terminal call a deployment is what --status finds it by.
func TestStateOf_IsTheConditionThatFiltersUse(t *testing.T) {
	offline := apiclient.DeploymentConditionOffline
	away, copied := "node fra-01 is offline", "step 2 of 5"
	down := "service api is not running"
	for name, c := range map[string]struct {
		d             apiclient.Deployment
		state, detail string
	}{
		"ready": {apiclient.Deployment{Status: "ready",
			Condition: new(apiclient.DeploymentConditionReady)}, "ready", ""},
		"degraded": {apiclient.Deployment{Status: "ready", ConditionReason: &down,
			Condition: new(apiclient.DeploymentConditionDegraded)}, "degraded", down},
		"offline": {apiclient.Deployment{Status: "ready", Condition: &offline,
			ConditionReason: &away}, "offline", "ready; " + away},
		"offline under way": {apiclient.Deployment{Status: "applying", Condition: &offline,
			ConditionReason: &away, Detail: &copied}, "offline", "applying, " + copied + "; " + away},
		"failed": {apiclient.Deployment{Status: "failed", Detail: &down}, "failed", down},
		"waits": {apiclient.Deployment{Status: "applying", Detail: &copied,
			Question: &apiclient.Question{}}, "waiting", copied},
		"answered": {apiclient.Deployment{Status: "applying",
			Question: &apiclient.Question{AnsweredBy: &down}}, "applying", ""},
	} {
		if state, detail := stateOf(c.d), detailOf(c.d); state != c.state || detail != c.detail {
			t.Errorf("%s is shown as %q (%q)", name, state, detail)
		}
	}
}

// Allocated CPU is shown of what may be allocated: the cores, times the overcommit.
func TestPromisedText_SaysOfHowMuch(t *testing.T) {
	n := apiclient.Node{Allocated: apiclient.Resources{CPU: 1.5, MemoryMiB: 512}}
	if got := promisedText(n); got != "1.5 cores, 537 MB" {
		t.Errorf("of an unknown machine: %q", got)
	}
	n.Inventory, n.CpuOvercommit = &apiclient.Inventory{Cpu: 8}, new(4.0)
	if got := promisedText(n); got != "1.5 of 32 cores, shared 4 times, 537 MB" {
		t.Errorf("it is %q", got)
	}
}

// A capsule names what is wrong, and the address of each exposed port, the main one of a service
// first.
func TestPrintCapsule_NamesEachAddress(t *testing.T) {
	main, admin := "http://api.first.qa.localhost", "http://admin--api.first.qa.localhost"
	down := "service api is not running"
	c := apiclient.Capsule{Deployment: apiclient.CapsuleDeployment{Status: "ready",
		Condition: new(apiclient.DeploymentConditionDegraded), ConditionReason: &down},
		Services: []apiclient.CapsuleService{{Step: "api", Url: &main,
			Ports: &[]apiclient.ServicePort{{Name: "http", Exposed: true, Url: &main},
				{Name: "admin", Exposed: true, Url: &admin}, {Name: "metrics"}}}}}
	var b strings.Builder
	if err := printCapsule(&b, "http://nullops.test", c); err != nil {
		t.Fatal(err)
	}
	if want := "  open: " + main + "\n  open admin: " + admin + "\n"; !strings.HasSuffix(b.String(),
		want) {
		t.Errorf("it says %q", b.String())
	}
	if !strings.Contains(b.String(), "\ndegraded: "+down+"\n") {
		t.Errorf("of what is wrong it says %q", b.String())
	}
}

// A service that has ended as it should is not called healthy, as if it still ran.
func TestPrintDeployment_ShowsEndedServicesAsDone(t *testing.T) {
	d := apiclient.Deployment{Name: "cart", Status: "ready", Services: []apiclient.ServiceHealth{
		{Step: "seed", Health: "healthy", Ended: new(true)}, {Step: "web", Health: "healthy"}}}
	var b strings.Builder
	if err := printDeployment(&b, d, apiclient.Run{Number: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"done", "healthy"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, b.String())
		}
	}
}

// What a code host refuses of a rule is read above the results of its pull requests.
func TestRule_SaysWhatIsRefused(t *testing.T) {
	refusal := "github answered 401: it does not accept the token of the rule\x1b[31m"
	v := apiclient.RuleView{Rule: apiclient.Rule{Name: "shop", Refusal: &refusal}}
	var b strings.Builder
	if err := printRule(&b, v); err != nil {
		t.Fatal(err)
	}
	want := "The code host refuses this rule: " +
		"github answered 401: it does not accept the token of the rule"
	// promise: W-02
	if !strings.HasPrefix(b.String(), want) || strings.Contains(b.String(), "\x1b") ||
		!strings.Contains(b.String(), "nullops rule set shop --token-file FILE") {
		t.Errorf("it says %q", b.String())
	}
	b.Reset()
	v.Rule.Refusal = nil
	remark := "It was replaced in place, as the rule says."
	v.Reviews = []apiclient.Review{{Key: "acme/shop#12", Remark: &remark}}
	if err := printRule(&b, v); err != nil || !strings.HasPrefix(b.String(), "REVIEW") ||
		!strings.Contains(b.String(), remark) {
		t.Errorf("without a refusal: %q, %v", b.String(), err)
	}
}
