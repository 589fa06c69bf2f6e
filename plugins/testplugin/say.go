package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/plugins/stdio"
)

// leakForms are the ways in which a secret gets out by accident.
func leakForms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret) // a string always marshals
	std := base64.StdEncoding.EncodeToString
	return map[string]string{
		"raw":         secret,
		"base64":      std([]byte(secret)),
		"base64 +1":   std([]byte("x" + secret)),
		"base64 +2":   std([]byte("xy" + secret)),
		"base64url":   base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"hex":         hex.EncodeToString([]byte(secret)),
		"HEX":         fmt.Sprintf("%X", secret),
		"url query":   url.QueryEscape(secret),
		"url path":    url.PathEscape(secret),
		"json":        string(quoted),
		"in the text": "password=" + secret + ";",
		// What encoders of other languages write, each as far as it can go.
		"percent":       eachByte("%%%02x", secret),
		"entities":      eachByte("&#x%X;", secret),
		"unicode":       eachByte("\\u%04X", secret),
		"unicode twice": eachByte("\\\\u%04x", secret),
	}
}

// eachByte writes every byte of a secret as an escape.
func eachByte(escape, secret string) string {
	var b strings.Builder
	for _, c := range []byte(secret) {
		fmt.Fprintf(&b, escape, c)
	}
	return b.String()
}

// leak logs every secret in every form, one of them torn across two writes,
// and then succeeds.
func (t trial) leak() int {
	t.logf("leaking %d secrets", len(t.req.Secrets))
	for _, name := range slices.Sorted(maps.Keys(t.req.Secrets)) {
		secret := t.req.Secrets[name]
		all := leakForms(secret)
		for _, form := range slices.Sorted(maps.Keys(all)) {
			t.logf("%s %s: %s", name, form, all[form])
		}
		half := len(secret) / 2
		_, _ = fmt.Fprintf(t.log, "%s torn: %s", name, secret[:half])
		time.Sleep(50 * time.Millisecond) // lets the first half travel alone
		_, _ = fmt.Fprintf(t.log, "%s\n", secret[half:])
	}
	t.logf("leaked")
	return t.succeed()
}

// leakOutput returns the secrets as if they were harmless outputs, and in its
// one line for people.
func (t trial) leakOutput() int {
	outputs := map[string]any{}
	r := stdio.Response{Success: true, Output: "secrets:", Outputs: outputs}
	for _, name := range slices.Sorted(maps.Keys(t.req.Secrets)) {
		secret := t.req.Secrets[name]
		outputs[name] = "value " + secret
		r.Output += " " + secret
		r.Metadata = append(r.Metadata, stdio.Metadatum{Name: name, Value: secret})
	}
	return t.writeAnswer(r)
}

// ansi logs colours, cursor tricks, HTML and bytes that are no text.
func (t trial) ansi() int {
	for _, line := range []string{
		"\x1b[31mred\x1b[0m and \x1b[1;32mbold green\x1b[0m",
		"\x1b]0;a new window title\x07after the title",
		"\x1b[2J\x1b[Hcleared the screen",
		"overwritten\rby a carriage return",
		`<script>document.title="owned"</script><img src=x onerror=alert(1)>`,
		"bytes that are no text: \xff\xfe\x00 end",
		"wide: äöü 漢字 🚀 e\u0301 \u202ereversed\u202c",
	} {
		t.logf("%s", line)
	}
	return t.succeed()
}

// ledger appends this very attempt to an outside log: a POST of one JSON line
// to the parameter "ledger". What stands there afterwards says how often the
// plugin really ran, whatever the agent believes.
func (t trial) ledger() int {
	if err := t.appendLedger(); err != nil {
		t.logf("ledger: %v", err)
		return t.sayNo()
	}
	return t.succeed()
}

// ledgerSleep leaves a wide gap between the effect and the answer.
func (t trial) ledgerSleep() int {
	if err := t.appendLedger(); err != nil {
		t.logf("ledger: %v", err)
		return t.sayNo()
	}
	return t.sleep()
}

// ledgerFail has its effect and fails nevertheless.
func (t trial) ledgerFail() int {
	_ = t.appendLedger() // the answer is no in any case
	return t.sayNo()
}

func (t trial) appendLedger() error {
	line, err := json.Marshal(map[string]any{
		"action": t.req.Action, "run": t.req.Run, "deployment": t.req.Deployment.Name,
		"text": t.p.Text,
	})
	if err != nil {
		return err
	}
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Post(t.p.Ledger, "application/json", bytes.NewReader(append(line, '\n')))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the ledger answered %s", resp.Status)
	}
	return nil
}
