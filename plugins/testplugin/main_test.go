package main_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "", nil)
}

// Each broken answer is refused for the reason its mode is named after.
func TestModes_BreakTheContractAsNamed(t *testing.T) {
	program := stdiotest.Build(t)
	for mode, want := range map[string]stdio.Problem{
		"bad-json":      stdio.ProblemTruncated,
		"text":          stdio.ProblemSyntax,
		"two-documents": stdio.ProblemTwoDocuments,
		"nothing":       stdio.ProblemNothing,
		"list":          stdio.ProblemNotObject,
		"no-success":    stdio.ProblemNoSuccess,
		"duplicate-key": stdio.ProblemDuplicateKey,
		"not-utf8":      stdio.ProblemEncoding,
		"deep":          stdio.ProblemTooDeep,
	} {
		in := `{"action":"create","parameters":{"mode":"` + mode + `"}}`
		got := stdiotest.Run(t.Context(), t, program, []byte(in))
		_, err := stdio.ParseResponse(got.Stdout)
		refused, is := errors.AsType[*stdio.ResponseError](err)
		if !is || refused.Problem != want || got.Code != 0 {
			t.Errorf("mode %s: %v with exit code %d, want %s with 0", mode, err, got.Code, want)
		}
	}
}

func TestModes_ExitFloodAndSay(t *testing.T) {
	program := stdiotest.Build(t)
	run := func(parameters string) stdiotest.Result {
		return stdiotest.Run(t.Context(), t, program,
			[]byte(`{"action":"create","parameters":`+parameters+`}`))
	}
	if got := run(`{"mode":"exit","code":7}`); got.Code != 7 {
		t.Errorf("exit code %d, want 7", got.Code)
	}
	if got := run(`{"mode":"flood-stdout","bytes":3000001}`); len(got.Stdout) != 3000001 {
		t.Errorf("flooded %d bytes", len(got.Stdout))
	}
	if got := run(`{"mode":"flood-stderr","bytes":3000001}`); len(got.Stderr) < 3000001 {
		t.Errorf("flooded %d bytes", len(got.Stderr))
	}
	if got := run(`{"mode":"say","text":"just this"}`); string(got.Stdout) != "just this" {
		t.Errorf("said %q", got.Stdout)
	}
	if got := run(`{"mode":"no such mode"}`); got.Code == 0 {
		t.Error("an unknown mode succeeded")
	}
}

// The positive control of every canary test: the leak really leaks.
func TestModes_LeakEveryForm(t *testing.T) {
	const secret = "canary/value+42"
	got := stdiotest.Run(t.Context(), t, stdiotest.Build(t), []byte(
		`{"action":"create","parameters":{"mode":"leak"},"secrets":{"token":"`+secret+`"}}`))
	for _, form := range []string{
		secret, base64.StdEncoding.EncodeToString([]byte(secret)),
		hex.EncodeToString([]byte(secret)), "canary%2Fvalue%2B42", "torn: " + secret,
	} {
		if !strings.Contains(string(got.Stderr), form) {
			t.Errorf("the log lacks %q", form)
		}
	}
}

func TestModes_LedgerAppendsOneLine(t *testing.T) {
	lines := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		lines++
	}))
	defer server.Close()
	program := stdiotest.Build(t)
	for _, mode := range []string{"ledger", "ledger-fail"} {
		stdiotest.Run(t.Context(), t, program, []byte(
			`{"action":"create","parameters":{"mode":"`+mode+`","ledger":"`+server.URL+`"}}`))
	}
	if lines != 2 {
		t.Errorf("the ledger has %d lines, want 2", lines)
	}
}
