// Package servertest starts servers of others that tests need: an S3 server, an OpenID
// provider, a certificate authority and its name server. They run in a process of their
// own, built from the module in servers/, so that the product depends on none of them.
package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Process is a server that runs until its test ends.
type Process struct {
	t       testing.TB
	control string
}

// Start runs a server with these options, decodes what it says about itself into ready,
// and returns once it answers.
func Start(t testing.TB, kind string, options, ready any) *Process {
	t.Helper()
	given, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	// The server ends when its stdin does, even if this process is killed.
	cmd := exec.Command(buildServers(t), kind, string(given))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("start the %s server: %v\n%s", kind, err, complaint.Bytes())
	}
	var started struct {
		Control string
		Ready   json.RawMessage
	}
	if err = json.Unmarshal(line, &started); err == nil {
		err = json.Unmarshal(started.Ready, ready)
	}
	if err != nil {
		t.Fatalf("start the %s server: it says %s: %v", kind, line, err)
	}
	return &Process{t: t, control: started.Control}
}

// Control is the address at which the test looks into the server and changes it.
func (p *Process) Control() string { return p.control }

// Call sends in as JSON to a path of the control address and decodes the answer into out.
func (p *Process) Call(path string, in, out any) {
	p.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.Post(p.control+path, "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s: %v\n%s", path, answer.Status, err, text)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(text, out); err != nil {
		p.t.Fatalf("%s says %s: %v", path, text, err)
	}
}

var once sync.Once

var program struct {
	path string
	err  error
	out  []byte
}

// buildServers compiles the servers once per test program; Go's cache makes it quick. The binary
// lies in the repository's cache, where each test program finds it up to date.
func buildServers(t testing.TB) string {
	t.Helper()
	once.Do(func() {
		_, here, _, _ := runtime.Caller(0)
		folder := filepath.Join(filepath.Dir(here), "servers")
		program.path = filepath.Join(folder, "..", "..", "..", ".cache", "bin", "testservers")
		program.out, program.err = exec.Command("go", "build", "-C", folder, "-buildvcs=false",
			"-o", program.path, ".").CombinedOutput()
	})
	if program.err != nil {
		t.Fatalf("build the servers: %v\n%s", program.err, program.out)
	}
	return program.path
}
