// Command testplugin is a plugin that misbehaves on request, for tests of the
// agent. Its parameter "mode" picks what it does on create, "delete_mode" what
// it does on delete; see modes and component.json.
//
// It speaks the contract by hand instead of through stdio.Serve, since most of
// its modes break it. It is built into the image test/hostile and is never part
// of an installation.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nullops/nullops/plugins/stdio"
)

// began is when the first instruction ran that is ours.
var began = time.Now()

func main() {
	input, err := io.ReadAll(io.LimitReader(os.Stdin, stdio.MaxRequest))
	if err != nil {
		exitWithError("read stdin: %v", err)
	}
	t := trial{input: input, out: os.Stdout, log: os.Stderr}
	if t.req, err = stdio.ReadRequest(bytes.NewReader(input)); err != nil {
		exitWithError("%v", err)
	}
	// The defaults make a plain call succeed.
	t.p = parameters{Mode: "succeed", DeleteMode: "succeed", Bytes: 1 << 30, Seconds: 1, Code: 3}
	if err := t.req.Bind(&t.p); err != nil {
		exitWithError("%v", err)
	}
	mode := t.p.Mode
	if t.req.Action == stdio.ActionDelete {
		mode = t.p.DeleteMode
	}
	do, known := allModes()[mode]
	if !known {
		exitWithError("mode %q is not known", mode)
	}
	os.Exit(do(t))
}

// trial is one call of the plugin.
type trial struct {
	input []byte
	req   stdio.Request
	p     parameters
	out   io.Writer
	log   io.Writer
}

type parameters struct {
	Mode       string         `json:"mode"`
	DeleteMode string         `json:"delete_mode"`
	Code       int            `json:"code"`
	Bytes      int64          `json:"bytes"`
	Seconds    float64        `json:"seconds"`
	Text       string         `json:"text"`
	Outputs    map[string]any `json:"outputs"`
	Addresses  []string       `json:"addresses"`
	Ledger     string         `json:"ledger"`
	Paths      []string       `json:"paths"`
}

// allModes are all the ways to behave, by name.
func allModes() map[string]func(trial) int {
	return map[string]func(trial) int{
		"succeed":        trial.succeed,
		"say-no":         trial.sayNo,
		"exit":           trial.exit,
		"bad-json":       printMode(`{"success": true, "outputs": {`),
		"text":           printMode("all went well\n"),
		"two-documents":  printMode("{\"success\":true}\n{\"success\":true}\n"),
		"nothing":        printMode(""),
		"list":           printMode("[]"),
		"no-success":     printMode(`{"outputs":{}}`),
		"duplicate-key":  printMode(`{"success":true,"success":false}`),
		"not-utf8":       printMode("{\"success\":true,\"output\":\"\xff\"}"),
		"deep":           trial.deep,
		"say":            trial.say,
		"flood-stdout":   trial.floodStdout,
		"flood-stderr":   trial.floodStderr,
		"flood-both":     trial.floodBoth,
		"long-line":      trial.longLine,
		"hang":           trial.hang,
		"ignore-sigterm": trial.ignoreSigterm,
		"close-and-hang": trial.closeAndHang,
		"child-holds":    trial.childHolds,
		"sleep":          trial.sleep,
		"clock":          trial.clock,
		"memory":         trial.memory,
		"fork-bomb":      trial.forkBomb,
		"probe":          trial.probe,
		"find":           trial.find,
		"connect":        trial.connect,
		"ledger":         trial.ledger,
		"ledger-sleep":   trial.ledgerSleep,
		"ledger-fail":    trial.ledgerFail,
		"echo":           trial.echo,
		"leak":           trial.leak,
		"leak-output":    trial.leakOutput,
		"ansi":           trial.ansi,
		"child":          trial.child,
	}
}

func (t trial) writeAnswer(r stdio.Response) int {
	if err := stdio.WriteResponse(t.out, r); err != nil {
		return 1
	}
	return 0
}

func (t trial) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(t.log, format+"\n", args...) // stderr gone: nobody to tell
}

func (t trial) sleepDuration() time.Duration {
	return time.Duration(t.p.Seconds * float64(time.Second))
}

// succeed returns the outputs it was given.
func (t trial) succeed() int {
	t.logf("mode succeed, action %s", t.req.Action)
	return t.writeAnswer(stdio.Response{Success: true, Output: "done", Outputs: t.p.Outputs})
}

// sayNo is a well-formed refusal with exit code 0.
func (t trial) sayNo() int {
	return t.writeAnswer(stdio.Response{Success: false, Output: "the test plugin says no"})
}

// exit answers success and then contradicts it with its exit code.
func (t trial) exit() int {
	t.logf("leaving with %d", t.p.Code)
	t.writeAnswer(stdio.Response{Success: t.p.Code == 0, Output: "leaving"})
	return t.p.Code
}

// printMode returns a mode that prints just this on stdout.
func printMode(text string) func(trial) int {
	return func(t trial) int {
		_, _ = io.WriteString(t.out, text)
		return 0
	}
}

// say prints the parameter "text" as it is.
func (t trial) say() int { return printMode(t.p.Text)(t) }

// deep nests far beyond what the contract allows.
func (t trial) deep() int {
	n := 5000
	return printMode(`{"success":true,"outputs":{"x":` + string(bytes.Repeat([]byte("["), n)) +
		string(bytes.Repeat([]byte("]"), n)) + "}}")(t)
}

// echo returns its whole input, so that a test sees what a plugin sees.
func (t trial) echo() int {
	var input map[string]any
	if err := json.Unmarshal(t.input, &input); err != nil {
		exitWithError("%v", err)
	}
	return t.writeAnswer(stdio.Response{Success: true, Outputs: map[string]any{"input": input}})
}

func exitWithError(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
