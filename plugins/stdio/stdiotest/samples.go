// Package stdiotest runs a plugin's real program on the samples in its testdata
// folder: NAME.in.json goes to stdin, stdout must be NAME.out.json.
//
// In both files ${NAME} stands for a value of the test, such as the address of a
// server. In an .out.json the string "<any>" accepts any value. The exit code
// must agree with the answer: 0 exactly when success is true.
package stdiotest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/stdio"
)

// Build compiles the plugin in the current folder and returns its path.
func Build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "plugin")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	return program
}

// Result is what one run of a plugin printed.
type Result struct {
	Stdout, Stderr []byte
	Code           int
}

// Run runs a program with this on stdin. It fails the test only when the
// program cannot be run at all.
func Run(ctx context.Context, t *testing.T, program string, stdin []byte) Result {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run the plugin: %v", err)
	}
	return Result{out.Bytes(), log.Bytes(), cmd.ProcessState.ExitCode()}
}

// Samples runs every sample whose name begins with prefix, in the order of
// their names, as subtests.
func Samples(t *testing.T, program, prefix string, values map[string]string) {
	t.Helper()
	found, err := filepath.Glob("testdata/" + prefix + "*.in.json")
	if err != nil || len(found) == 0 {
		t.Fatalf("no samples testdata/%s*.in.json: %v", prefix, err)
	}
	for _, in := range found {
		name := strings.TrimSuffix(filepath.Base(in), ".in.json")
		t.Run(name, func(t *testing.T) {
			want := fillTemplate(t, strings.TrimSuffix(in, ".in.json")+".out.json", values)
			got := Run(t.Context(), t, program, fillTemplate(t, in, values))
			compareResult(t, got, want)
		})
	}
}

func fillTemplate(t *testing.T, name string, values map[string]string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for key, value := range values {
		text = strings.ReplaceAll(text, "${"+key+"}", value)
	}
	return []byte(text)
}

func compareResult(t *testing.T, got Result, want []byte) {
	t.Helper()
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil {
		t.Fatalf("the agent would refuse the answer: %v\n%s", err, got.Stderr)
	}
	if resp.Success != (got.Code == 0) {
		t.Errorf("success is %v, but the exit code is %d", resp.Success, got.Code)
	}
	var is, should any
	if err := errors.Join(json.Unmarshal(got.Stdout, &is), json.Unmarshal(want, &should)); err != nil {
		t.Fatal(err)
	}
	if where := findDifference("", is, should); where != "" {
		t.Errorf("%s\n got %s\nwant %s\nlog:\n%s", where, got.Stdout, want, got.Stderr)
	}
}

// findDifference names the first place where the two differ, or returns "".
func findDifference(at string, is, should any) string {
	if should == "<any>" && is != nil {
		return ""
	}
	a, object := is.(map[string]any)
	b, also := should.(map[string]any)
	if !object || !also {
		if reflect.DeepEqual(is, should) {
			return ""
		}
		if list, same := differLists(at, is, should); same {
			return list
		}
		return fmt.Sprintf("%s is %v instead of %v", at, is, should)
	}
	for name := range b {
		if where := findDifference(at+"."+name, a[name], b[name]); where != "" {
			return where
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%s has %d members instead of %d", at, len(a), len(b))
	}
	return ""
}

// differLists compares lists of the same length; false for anything else.
func differLists(at string, is, should any) (string, bool) {
	a, list := is.([]any)
	b, also := should.([]any)
	if !list || !also || len(a) != len(b) {
		return "", false
	}
	for i := range a {
		if where := findDifference(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); where != "" {
			return where, true
		}
	}
	return "", true
}
