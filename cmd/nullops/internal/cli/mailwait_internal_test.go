package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// mailWorld is a control plane with one deployment, whose mails come when it is on a node.
type mailWorld struct {
	// lists counts the lists that were asked for; the deployment is on a node from the fourth on.
	lists atomic.Int32
	// slow answers no list before the caller gives up.
	slow bool
}

const mailWorldID = "01a1fc00-0000-7000-8000-000000000000"

// ServeHTTP implements http.Handler. Mail 1 is to Ann, mail 2 to Ben, and mail 3 to both.
func (w *mailWorld) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "application/json")
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v1/deployments/"+mailWorldID); path {
	case "":
		_, _ = io.WriteString(out, `{"id":"`+mailWorldID+`","name":"first"}`)
	case "/mails":
		if w.slow {
			<-r.Context().Done()
			return
		}
		if w.lists.Add(1) <= 3 {
			_, _ = io.WriteString(out, `{"state":"waiting","items":[]}`)
			return
		}
		_, _ = io.WriteString(out, `{"state":"on","last":3,"items":[`+mailsTo(r.FormValue("to"))+`]}`)
	case "/mails/changes":
		out.Header().Set("Content-Type", "application/problem+json")
		out.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(out, `{"title":"Not Found","code":"no_mails","status":404}`)
	default:
		_, _ = fmt.Fprintf(out, `{"number":%s}`, strings.TrimPrefix(path, "/mails/"))
	}
}

func mailsTo(address string) string {
	return map[string]string{"": `{"number":3},{"number":2},{"number":1}`,
		"ann": `{"number":3},{"number":1}`, "ben": `{"number":3},{"number":2}`}[address]
}

func (w *mailWorld) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(w)
	defer server.Close()
	t.Setenv("NULLOPS_CLI_URL", server.URL)
	t.Setenv("NULLOPS_CLI_TOKEN", "nop_test")
	var out bytes.Buffer
	c := mailCommand()
	c.SetOut(&out)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// A robot may wait before the deployment is on a node: the wait goes on there.
func TestMailWait_BeforeThereIsANode(t *testing.T) {
	out, err := new(mailWorld).run(t, "wait", mailWorldID, "--to", "ann", "--timeout", "30s", "--json")
	if err != nil || !strings.Contains(out, `"number": 3`) {
		t.Errorf("printed %q, %v", out, err)
	}
}

// That no mail came in time has one exit code, also when the time ends amid a request, and when
// there was no time at all. Nothing is printed then.
func TestMailWait_TimeEnds(t *testing.T) {
	for timeout, w := range map[string]*mailWorld{"0s": {}, "10ms": {slow: true}, "1200ms": {}} {
		w.lists.Store(-100)
		out, err := w.run(t, "wait", mailWorldID, "--timeout", timeout, "--json")
		if out != "" || exit.CodeOf(err) != exit.NotReady ||
			!strings.Contains(err.Error(), "no such mail of first came within "+timeout[:1]) {
			t.Errorf("with %s: printed %q, %v", timeout, out, err)
		}
	}
}

// With several recipients, a mail to one of them is enough, and one to several is listed once.
func TestMailList_SeveralRecipients(t *testing.T) {
	w := new(mailWorld)
	w.lists.Store(10)
	out, err := w.run(t, "list", mailWorldID, "--to", "ann", "--to", "ben", "--json")
	first, second, third := strings.Index(out, `"number": 3`), strings.Index(out, `"number": 2`),
		strings.Index(out, `"number": 1`)
	if err != nil || first < 0 || second < first || third < second ||
		strings.Count(out, `"number"`) != 3 {
		t.Errorf("printed %s, %v", out, err)
	}
	out, err = w.run(t, "list", mailWorldID, "--to", "ann", "--to", "ben", "--limit", "2", "--json")
	if err != nil || strings.Count(out, `"number"`) != 2 || !strings.Contains(out, `"more": true`) {
		t.Errorf("with a limit: printed %s, %v", out, err)
	}
}
